"""Sections of a run's report as Markdown: verdict, gates, flips, cost, what to do with it.

Every number is read from the view, so from the ledger; every text from elsewhere is escaped.
"""

import json
import re
from collections.abc import Sequence
from shlex import quote
from typing import Final

from skillopt.gate.comparison import Outcome, Tally, Verdict
from skillopt.gate.expectation import expectation
from skillopt.gate.grade_words import GRADE_MEANINGS, grade_words
from skillopt.gate.headline import HELD_OUT, VAL, compared_words, metric_label, passed_cells, passed_words
from skillopt.loop.release_check import look_confidence
from skillopt.reports.edit_views import Fate
from skillopt.reports.escape_markdown import inline_code, shell_block
from skillopt.reports.gate_words import change_outcome, gate_outcome, is_change
from skillopt.reports.length_limits import LengthLimits, list_names, more_line
from skillopt.reports.view import GateView, RunView
from skillopt.rollouts import Usage
from skillopt.safety.escaping import truncate
from skillopt.safety.plurals import count_noun
from skillopt.settings import make_settings

__all__ = [
    "comparison_line",
    "cost",
    "draft",
    "flips",
    "format_confidence",
    "format_interval",
    "gates",
    "guarantee",
    "headline",
    "held_out_test",
    "judged_on",
    "noise_line",
    "not_learned",
    "not_shown",
    "reproduce",
    "size_change",
    "suspects",
]

_MOST_REASON: Final = 300
_FIGURES: Final = re.compile(r": (?:score )?\d")


def headline(view: RunView) -> str:
    """State the verdict of the run with the gain and its interval."""
    if is_change(view):
        shown = [comparison_line(view, gate.verdict, gate.interval) for gate in view.gates]
        compared = f": {shown[-1]}" if shown else ""
        why = inline_code(truncate(_FIGURES.split(view.reason)[0], _MOST_REASON))
        return f"**{change_outcome(view)}**: a change by people{f', {why}' if why else ''}{compared}."
    if view.test is not None:
        verdict = view.test.verdict
        found = comparison_line(view, verdict, view.test.interval, HELD_OUT)
        return f"**{verdict.outcome.value}**: release check: {found}."
    taken = [gate for gate in view.gates if gate.version is not None]
    if taken:
        return _accepted(view, taken)
    if view.draft is not None and not is_change(view):
        passed = f"{view.draft.headline.words}, " if view.draft.headline else ""
        return f"**{passed}{grade_words(view.draft.grading)}**: no version was accepted; the draft waits for a person."
    if not view.gates:
        return "**no verdict**: no candidate reached the gate."
    return f"**{view.gates[-1].verdict.outcome.value}**: {count_noun(len(view.gates), 'candidate')}, none was accepted."


def _accepted(view: RunView, taken: Sequence[GateView]) -> str:
    """State what the accepted versions gained, without a held-out test."""
    gate = taken[-1]
    newest = comparison_line(view, gate.verdict, gate.interval)
    if expected := expectation(gate.verdict.after, gate.verdict.expected, view.metric):
        newest += f"; {expected} when measured again"
    if grading := view.accepted[-1].grading if view.accepted else None:
        newest += f"; {grade_words(grading)}"
    if len(taken) > 1 and view.headline is not None:
        newest = f"{view.headline.words}, by {len(taken)} versions; the newest one: {newest}"
    place = f"on {judged_on(view)}, not tested on the held-out `test` split"
    return f"**{gate.verdict.outcome.value}** {place}: {newest}."


def judged_on(view: RunView) -> str:
    """Name the tasks that the gate decided on."""
    return "two folds, each by the other's edits" if view.folded else "`val`"


def draft(view: RunView, *, fetch: bool = False) -> str:
    """State what waits, what was shown of it and what was not, and what to do with it; empty when nothing waits."""
    if (found := view.draft) is None:
        return ""
    grading, skill = found.grading, quote(view.skill)
    meaning = f", that is {GRADE_MEANINGS[grading.grade]}" if grading else ""
    shown = f"**{grade_words(grading)}**{meaning}. {count_noun(len(found.edits), 'edit')} in the draft."
    shown += "".join(f"\n\nA person must look at it first: {inline_code(mark)}." for mark in found.marks)
    if found.taken:
        return f"{shown}\n\nA person made it version {inline_code(found.taken[:10])}."
    if not found.commit:
        return f"{shown}\n\nIt is on no branch."
    name = quote(found.branch)
    fetched = [f"git fetch origin {name}", f"git branch {name} FETCH_HEAD"] if fetch else []
    commands = shell_block([*fetched, f"skillopt diff {skill} draft", f"skillopt take {skill}"])
    return f"{shown}\n\nIt is on branch {inline_code(found.branch)}, and becomes a version when taken:\n\n{commands}"


def noise_line(view: RunView) -> str:
    """State the noise floor and the smallest gain that `val` can certify; empty before the baseline."""
    base = view.baseline
    if base is None:
        return ""
    floor = (
        "The first skill was measured once only, so the noise floor is not known."
        if base.noise is None
        else f"Noise floor: one skill measured twice on `val` differs by ± {base.noise:.3f} (standard error)."
    )
    least = (
        "`val` is too small to certify any gain."
        if base.least_gain is None
        else f"The smallest gain in passed tasks that `val` could certify: {base.least_gain:.3f}."
    )
    return f"{floor} {least} What gates compare, and gains are of, is the {metric_label(view.metric)}, from 0 to 1."


def size_change(view: RunView) -> str:
    """Count the versions and edits accepted, and the skill's tokens before and after."""
    if len(view.versions) < 2:  # noqa: PLR2004 - before and after
        return ""
    first, last = view.versions[0].tokens, view.versions[-1].tokens
    taken = sum(edit.fate is Fate.ACCEPTED for edit in view.edits)
    made = "" if is_change(view) else f"{count_noun(len(view.accepted), 'version')} with {count_noun(taken, 'edit')}. "
    return f"{made}`SKILL.md` goes from about {first:,} to {last:,} tokens ({last - first:+,}, estimated)."


def comparison_line(view: RunView, verdict: Verdict, interval: tuple[float, float] | None, place: str = "") -> str:
    """Write a comparison on one line: tasks passed, score, gain, interval, wins, ties and losses."""
    missing = f", {verdict.missing} not measured" if verdict.missing else ""
    where = place or ("" if view.folded else VAL)
    gain = f"{metric_label(view.metric)} {verdict.gain:+.3f}{format_interval(interval, view.confidence)}"
    confidence = format_confidence(verdict, change=is_change(view))
    return (
        f"{compared_words(verdict, where, view.metric)}, gain in {gain}; "
        f"{verdict.wins} better, {verdict.ties} equal, {verdict.losses} worse{missing}"
        f"{f'; confidence {confidence}' if confidence else ''}"
    )


def format_confidence(verdict: Verdict, *, change: bool) -> str:
    """Confidence of a verdict, never quite 1; empty for a change by people that showed neither a gain nor a loss."""
    if change and verdict.outcome is Outcome.INCONCLUSIVE:
        return ""
    return f"{verdict.confidence:.3f}" if verdict.confidence < 0.9995 else "above 0.999"  # noqa: PLR2004 - would be rounded up


def format_interval(interval: tuple[float, float] | None, confidence: float) -> str:
    """Write the interval of a gain; empty when it is not known."""
    if interval is None:
        return ""
    return f" (between {interval[0]:+.2f} and {interval[1]:+.2f}, each limit at confidence {confidence:g})"


def gates(view: RunView, limits: LengthLimits) -> str:
    """List every comparison of the gate."""
    if not view.gates:
        return "No candidate reached the gate."
    gain = f"gain in {metric_label(view.metric)}"
    columns = "gate", "step", "candidate", "verdict", "tasks passed", "score", gain, "better / equal / worse"
    head = [f"| {' | '.join(columns)} | confidence |", "|" + "---|" * 9]
    rows = [_gate(gate) for gate in view.gates[-limits.gates :]]
    return "\n".join([*head, *rows]) + more_line(len(view.gates) - len(rows), "earlier gate", view.run)


def flips(view: RunView, limits: LengthLimits) -> str:
    """List every task that passes now and did not, or the other way round, in what was accepted and in the test."""
    taken = [
        (f"Gate {gate.number}", gate.verdict) for gate in view.gates if gate.version is not None or is_change(view)
    ]
    comparisons = taken[-limits.gates :] + ([("Held-out test", view.test.verdict)] if view.test else [])
    lines = [
        f"- {place}: {count_noun(len(verdict.fixed), 'task')} now passing"
        f"{_listed(verdict.fixed, limits)}; {len(verdict.broken)} no longer passing{_listed(verdict.broken, limits)}"
        for place, verdict in comparisons
    ]
    shown = "\n".join(lines) or "Nothing was accepted, so no task changed sides."
    return shown + more_line(len(taken) - limits.gates, "earlier gate", view.run)


def held_out_test(view: RunView) -> str:
    """Show the release check before and after, with what it guarantees."""
    test = view.test
    if test is None:
        usual = "it was not asked for with --release, or the change was refused before" if is_change(view) else ""
        reason = view.test_withheld or usual or "nothing was accepted, or the run is not over"
        return f"There was no release check: {inline_code(reason)}."
    rows = [
        "| | tasks passed | score | not measured |",
        "|" + "---|" * 4,
        _tally("released" if test.released else "before" if is_change(view) else "before training", test.before),
        _tally("after", test.after),
    ]
    return "\n".join(rows) + f"\n\n{guarantee(view)}"


def suspects(view: RunView) -> str:
    """List the train tasks whose verifier looks wrong; they are for a person to look at."""
    return "\n".join(
        f"- {inline_code(one.task)}, by {'what was measured' if one.by == 'measured' else 'the optimizer model'}, "
        f"{'set aside in this run' if one.set_aside else 'still trained on'}: {inline_code(one.reason)}"
        for one in view.suspects
    )


def not_learned(view: RunView, limits: LengthLimits) -> str:
    """Name the tasks that failed under every patch, and the prompts that got no answer; empty for none of both."""
    parts = []
    if view.set_aside:
        were = "was" if len(view.set_aside) == 1 else "were"
        named = f"{were} set aside: {list_names(view.set_aside, limits)}"
        parts.append(f"{_tasks(len(view.set_aside))} failed under every patch and {named}.")
    if view.skipped:
        rows = [
            f"- reflection {one.step}, about {list_names(one.tasks, limits)}: "
            f"{inline_code(truncate(one.reason, _MOST_REASON))}"
            for one in view.skipped[: limits.gates]
        ]
        prompts = f"{count_noun(len(view.skipped), 'prompt')} got no answer, and the run went on without:"
        parts += [prompts, "\n".join(rows)]
    return "\n\n".join(parts)


def guarantee(view: RunView) -> str:
    """State the error probability of the verdicts."""
    error, gates_run = 1.0 - view.confidence, len(view.gates)
    if is_change(view):
        return (
            "If exchanging the two texts changed nothing, each split that was measured would show what the gate asks "
            f"about, be it a loss or a gain, with probability {error:.2f} at most."
        )
    if view.test is not None:
        look = view.test.look
        alone = 1.0 - look_confidence(view.confidence, look)
        several = (
            f" It was look {look} at this split for that released version; all looks together, however many, err with "
            f"probability {error:.2f} at most."
        )
        return (
            "The release check is one exact paired test (sign flips) of fixed size on tasks that no step of training "
            f"saw. If exchanging the two versions changed nothing, it would accept with probability {alone:.3f} at "
            f"most.{several}"
        )
    if view.gate_rule == "sequential":
        return (
            f"All gates of this run together accept a version that is no better with probability {error:.2f} at most."
        )
    if view.gate_rule == "paired":
        total = min(1.0, error * max(1, gates_run))
        return f"Each gate errs with probability {error:.2f} at most, all {gates_run} together with {total:.2f}."
    return "A greater mean was enough here, so there is no bound on the error."


def _error(view: RunView) -> float | None:
    """Bound the probability that what was judged last is misjudged, None where there is no bound."""
    error = 1.0 - view.confidence
    if is_change(view):
        return min(1.0, error * (1 if view.test is None else 2))
    if view.test is not None or view.gate_rule == "sequential":
        return error
    return min(1.0, error * len(view.gates)) if view.gate_rule == "paired" and view.gates else None


def cost(view: RunView) -> str:
    """Table of calls, tokens and US dollars by role."""
    rows = ["| role | calls | tokens read | tokens written | US dollars |", "|" + "---|" * 5]
    rows += [_spent(role, usage) for role, usage in view.spend.items()]
    asked = (
        f"{_asked('rollouts', view.rollouts.asked, view.rollouts.paid)}; "
        f"{_asked('optimizer calls', view.calls.asked, view.calls.paid)}."
    )
    if not view.spend:
        return f"{asked} Nothing was paid for: every answer was recorded before."
    return f"{asked}\n\n" + "\n".join(rows)


def reproduce(view: RunView) -> str:
    """Return the commands that repeat the run, look further, and roll back."""
    if is_change(view):
        again = shell_block([f"skillopt report {quote(view.run)}", _again(view)])
        return f"{again}\n\nThe last one repeats the gate where the change is checked out; what is recorded is free."
    skill, first = quote(view.skill), view.versions[0].commit if view.versions else ""
    lines = [f"git fetch origin {quote(view.branch)}", f"skillopt report {quote(view.run)}"]
    if view.accepted and first:
        newest = view.accepted[-1].commit or view.branch
        lines.append(f"skillopt diff {skill} {quote(first)} {quote(newest)}")
    lines.append(_again(view))
    replay = (
        "The last one repeats the run, from the base commit. Where its ledger is at hand it replays and costs nothing; "
        "elsewhere the target answers anew, and the numbers move by the noise."
    )
    undo = f"skillopt rollback {skill} {quote(first)}" if first else f"skillopt log {skill}"
    before = "Before merging, closing the pull request is enough. After that, publish the old text again:"
    return f"{shell_block(lines)}\n\n{replay}\n\n{before}\n\n{shell_block([undo])}"


def _again(view: RunView) -> str:
    """Return the command of the run, with the settings in which it differs from its preset."""
    if view.kind == "gate":
        return f"skillopt gate {quote(view.base)}"
    if view.kind == "proposal":
        return f"skillopt propose EDITS.json {quote(view.skill)}"
    preset = json.loads(make_settings(("preset", {"preset": view.preset or "default"})).identity)
    usual = {name: value if isinstance(value, str) else json.dumps(value) for name, value in preset.items()}
    flags = [f"--set {quote(f'{name}={value}')}" for name, value in view.settings if usual.get(name, value) != value]
    return " ".join([f"skillopt optimize {quote(view.skill)} --preset {quote(view.preset)}", *flags])


def not_shown(view: RunView) -> str:
    """List the limits of the evidence: what the numbers do not show."""
    why = (
        "What passed is not shown to be worse, or is shown to be better, whichever was asked; neither says why."
        if is_change(view)
        else "Why an edit was made is what its proposer says. Nobody checked that; the scores are all that was checked."
    )
    target, suite = inline_code(view.target), inline_code(view.suite)
    lines = [
        f"Only this target was measured: {target}. Others may do otherwise; see `skillopt evaluate --harness`.",
        f"Only tasks like those of the suite {suite} were tried. What no task checks may have changed.",
        why,
    ]
    if view.accepted:
        lines.append(
            "What was measured on `val` is of versions that were chosen by it, so it is too high; expected scores "
            "allow for that, and "
            + ("the release check has no such bias." if view.test else "no release check corrects them.")
        )
    if (error := _error(view)) is not None:
        lines.append(
            f"That a difference is found where there is none has a probability of {error:.2f} at most for this skill "
            "alone; that it happens to at least one of k skills of one night or gate, one of up to k times "
            f"{error:.2f}."
        )
    unseen = next((sum(pair.after is None for pair in gate.tasks) for gate in reversed(view.gates) if gate.version), 0)
    if unseen:
        lines.append(f"The gate stopped early: {_tasks(unseen)} of `val` were not run for it, and may have broken.")
    if any(usage.usd is None for usage in view.spend.values()):
        lines.append("Some prices are not known, so the cost is incomplete.")
    return "\n".join(f"- {line}" for line in lines)


def _gate(gate: GateView) -> str:
    verdict = gate.verdict
    passed, score = passed_cells(verdict)
    what = count_noun(len(gate.edits), "edit") if gate.edits else inline_code(gate.kind)
    span = f" ({gate.interval[0]:+.2f} to {gate.interval[1]:+.2f})" if gate.interval else ""
    run = sum(pair.after is not None for pair in gate.tasks)
    tasks = f" of {run} run" if run else ""
    outcome = gate_outcome(gate) + (f", version {gate.version}" if gate.version is not None else "")
    return (
        f"| {gate.number} | {gate.step} | {what} | {outcome} | {passed} | {score} "
        f"| {verdict.gain:+.3f}{span} | {verdict.wins} / {verdict.ties} / {verdict.losses}{tasks} "
        f"| {format_confidence(verdict, change=gate.kind == 'change')} |"
    )


def _listed(tasks: Sequence[str], limits: LengthLimits) -> str:
    return f" ({list_names(tasks, limits)})" if tasks else ""


def _tally(name: str, tally: Tally) -> str:
    passed = passed_words(tally.passed * tally.measured, tally.measured)
    return f"| {name} | {passed} | {tally.score:.2f} | {tally.missing} |"


def _spent(role: str, usage: Usage) -> str:
    price = "not known" if usage.usd is None else f"{usage.usd:.4f}"
    return f"| {inline_code(role)} | {usage.calls:,} | {usage.input_tokens:,} | {usage.output_tokens:,} | {price} |"


def _asked(what: str, asked: int | None, paid: int) -> str:
    return (
        f"{paid:,} {what} paid so far" if asked is None else f"{asked:,} {what} asked for, {paid:,} of them newly paid"
    )


def _tasks(number: int) -> str:
    return count_noun(number, "task")
