"""Running the program of a verifier: in the sandbox where there is one, without network, interpreters isolated."""

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from skillopt.errors import InfrastructureError
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.sandbox.processes import ProcessResult, end_inheritors, run_process, verifier_limits
from skillopt.sandbox.workspace import Workspace

_GIT: Final = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "safe.bareRepository": "explicit",
    "protocol.ext.allow": "never",
}
# Python neither looks for modules where it was started or where its script lies, nor in the user's folder.
_ISOLATED: Final = {
    "PYTHONSAFEPATH": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": str(len(_GIT)),
    **{f"GIT_CONFIG_KEY_{number}": key for number, key in enumerate(_GIT)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(_GIT.values())},
}
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_FIRST_SIGNAL, _LAST_SIGNAL = 129, 192


@dataclass(frozen=True, slots=True)
class CheckProgram:
    """The program of a verifier; no link that it makes leads to an `unlinked` file."""

    argv: tuple[str, ...]
    timeout: float
    library: tuple[str, ...]
    tools: tuple[str, ...] = ()
    unlinked: tuple[str, ...] = ()


def run_check(program: CheckProgram, cwd: str, box: Sandbox) -> ProcessResult:
    """Run the program of a verifier and end everything that it started."""
    path = os.pathsep.join(filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep)))
    name = program.argv[0]
    if not (os.access(Path(cwd, name), os.X_OK) if "/" in name else shutil.which(name, path=path)):
        raise InfrastructureError(
            f"could not start {name!r}: expected a program on the PATH or an executable file of the verifier, found "
            "none; install it, or correct the command"
        )
    with Workspace.create() as home:
        places = {
            "PATH": os.pathsep.join((*program.tools, path)),
            "PYTHONPATH": os.pathsep.join(program.library),
            "HOME": home.path,
            "TMPDIR": home.path,
            "GIT_CEILING_DIRECTORIES": str(Path(cwd).parent),
        }
        shown = (*program.library, *program.tools)
        wrapped = box.wrap_check(program.argv, home.path, cwd, shown, program.unlinked)
        try:
            ended = run_process(wrapped, cwd, {**_ISOLATED, **places}, program.timeout, limits=verifier_limits())
        finally:
            if not box.active:
                end_inheritors(home.path)
    if not box.active:
        return ended
    if ended.status == 1 and ended.stderr.startswith("bwrap: "):
        raise InfrastructureError(
            f"could not start {name!r} in the sandbox: {ended.stderr.strip()[:300]}; install it where the sandbox "
            "shows it, such as /usr/bin, or correct the command"
        )
    if _FIRST_SIGNAL <= ended.status <= _LAST_SIGNAL and Path(name).name not in _SHELLS:
        return replace(ended, status=128 - ended.status)  # as it is without a sandbox
    return ended
