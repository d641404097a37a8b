"""Run git safely in an untrusted repository; the only module that imports GitPython.

GitPython's command interface is used, not its objects, so that every object format and index version works.

Invariants:
1. The configuration of an untrusted repository starts no program: no hooks, filters, pagers,
   signatures, file system monitors, merge drivers or fetches of missing objects.
2. Nothing goes over a network unless the caller allows a protocol.
3. A secret is in no argument list: it reaches git as a variable of its environment.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from skillopt.errors import InfrastructureError, RepositoryError
from skillopt.versions.commit_message import single_line

_SAFE = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=true",
    "core.splitIndex=false",
    "core.fsync=all",
    "log.showSignature=false",
    "i18n.commitEncoding=UTF-8",
)
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # older git knows no other way to fetch nothing
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
}
_KEPT = ("GIT_CONFIG_", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")
_IDENTITY = (("GIT_AUTHOR_NAME", "user.name", "SkillOpt"), ("GIT_AUTHOR_EMAIL", "user.email", "skillopt@localhost"))
_CRUD = " .,:;<>\"\\'"  # what git strips from both ends of a name, so nothing may be left of one
_CONFLICT = "exit 1"  # what a merge driver says where it cannot merge
_NO_GIT = "expected git on the PATH, found none that runs; install git and run this again"


def run_git(folder: Path, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
    """Run git and give its output; when it fails, the error's message is git's own."""
    status, out, problem = try_git(folder, arguments, stdin, env)
    if status:
        raise RepositoryError(
            f"git {arguments[0]} failed in {folder}: {single_line(problem)}; mend that and run this again"
        )
    return out


def try_git(
    folder: Path,
    arguments: Sequence[str],
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
) -> tuple[int, bytes, str]:
    """Run git; give its status, output and error text."""
    try:
        from git.cmd import Git  # noqa: PLC0415 - slow to import
        from git.exc import GitCommandNotFound  # noqa: PLC0415 - slow to import
    except ImportError as error:  # what GitPython makes of a missing git
        raise RepositoryError(_NO_GIT) from error
    options = [part for setting in _SAFE for part in ("-c", setting)]
    variables = {**_ENVIRONMENT, **(env or {}), **(secrets or {})}
    # Whoever calls us from inside a git hook has variables set that point at another index or repository.
    foreign = (name for name in os.environ if name.startswith("GIT_") and not name.startswith(_KEPT))
    unset = [f"-u{name}" for name in foreign if name not in variables]
    # The folder goes in by -C: GitPython would fall back to the current one when it is missing.
    command = [*(["env", *unset] if unset else []), "git", "--no-pager", "-C", str(folder), *options, *arguments]
    with translate_write_errors(), tempfile.TemporaryFile() if stdin else nullcontext() as source:
        if source:
            source.write(stdin)
            source.seek(0)
        try:
            status, out, problem = Git().execute(
                command,
                istream=source,
                with_extended_output=True,
                with_exceptions=False,
                stdout_as_string=False,
                strip_newline_in_stdout=False,
                env=variables,
            )
        except GitCommandNotFound as error:
            raise RepositoryError(_NO_GIT) from error
    if status == 127:  # noqa: PLR2004 - what `env` and shells end with where there is no such program
        raise RepositoryError(_NO_GIT)
    return status, out, problem


def read_config(folder: Path, pattern: str) -> list[tuple[str, str]]:
    """List the (key, value) pairs of the configuration whose key matches."""
    listed = os.fsdecode(try_git(folder, ["config", "--null", "--get-regexp", pattern])[1])
    rows = (row.partition("\n") for row in listed.split("\0") if row)
    return [(key, value) for key, _, value in rows]


def read_identity(folder: Path) -> tuple[str, str]:
    """Return the name and address that commits are made under, from the environment or the configuration."""
    user = dict(read_config(folder, r"^user\.(name|email)$"))
    found = ((single_line(os.environ.get(name) or user.get(key, "")), last) for name, key, last in _IDENTITY)
    name, email = (text.strip(_CRUD) or fallback for text, fallback in found)
    return name, email


def disabled_hooks(folder: Path) -> dict[str, str]:
    """Return variables that switch off hooks (git 2.54 and newer) and merge drivers defined in the configuration."""
    hooks = {key.rpartition(".")[0] for key, _ in read_config(folder, r"^hook\..*\.")}
    drivers = [key for key, _ in read_config(folder, r"^merge\..*\.driver$")]
    settings = {f"{hook}.enabled": "false" for hook in hooks} | dict.fromkeys(drivers, _CONFLICT)
    first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
    off = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (key, value) in enumerate(sorted(settings.items()), first):
        off |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return off


@contextmanager
def translate_write_errors() -> Iterator[None]:
    """Translate an error of writing temporary files to one line."""
    try:
        yield
    except OSError as error:
        raise InfrastructureError(
            f"cannot write temporary files: {error}; free some space or set TMPDIR, then run this again"
        ) from error
