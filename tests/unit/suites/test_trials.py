"""Trials of drafted tasks: what measures nothing is dropped before it costs anything, the rest is told apart."""

from collections.abc import Sequence

import pytest

from skillopt.prompts.task_drafts import TaskDraft
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.skills.document import Skill, SkillDocument
from skillopt.suites.trials import RunRequests, TrialResult, Trials, Tried, try_drafts
from skillopt.tasks import File, Task, VerifierSpec
from skillopt.testing import scored

SKILL = Skill("rows", SkillDocument("# Rows\n"))
PASSES: dict[str, float | None] = {"with": 0.0, "without": 0.0, "solver": 1.0, "empty": 0.0}


class Answers:
    """Runners whose scores stand in a table by task; they remember what they were asked."""

    def __init__(self, **by_task: dict[str, float | None]) -> None:
        self.by_task = by_task
        self.asked: list[tuple[str, str, int]] = []

    def trials(self) -> Trials:
        return Trials(self._runner("empty"), self._runner("solver"), self._runner("target"))

    def _runner(self, role: str) -> RunRequests:
        def run(requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
            found = []
            for request in requests:
                side = ("without" if request.skill is None else "with") if role == "target" else role
                self.asked.append((request.task.id, side, request.repeat))
                found.append(scored(request, (PASSES | self.by_task.get(request.task.id, {}))[side], "found x"))
            return tuple(found)

        return run


def draft(name: str, prompt: str = "", spec: VerifierSpec | None = None, *files: File) -> TaskDraft:
    return TaskDraft(Task(name, prompt or f"Do {name}.", spec or VerifierSpec("regex", '{"pattern": "x"}'), files))


def tried(answers: Answers, *drafts: TaskDraft) -> tuple[Tried, ...]:
    return try_drafts(drafts, SKILL, answers.trials(), [Task("old", "Do old.", VerifierSpec("exact"))])


@pytest.mark.parametrize(
    ("scores", "result"),
    [
        *(({}, TrialResult.FAILS), ({"with": 1.0}, TrialResult.HELPED), ({"without": 1.0}, TrialResult.HARMED)),
        *(({"with": 1.0, "without": 1.0}, TrialResult.EASY), ({"empty": 1.0}, TrialResult.EMPTY_PASSES)),
        *(({"solver": 0.5}, TrialResult.UNSOLVED), ({"solver": None}, TrialResult.NOT_TRIED)),
        ({"with": None}, TrialResult.NOT_TRIED),
    ],
)
def test_trials_say_what_a_draft_is_good_for(scores: dict[str, float | None], result: TrialResult) -> None:
    (found,) = tried(Answers(one=scores), draft("one"))
    assert found.result is result
    assert found.result.kept is (result in {TrialResult.FAILS, TrialResult.HELPED, TrialResult.HARMED})


@pytest.mark.parametrize(
    ("made", "result"),
    [
        (draft("one", "do  OLD."), TrialResult.TWICE),
        (draft("one", spec=VerifierSpec("regex", '{"pattern": "("}')), TrialResult.BROKEN),
        (draft("one", "", None, File("../x", b"")), TrialResult.BROKEN),
        (draft("one", "", None, File("x", b""), File("x", b"")), TrialResult.BROKEN),
    ],
)
def test_what_is_wrong_at_sight_is_never_run(made: TaskDraft, result: TrialResult) -> None:
    answers = Answers()
    (found,) = tried(answers, made)
    assert found.result is result
    assert answers.asked == []
