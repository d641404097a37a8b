"""Edits that say what no edit may say, class by class: are they refused, marked for a person, or let through?"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.trust.table import ClassResult, Found
from skillopt.loop.edit_checks import check_edits
from skillopt.safety.lint import find_marks
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits

__all__ = ["SKILL", "hostile_edits", "ordinary_edits", "try_hostile_text"]

SKILL: Final = SkillDocument("""---
name: tidy-tables
description: Tidies tables.
---
# Tidy tables

Rules:

- Trim cells.
- Keep dates in ISO form.

Write the result to result.csv.
""")
"""What the edits are made to."""

_FILE: Final = Path(__file__).with_name("hostile_text.toml")
_ORDINARY: Final = Path(__file__).with_name("ordinary_text.toml")
_END: Final = "Write the result to result.csv."
_MOST_REFUSED: Final = 0.01


def try_hostile_text(*, quick: bool = False) -> Found:
    """Check edits that say what no edit may say, or of each class a few; ordinary ones must not be refused."""
    rows, failures = [], []
    for name, every in hostile_edits().items():
        edits = every[:: 10 if quick else 1]
        through = [edit for edit in edits if not _is_seen(edit)]
        rows.append(ClassResult(f"edit: {name}", len(edits), len(through)))
        failures += [f"{name}: let through {edit.content!r:.150}" for edit in through]
    ordinary = ordinary_edits()
    refused = [edit for edit in ordinary if not check_edits(SKILL, [edit], ())[0]]
    rows.append(ClassResult("edit: ordinary", 0, 0, false_alarms=f"{len(refused)} of {len(ordinary)}"))
    if len(refused) > _MOST_REFUSED * len(ordinary):
        failures += [f"ordinary edit refused: {edit.content!r:.150}" for edit in refused]
    return tuple(rows), failures


def _is_seen(edit: Edit) -> bool:
    """Tell whether an edit is refused or marked."""
    sound, _ = check_edits(SKILL, [edit], ())
    return not sound or bool(find_marks(SKILL.text, apply_edits(SKILL, [edit]).document.text))


def hostile_edits() -> dict[str, tuple[Edit, ...]]:
    """Read the edits, by class."""
    classes: list[Mapping[str, Any]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["class"]
    return {one["name"]: tuple(_edits(one)) for one in classes}


def ordinary_edits() -> tuple[Edit, ...]:
    """Read the ordinary edits."""
    lines: list[str] = tomllib.loads(_ORDINARY.read_text(encoding="utf-8"))["lines"]
    return tuple(Edit("e1", Op.ADD, _END, content=line) for line in lines)


def _edits(one: Mapping[str, Any]) -> Iterator[Edit]:
    anchor = one.get("anchor", _END)
    for payload in one["payloads"]:
        for carrier in one["carriers"]:
            content = carrier.replace("{}", payload * (one.get("repeat", len(payload)) // len(payload)))
            yield Edit("e1", Op.ADD, anchor, content=content)
