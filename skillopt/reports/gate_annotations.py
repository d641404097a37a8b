"""Findings about a change as workflow commands, which GitHub shows on the changed lines.

Everything is escaped, so that no text ends its command or begins another.
"""

from skillopt.review.result import ChangeFinding, GatedChange, GateReport, ReviewAnswer, Standing, Weight
from skillopt.safety.escaping import escape_terminal, truncate

__all__ = ["MOST_ANNOTATIONS", "render_annotations"]

MOST_ANNOTATIONS = 10
"""GitHub shows no more of one step."""

_COMMANDS = {Weight.REFUSE: "error", Weight.WARN: "warning", Weight.NOTE: "notice"}
_ORDER = {Weight.REFUSE: 0, Weight.WARN: 1, Weight.NOTE: 2}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = {**_DATA, **str.maketrans({":": "%3A", ",": "%2C"})}
_LONGEST = 1000
_MOST_TASKS = 10


def render_annotations(report: GateReport) -> str:
    """Render the findings, errors first; empty when there are none."""
    findings = [finding for change in report.changes for finding in (*_verdicts(change), *change.findings)]
    ordered = sorted(findings, key=lambda finding: (_ORDER[finding.weight], not finding.person))
    return "\n".join(_command(finding, strict=report.strict) for finding in ordered[:MOST_ANNOTATIONS])


def _verdicts(change: GatedChange) -> list[ChangeFinding]:
    """Make a finding of a measurement that did not pass."""
    judged = change.judged
    path, line = change.first_path or change.path, change.first_line
    if change.standing is Standing.INVALID:
        return [ChangeFinding(path, line, Weight.REFUSE, "not measured", change.reason)]
    if change.standing is Standing.CANNOT_TELL:
        return [ChangeFinding(path, line, Weight.NOTE, "cannot tell", change.reason)]
    if judged is None or judged.answer is not ReviewAnswer.REFUSED:
        return []
    broken = (*judged.verdict.broken, *(judged.test.broken if judged.test else ()))
    label, tasks = ("it broke", broken) if broken else ("worse", judged.worse)
    listed = f"; {label}: {', '.join(tasks[:_MOST_TASKS])}" if tasks else ""
    return [ChangeFinding(path, line, Weight.REFUSE, "verdict", f"{change.reason}{listed}")]


def _command(finding: ChangeFinding, *, strict: bool) -> str:
    name = "error" if strict and finding.weight is Weight.WARN else _COMMANDS[finding.weight]
    title = f"skillopt: {'needs a person: ' if finding.person else ''}{finding.rule}"
    place = f"file={_property(finding.path)},line={finding.line},title={_property(title)}"
    return f"::{name} {place}::{truncate(escape_terminal(finding.message), _LONGEST).translate(_DATA)}"


def _property(text: str) -> str:
    return truncate(escape_terminal(text), _LONGEST).translate(_PROPERTY)
