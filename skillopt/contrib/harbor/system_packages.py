"""Find packages of Debian on this machine: by the list that dpkg keeps, by programs, or as a Python package."""

import re
import shutil
import tomllib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

_STATUS: Final = Path("/var/lib/dpkg/status")
_KNOWN: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_NO_PART: Final = frozenset(_KNOWN["no_part"].split())


def find_packages(names: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
    """Sort packages: what is on this machine, what pip can give, and what is missing."""
    found, python, missing = list[str](), list[str](), list[str]()
    for name in (re.split(r"[=:/]", each)[0] for each in names):
        if name in _NO_PART or name in _installed() or shutil.which(_KNOWN["programs"].get(name, name)):
            found.append(name)
        elif name.startswith("python3-"):
            plain = name.removeprefix("python3-")
            python.append(_KNOWN["python"].get(plain, plain))
        elif not re.fullmatch(r"python3?(\.\d+)?(-\w+)?", name):
            missing.append(name)
    return found, python, missing


@lru_cache(maxsize=1)
def _installed() -> frozenset[str]:
    try:
        text = _STATUS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    return frozenset(re.findall(r"^Package: (\S+)\nStatus: install ok installed$", text, re.MULTILINE))
