"""Keep tokens of forges away from what models, agents and verifiers could read, and name what stays readable.

On Linux a process shows the environment that it was started with to every process of its user, as `/proc/ID/environ`;
taking a variable out of `os.environ` changes nothing there. So training has a process of its own, started without the
tokens. The process that waits for it and holds them forgets them in that place, and the kernel is told to show
neither it nor its memory to processes of the same user.

What this does not stop: root, who may read every process; and, where there is no Linux, programs of the same user that
ask the system for the environment of others. In a sandbox other processes are not seen at all.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from skillopt.agent_table import FORGE_TOKENS
from skillopt.errors import InfrastructureError
from skillopt.execution.masking import secret_variables
from skillopt.sandbox.bubblewrap import SandboxChoice, sandbox_warning

_LOGINS: Final = ("SSH_AUTH_SOCK", "GIT_ASKPASS", "SSH_ASKPASS")
"""Variables by which git logs in without a token; training reaches no remote."""

_ENV_START, _ENV_END = 47, 48  # places in /proc/self/stat behind the name of the program, from 0
_SET_DUMPABLE, _GET_DUMPABLE = 4, 3  # of prctl, from <linux/prctl.h>


def forge_token_names(environment: Mapping[str, str]) -> tuple[str, ...]:
    """List the variables of an environment that hold a token of a forge."""
    return tuple(name for name in FORGE_TOKENS if environment.get(name))


def exposure_warning(choice: SandboxChoice, environment: Mapping[str, str]) -> str:
    """Return in one line what agents and verifiers may do and read without a sandbox; empty where they are in one."""
    reason = sandbox_warning(choice)
    keys = sorted(set(secret_variables(environment).values()))
    read = f"can read {', '.join(keys)} of this process" if keys else ""
    if choice == "none" and keys:
        return f"no sandbox, as was chosen: agents {read}"
    return f"{reason}, and {read}" if reason and keys else reason


def run_without_credentials(argv: Sequence[str], folder: Path) -> int:
    """Run a program without tokens of forges, stderr seen and an interrupt passed on, and return its exit status."""
    secrets = {os.environ[name] for name in forge_token_names(os.environ)}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in (*FORGE_TOKENS, *_LOGINS) and not any(secret in value for secret in secrets)
    }
    if any(name.startswith("GIT_CONFIG_") for name in os.environ.keys() - kept.keys()):
        # They are numbered: with one left out git would refuse them all.
        kept = {name: value for name, value in kept.items() if not name.startswith("GIT_CONFIG_")}
    with _hidden(secrets):
        try:
            # A group of its own, so that Ctrl-C comes once: from here.
            process = subprocess.Popen(
                argv, cwd=folder, env=kept, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, process_group=0
            )
        except OSError as error:
            raise InfrastructureError(f"could not start {argv[0]!r}: {error}; reinstall skillopt") from error

        def end(number: int, _: object) -> None:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise SystemExit(128 + number)

        before = signal.signal(signal.SIGTERM, end)
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
        finally:
            signal.signal(signal.SIGTERM, before)
            if process.poll() is None:
                process.kill()
                process.wait()


@contextmanager
def _hidden(secrets: set[str]) -> Iterator[None]:
    """Overwrite secrets where the system shows this process's environment; `os.environ` lacks them meanwhile."""
    if sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    shown = libc.prctl(_GET_DUMPABLE, 0, 0, 0, 0)
    names = [name for name, value in os.environ.items() if value in secrets]
    taken = {name: os.environ.pop(name) for name in names}
    _overwrite(secrets)
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_SET_DUMPABLE, shown, 0, 0, 0)
        # Only for this process and what it starts from here on: what the system shows stays overwritten.
        os.environ.update(taken)


def _overwrite(secrets: set[str]) -> None:
    numbers = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    start, end = int(numbers[_ENV_START]), int(numbers[_ENV_END])
    if not 0 < start < end:
        return
    block = ctypes.string_at(start, end - start)
    for secret in secrets:
        found = block.find(os.fsencode(secret))
        while found >= 0:
            ctypes.memset(start + found, ord("x"), len(os.fsencode(secret)))
            found = block.find(os.fsencode(secret), found + 1)
