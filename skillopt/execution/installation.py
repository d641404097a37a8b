"""Which package the import name `skillopt` belongs to here: the published `skillopt` overwrites files of ours."""

import re
import sys
from pathlib import Path
from typing import Final

from skillopt.errors import UsageError

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_VERSION: Final = re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE)


def namesake() -> str:
    """Say in one sentence that the published package of the same import name is here, too; empty when it is not."""
    # By name alone: importing what reads metadata takes longer than a command may.
    found = [folder.name for place in sys.path for folder in Path(place or ".").glob("skillopt-*.dist-info")]
    if not found:
        return ""
    version = found[0].removeprefix("skillopt-").removesuffix(".dist-info")
    return (
        f"the package `skillopt` {version}, which is another one with the same import name, is installed here too, and "
        "files of one overwrite those of the other; use separate environments, or run `pip uninstall skillopt` and "
        "then `pip install --force-reinstall --no-deps PATH-OF-CLONE`, the folder of a clone of skillopt"
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
