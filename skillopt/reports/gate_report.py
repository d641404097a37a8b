"""The result of `skillopt gate`: one text for summary and terminal, annotations beside it."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from skillopt.figures import headline_of_verdict
from skillopt.reports.markdown import box, bullets, cited, paragraphs, print_markdown, tell_difference, write_table
from skillopt.reports.terminal import print_terminal
from skillopt.review.result import (
    ChangeFinding,
    GatedChange,
    GateReport,
    Required,
    ReviewAnswer,
    Standing,
    SuiteMeasurement,
    Weight,
)
from skillopt.rollouts import Usage
from skillopt.safety.escaping import escape_log_line, escape_terminal, truncate

MOST_BYTES: Final = 64_000
"""Most bytes of a summary: a comment on GitHub holds 65,536, with the mark by which it is found again."""

MOST_ANNOTATIONS: Final = 10
"""GitHub shows no more of one step."""

_MOST_SHOWN: Final = 30  # rows of a list that a person reads
_MOST_MARKED: Final = 10  # so that the box on top leaves the verdict on the first screen
_LONGEST: Final = 400  # characters of a text: three lines of a comment
_SIGNS: Final = {
    Standing.PASSED: "✅",
    Standing.REFUSED: "❌",
    Standing.INVALID: "⚠️",
    Standing.CANNOT_TELL: "⚪",
    Standing.UNTESTABLE: "➖",  # noqa: RUF001 - the sign of what was left out
    Standing.DELETED: "🗑️",
}
_WORDS: Final = {Weight.REFUSE: "**refused**", Weight.WARN: "warning", Weight.NOTE: "note"}
_COMMANDS: Final = {Weight.REFUSE: "error", Weight.WARN: "warning", Weight.NOTE: "notice"}
_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY: Final = {**_DATA, **str.maketrans({":": "%3A", ",": "%2C"})}


def render_gate_summary(report: GateReport) -> str:
    """Render a report as Markdown; one that would be too long for a comment loses details of its last skills."""
    shown = list(map(_details, report.changes))

    def written(kept: int) -> str:
        left = len(shown) - kept
        rest = f"{left} more skills are not shown in detail; see the log of the job." if left else ""
        return print_markdown(paragraphs(_head(report), *shown[:kept], rest))

    fitting = bisect_right(range(len(shown) + 1), MOST_BYTES, key=lambda kept: len(written(kept).encode()))
    return written(max(0, fitting - 1))


def render_gate_text(report: GateReport) -> str:
    """Render a report for a terminal or the log of a job."""
    text = paragraphs(_head(report), *(_details(change, worst=False) for change in report.changes))
    return "\n".join(map(escape_log_line, print_terminal(text).split("\n")))


def _head(report: GateReport) -> str:
    found = [finding for change in report.changes for finding in change.for_a_person]
    things = "1 thing" if len(found) == 1 else f"{len(found)} things"
    rows = [_finding(finding) for finding in found[:_MOST_MARKED]]
    rows += [f"{len(found) - _MOST_MARKED} more, below"] if len(found) > _MOST_MARKED else []
    told = f"**A person must look at {things} before this is merged or used, whatever was measured:**"
    columns = ("", "skill", "change", "val tasks passed", "gain (90% interval)", "score", "verdict")
    compared = f"{cited(report.head)} was read."
    if report.base:
        after = f"{cited(report.head)} ({report.after[:10]})" if report.after else "the work tree"
        passes = "A skill passes when it is shown to be better."
        if report.required is Required.NOT_WORSE:
            passes = (
                "A skill is refused when it is shown to be worse, and passes when a loss worth speaking of is ruled "
            )
            passes += "out; that is no proof of a gain."
        compared = f"Compared {after} with {cited(report.base)}, that is with {report.before[:10]}. {passes}"
    spent = Usage.total(usage for change in report.changes for usage in (change.spent or {}).values())
    asked = sum(change.rollouts for change in report.changes)
    paid = sum(change.paid_rollouts for change in report.changes)
    return paragraphs(
        f"## Skill gate: {report.headline}",
        box("caution", f"{told}\n\n{bullets(rows)}") if found else "",
        compared,
        f"Cost: {spent.price}, {paid} rollouts newly run of {asked}." if asked else "",
        write_table(columns, [_row(change) for change in report.changes[:_MOST_SHOWN]] if report.base else ()),
    )


def _row(change: GatedChange) -> tuple[str, ...]:
    judged = change.judged
    found = headline_of_verdict(judged.verdict) if judged and judged.verdict else None
    figures = (found.counts, found.gain, found.score) if found else ("", "", "")
    if judged is not None and judged.watched is not None:
        figures = (judged.watched.passed, "", "")
    is_now = change.standing
    return _SIGNS[is_now], cited(change.skill, 80), change.kind.value, *figures, is_now.value


def _details(change: GatedChange, *, worst: bool = True) -> str:
    renamed = change.before_path and change.before_path != change.path
    # Not as "nothing new" beside what a person must look at.
    differs = bool(change.difference) or not (change.for_a_person or change.standing is Standing.DELETED)
    shown = [
        f"### {cited(change.skill, 80)}: {change.standing.value}",
        f"Renamed from {cited(change.before_path, _LONGEST)}." if renamed else "",
        _why(change),
        tell_difference(change.difference) if differs else "",
    ]
    if (judged := change.judged) is not None:
        lowest, refused = judged.lowest, judged.answer is ReviewAnswer.REFUSED
        bound = f"gain is at least {lowest:.2f}" if lowest > 0 else f"loss is at most {-lowest:.2f}"
        sure = "" if refused else f"With confidence {judged.confidence:g} the true {bound}. "  # says nothing of a harm
        if (watched := judged.watched) is not None:
            sure = f"Judged by the {cited(watched.record)}: {watched.errors}. "
        sure += (
            f"{change.rollouts} rollouts, {change.paid_rollouts} newly run; run {change.run}, "
            f"change {change.looks} that was measured on this suite."
        )
        shown += [sure, *_how(change, worst=worst), _tasks("Tasks of val that score lower", judged.worse)]
        if (verdict := judged.verdict) is not None:
            shown.append(_tasks("Tasks of val that no longer pass", verdict.broken))
            shown.append(_tasks("Tasks of val that pass now", verdict.fixed))
    if (beside := change.base_measurement) is not None:
        shown.append(f"With the suite and the settings of the base: **{beside.standing.value}**, {_why(beside)}.")
        shown += _how(beside, worst=worst)
    rows = [_finding(finding) for finding in change.findings[:_MOST_SHOWN]]
    rows += [f"{len(change.findings) - len(rows)} more"] if len(change.findings) > len(rows) else []
    return paragraphs(*shown, bullets(rows))


def _why(measured: GatedChange | SuiteMeasurement) -> str:
    """Cite the reason without the standing, which stands before it."""
    return cited(measured.reason.removeprefix(f"{measured.standing.value}: "), _LONGEST)


def _how(measured: GatedChange | SuiteMeasurement, *, worst: bool) -> tuple[str, str]:
    """Show how tasks broke: the worst to fold out, printed before, and where the page with all of them is."""
    page = f"Each task with prompt, answers and feedback on both sides: `{measured.page}` in the job's reports."
    return measured.worst if worst else "", page if measured.page else ""


def _tasks(label: str, tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - _MOST_SHOWN} more" if len(tasks) > _MOST_SHOWN else ""
    return f"{label}: {', '.join(cited(task, 80) for task in tasks[:_MOST_SHOWN])}{more}." if tasks else ""


def _finding(finding: ChangeFinding) -> str:
    place, message = cited(f"{finding.path}:{finding.line}", _LONGEST), cited(finding.message, _LONGEST)
    marked = "needs a person: " if finding.person else ""
    return f"{place}: {marked}{_WORDS[finding.weight]} ({finding.rule}): {message}"


def render_annotations(report: GateReport) -> str:
    """Render the findings as workflow commands, shown on the changed lines, errors first, all escaped."""
    findings = [finding for change in report.changes for finding in (*_verdicts(change), *change.findings)]
    ordered = sorted(findings, key=lambda finding: (list(Weight).index(finding.weight), not finding.person))
    return "\n".join(_command(finding, strict=report.strict) for finding in ordered[:MOST_ANNOTATIONS])


def _verdicts(change: GatedChange) -> list[ChangeFinding]:
    judged, path, line = change.judged, change.first_path or change.path, change.first_line
    if change.standing is Standing.INVALID:
        return [ChangeFinding(path, line, Weight.REFUSE, "not measured", change.reason)]
    if change.standing is Standing.CANNOT_TELL:
        return [ChangeFinding(path, line, Weight.NOTE, "cannot tell", change.reason.removeprefix("cannot tell: "))]
    if judged is None or judged.answer is not ReviewAnswer.REFUSED:
        return []
    label, tasks = ("it broke", judged.broken) if judged.broken else ("worse", judged.worse)
    listed = f"; {label}: {', '.join(tasks[:_MOST_MARKED])}" if tasks else ""
    return [ChangeFinding(path, line, Weight.REFUSE, "verdict", f"{change.reason}{listed}")]


def _command(finding: ChangeFinding, *, strict: bool) -> str:
    name = "error" if strict and finding.weight is Weight.WARN else _COMMANDS[finding.weight]
    title = f"skillopt: {'needs a person: ' if finding.person else ''}{finding.rule}"
    path, said = (truncate(escape_terminal(text), 1000) for text in (finding.path, finding.message))
    place = f"file={path.translate(_PROPERTY)},line={finding.line},title={escape_terminal(title).translate(_PROPERTY)}"
    return f"::{name} {place}::{said.translate(_DATA)}"
