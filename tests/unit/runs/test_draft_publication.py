"""Whatever ends a run, its draft is on the draft's branch, with its grade, unless it is worse."""

from pathlib import Path

import pytest

from skillopt.errors import InfrastructureError
from skillopt.execution.metering import OutOfBudget
from skillopt.gate.grades import Grade
from skillopt.project import Project, Selection
from skillopt.runs.run import open_draft, read_grading
from skillopt.versions.branches import DraftBranch
from skillopt.versions.commit_message import Version
from skillopt.versions.repository import Repository
from tests.fakes.drafts import KilledError, changed, graded, grading, run_events
from tests.fakes.projects import git

pytestmark = pytest.mark.process

BRANCH = "skillopt-draft/rows"


def draft(folder: Path) -> Version | None:
    return DraftBranch(Repository.find(folder), "rows", "skills/rows").read()


def text(folder: Path, commit: str = BRANCH) -> str:
    return git(folder, "show", f"{commit}:skills/rows/SKILL.md")


def test_the_draft_at_the_end_is_published_with_its_grade_and_its_evidence(folder: Path) -> None:
    done = run_events(folder, changed("Sort."), graded("Sort.", "Lower case."))
    assert done.run is not None
    assert done.run.draft is not None
    found = draft(folder)
    assert found is not None
    assert found.sha == done.run.draft.commit
    assert found.parent == git(folder, "rev-parse", "main")
    assert found.subject == "rows: draft, add 2 rules"
    trailers = dict(found.trailers)
    assert (trailers["Grade"], trailers["Probability"], trailers["Tasks-Judged"]) == ("likely better", "0.910", "12")
    assert trailers["Gain"] == "+18 points (90%: -6 to +36)"
    assert (trailers["Skill"], trailers["Skillopt-Run"]) == ("rows", done.run.record.id)
    assert "It failed. (tasks train-0)" in found.body
    assert "(91%)" in found.body
    read = read_grading(found.trailers)
    assert read is not None
    assert (read.grade, read.probability, read.low, read.tasks) == (Grade.LIKELY, 0.91, -0.06, 12)
    assert text(folder).endswith("- Sort.\n- Lower case.")
    assert git(folder, "branch", "--list", "skillopt/*") == ""


@pytest.mark.parametrize(
    "end", [KeyboardInterrupt(), OutOfBudget("max_usd is 1"), InfrastructureError("the provider is away")]
)
def test_whatever_stops_a_run_its_newest_draft_is_published_ungraded(folder: Path, end: BaseException) -> None:
    stopped = run_events(folder, changed("Sort."), changed("Sort.", "Trim."), ends=end)
    found = draft(folder)
    assert found is not None
    assert found.trailer("Grade") == "cannot tell"
    assert found.trailer("Probability") == ""
    assert text(folder).endswith("- Sort.\n- Trim.")
    assert stopped.said == [f"the draft so far is on branch {BRANCH}, ungraded; the run continues it"]


def test_a_killed_process_leaves_a_draft_that_is_published_when_somebody_asks(folder: Path) -> None:
    run_events(folder, changed("Sort."), ends=KilledError())
    assert draft(folder) is None
    project = Project.find(folder)
    for _ in range(2):
        open_draft(folder, project.repository(), project.target(Selection("rows", folder=folder)))
        found = draft(folder)
        assert found is not None
        assert text(folder).endswith("- Sort.")


def test_a_worse_draft_is_not_published_and_takes_the_provisional_one_with_it(folder: Path) -> None:
    run_events(folder, changed("Sort."), ends=KeyboardInterrupt())
    done = run_events(folder, changed("Sort."), graded("Sort.", grade=Grade.WORSE, probability=0.2))
    assert draft(folder) is None
    assert done.run is not None
    assert done.run.draft is not None
    assert (done.run.draft.commit, done.run.draft.grading) == ("", grading(Grade.WORSE, 0.2))
    assert "it is worse" in done.run.draft.note
