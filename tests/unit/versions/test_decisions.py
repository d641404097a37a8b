"""What people decided is a commit that any clone reads back."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits
from skillopt.tasks import File
from skillopt.versions.decisions import (
    EditName,
    PersonsWord,
    RefusalKind,
    edit_trailers,
    edits_between,
    edits_of,
    offered_edits,
    read_decisions,
    write_declined,
    write_dropped,
    write_undeclined,
)
from skillopt.versions.repository import NewVersion, Repository
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, NEW_VERSION, TEXT, commit, make_repository

SORT = Edit("s1e1", Op.ADD, "- Trim.", "", "- Sort.", "Rows came in any order.", ("a", "b"))
DATES = Edit("s1e2", Op.ADD, "", "", "- Dates as @2026#1  with  two blanks", "GH-1 and /issues/2")
AT = "2026-01-03T00:00:00+00:00"
ANNA = PersonsWord("Anna", "too long for our team", "#7")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path)


def version(folder: Path, *edits: Edit, **changes: object) -> str:
    trailers = (*NEW_VERSION.trailers, *edit_trailers(edits))
    return commit(folder, trailers=trailers, **changes)


def decision(folder: Path, text: bytes = TEXT, merges: str = "") -> NewVersion:
    repository = Repository.find(folder)
    tip, kept = repository.branch_tip("rows"), repository.read_folder("main", FOLDER)
    files = (File("SKILL.md", text), *(file for file in kept if file.path != "SKILL.md"))
    return NewVersion("rows", FOLDER, files, AT, parent=tip or "", expected_tip=tip, merges=merges)


def decline(folder: Path, *shas: str, word: PersonsWord = ANNA) -> str:
    repository = Repository.find(folder)
    refused = offered_edits(repository.commit(sha) for sha in shas)
    return write_declined(repository, decision(folder, merges=git(folder, "rev-parse", "main")), shas, word, refused)


class TestDecline:
    def test_taken_back_it_is_the_newest_again_and_nothing_is_refused(self, folder: Path) -> None:
        sha = version(folder, SORT)
        decline(folder, sha)
        back = write_undeclined(Repository.find(folder), decision(folder, TEXT + b"- Sort.\n"), [sha], ANNA, [SORT])
        found = read_decisions(Repository.find(folder), "rows")
        assert (found.declined, found.refused_edits) == (frozenset(), ())
        assert found.newest_served is not None
        assert found.newest_served.sha == back
        assert edits_of(found.versions[0]) == (replace(SORT, id="1"),)


def test_a_reason_is_one_short_line_that_mentions_nobody() -> None:
    said = PersonsWord.said("eve", "see @anna\n\nDeclined: 1234\x1b[31m " + "x" * 400)
    assert len(said.reason) == 300
    assert said.reason.startswith("see @ anna Declined: 1234 [31m xxx")
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


class TestEditsInCommits:
    def test_a_version_that_names_no_edits_is_told_from_its_lines(self) -> None:
        before = SkillDocument("---\nname: a\n---\n# A\n\n- One.\n- Two.\n- Three.\n")
        after = SkillDocument("---\nname: a\n---\n# A\n\n- One.\n- 2.\n- Three.\n- Four.\n")
        edits = edits_between(before, after)
        assert [(edit.op, edit.anchor, edit.content) for edit in edits] == [
            (Op.REPLACE, "- Two.", "- 2."),
            (Op.ADD, "- Three.", "- Four."),
        ]
        assert apply_edits(before, edits).document.text == after.text


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(EDITS, min_size=1, max_size=3, unique_by=lambda edit: edit.id), TEXTS, TEXTS)
def test_decisions_read_back_are_decisions_written(
    tmp_path_factory: pytest.TempPathFactory, edits: list[Edit], by: str, why: str
) -> None:
    folder = make_repository(tmp_path_factory.mktemp("decisions"))
    word = PersonsWord.said(by, why, "https://forge.example/pull/3")
    sha = version(folder, *edits)
    decline(folder, sha, word=word)
    found = read_decisions(Repository.find(folder), "rows")
    assert found.declined_by == {sha: word}
    assert [(row.edit, row.word) for row in found.refused_edits] == [(edit, word) for edit in edits]
    keys = [(EditName(sha[:12], index), edit) for index, edit in enumerate(edits, 1)]
    write_dropped(Repository.find(folder), decision(folder), keys, word)
    dropped = read_decisions(Repository.find(folder), "rows")
    assert dropped.dropped == {key for key, _ in keys}
    assert {row.kind for row in dropped.refused_edits} == {RefusalKind.DROPPED}
