"""What is claimed of an offered text: by its own run where that compared these texts, else by measuring it."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.execution.runner import RunObserver
from skillopt.gate.grades import Grade
from skillopt.nightly.offer_texts import OfferPlace, write_offer
from skillopt.project import Project, Selection
from skillopt.reports.offer import OfferView
from skillopt.storage.ledger import Ledger
from tests.fakes.drafts import accepted, run_events
from tests.fakes.projects import git, make_project

EMAIL, DATES = "Write e-mail addresses in lower case.", "Write dates as YYYY-MM-DD."
SKILL_FILE = "skills/rows/SKILL.md"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with one proven version on the skill's branch."""
    made = make_project(tmp_path / "project")
    run_events(made, accepted(EMAIL, grade=Grade.PROVEN))
    return made


def written(folder: Path) -> OfferView:
    """Write down what is offered from the skill's branch into the branch that is checked out."""
    project, selection = Project.find(folder), Selection("rows", {"confidence": 0.7, "gate": "paired"}, folder=folder)
    repository, target = project.repository(), project.target(selection)
    tip, base = repository.branch_tip("rows") or "", repository.head() or ""
    with closing(Ledger.open(folder)) as ledger:
        place = OfferPlace(project, repository, target, ledger, RunObserver(), "skillopt/rows", tip, "main", base)
        return write_offer(place)[0]


def commit_on(folder: Path, branch: str, old: str, new: str) -> None:
    """Commit on a branch as a person, in a work tree of its own, a text in place of another."""
    place = folder.with_name("tree")
    git(folder, "worktree", "add", "--quiet", str(place), branch)
    text = (place / SKILL_FILE).read_text()
    assert old in text
    (place / SKILL_FILE).write_text(text.replace(old, new))
    git(place, "commit", "--quiet", "--author=Anna <anna@teams.example>", "-am", "By hand")
    git(folder, "worktree", "remove", "--force", str(place))


def test_with_folds_a_measured_text_is_proven_on_these_tasks_at_most(project: Path) -> None:
    suite = project / "suites" / "rows.jsonl"
    rows = [json.loads(row) for row in suite.read_text().splitlines()]
    kept = [{name: value for name, value in row.items() if name != "split"} for row in rows]
    suite.write_text("\n".join(map(json.dumps, kept[:12])) + "\n")
    commit_on(project, "skillopt/rows", EMAIL, f"{EMAIL}\n- {DATES}")
    found = written(project)
    assert found.claim is not None
    assert found.grade is Grade.PROVEN_HERE
    assert not found.proven
