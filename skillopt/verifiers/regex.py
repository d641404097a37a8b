r"""Verifier `regex`: a pattern is found in the result, or must not be, within a bound on time.

Python's engine backtracks, cannot be interrupted, and holds up every thread meanwhile; so a search runs here only when
a bound on its steps, computed from pattern and text, is small. All others run in a process of their own that is killed
when its time is over.
"""

import re
import sys
from typing import Annotated

from pydantic import Field

from skillopt.errors import InfrastructureError, SuiteError
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.workspace import Workspace, run_process
from skillopt.tasks import File, VerifierSpec
from skillopt.verifiers import Options, failed, quote_json, read_options, read_result

__all__ = ["RegexOptions", "RegexVerifier"]

_LARGEST = 1_000_000
_LONGEST_PATTERN = 1_000
_MOST_STEPS = 10**8
# A group that is repeated, or the verbose mode, in which space can stand between the two.
_UNBOUNDED = re.compile(r"\)[*+?{]|\(\?[a-zA-Z-]*x")
_GROUP_KIND = re.compile(r"(?<!\\)\(\?")
_FOUND, _NOT_FOUND = 10, 11
_SEARCH = f"""
import re
flags, pattern, text = (open(name, encoding="utf-8", newline="").read() for name in ("flags", "pattern", "text"))
raise SystemExit({_FOUND} if re.compile(pattern, int(flags)).search(text) else {_NOT_FOUND})
"""


class RegexOptions(Options):
    """Options of the verifier `regex`."""

    pattern: Annotated[
        str,
        Field(description="Pattern in Python's syntax, searched anywhere.", min_length=1, max_length=_LONGEST_PATTERN),
    ]
    ignore_case: Annotated[bool, Field(description="Match without regard to case.")] = False
    multiline: Annotated[bool, Field(description="Let `^` and `$` match at every line.")] = False
    dotall: Annotated[bool, Field(description="Let `.` match line ends.")] = False
    absent: Annotated[bool, Field(description="Pass when the pattern is not found.")] = False
    time_limit: Annotated[float, Field(description="Seconds a search may take.", gt=0, le=60)] = 5.0


class RegexVerifier:
    """Scores 1 when the pattern is found (or, with `absent`, is not), else 0.

    A search that takes longer than its limit scores 0: only a text made for it takes so long.

    Raises:
        SuiteError: An option is wrong, or the pattern is not a regular expression.
    """

    def __init__(self, spec: VerifierSpec) -> None:
        self._options = read_options(RegexOptions, spec)
        choices = (
            (self._options.ignore_case, re.IGNORECASE),
            (self._options.multiline, re.MULTILINE),
            (self._options.dotall, re.DOTALL),
        )
        self._flags = sum(flag.value for chosen, flag in choices if chosen)
        try:
            self._pattern = re.compile(self._options.pattern, self._flags)
        except (re.error, OverflowError, RecursionError) as error:
            raise SuiteError(
                f"verifier 'regex': pattern: expected a regular expression, found {quote_json(self._options.pattern)} "
                f"({error}); correct the pattern"
            ) from error

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Search the result."""
        result = read_result(self._options.file, trajectory, workspace, _LARGEST)
        if isinstance(result, Score):
            return result
        text = result.text()
        if isinstance(text, Score):
            return text
        found = self._is_found(text)
        pattern = quote_json(self._options.pattern)
        if found is None:
            return failed(f"{result.name}: the search for {pattern} took more than {self._options.time_limit:g} s")
        if found is self._options.absent:
            wanted, seen = ("no match", "one") if self._options.absent else ("a match", "none")
            return failed(f"{result.name}: expected {wanted} of {pattern}, found {seen}")
        return Score(1.0, passed=True)

    def _is_found(self, text: str) -> bool | None:
        """Search; None when the time is over."""
        if _steps(self._options.pattern, len(text)) <= _MOST_STEPS:
            return self._pattern.search(text) is not None
        contents = {"flags": str(self._flags), "pattern": self._options.pattern, "text": text}
        files = [File(name, content.encode()) for name, content in contents.items()]
        with Workspace.create(files) as workspace:
            argv = [sys.executable, "-I", "-S", "-c", _SEARCH]
            ended = run_process(argv, workspace.path, {}, self._options.time_limit)
        if ended.timed_out:
            return None
        if ended.status not in {_FOUND, _NOT_FOUND}:
            raise InfrastructureError(
                f"the search ended with status {ended.status}: {ended.stderr[-300:]!r}; run it again"
            )
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
