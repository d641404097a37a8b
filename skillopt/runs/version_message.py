"""Message and trailers of a version: what training says of it, and its grade, written and read back.

Every number comes from the recorded event, none from a model.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill, indent
from typing import Final

from skillopt.gate.error_budget import ERROR_SPENT
from skillopt.gate.grades import GRADE, Grade, Grading, grade_words
from skillopt.gate.headline import VAL, compared_words, expectation, headline_trailers
from skillopt.loop.events import VersionAccepted
from skillopt.rollouts import Usage
from skillopt.safety.escaping import disarm, escape_terminal
from skillopt.safety.lint import LintFinding
from skillopt.safety.text_classes import NEEDS_A_PERSON
from skillopt.skills.edits import Change, Op

__all__ = [
    "SIBLING",
    "Trailers",
    "VersionOrigin",
    "body_of",
    "draft_body",
    "draft_subject",
    "draft_trailers",
    "grade_of",
    "grade_trailers",
    "read_grading",
    "subject_of",
    "trailers_of",
]

SIBLING: Final = "Sibling"
"""Trailer of a version, one for each protected sibling: what was found of it with the version beside."""

_WIDTH = 72
_VERBS = {Op.ADD: "add", Op.REPLACE: "replace", Op.DELETE: "remove", Op.REWRITE: "rewrite"}


@dataclass(frozen=True, slots=True)
class VersionOrigin:
    """Origin of the versions of a run: the skill, the run, its target, optimizer model and suite."""

    skill: str
    run: str
    harness: str
    model: str
    suite_digest: str
    metric: str


def subject_of(skill: str, event: VersionAccepted) -> str:
    """Summarize in one line what the version changes."""
    return f"{skill}: {_summary(event.changes) if event.kind == 'edits' else 'renew the durable guidance'}"


def draft_subject(skill: str, changes: Sequence[Change]) -> str:
    """Summarize in one line what a draft changes; no changes that are edits are the durable guidance."""
    return f"{skill}: draft, {_summary(changes) if changes else 'renew the durable guidance'}"


def draft_body(changes: Sequence[Change], grading: Grading | None) -> str:
    """Explain each edit of a draft with its reason, then what was shown of it; None for nothing."""
    return "\n\n".join([*map(_paragraph, changes), fill(f"{grade_words(grading)}.", _WIDTH)])


def draft_trailers(
    origin: VersionOrigin, grading: Grading | None, rollouts: int, marks: Sequence[LintFinding]
) -> tuple[tuple[str, str], ...]:
    """List the trailers of a draft."""
    return (
        ("Skill", origin.skill),
        ("Skillopt-Run", origin.run),
        ("Gate-Metric", origin.metric),
        *grade_trailers(grading),
        *([("Rollouts", str(rollouts))] if rollouts else []),
        *((NEEDS_A_PERSON, disarm(escape_terminal(f"{mark.kind.value}, {mark}"))) for mark in marks),
        *_target_trailers(origin),
    )


def _summary(changes: Sequence[Change]) -> str:
    counts = Counter(change.edit.op for change in changes)
    parts = [f"{_VERBS[op]} {_rules(counts[op])}" for op in Op if counts[op]]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def body_of(event: VersionAccepted, metric: str) -> str:
    """Explain each edit with its reason, then the result on the validation tasks."""
    verdict = event.verdict
    result = (
        f"{compared_words(verdict, VAL, metric)}: {verdict.wins} better, {verdict.ties} equal, {verdict.losses} worse; "
        f"{len(verdict.fixed)} now pass that did not, {len(verdict.broken)} no longer pass."
    )
    if expected := expectation(verdict.after, verdict.expected, metric):
        result += f" What is chosen for its score has had some luck: {expected} when it is measured again."
    return "\n\n".join([*map(_paragraph, event.changes), fill(result, _WIDTH)])


def trailers_of(
    origin: VersionOrigin, event: VersionAccepted, usage: Usage, spent: float
) -> tuple[tuple[str, str], ...]:
    """List the trailers of a version."""
    verdict = event.verdict
    return (
        ("Skill", origin.skill),
        ("Skillopt-Run", origin.run),
        ("Skillopt-Step", str(event.step)),
        ("Gate-Metric", origin.metric),
        *(() if event.grading is None else grade_trailers(event.grading)),
        *headline_trailers(verdict),
        ("Val-Expected", f"{verdict.expected:.4f}"),
        ("Wins-Ties-Losses", f"{verdict.wins}/{verdict.ties}/{verdict.losses}"),
        ("Confidence", f"{verdict.confidence:.3f}"),
        (ERROR_SPENT, f"{spent:.4f}"),
        ("Rollouts", str(event.rollouts)),
        ("Cost-USD", "unknown" if usage.usd is None else f"{usage.usd:.2f}"),
        *((SIBLING, disarm(escape_terminal(words))) for words in event.siblings),
        *_target_trailers(origin),
    )


def _target_trailers(origin: VersionOrigin) -> tuple[tuple[str, str], ...]:
    return (
        ("Harness", origin.harness),
        ("Optimizer-Model", origin.model),
        ("Suite-Digest", origin.suite_digest),
    )


def _rules(count: int) -> str:
    return "a rule" if count == 1 else f"{count} rules"


def _paragraph(change: Change) -> str:
    edit = change.edit
    place = f" in {disarm(escape_terminal(edit.section))}" if edit.section else ""
    old, new = (indent(disarm(text.strip()), "    ") for text in (edit.anchor, edit.content))
    shown = {Op.ADD: new, Op.REWRITE: new, Op.DELETE: old, Op.REPLACE: f"{old}\n\nby:\n\n{new}"}[edit.op]
    tasks = f" (tasks {', '.join(edit.tasks[:6])}{', …' if len(edit.tasks) > 6 else ''})" if edit.tasks else ""  # noqa: PLR2004 - a few are enough to look further
    reason = fill(f"{disarm(escape_terminal(edit.rationale.strip())) or 'No reason was given.'}{tasks}", _WIDTH)
    return f"{_VERBS[edit.op].capitalize()}{place}:\n\n{shown}\n\n{reason}"


Trailers = Sequence[tuple[str, str]]
"""(key, value) pairs at the end of a commit's message."""

_AGAINST: Final = "Grade-Against"
_FIRST: Final = "first version"
"""Of a version that builds on a proven one: its figures are of what was added."""

_INTERVAL: Final = re.compile(r"([+-]?\d\.\d+) to ([+-]?\d\.\d+)")


def grade_trailers(grading: Grading | None) -> tuple[tuple[str, str], ...]:
    """List the trailers of a grade; None is a draft whose run ended before it was graded."""
    if grading is None:
        return ((GRADE, Grade.UNPROVEN.value),)
    return (
        (GRADE, grading.grade.value),
        ("Probability", f"{grading.probability:.3f}"),
        ("Expected-Gain", f"{grading.gain:+.3f}"),
        ("Interval", f"{grading.low:+.3f} to {grading.high:+.3f}"),
        ("Tasks-Judged", str(grading.tasks)),
        ("Tasks-Changed", str(grading.changed)),
        *(((_AGAINST, _FIRST),) if grading.increment else ()),
    )


def read_grading(trailers: Trailers) -> Grading | None:
    """Read a grade with its figures; None where a commit has none, or people changed them."""
    found = dict(trailers)
    interval = _INTERVAL.fullmatch(found.get("Interval", ""))
    grade = grade_of(trailers)
    if grade is None or interval is None:
        return None
    try:
        return Grading(
            grade,
            float(found["Probability"]),
            float(found["Expected-Gain"]),
            float(interval[1]),
            float(interval[2]),
            int(found["Tasks-Judged"]),
            int(found["Tasks-Changed"]),
            "",
            increment=found.get(_AGAINST) == _FIRST,
        )
    except (KeyError, ValueError):
        return None


def grade_of(trailers: Trailers) -> Grade | None:
    """Read a grade without its figures; None where a commit has none."""
    try:
        return Grade(dict(trailers).get(GRADE, ""))
    except ValueError:
        return None
