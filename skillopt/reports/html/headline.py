"""The first screen of a report: one sentence, a few numbers, the facts of the run, and what to do next.

Every number is from the record; none is from a model's text.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from skillopt.gate.comparison import Outcome, Verdict
from skillopt.gate.expectation import expectation
from skillopt.gate.grade_words import grade_words
from skillopt.gate.headline import HELD_OUT, VAL, compared_words, metric_label
from skillopt.loop.release_check import look_confidence
from skillopt.reports.gate_words import change_outcome, is_change
from skillopt.reports.html.svg import signed
from skillopt.reports.view import RunView, TestView
from skillopt.rollouts import Usage
from skillopt.safety.plurals import count_noun, count_were

__all__ = ["Figure", "commands_of", "facts_of", "figures_of", "headline_of"]

_TESTED = {
    Outcome.ACCEPT: "it is better",
    Outcome.REJECT: "it is not better",
    Outcome.INCONCLUSIVE: "these tasks do not tell",
    Outcome.INVALID: "too little was measured to tell",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A headline number with its name and a remark."""

    name: str
    value: str
    note: str = ""


def headline_of(view: RunView) -> str:
    """Return what came of a run in a sentence or two."""
    if is_change(view):
        return f"The change: {change_outcome(view)}{f', {view.reason}' if view.reason else ''}."
    if view.test is not None:
        return _tested(view, view.test)
    accepted = len(view.accepted)
    if accepted:
        rose = _rose(view)
        withheld = f" The held-out test was not scored: {view.test_withheld}." if view.test_withheld else ""
        return (
            f"{count_were(accepted, 'version')} accepted{rose}.{withheld or ' The held-out test has not been scored.'}"
        )
    if view.state == "running":
        return "The run is under way; no version has been accepted yet."
    ended = f" The run {view.state}: {view.reason}." if view.reason else ""
    if view.draft is not None:
        passed = f"{view.draft.headline.words}; " if view.draft.headline else ""
        waits = f"The draft waits for a person: {passed}{grade_words(view.draft.grading)}"
        waits += "".join(f". Look at this first: {mark}" for mark in view.draft.marks)
        return f"No version was accepted. {waits}.{ended}"
    return f"No version was accepted, so the skill is as it was.{ended}"


def figures_of(view: RunView) -> tuple[Figure, ...]:
    """Choose the headline numbers."""
    figures = [*_gained(view)]
    if view.draft is not None and (grading := view.draft.grading) is not None:
        tasks = count_noun(grading.tasks, "task")
        note = f"{grading.grade}, {grading.probability:.0%} likely better, on {tasks}"
        figures.append(Figure("draft, expected gain", signed(grading.gain, 2), note))
    funnel = view.funnel
    if not is_change(view):
        figures.append(Figure("versions", str(len(view.accepted)), f"{funnel.accepted} of {funnel.proposed} edits"))
    if len(view.versions) > 1:
        grown = view.versions[-1].tokens - view.versions[0].tokens
        figures.append(Figure("skill tokens", f"{view.versions[-1].tokens:,}", f"{signed(grown)}, estimated"))
    asked, paid = view.rollouts.asked, view.rollouts.paid
    figures.append(Figure("rollouts", f"{asked or paid:,}", f"{paid:,} paid for" if asked else "paid for so far"))
    total = Usage.total(view.spend.values())
    figures.append(
        Figure(
            "cost",
            "unknown" if total.usd is None else f"${total.usd:,.2f}",
            f"{_short(total.input_tokens + total.output_tokens)} tokens",
        )
    )
    return tuple(figures)


def facts_of(view: RunView) -> tuple[tuple[str, str], ...]:
    """List what the run was made of."""
    splits = ", ".join(f"{count} {name}" for name, count in view.splits.items())
    if view.folded:
        splits = f"{' and '.join(map(str, view.splits.values()))} in two folds that judge each other"
    limits = view.limits
    caps = [
        f"{limits.rollouts:,} rollouts" if limits.rollouts else "",
        f"{limits.calls:,} optimizer calls" if limits.calls else "",
        f"${limits.usd:,.2f}" if limits.usd else "",
        f"{limits.tokens:,} tokens" if limits.tokens else "",
    ]
    facts = (
        ("caution", view.caution),
        ("target", view.target),
        ("optimizer model", view.model),
        ("judge", view.judge_words),
        ("suite", view.suite),
        ("tasks", splits),
        ("suite digest", view.suite_digest[:12]),
        ("preset", view.preset),
        ("gate", view.gate_rule),
        ("metric", view.metric),
        ("confidence", f"{view.confidence:g}"),
        ("seed", str(view.seed)),
        ("caps", ", ".join(filter(None, caps)) or "none"),
        ("base commit", view.base[:10]),
        ("branch", view.branch),
        ("ended", view.reason),
    )
    return tuple((name, value) for name, value in facts if value)


def commands_of(view: RunView) -> tuple[str, ...]:
    """List commands that look further or go back."""
    if is_change(view):
        return (f"skillopt report {view.run} --json",)
    lines = [f"skillopt log {view.skill}", f"skillopt diff {view.skill}"]
    if view.draft is not None and view.draft.commit:
        lines += [f"skillopt diff {view.skill} draft", f"skillopt take {view.skill}    # makes the draft a version"]
    if view.versions and view.versions[0].commit:
        lines.append(
            f"skillopt rollback {view.skill} {view.versions[0].commit[:10]}    # the text from before this run"
        )
    return (*lines, f"skillopt report {view.run} --json")


def _tested(view: RunView, test: TestView) -> str:
    verdict, confidence = test.verdict, look_confidence(view.confidence, test.look)
    found = view.headline.words if view.headline else compared_words(verdict, HELD_OUT, view.metric)
    return (
        f"{found}: {verdict.wins} better, {verdict.ties} equal, {verdict.losses} worse. At the confidence of "
        f"{confidence:g} asked for, {_TESTED[verdict.outcome]}."
    )


def _gained(view: RunView) -> Iterator[Figure]:
    """Show tasks passed and score before and after, on the same tasks, as far as they are recorded."""
    found = view.headline
    if found is not None:
        place = {HELD_OUT: "held-out tasks passed", VAL: "validation tasks passed"}.get(found.place, "tasks passed")
        yield Figure(place, f"{found.before} → {found.after}", f"{found.score}, mean of the verifiers")
    elif is_change(view) and view.gates:
        yield Figure(metric_label(view.metric), _scores(view.gates[-1].verdict), "tasks passed were not recorded")
    elif view.versions and view.versions[-1].passed and len(view.versions) == 1:
        yield Figure("validation tasks passed", view.versions[0].passed, "before training")
    if view.test is not None:
        limits = _limits(view.test)
        yield Figure(f"gain in {metric_label(view.metric)}", signed(view.test.verdict.gain, 3), limits)
    elif (verdict := _taken(view)) is not None:
        note = expectation(verdict.after, verdict.expected, view.metric)
        again = f"{note} when measured again" if note else "in the gate of the newest version"
        yield Figure(metric_label(view.metric), _scores(verdict), again)


def _scores(verdict: Verdict) -> str:
    return f"{verdict.before:.3f} → {verdict.after:.3f}"


def _taken(view: RunView) -> Verdict | None:
    """Return the verdict that the newest version was accepted by."""
    return next((gate.verdict for gate in reversed(view.gates) if gate.version is not None), None)


def _rose(view: RunView) -> str:
    verdict = _taken(view)
    if verdict is None:
        return ""
    expected = expectation(verdict.after, verdict.expected, view.metric)
    again = f"; {expected} when measured again" if expected else ""
    found = view.headline.words if view.headline else compared_words(verdict, VAL, view.metric)
    return f": {found}{again}"


def _limits(test: TestView) -> str:
    limits = test.interval
    if limits is None and test.verdict.outcome is Outcome.INCONCLUSIVE:
        return ""
    return (
        f"gain {signed(limits[0], 3)} to {signed(limits[1], 3)}"
        if limits
        else f"confidence {test.verdict.confidence:.3f}"
    )


def _short(number: int) -> str:
    """Write a large number in three digits.

    >>> _short(1_234_567), _short(12_345), _short(999)
    ('1.23 M', '12.3 k', '999')
    """
    for size, unit in ((1_000_000, " M"), (1_000, " k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)
