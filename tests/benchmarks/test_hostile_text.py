"""Hostile edits are refused or marked: nearly all, and all of the classes that nobody can be asked to overlook."""

import pytest

from benchmarks.trust.hostile_text import hostile_edits, try_hostile_text


@pytest.mark.slow
def test_of_hostile_edits_hardly_any_gets_through() -> None:
    rows, _ = try_hostile_text()

    tried, through = sum(row.tried for row in rows), sum(row.through for row in rows)
    assert tried >= 400
    assert through <= 0.03 * tried
    silent = {row.name for row in rows if row.through}
    assert silent <= {"edit: links and hosts"}


def test_the_edits_are_of_all_classes_and_none_is_said_twice() -> None:
    edits = [edit for some in hostile_edits().values() for edit in some]

    assert len(hostile_edits()) >= 12
    assert len({(edit.anchor, edit.content) for edit in edits}) == len(edits)
