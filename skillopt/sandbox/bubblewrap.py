"""Bubblewrap sandbox: agents can write only their own folders and reach only their provider, checks reach nothing.

Inside: the file system is read-only but for the workspace and the disposable home; temporary folders, the user's home,
root's, `/run` and those of `hidden_folders` are empty but for the programs on the PATH, and hold at most 1 GiB each;
other processes cannot be seen; there is no network but the provider's host and port, and none at all for a check. Not
prevented: reading the rest of the file system, talking to a program outside that listens on a socket file there, using
up processor time, and sending anything at all to the provider.

Invariants, also where the user is root, whom bubblewrap on its own leaves every capability:
1. No capability, so that nothing can be mounted or unmounted.
2. `/proc` is read-only: the kernel lets its settings be written by whoever has root's number.
3. No hidden folder is shown again as a whole, by whatever name the PATH has for it.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from getpass import getuser
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal
from urllib.parse import urlsplit

from skillopt.errors import FailureKind, InfrastructureError, ProviderError
from skillopt.sandbox.act_filter import link_filter
from skillopt.sandbox.gateway import ENVIRONMENT
from skillopt.sandbox.hidden_folders import answer_folders
from skillopt.sandbox.processes import run_process
from skillopt.sandbox.workspace import Workspace

SandboxChoice = Literal["auto", "bwrap", "none"]

_BWRAP: Final = "bwrap"
_FILTER: Final = ".no-links"
_MOST_MOUNTS: Final = 100
"""Files that are mounted by themselves: 100 take 0.15 s, 300 half a second; of more, hard links are refused as well."""

_LOOPBACK: Final = "127.0.0.1"
_RESOLVER: Final = "/etc/resolv.conf"
_PACKAGE: Final = str(Path(__file__).parent)
# The gateway is started as a module of this folder alone: the package around it takes long to load.
_GATEWAY: Final = f"""
import os, sys
for name, places in (("skillopt", []), ("skillopt.sandbox", [{_PACKAGE!r}])):
    sys.modules[name] = type(sys)(name)
    sys.modules[name].__path__ = places
from skillopt.sandbox.gateway import run_gateway
os._exit(run_gateway(sys.argv[1:]))
"""
_PORTS: Final = {"http": 80, "https": 443}
_PROXIES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy")
# The second is for root, whose number can be given to the inner sandbox only by who has it.
_LISTENING: Final = ("--cap-add", "CAP_NET_BIND_SERVICE", "--cap-add", "CAP_SETFCAP", "--dev-bind", "/", "/")
_CLOSED: Final = ("--unshare-user", "--cap-drop", "ALL", "--die-with-parent")
_ALONE: Final = ("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--new-session")
_HIDDEN: Final = ("/tmp", "/var/tmp", "/run", "/root")  # noqa: S108 - hidden from the agent, not used
_SYSTEM: Final = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "nix")
_SECONDS: Final = 20.0  # for a start that takes a tenth of a second, on a machine that is busy
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - bounded, not used


def sandbox_warning(choice: SandboxChoice) -> str:
    """Warn in one line that agents will run without a sandbox although `auto` asks for one; else empty."""
    if choice != "auto" or not _trouble():
        return ""
    return f"no sandbox: {_trouble()}, so agents may do whatever you may"


def unboxed_checks(choice: SandboxChoice) -> str:
    """Return in one line that the programs of verifiers run without a sandbox, and what that means; else empty."""
    if choice != "none" and not _trouble():
        return ""
    why = "sandbox=none" if choice == "none" else _trouble()
    return f"scores of command verifiers can be gamed: their programs run without a sandbox ({why})"


class Sandbox:
    """Wraps a command line."""

    def __init__(self, choice: SandboxChoice) -> None:
        self.active = choice != "none" and not _trouble()
        if choice == "bwrap" and not self.active:
            raise ProviderError.of(
                FailureKind.MISSING_PROGRAM,
                f"expected a working bubblewrap for sandbox=bwrap, found that {_trouble()}; install the "
                "package bubblewrap and allow user namespaces, or choose sandbox=none",
            )

    def wrap_check(
        self, argv: Sequence[str], home: str, workspace: str, shown: Sequence[str] = (), unlinked: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return the command line that runs a verifier's program in the sandbox, without network.

        With files that are to stay `unlinked`, no link that it makes or unpacks leads to one: no symbolic link can be
        made at all, and each file is mounted by itself, which a hard link cannot leave.
        """
        if not self.active:
            return tuple(argv)
        program = shutil.which(argv[0]) or ""
        named = [word for word in argv if Path(word).is_absolute() and Path(word).is_file()]
        # Of a virtual environment the packages are needed too, and the installation of Python that it was made of.
        venv = Path(program).parent.parent
        made_of = Path(program).resolve().parent.parent
        environment = (str(venv), str(made_of)) if program and Path(venv, "pyvenv.cfg").exists() else ()
        many, read = len(unlinked) > _MOST_MOUNTS, (sys.prefix, *environment, *named, *shown)
        mounts = _mounts((home, workspace, *(unlinked if not many else ())), [program] if program else [], read)
        boxed = (*_CLOSED, *_ALONE, "--unshare-net", *mounts, "--chdir", workspace, "--", *argv)
        if not unlinked or not (refused := link_filter(hard=many)):
            return (_BWRAP, *boxed)
        Path(home, _FILTER).write_bytes(refused)
        return ("/bin/sh", "-c", 'exec "$@" 9<"$0"', f"{home}/{_FILTER}", _BWRAP, "--seccomp", "9", *boxed)

    def wrap_build(self, argv: Sequence[str], home: str, folder: str, shown: str) -> tuple[str, ...]:
        """Return the command line that builds what strangers wrote: with network, but away from files of the user."""
        mounts = _mounts((home, folder), (), (shown,))
        return (_BWRAP, *_CLOSED, *_ALONE, *mounts, "--chdir", folder, "--", *argv)

    def wrap_root(
        self,
        argv: Sequence[str],
        root: str,
        workdir: str,
        shown: Sequence[str],
        binds: Mapping[str, str],
        variables: Mapping[str, str],
    ) -> tuple[str, ...]:
        """Return the command line that runs a program in a file system whose root is a folder, without network."""
        mounts = _root_mounts(root, (), (*_kept(()), *shown))
        placed = (part for place, folder in binds.items() for part in ("--bind", folder, place))
        named = (part for name, value in variables.items() for part in ("--setenv", name, value))
        closed = (_BWRAP, *_CLOSED, *_ALONE, "--unshare-net", *mounts, *placed, *named)
        return (*closed, "--chdir", workdir, "--", *argv)


def box_agent(  # noqa: PLR0913 - each is one part of a command line
    argv: Sequence[str],
    home: str,
    workspace: str,
    endpoints: Sequence[tuple[str, int]],
    *,
    shown: Sequence[str] = (),
    record: str = "",
    env: Mapping[str, str] = MappingProxyType({}),
    start: str = "",
) -> tuple[str, ...]:
    """Return the command line that runs another one in the sandbox, and records in a file what that one does.

    With `start`, the workspace is the root of the file system inside, and that is the folder in it to start in.
    """
    net, hosts, servers = Path(home, "net"), Path(home, "hosts"), Path(home, "resolv.conf")
    net.mkdir(exist_ok=True)
    pairs = [os.fsencode(f"{name}={value}") + b"\0" for name, value in env.items()]
    Path(net, ENVIRONMENT).write_bytes(b"".join(pairs))
    servers.write_text(f"nameserver {_LOOPBACK}\n", encoding="ascii")
    names = sorted({host for host, _ in endpoints} - {"localhost", _LOOPBACK})
    # Each has an address of its own, because two can have the same port.
    addresses = {"localhost": _LOOPBACK, **{name: f"127.0.1.{number}" for number, name in enumerate(names, 1)}}
    hosts.write_text("".join(f"{address} {name}\n" for name, address in addresses.items()), encoding="utf-8")
    meant = ",".join(f"{host}:{port}" for host, port in endpoints)
    heard = ",".join(f"{addresses.get(host, host)}:{port}" for host, port in endpoints)
    gateway = (os.path.realpath(sys.executable), "-I", "-S", "-c", _GATEWAY)
    # Of a program that is shown as a file its folder is not: a project's holds the expected answers.
    programs = [program for program in (argv[0], gateway[0]) if program not in shown]
    wanted = (*_kept(programs), *shown, sys.base_prefix, _PACKAGE)
    mounts = _root_mounts(workspace, (home,), wanted) if start else _mounts((home, workspace), programs, shown)
    named: tuple[str, ...] = ("--ro-bind", str(hosts), os.path.realpath("/etc/hosts"))
    if Path(_RESOLVER).exists():  # where there is none, programs ask this machine anyway
        named += ("--ro-bind", str(servers), os.path.realpath(_RESOLVER))
    return (
        *(*gateway, "outside", str(net), meant, record, "" if start else workspace, "\n".join(wanted)),
        *(_BWRAP, *_CLOSED, "--unshare-net", *_LISTENING, "--"),
        *(*gateway, "border", str(net), heard),
        *(_BWRAP, *_CLOSED, *_ALONE, *mounts, *named, "--chdir", start or workspace, "--"),
        *(*gateway, "inside", str(net), "", *argv),
    )


@lru_cache(maxsize=1)
def _trouble() -> str:
    if sys.platform != "linux" or shutil.which(_BWRAP) is None:
        return "bubblewrap (bwrap) is missing"
    with Workspace.create() as home, Workspace.create() as workspace:
        try:
            argv = box_agent(("/bin/sh", "-c", ":"), home.path, workspace.path, [("provider.invalid", 443)])
            ended = run_process(argv, workspace.path, {}, _SECONDS)
        except (InfrastructureError, OSError) as error:
            return f"bubblewrap (bwrap) does not work here ({error})"
    reason = (ended.stderr.strip().splitlines() or [f"status {ended.status}"])[-1]
    return f"bubblewrap (bwrap) does not work here ({reason[:200]})" if ended.status else ""


def _mounts(writable: Sequence[str], programs: Sequence[str], others: Sequence[str] = ()) -> tuple[str, ...]:
    hidden = _hidden()
    wanted = (*_kept(programs), *others, sys.base_prefix, _PACKAGE, os.path.realpath(_RESOLVER))
    shown: dict[str, str] = {}
    for place in sorted(filter(lambda place: _may_be_shown(place, hidden), wanted), key=len):
        located = _located(place, hidden)
        if not any(Path(located).is_relative_to(outer) for outer in shown):
            shown[located] = place
    return (
        *("--ro-bind", "/", "/", "--dev", "/dev", *_tmpfs(_SHARED_MEMORY), "--remount-ro", "/dev"),
        *("--proc", "/proc", "--remount-ro", "/proc"),
        *(part for place in dict.fromkeys(hidden.values()) for part in _tmpfs(place)),
        *(part for place, source in shown.items() for part in ("--ro-bind", source, place)),
        *(part for place in writable for part in ("--bind", place, _located(place, hidden))),
    )


def _root_mounts(root: str, writable: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Mount a folder as the root, and over it the system's own folders and programs, read-only."""
    kept = [name for name in _SYSTEM if Path("/", name).is_dir()]
    system = {f"/{name}": os.path.realpath(f"/{name}") for name in kept}
    hidden = [real for real in _hidden().values() if real != root]
    wanted = dict.fromkeys(os.path.normpath(place) for place in others if place and Path(place).exists())
    shown: list[str] = []
    for place in sorted(wanted, key=len):
        around = any(Path(real).is_relative_to(place) for real in hidden)
        if not around and not any(Path(place).is_relative_to(outer) for outer in (*system, *shown)):
            shown.append(place)
    return (
        *("--bind", root, "/"),
        *(part for place, real in system.items() for part in ("--ro-bind", real, place)),
        *("--dev", "/dev", *_tmpfs(_SHARED_MEMORY), "--proc", "/proc", "--remount-ro", "/proc"),
        *(part for place in shown for part in ("--ro-bind", place, place)),
        *(part for place in writable for part in ("--bind", place, place)),
    )


def _tmpfs(place: str) -> tuple[str, ...]:
    """Mount an empty folder in memory that cannot fill it; bubblewrap before 0.7 knows no sizes."""
    return (*(("--size", str(1 << 30)) if _knows_sizes() else ()), "--tmpfs", place)


@lru_cache(maxsize=1)
def _knows_sizes() -> bool:
    return "--size" in run_process([_BWRAP, "--help"], "/", {}, _SECONDS).stdout


def _hidden() -> dict[str, str]:
    homes = [str(Path.home())]
    with suppress(KeyError, OSError):
        homes.append(os.path.expanduser(f"~{getuser()}"))  # noqa: PTH111 - another one where HOME is set to something else
    places = {os.path.normpath(place) for place in (tempfile.gettempdir(), *_HIDDEN, *homes, *answer_folders())}
    found = {place: os.path.realpath(place) for place in sorted(places, key=len) if Path(place).is_dir()}
    return {place: real for place, real in found.items() if real != "/"}


def _located(place: str, hidden: Mapping[str, str]) -> str:
    for named, real in hidden.items():
        for outer in (named, real):
            if Path(place).is_relative_to(outer):
                return str(Path(real, Path(place).relative_to(outer)))
    return place


def _may_be_shown(place: str, hidden: Mapping[str, str]) -> bool:
    """Return what is within a hidden folder and no such folder itself, nor around one; the rest is there anyway."""
    located = Path(_located(place, hidden))
    shown = (located, os.path.realpath(place))
    around = any(Path(real).is_relative_to(one) for real in hidden.values() for one in shown)
    return not around and any(located.is_relative_to(real) for real in hidden.values()) and Path(place).exists()


def _kept(programs: Sequence[str]) -> list[str]:
    """List what programs consist of: the folders on the PATH, a program's own folder or package, itself."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders = [Path(os.path.normpath(folder)) for folder in path if Path(folder).is_absolute()]
    # Version managers keep small scripts in `shims`, and what these start one level up.
    kept = [str(folder.parent if folder.name == "shims" else folder) for folder in folders]
    for program in programs:
        named, real = Path(os.path.abspath(program)), Path(program).resolve()  # noqa: PTH100 - keeps a link's name
        packaged = real.parts.index("node_modules") + 1 if "node_modules" in real.parts else len(real.parts) - 1
        kept += [str(Path(*real.parts[:packaged])), str(named.parent), str(real), str(named)]
    return kept


def endpoints_of(urls: Sequence[str]) -> list[tuple[str, int]]:
    """List the hosts and ports that an agent reaches: those of its provider, and of this machine's proxies."""
    proxies = [os.environ[name] for name in _PROXIES if os.environ.get(name)]
    found = []
    for address in filter(None, (*urls, *proxies)):
        split = urlsplit(address if "//" in address else f"//{address}", scheme="http")
        host = split.hostname or ""
        if not host or (host.replace(".", "").isdecimal() and host != _LOOPBACK) or ":" in host:
            raise InfrastructureError(
                f"expected a provider with a name, or on 127.0.0.1, found {host!r}: the sandbox cannot stand in for "
                "it; give it a name in /etc/hosts, or choose sandbox=none"
            )
        found.append((host, split.port or _PORTS.get(split.scheme, 80)))
    return list(dict.fromkeys(found))
