"""Find packages of Debian on this machine: by the list that dpkg keeps, by programs, or as a Python package."""

import re
import shutil
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

__all__ = ["find_packages"]

_STATUS: Final = Path("/var/lib/dpkg/status")
_NO_PART: Final = frozenset(
    (  # noqa: SIM905 - a list this long is read in lines
        "apt-transport-https apt-utils bash build-essential-doc bzip2 ca-certificates coreutils dialog "
        "dirmngr dos2unix findutils gnupg gnupg2 gzip less locales lsb-release man-db nano procps pkg-config "
        "psmisc software-properties-common sudo tar tmux asciinema tzdata vim vim-tiny wget xz-utils zip "
        "unzip python3 python3-pip python3-venv python3-dev python3-full python3-setuptools python3-wheel "
        "python3-distutils python-is-python3 python3-minimal tree file netcat-openbsd iputils-ping net-tools "
    ).split()
)
"""What no result depends on, and Python itself, which the sandbox brings."""

_PROGRAMS: Final = {
    "build-essential": "gcc",
    **dict.fromkeys(("libreoffice", "libreoffice-calc", "libreoffice-writer"), "soffice"),
    "imagemagick": "convert",
    "poppler-utils": "pdftotext",
    "tesseract-ocr": "tesseract",
    "graphviz": "dot",
    "golang": "go",
    "golang-go": "go",
    "nodejs": "node",
    "default-jdk": "javac",
    "r-base": "R",
    "ripgrep": "rg",
}
"""The program by which a package is known where it came by other ways."""

_PYTHON_NAMES: Final = {"yaml": "pyyaml", "pil": "pillow", "sklearn": "scikit-learn", "bs4": "beautifulsoup4"}


def find_packages(names: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
    """Sort packages: what is on this machine, what pip can give, and what is missing."""
    found, python, missing = list[str](), list[str](), list[str]()
    for name in (re.split(r"[=:/]", each)[0] for each in names):
        if name in _NO_PART or name in _installed() or shutil.which(_PROGRAMS.get(name, name)):
            found.append(name)
        elif name.startswith("python3-"):
            plain = name.removeprefix("python3-")
            python.append(_PYTHON_NAMES.get(plain, plain))
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
