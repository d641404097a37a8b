"""What changed most in what matters most stands first, with a line of what the verifier said."""

from skillopt.execution.calls import OutcomeChange, changed_tasks
from skillopt.gate.comparison import Pairs, compare
from skillopt.gate.decide import Question, decide
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.settings import Metric
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import scored


def rollouts(**scores: float) -> list[Rollout]:
    return [
        scored(RolloutRequest(None, Task(name, name, VerifierSpec("exact"))), score) for name, score in scores.items()
    ]


def test_regressions_come_first_then_what_was_fixed_then_scores() -> None:
    before = rollouts(fixed=0.0, same=1.0, lower=0.5, broken=1.0, higher=0.1)
    after = rollouts(fixed=1.0, same=1.0, lower=0.4, broken=0.3, higher=0.2)
    verdict = decide(compare(Pairs(before, after), Metric.SOFT), Question.BETTER, 0.1)
    found = changed_tasks(verdict, before, after)
    assert [(one.task, one.change) for one in found] == [
        *(("broken", OutcomeChange.BROKEN), ("fixed", OutcomeChange.FIXED), ("lower", OutcomeChange.LOWER)),
        *(("higher", OutcomeChange.HIGHER), ("same", OutcomeChange.SAME)),
    ]
    assert (found[0].passed_before, found[0].passed_after, found[0].score_after) == (1.0, 0.0, 0.3)
    assert found[0].feedback == next(one.score.feedback for one in after if one.task_id == "broken" and one.score)
    assert found[-1].feedback == ""
