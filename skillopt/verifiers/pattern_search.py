"""Search of a text for a regular expression of a task file, within a bound on time.

Python's engine backtracks, cannot be interrupted, and holds up every thread meanwhile; so a search runs here only when
a bound on its steps, computed from pattern and text, is small. All others run in a process of their own that is killed
when its time is over.
"""

import re
import sys
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from skillopt.errors import InfrastructureError, SuiteError
from skillopt.sandbox.processes import run_process
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import File
from skillopt.verifiers import quote_json

LONGEST_PATTERN: Final = 1_000
"""Most characters of a pattern."""

_MOST_STEPS: Final = 10**8
# A group that is repeated, or the verbose mode, in which space can stand between the two.
_UNBOUNDED: Final = re.compile(r"\)[*+?{]|\(\?[a-zA-Z-]*x")
_GROUP_KIND: Final = re.compile(r"(?<!\\)\(\?")
_FOUND: Final = 10  # statuses with which Python ends for no reason of its own
_NOT_FOUND: Final = 11  # another such status
_SEARCH: Final = f"""
import re
flags, pattern, text = (open(name, encoding="utf-8", newline="").read() for name in ("flags", "pattern", "text"))
raise SystemExit({_FOUND} if re.compile(pattern, int(flags)).search(text) else {_NOT_FOUND})
"""


def compile_pattern(kind: str, text: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Compile the pattern of a task file."""
    try:
        return re.compile(text, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise SuiteError(
            f"verifier {kind!r}: pattern: expected a regular expression, found {quote_json(text)} ({error}); "
            "correct the pattern"
        ) from error


def search_pattern(pattern: re.Pattern[str], text: str, time_limit: float) -> bool | None:
    """Return whether a pattern is found in a text; None when the time is over."""
    if _steps(pattern.pattern, len(text)) <= _MOST_STEPS:
        return pattern.search(text) is not None
    contents = {"flags": str(pattern.flags), "pattern": pattern.pattern, "text": text}
    files = [File(name, content.encode("utf-8", "replace")) for name, content in contents.items()]
    with Workspace.create(files) as workspace:
        argv = [sys.executable, "-I", "-S", "-c", _SEARCH]
        ended = run_process(argv, workspace.path, {}, time_limit)
    if ended.timed_out:
        return None
    if ended.status not in {_FOUND, _NOT_FOUND}:
        raise InfrastructureError(f"the search ended with status {ended.status}: {ended.stderr[-300:]!r}; run it again")
    return ended.status == _FOUND


def _steps(pattern: str, length: int) -> int:
    """Bound the steps of a search from above.

    Each repetition of one character or class can match up to `length` characters, and each `|` doubles
    the ways at most, so there are at most (length + 1) ** choices ways from each start. A repeated
    group has no such bound. Escaped signs are counted too, which only makes the bound larger.
    """
    if _UNBOUNDED.search(pattern):
        return _MOST_STEPS + 1
    choices = sum(map(pattern.count, "*+?{|")) - len(_GROUP_KIND.findall(pattern))
    steps: int = (length + 2) ** (choices + 1) * (length + len(pattern))
    return steps


def fits_path(path: str, pattern: str) -> bool:
    """Return whether a path fits a pattern, part by part; `**` stands for any number of folders.

    >>> [fits_path(path, "src/**/*.py") for path in ("src/a.py", "src/b/c/a.py", "a.py")]
    [True, True, False]
    """
    parts, globs = path.split("/"), pattern.split("/")

    @lru_cache
    def fits(part: int, glob: int) -> bool:
        if glob == len(globs):
            return part == len(parts)
        if globs[glob] == "**" and fits(part, glob + 1):
            return True
        is_here = part < len(parts) and (globs[glob] == "**" or fnmatchcase(parts[part], globs[glob]))
        return is_here and fits(part + 1, glob + (globs[glob] != "**"))

    return path == pattern or fits(0, 0)
