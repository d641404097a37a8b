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
    Standing,
    SuiteMeasurement,
    Weight,
)
from skillopt.rollouts import Usage
from skillopt.safety.capabilities import DifferenceKind
from skillopt.safety.escaping import count_noun, escape_log_line, escape_terminal, truncate
from skillopt.safety.text_classes import LintClass

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
_MEANINGS: Final = {
    Required.BETTER: "A skill passes when it is shown to be better.",
    Required.NOT_WORSE: "`passed` is no proof of a gain.",
}
_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY: Final = {**_DATA, **str.maketrans({":": "%3A", ",": "%2C"})}


def render_gate_summary(report: GateReport) -> str:
    """Render a report as Markdown; one that would be too long for a comment loses details of its last skills."""
    boxed = _boxed(report)
    shown = [_details(change, boxed, worst=True) for change in report.changes]

    def written(kept: int) -> str:
        left = len(shown) - kept
        rest = f"{left} more skills are not shown in detail; see the log of the job." if left else ""
        return print_markdown(paragraphs(_head(report, boxed), *shown[:kept], rest))

    fitting = bisect_right(range(len(shown) + 1), MOST_BYTES, key=lambda kept: len(written(kept).encode()))
    return written(max(0, fitting - 1))


def render_gate_text(report: GateReport) -> str:
    """Render a report for a terminal or the log of a job."""
    boxed = _boxed(report)
    text = paragraphs(_head(report, boxed), *(_details(change, boxed, worst=False) for change in report.changes))
    return "\n".join(map(escape_log_line, print_terminal(text).split("\n")))


def _boxed(report: GateReport) -> list[ChangeFinding]:
    """List what a person must look at, as far as it stands on top."""
    return [finding for change in report.changes for finding in change.for_a_person][:_MOST_MARKED]


def _head(report: GateReport, boxed: Sequence[ChangeFinding]) -> str:
    count = sum(len(change.for_a_person) for change in report.changes)
    told = (
        f"**A person must look at {count_noun(count, 'thing')} before this is merged or used, whatever was measured:**"
    )
    rows = [_place(finding) for finding in boxed] + (
        [f"{count - len(boxed)} more, below"] if count > len(boxed) else []
    )
    compared = f"{cited(report.head)} was read."
    if report.base:
        after = f"{cited(report.head)} ({report.after[:10]})"
        before = f"{cited(report.base.removeprefix('refs/remotes/'))} ({report.before[:10]})"
        asked, paid = (sum(getattr(one, name) for one in report.changes) for name in ("rollouts", "paid_rollouts"))
        cost = f": {paid} new rollouts of {asked}, {Usage.total(report.spent.values()).price}" if asked else ""
        compared = f"{after} against {before}{cost}. {_MEANINGS[report.required]}"
    columns = ("", "skill", "change", "val tasks passed", "interval", "verdict")
    return paragraphs(
        f"## Skill gate: {report.headline}",
        box("caution", f"{told}\n\n{bullets(rows)}") if boxed else "",
        write_table(columns, [_row(change) for change in report.changes[:_MOST_SHOWN]] if report.base else ()),
        compared,
    )


def _row(change: GatedChange) -> tuple[str, ...]:
    judged, figures = change.judged, ("", "")
    if judged is not None and judged.watched is not None:
        figures = judged.watched.passed, judged.watched.interval
    elif judged is not None and judged.verdict is not None and (found := headline_of_verdict(judged.verdict)):
        figures = found.counts, ", ".join(filter(None, (found.gain, found.score)))
    return _SIGNS[change.standing], cited(change.skill, 80), change.kind.value, *figures, change.standing.value


def _details(change: GatedChange, boxed: Sequence[ChangeFinding], *, worst: bool) -> str:
    renamed = change.before_path and change.before_path != change.path
    shown = [
        f"### {cited(change.skill, 80)}: {change.standing.value}",
        f"Renamed from {cited(change.before_path, _LONGEST)}." if renamed else "",
        _why(change),
    ]
    quoted = any(finding.rule == LintClass.REMOVED_RULE for finding in boxed)
    difference = [one for one in change.difference if not (quoted and one.waits and one.kind is DifferenceKind.REMOVED)]
    # Not as "nothing new" beside what a person must look at.
    if difference or not (change.for_a_person or change.standing is Standing.DELETED):
        shown.append(tell_difference(difference))
    if (judged := change.judged) is not None:
        bound = (
            f"gain is at least {judged.lowest:.2f}" if judged.lowest > 0 else f"loss is at most {-judged.lowest:.2f}"
        )
        if (watched := judged.watched) is not None:
            shown.append(f"Judged by the {cited(watched.record)}: {watched.errors}.")
        elif judged.answer is not Standing.REFUSED:  # it says nothing of a harm
            shown.append(f"With confidence {judged.confidence:g} the true {bound}.")
        lower = [task for task in judged.worse if task not in judged.broken]
        fixed = judged.verdict.fixed if judged.verdict else ()
        lists = (("No longer passed", judged.broken), ("Lower score", lower), ("Passed now", fixed))
        told = []
        for label, tasks in lists:
            if unsaid := [task for task in tasks if not watched or task not in change.reason]:
                more = f" and {len(unsaid) - _MOST_SHOWN} more" if len(unsaid) > _MOST_SHOWN else ""
                told.append(f"{label}: {', '.join(cited(task, 80) for task in unsaid[:_MOST_SHOWN])}{more}.")
        shown.append(" ".join(told))
        shown += _how(change, worst=worst)
    if (beside := change.base_measurement) is not None:
        shown.append(f"With the suite and the settings of the base: **{beside.standing.value}**, {_why(beside)}.")
        shown += _how(beside, worst=worst)
    rest = [finding for finding in change.findings if finding not in boxed]
    rows = [
        f"{'needs a person: ' if one.person else ''}{_WORDS[one.weight]} ({one.rule}): {_place(one)}"
        for one in rest[:_MOST_SHOWN]
    ]
    rows += [f"{len(rest) - len(rows)} more"] if len(rest) > len(rows) else []
    return paragraphs(*shown, bullets(rows))


def _why(measured: SuiteMeasurement) -> str:
    """Cite the reason without the standing, which stands before it."""
    return cited(measured.reason.removeprefix(f"{measured.standing.value}: "), _LONGEST)


def _how(measured: SuiteMeasurement, *, worst: bool) -> tuple[str, str]:
    """Show how tasks broke: the worst to fold out, printed before, and where the page with all of them is."""
    page = f"Each task with prompt, answers and feedback on both sides: `{measured.page}` in the job's reports."
    return measured.worst if worst else "", page if measured.page else ""


def _place(finding: ChangeFinding) -> str:
    line = f":{finding.line}" if finding.line > 1 else ""  # the first is that of what has no line of its own
    return f"{cited(f'{finding.path}{line}', _LONGEST)}: {cited(finding.message, _LONGEST)}"


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
    if judged is None or judged.answer is not Standing.REFUSED:
        return []
    label, tasks = ("it broke", judged.broken) if judged.broken else ("worse", judged.worse)
    listed = f"; {label}: {', '.join(tasks[:_MOST_MARKED])}" if tasks and not judged.watched else ""
    return [ChangeFinding(path, line, Weight.REFUSE, "verdict", f"{change.reason}{listed}")]


def _command(finding: ChangeFinding, *, strict: bool) -> str:
    name = "error" if strict and finding.weight is Weight.WARN else _COMMANDS[finding.weight]
    title = f"skillopt: {'needs a person: ' if finding.person else ''}{finding.rule}"
    path, said = (truncate(escape_terminal(text), 1000) for text in (finding.path, finding.message))
    place = f"file={path.translate(_PROPERTY)},line={finding.line},title={escape_terminal(title).translate(_PROPERTY)}"
    return f"::{name} {place}::{said.translate(_DATA)}"
