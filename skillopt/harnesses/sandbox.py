"""A sandbox around an agent, by bubblewrap: it can write only its own folders and reach only its provider.

Owns the choice (`auto`, `bwrap`, `none`), whether bubblewrap works here, and its command line. Does not own
passing on what is said to the provider (sandbox_gateway).

Inside: the file system is read-only but for the workspace and the disposable home; the temporary folder,
the user's home and `/run` are empty but for the programs on the PATH; other processes cannot be seen; there
is no network but the provider's host and port. Not prevented: reading the rest of the file system, using
up processor, memory or disk, and saying anything at all to the provider.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from skillopt.errors import FailureKind, InfrastructureError, ProviderError
from skillopt.harnesses.workspace import Workspace, run_process

__all__ = ["Choice", "Sandbox", "warning"]

Choice = Literal["auto", "bwrap", "none"]

_BWRAP: Final = "bwrap"
_LOOPBACK: Final = "127.0.0.1"
_GATEWAY: Final = str(Path(__file__).with_name("sandbox_gateway.py"))
_PORTS: Final = {"http": 80, "https": 443}
_PROXIES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy")
_ALONE: Final = (
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--die-with-parent",
    "--new-session",
)
_SHARED: Final = ("/tmp", "/run")  # noqa: S108 - hidden from the agent, not used
_SECONDS: Final = 20.0


def warning(choice: Choice) -> str:
    """Say in one line that agents will run without a sandbox where one was hoped for; empty when not."""
    if choice != "auto" or _works():
        return ""
    return "no sandbox: bubblewrap (bwrap) is missing or does not work here, so agents may do whatever you may"


class Sandbox:
    """Wraps a command line.

    Args:
        choice: `auto` uses bubblewrap where it works, `bwrap` insists on it, `none` does not.

    Raises:
        ProviderError: It is insisted on and does not work.
    """

    def __init__(self, choice: Choice) -> None:
        self.active = choice != "none" and _works()
        if choice == "bwrap" and not self.active:
            kind = FailureKind.MISSING_PROGRAM
            raise ProviderError(
                kind,
                f"{kind}: expected a working bubblewrap for sandbox=bwrap, found none; install the package bubblewrap "
                "and allow user namespaces, or choose sandbox=none",
            )

    def wrap(self, argv: Sequence[str], home: str, workspace: str, url: str) -> tuple[str, ...]:
        """Give the command line that runs another one in the sandbox.

        Args:
            argv: What to run; its program by its full path.
            home: The disposable home, which holds the socket files of the way out.
            workspace: Where it works.
            url: Its provider.

        Raises:
            InfrastructureError: The provider is at an address that the sandbox cannot stand in for.
        """
        if not self.active:
            return tuple(argv)
        endpoints = _endpoints(url, os.environ)
        net = Path(home, "net")
        net.mkdir(exist_ok=True)
        hosts = Path(home, "hosts")
        names = sorted({host for host, _ in endpoints if host not in ("localhost", _LOOPBACK)})
        hosts.write_text("".join(f"{_LOOPBACK} {name}\n" for name in ("localhost", *names)), encoding="utf-8")
        listed = ",".join(f"{host}:{port}" for host, port in endpoints)
        python = (os.path.realpath(sys.executable), "-I", "-S", _GATEWAY)
        low = ("--cap-add", "CAP_NET_BIND_SERVICE") if any(port < 1024 for _, port in endpoints) else ()  # noqa: PLR2004 - the ports that need a permission
        mounts = _mounts((home, workspace), (argv[0], python[0]))
        boxed = (_BWRAP, *_ALONE, *low, *mounts, "--ro-bind", str(hosts), "/etc/hosts", "--chdir", workspace, "--")
        return (*python, "outside", str(net), listed, *boxed, *python, "inside", str(net), listed, *argv)


@lru_cache(maxsize=1)
def _works() -> bool:
    """Try bubblewrap once, with all that is asked of it."""
    if sys.platform != "linux" or shutil.which(_BWRAP) is None:
        return False
    with Workspace.create() as folder:
        argv = [_BWRAP, *_ALONE, *_mounts((folder.path,), (sys.executable,)), "--", "true"]
        try:
            return run_process(argv, folder.path, {}, _SECONDS).status == 0
        except InfrastructureError:
            return False


def _mounts(writable: Sequence[str], programs: Sequence[str]) -> tuple[str, ...]:
    """Give the view of the file system: what is hidden, what of it is shown again, what can be written."""
    user, temporary = str(Path.home()), tempfile.gettempdir()
    places = dict.fromkeys((temporary, *_SHARED, user))
    hidden = [place for place in places if place != "/" and Path(place).is_dir()]
    shown = [*_kept(programs), sys.base_prefix, _GATEWAY]
    if Path("/run/systemd/resolve").is_dir():
        shown.append("/run/systemd/resolve")
    return (
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *(part for place in hidden for part in ("--tmpfs", place)),
        *(part for place in dict.fromkeys(shown) for part in ("--ro-bind", place, place)),
        *(part for place in writable for part in ("--bind", place, place)),
    )


def _kept(programs: Sequence[str]) -> list[str]:
    """List the folders of programs: those on the PATH, and what a program consists of."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders = [Path(folder) for folder in path if folder and Path(folder).is_dir()]
    # Version managers keep small scripts in `shims`, and what these start one level up.
    kept = [str(folder.parent if folder.name == "shims" else folder) for folder in folders]
    for program in programs:
        real = Path(program).resolve()
        parts = real.parts
        packaged = parts.index("node_modules") + 1 if "node_modules" in parts else len(parts) - 1
        kept += [str(Path(*parts[:packaged])), str(Path(program).absolute().parent)]
    return [place for place in kept if place not in ("/", str(Path.home()), tempfile.gettempdir())]


def _endpoints(url: str, environment: Mapping[str, str]) -> list[tuple[str, int]]:
    """Find where the client has to connect to: its provider, and the proxies that it may be told to use."""
    proxies = [environment[name] for name in _PROXIES if environment.get(name)]
    found = []
    for address in (url, *proxies):
        split = urlsplit(address if "//" in address else f"//{address}", scheme="http")
        host = split.hostname or ""
        if not host or (host.replace(".", "").isdecimal() and host != _LOOPBACK) or ":" in host:
            raise InfrastructureError(
                f"expected a provider with a name, or on 127.0.0.1, found {host!r}: the sandbox cannot stand in for "
                "it; give it a name in /etc/hosts, or choose sandbox=none"
            )
        found.append((host, split.port or _PORTS.get(split.scheme, 80)))
    return list(dict.fromkeys(found))
