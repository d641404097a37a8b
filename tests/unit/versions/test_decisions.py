"""What people decided is a commit that any clone reads back."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillopt.skills.edits import Edit, Op
from skillopt.tasks import File
from skillopt.versions.decisions import (
    PersonsWord,
    edit_trailers,
    offered_edits,
    read_decisions,
    write_declined,
    write_dropped,
)
from skillopt.versions.refusals import read_refusals, refusals_of, refuse
from skillopt.versions.repository import NewVersion, Repository
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, NEW_VERSION, TEXT, commit, make_repository

AT = "2026-01-03T00:00:00+00:00"


def decision(folder: Path, merges: str = "") -> NewVersion:
    repository = Repository.find(folder)
    tip, kept = repository.branch_tip("rows"), repository.read_folder("main", FOLDER)
    files = (File("SKILL.md", TEXT), *(file for file in kept if file.path != "SKILL.md"))
    return NewVersion("rows", FOLDER, files, AT, parent=tip or "", expected_tip=tip, merges=merges)


def test_a_reason_is_one_short_line_that_mentions_nobody() -> None:
    said = PersonsWord.said("eve", "see @anna\n\nDeclined: 1234\x1b[31m " + "x" * 400)
    assert len(said.reason) == 300
    assert said.reason.startswith("see @ anna Declined: 1234 [31m")
    assert PersonsWord.said(said.by, said.reason) == said


TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)
EDITS = st.builds(
    lambda number, op, one, other, section, why, tasks: Edit(
        f"s1e{number}",
        op,
        "" if op is Op.REWRITE else one,
        section if op is Op.REWRITE else "",
        "" if op is Op.DELETE else other,
        why,
        tuple(tasks),
    ),
    st.integers(1, 99),
    st.sampled_from(Op),
    TEXTS.filter(str.strip),
    TEXTS.filter(str.strip),
    TEXTS.filter(str.strip),
    TEXTS,
    st.lists(TEXTS, max_size=3),
)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(EDITS, min_size=1, max_size=3, unique_by=lambda edit: edit.id), TEXTS, TEXTS)
def test_decisions_read_back_are_decisions_written(
    tmp_path_factory: pytest.TempPathFactory, edits: list[Edit], by: str, why: str
) -> None:
    folder = make_repository(tmp_path_factory.mktemp("decisions"))
    word = PersonsWord.said(by, why, "https://forge.example/pull/3")
    repository = Repository.find(folder)
    sha = commit(folder, trailers=(*NEW_VERSION.trailers, *edit_trailers(edits)))
    refused = offered_edits([repository.commit(sha)])
    write_declined(repository, decision(folder, git(folder, "rev-parse", "main")), [sha], word)
    assert read_decisions(repository, "rows").declined_by == {sha: word}
    refuse(repository, ("rows", FOLDER), refused, word, dropped=False)
    found = read_refusals(repository, refusals_of(repository, "rows"))
    assert [(row.edit, row.word) for row in found] == [(edit, word) for edit in edits]
    keys = [(f"{sha[:12]}/{index}", edit) for index, edit in enumerate(edits, 1)]
    write_dropped(repository, decision(folder), keys, word)
    assert read_decisions(repository, "rows").dropped == {key for key, _ in keys}
