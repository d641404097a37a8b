"""Verdicts made up for tests: so many tasks that pass or fail, and what was said of them."""

from collections.abc import Sequence

from skillopt.gate.comparison import PairedTask, TaskCosts
from skillopt.gate.decide import Outcome, Verdict
from skillopt.gate.grades import Grade, Grading


def made_verdict(  # noqa: PLR0913 - a test names the few that matter to it
    outcome: Outcome = Outcome.ACCEPT,
    reason: str = "better",
    *,
    fixed: Sequence[str] = ("t1",),
    broken: Sequence[str] = (),
    passing: Sequence[str] = (),
    failing: Sequence[str] = (),
    pairs: Sequence[PairedTask] = (),
    confidence: float = 0.98,
    missing: int = 0,
    costs: tuple[TaskCosts, ...] = (),
    error_spent: float = 0.0,
) -> Verdict:
    """Make a verdict on tasks that were mended, were broken, pass with both texts, or fail with both."""
    sides = ((fixed, False, True), (broken, True, False), (passing, True, True), (failing, False, False))
    drawn = [PairedTask(name, old, new, old, new) for names, old, new in sides for name in names]
    rows = tuple(pairs or sorted(drawn, key=lambda pair: pair.task))
    gain = sum(pair.passed_after - pair.passed_before for pair in rows) / max(1, len(rows))
    grade = Grade.PROVEN if outcome is Outcome.ACCEPT else Grade.LIKELY
    grading = Grading(grade, 0.9, gain, max(-1.0, gain - 0.2), min(1.0, gain + 0.2), len(rows), len(fixed))
    return Verdict(
        pairs=rows,
        low=grading.low,
        high=grading.high,
        missing=missing,
        costs=costs,
        outcome=outcome,
        reason=reason,
        confidence=confidence,
        error_spent=error_spent,
        grading=grading,
    )
