"""Scaffold scripts of `claude plugin eval` that only place files, and so can be read without being run."""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from shlex import quote, split
from typing import Final

from skillopt.errors import SuiteError
from skillopt.suites.foreign_files import workspace_file
from skillopt.tasks import File

__all__ = ["read_scaffold", "write_scaffold"]

_START: Final = "#!/bin/bash\n# Places the files of this case, each as base64.\nset -eu\n"
_STEP: Final = re.compile(
    r"mkdir -p (?P<folder>.+)\nbase64 -d > (?P<path>.+) <<'EOF'\n(?P<text>[A-Za-z0-9+/=\n]*?)EOF\n"
)
_LINE: Final = 76


def write_scaffold(files: Sequence[File]) -> str:
    """Write a script that places files in the folder it is run in."""
    steps = []
    for file in files:
        folder = file.path.rpartition("/")[0] or "."
        text = b64encode(file.content).decode()
        lines = "".join(f"{text[at : at + _LINE]}\n" for at in range(0, len(text), _LINE))
        steps.append(f"mkdir -p {quote(folder)}\nbase64 -d > {quote(file.path)} <<'EOF'\n{lines}EOF\n")
    return _START + "".join(steps)


def read_scaffold(script: str) -> Iterator[File]:
    """Yield the files that a script places."""
    rest = script.removeprefix(_START)
    while rest and rest != script:
        step = _STEP.match(rest)
        if step is None:
            break
        try:
            (path,) = split(step["path"])
            content = b64decode(step["text"])
        except ValueError:  # an open quote, several words, or text that is not base64
            break
        yield workspace_file(path, content)
        rest = rest[step.end() :]
    if rest:
        raise SuiteError(
            "expected files for the workspace, found a scaffold script, which is not run; add them by add_dirs"
        )
