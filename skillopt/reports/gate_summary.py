"""The result of `skillopt gate` as Markdown, for a job's summary or a comment.

Every text from a repository is shown as code that it cannot leave.
"""

from collections.abc import Iterator, Sequence

from skillopt.gate.headline import passed_cells
from skillopt.reports.escape_markdown import inline_code
from skillopt.review.result import BaseMeasurement, ChangeFinding, GatedChange, GateReport, Required, Standing, Weight
from skillopt.safety.escaping import truncate

__all__ = ["MOST_CHARACTERS", "render_gate_summary"]

MOST_CHARACTERS = 65_536
"""Most characters of a comment on GitHub; a summary may have sixteen times as many."""

_MOST_SHOWN = 30
_MOST_MARKED = 10
_LONGEST = 400
_SIGNS = {
    Standing.PASSED: "✅",
    Standing.REFUSED: "❌",
    Standing.INVALID: "⚠️",
    Standing.CANNOT_TELL: "⚪",
    Standing.UNTESTABLE: "➖",  # noqa: RUF001 - the sign of what was left out
    Standing.DELETED: "🗑️",
}
_WORDS = {Weight.REFUSE: "**refused**", Weight.WARN: "warning", Weight.NOTE: "note"}


def render_gate_summary(report: GateReport) -> str:
    """Render a report; one that would be too long for a comment loses the details of its last skills."""
    parts = [f"## Skill gate: {report.headline}", *_for_a_person(report), _compared(report), *_cost(report)]
    if report.changes:
        rows = ["| | skill | change | val tasks passed | score | better / equal / worse | verdict |", "|" + "---|" * 7]
        parts.append("\n".join([*rows, *(_row(change) for change in report.changes[:_MOST_SHOWN])]))
    left = MOST_CHARACTERS - sum(len(part) + 2 for part in parts) - 200
    for at, change in enumerate(report.changes):
        detail = "\n\n".join(_details(change))
        if len(detail) > left:
            parts.append(f"{len(report.changes) - at} more skills are not shown in detail; see the log of the job.")
            break
        left -= len(detail) + 2
        parts.append(detail)
    return "\n\n".join(parts) + "\n"


def _for_a_person(report: GateReport) -> Iterator[str]:
    """Show in a red box what a person must look at, whatever was measured."""
    found = [finding for change in report.changes for finding in change.for_a_person]
    if not found:
        return
    things = "1 thing" if len(found) == 1 else f"{len(found)} things"
    lines = ["[!CAUTION]", f"**A person must look at {things} before this is merged, whatever was measured:**", ""]
    lines += [_finding(finding) for finding in found[:_MOST_MARKED]]
    lines += [f"- {len(found) - _MOST_MARKED} more, below"] if len(found) > _MOST_MARKED else []
    yield "\n".join(f"> {line}".rstrip() for line in lines)


def _cost(report: GateReport) -> Iterator[str]:
    """Return what this gate cost; nothing where nothing was measured."""
    usages = [usage for change in report.changes for usage in (change.spent or {}).values()]
    asked = sum(change.rollouts for change in report.changes)
    if asked:
        usd = [usage.usd for usage in usages if usage.usd is not None]
        price = f"${sum(usd):.4f}" if len(usd) == len(usages) else "price unknown"
        paid = sum(change.paid_rollouts for change in report.changes)
        yield f"Cost: {price}, {paid} rollouts newly run of {asked}."


def _compared(report: GateReport) -> str:
    after = f"{inline_code(report.head)} ({report.after[:10]})" if report.after else "the work tree"
    compared = f"Compared {after} with {inline_code(report.base)}, that is with {report.before[:10]}."
    if report.required is Required.BETTER:
        return f"{compared} A skill passes when it is shown to be better."
    return (
        f"{compared} A skill is refused when it is shown to be worse, and passes when a loss worth speaking of is "
        "ruled out; that is no proof of a gain."
    )


def _row(change: GatedChange) -> str:
    judged = change.judged
    passed, score, counts = "", "", ""
    if judged is not None:
        verdict = judged.verdict
        passed, score = passed_cells(verdict)
        counts = f"{verdict.wins} / {verdict.ties} / {verdict.losses}"
    cells = (_SIGNS[change.standing], inline_code(truncate(change.skill, 80)), change.kind.value, passed, score, counts)
    return f"| {' | '.join(cells)} | {change.standing.value} |"


def _details(change: GatedChange) -> Iterator[str]:
    yield f"### {inline_code(truncate(change.skill, 80))}: {change.standing.value}"
    if change.before_path and change.before_path != change.path:
        yield f"Renamed from {inline_code(truncate(change.before_path, _LONGEST))}."
    yield f"{inline_code(truncate(change.reason, _LONGEST))}"
    judged = change.judged
    if judged is not None:
        yield (
            f"With confidence {judged.confidence:g} the true gain is above {judged.lowest:+.2f}. "
            f"{change.rollouts} rollouts, {change.paid_rollouts} newly run; run {change.run}, "
            f"change {change.looks} that was measured on this suite."
        )
        yield from _how(change)
        yield from _tasks("Tasks of val that score lower", judged.worse)
        for split, verdict in (("val", judged.verdict), ("test", judged.test)):
            if verdict is not None:
                yield from _tasks(f"Tasks of {split} that no longer pass", verdict.broken)
                yield from _tasks(f"Tasks of {split} that pass now", verdict.fixed)
    if (beside := change.base_measurement) is not None:
        said = inline_code(truncate(beside.reason, _LONGEST))
        yield f"With the suite and the settings of the base: **{beside.standing.value}**, {said}."
        yield from _how(beside)
    if change.findings:
        shown = [_finding(finding) for finding in change.findings[:_MOST_SHOWN]]
        hidden = len(change.findings) - len(shown)
        yield "\n".join([*shown, *([f"- {hidden} more"] if hidden else [])])


def _how(measured: GatedChange | BaseMeasurement) -> Iterator[str]:
    """Show how tasks broke: the worst to fold out, and where the page with all of them is."""
    if measured.worst:
        yield measured.worst
    if measured.page:
        yield f"Each task with prompt, answers and feedback on both sides: `{measured.page}` in the job's reports."


def _tasks(label: str, tasks: Sequence[str]) -> Iterator[str]:
    if tasks:
        shown = ", ".join(inline_code(truncate(task, 80)) for task in tasks[:_MOST_SHOWN])
        yield f"{label}: {shown}{f' and {len(tasks) - _MOST_SHOWN} more' if len(tasks) > _MOST_SHOWN else ''}."


def _finding(finding: ChangeFinding) -> str:
    place = inline_code(truncate(f"{finding.path}:{finding.line}", _LONGEST))
    return f"- {_WORDS[finding.weight]} ({finding.rule}) {place}: {inline_code(truncate(finding.message, _LONGEST))}"
