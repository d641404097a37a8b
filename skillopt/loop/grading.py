"""Grade what waits at the end of a run, so that no draft is lost."""

from collections.abc import Iterator

from skillopt.gate.grades import Grade, Grading
from skillopt.loop.events import DraftGraded, Event
from skillopt.loop.training_run import TrainingRun

__all__ = ["grade_draft"]


def grade_draft(run: TrainingRun) -> Iterator[Event]:
    """Grade the draft against the incumbent with the rollouts that are left; nothing waits, nothing is graded."""
    draft = run.draft
    if not draft.lines:
        return
    grading = Grading(Grade.UNPROVEN, 0.9, 0.0, 0.0, 0.0, 0, 0, "unproven")
    yield DraftGraded(
        draft.skill.document.text, draft.pending, grading, draft.incumbent.digest, run.runner.rollouts_asked
    )
