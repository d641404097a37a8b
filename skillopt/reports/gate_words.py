"""Shared wording for the results of `skillopt gate`, the gate of a change by people.

A gate asks whether a change is worse, or whether it is better; what passes the former is `inconclusive`, and that word
alone would mean nothing to a reader. Where neither harm is shown nor a loss ruled out, `passed` of the gate is None.
"""

from skillopt.reports.view import GateView, RunView
from skillopt.review.result import ReviewAnswer

__all__ = ["change_outcome", "change_passed", "gate_outcome", "is_change"]


def is_change(view: RunView) -> bool:
    """Return whether a run gated a change by people, so that nobody proposed edits and nothing was accepted."""
    return view.kind == "gate"


def change_passed(view: RunView) -> bool | None:
    """Return whether a change passed, on `test` too where that was asked for; None where all of it was not decided."""
    gate = view.gates[-1] if view.gates else None
    if gate is None or view.state != "finished" or (gate.passed and view.test_withheld):
        return None
    if gate.passed is False or view.test is None:
        return gate.passed
    # What the gate asks is the same on both splits, so what passes has the same outcome.
    return gate.passed if view.test.verdict.outcome is gate.verdict.outcome else False


def change_outcome(view: RunView) -> str:
    """Say in a word what became of a change."""
    passed = change_passed(view)
    if passed is None:
        told = view.gates and view.state == "finished" and view.gates[-1].passed is None
        return ReviewAnswer.CANNOT_TELL.value if told else "not decided"
    return "passed" if passed else "refused"


def gate_outcome(gate: GateView) -> str:
    """Say in a word what a gate decided."""
    if gate.passed is None:
        return ReviewAnswer.CANNOT_TELL.value if gate.kind == "change" else gate.verdict.outcome.value
    return "passed" if gate.passed else "refused"
