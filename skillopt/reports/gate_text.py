"""The result of `skillopt gate` as text for a terminal; every text from a repository is escaped."""

from collections.abc import Iterator, Sequence

from skillopt.gate.headline import passed_cells
from skillopt.review.result import GatedChange, GateReport, Required, Standing, Weight
from skillopt.safety.escaping import escape_terminal

__all__ = ["escape_log_line", "render_gate_text"]

_MOST_TASKS = 20
_WORDS = {Weight.REFUSE: "error", Weight.WARN: "warning", Weight.NOTE: "note"}


def render_gate_text(report: GateReport) -> str:
    """Render a report for people."""
    after = report.after[:10] or "the work tree"
    head, base = escape_terminal(report.head), escape_terminal(report.base)
    lines = [f"{head} ({after}) against {base} ({report.before[:10]}): {report.headline}"]
    rows: list[tuple[str, ...]] = [
        ("skill", "change", "verdict", "tasks passed", "score", "better/equal/worse", "rollouts")
    ]
    rows += [_cells(change) for change in report.changes]
    if report.changes:
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        lines += [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
    for change in report.changes:
        lines += _details(change)
    if any(change.judged for change in report.changes):
        lines.append(_asked(report))
    return "\n".join(map(escape_log_line, lines))


def _cells(change: GatedChange) -> tuple[str, ...]:
    judged = change.judged
    if judged is None:
        return (escape_terminal(change.skill), change.kind.value, change.standing.value, "", "", "", "")
    verdict = judged.verdict
    return (
        escape_terminal(change.skill),
        change.kind.value,
        change.standing.value,
        *passed_cells(verdict),
        f"{verdict.wins}/{verdict.ties}/{verdict.losses}",
        f"{change.rollouts} ({change.paid_rollouts} newly run)",
    )


def _details(change: GatedChange) -> Iterator[str]:
    name = escape_terminal(change.skill)
    if change.before_path and change.before_path != change.path:
        yield f"{name}: renamed from {escape_terminal(change.before_path)}"
    yield f"{name}: {escape_terminal(change.reason)}"
    if change.judged is not None:
        yield f"{name}: with confidence {change.judged.confidence:g} its true gain is above {change.judged.lowest:+.2f}"
        yield from _tasks(name, "worse", change.judged.worse)
        for verdict in filter(None, (change.judged.verdict, change.judged.test)):
            yield from _tasks(name, "it broke", verdict.broken)
            yield from _tasks(name, "it fixed", verdict.fixed)
    if (beside := change.base_measurement) is not None:
        yield f"{name}: with the suite and the settings of the base: {escape_terminal(beside.reason)}"
    for finding in change.findings:
        marked = "needs a person: " if finding.person else ""
        place = f"{escape_terminal(finding.path)}:{finding.line}"
        yield f"{place}: {marked}{_WORDS[finding.weight]} ({finding.rule}): {escape_terminal(finding.message)}"


def _tasks(name: str, label: str, tasks: Sequence[str]) -> Iterator[str]:
    if tasks:
        more = f" and {len(tasks) - _MOST_TASKS} more" if len(tasks) > _MOST_TASKS else ""
        yield f"{name}: {label}: {', '.join(escape_terminal(task) for task in tasks[:_MOST_TASKS])}{more}"


def _asked(report: GateReport) -> str:
    if report.required is Required.BETTER:
        return "asked: each skill must be shown to be better"
    shown = any(change.standing is Standing.PASSED for change in report.changes)
    asked = "asked: no skill may be shown to be worse, and a loss worth speaking of must be ruled out to pass"
    return f"{asked}; what passed is not shown to be better, see --require better" if shown else asked


def escape_log_line(line: str) -> str:
    """Show a line in the log of a job so that it is no command to the service that runs the job."""
    line = line.replace("##[", "##\\[")
    return f"\\{line}" if line.lstrip().startswith("::") else line
