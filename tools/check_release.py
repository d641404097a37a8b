"""Check that the names and versions of a release agree, before anything is uploaded.

    python -m tools.check_release [--index] [TAG]

With `--index` the package index is asked, too: the name must be free there or ours, and the version new. Without it
nothing leaves the machine.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from skillopt import __version__

_ROOT = Path(__file__).resolve().parent.parent
_MARK = re.compile(r"<!-- mcp-name: (\S+) -->")


def check_names(root: Path, version: str, tag: str = "") -> Iterator[str]:
    """Compare the distribution, the server's description and the tag; give what does not agree."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    server = json.loads((root / "server.json").read_text(encoding="utf-8"))
    mark = _MARK.search((root / "README.md").read_text(encoding="utf-8"))
    (package,) = server["packages"]
    expected = {
        "the name of the package in server.json": (package["identifier"], project["name"]),
        "the version in server.json": (server["version"], version),
        "the version of the package in server.json": (package["version"], version),
        "the server's name in README.md, by which the registry knows the package": (mark and mark[1], server["name"]),
    }
    if tag:
        expected["the tag"] = (tag, f"v{version}")
    for what, (found, wanted) in expected.items():
        if found != wanted:
            yield f"{what}: expected {wanted!r}, found {found!r}; make them equal"
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if tag and not re.search(rf"^## \[?{re.escape(version)}\b", changes, re.MULTILINE):
        yield f"CHANGELOG.md: expected a heading for {version}, found none; say what is new"


def check_published(name: str, server: str, version: str, metadata: str | None) -> Iterator[str]:
    """Compare with the newest package of that name on the index; give what stands in the way."""
    if metadata is None:
        return
    if f"mcp-name: {server}" not in metadata:
        yield f"{name}: expected a free name or our own package on the index, found somebody else's; choose another"
    elif re.search(rf"^Version: {re.escape(version)}$", metadata, re.MULTILINE):
        yield f"{name} {version}: expected a new version, found it on the index; raise the version"


def published_metadata(name: str) -> str | None:
    """Download the newest wheel of a name through pip and read its metadata; None where there is none."""
    with tempfile.TemporaryDirectory(prefix="skillopt-release-") as folder:
        words = ("download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder, name)
        asked = subprocess.run([sys.executable, "-m", "pip", *words], check=False, capture_output=True, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if not wheels:
            if "No matching distribution" in asked.stderr:
                return None
            sys.exit(f"expected an answer of the package index, found: {asked.stderr.strip()[-300:]}; try again")
        with zipfile.ZipFile(wheels[0]) as wheel:
            (path,) = (path for path in wheel.namelist() if path.endswith(".dist-info/METADATA"))
            return wheel.read(path).decode()


def main(arguments: list[str] | None = None) -> int:
    """Print what does not agree; 0 when all does."""
    parser = argparse.ArgumentParser(prog="python -m tools.check_release", description=main.__doc__)
    parser.add_argument("tag", nargs="?", default="", help="tag of the release")
    parser.add_argument("--index", action="store_true", help="ask the package index, too")
    chosen = parser.parse_args(arguments)
    problems = list(check_names(_ROOT, __version__, chosen.tag))
    if chosen.index:
        server = json.loads((_ROOT / "server.json").read_text(encoding="utf-8"))
        name = server["packages"][0]["identifier"]
        problems += check_published(name, server["name"], __version__, published_metadata(name))
    print(
        "\n".join(problems) or f"names and versions agree: {__version__}", file=sys.stderr if problems else sys.stdout
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
