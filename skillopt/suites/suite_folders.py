"""The folders of a project where suites lie beside the skills."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

__all__ = ["suite_named", "suites_beside"]

_SUITE_FOLDERS: Final = ("suites", "benchmarks/suites", "evals")


def suites_beside(root: Path) -> dict[str, frozenset[str]]:
    """List what is in the folders of suites of a project."""
    return {folder: _entries(root / folder) for folder in _SUITE_FOLDERS}


def suite_named(name: str, beside: Mapping[str, frozenset[str]]) -> str:
    """Find the suite that has the name of a skill: its path in the project, empty for none."""
    spellings = [f"{base}{end}" for base in (name, name.replace("-", "_")) for end in ("", ".yaml", ".jsonl")]
    found = (f"{place}/{spelling}" for place in beside for spelling in spellings if spelling in beside[place])
    return next(found, "")


def _entries(folder: Path) -> frozenset[str]:
    try:
        return frozenset(entry.name for entry in folder.iterdir())
    except OSError:
        return frozenset()
