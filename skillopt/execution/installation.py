"""Which package the import name `skillopt` belongs to here: ours, `skillopt-mcp`, or the published `skillopt`.

Both install a folder `skillopt/`. In one environment the one that came last has overwritten files of the other.
"""

import re
import sys
from base64 import urlsafe_b64decode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from skillopt.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import PackagePath

__all__ = ["check_installation", "check_unchanged", "namesake"]

_NAME: Final = "skillopt"
_OURS: Final = "skillopt-mcp"
_PACKAGE: Final = Path(__file__).resolve().parents[1]
_AGAIN: Final = "`pip install --force-reinstall --no-deps PATH-OF-CLONE`, the folder of a clone of skillopt"
_VERSION: Final = re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE)
_MEND: Final = f"use separate environments, or run `pip uninstall skillopt` and then {_AGAIN}"


def check_installation() -> str:
    """Say in one sentence why skillopt-mcp cannot work here; empty when it can.

    That is so where the published package has overwritten its files, or took them along when it was removed.
    """
    if not (_PACKAGE / "__init__.py").is_file():
        return f"files of skillopt-mcp are missing in {_PACKAGE}, as after `pip uninstall skillopt`; run {_AGAIN}"
    found = _find()
    if found is None or not any(map(_is_current, found[1])):
        return ""
    return (
        f"the package `skillopt` {found[0]}, which is another one with the same import name, has overwritten files of "
        f"skillopt-mcp: `import skillopt` gets that package; {_MEND}"
    )


def check_unchanged(loaded: str) -> None:
    """Refuse to start a process of another version than the one that is running and would talk to it."""
    try:
        found = _VERSION.search((_PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    except OSError:
        found = None
    version = found[1] if found else "none"
    if version != loaded:
        raise UsageError(
            f"skillopt-mcp was replaced while this process ran: expected version {loaded}, found {version}; start "
            "the client anew, then try again"
        )


def namesake() -> str:
    """Say in one sentence that the published package of the same import name is here, too; empty when it is not."""
    found = _find()
    if found is None:
        return ""
    version, shared = found
    harm = "has lost files to skillopt-mcp and does not work" if shared else "is hidden by skillopt-mcp"
    return (
        f"`import skillopt` gets skillopt-mcp; the package `skillopt` {version}, which is another one with the same "
        f"import name, {harm}; {_MEND}"
    )


def _find() -> tuple[str, list["PackagePath"]] | None:
    """Find the published package: its version, and its files that lie where ours do."""
    # By name alone at first: importing what reads metadata takes longer than a command may.
    if not any(any(Path(folder).glob(f"{_NAME}-*.dist-info")) for folder in sys.path):
        return None
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - slow, and rarely needed

    try:
        found = distribution(_NAME)
    except PackageNotFoundError:
        return None
    try:
        own = {file.locate() for file in distribution(_OURS).files or ()}
    except PackageNotFoundError:  # run from its sources
        own = set()
    return found.version, [file for file in found.files or () if file.locate() in own]


def _is_current(file: "PackagePath") -> bool:
    """Return whether a file is as its package installed it."""
    if file.hash is None:
        return False
    content = Path(str(file.locate())).read_bytes()
    return urlsafe_b64decode(f"{file.hash.value}==") == sha256(content).digest()
