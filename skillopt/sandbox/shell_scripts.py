"""Check that a shell script can be parsed, by the shell that would run it; nothing of the script is run."""

import re
import shutil
from typing import Final

from skillopt.sandbox.processes import run_process
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import File

__all__ = ["shell_problem"]

_SHELL: Final = re.compile(r"#!\s*\S*?(?:env\s+)?\b(?P<name>sh|bash|dash|ksh|zsh)\b")
_SECONDS: Final = 10.0


def shell_problem(path: str, text: str) -> str:
    """Say why a shell script cannot be parsed; empty where it can, where it is none, and where its shell is missing."""
    first, kind = _SHELL.match(text), path.rpartition(".")[2]
    shell = first["name"] if first else kind if kind in ("sh", "bash") else ""
    if not shell or shutil.which(shell) is None:
        return ""
    with Workspace.create([File("script", text.encode("utf-8", "replace"))]) as folder:
        result = run_process([shell, "-n", "script"], folder.path, {}, _SECONDS)
    found = " ".join(result.stderr.split())[:200]
    return f"{path}: expected a script that {shell} can read, found: {found}" if result.status else ""
