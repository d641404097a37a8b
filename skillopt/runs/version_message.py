"""Message and trailers of a version: what training says of it, and its grade, written and read back.

Every number comes from the recorded event, none from a model.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from textwrap import fill, indent
from typing import Final

from skillopt.gate.comparison import Verdict
from skillopt.gate.error_budget import ERROR_SPENT
from skillopt.gate.grades import GRADE, Grade, Grading, grade_words
from skillopt.gate.headline import VAL, compared_words, expectation, headline_trailers
from skillopt.loop.events import DraftChanged, DraftGraded, VersionAccepted
from skillopt.rollouts import Usage
from skillopt.safety.escaping import disarm, escape_terminal
from skillopt.safety.lint import LintFinding
from skillopt.safety.text_classes import NEEDS_A_PERSON
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Change, Op
from skillopt.skills.folder import decode_skill, files_of
from skillopt.storage.ledger import RunRecord
from skillopt.versions.decisions import edit_trailers
from skillopt.versions.repository import NewVersion

__all__ = ["SIBLING", "Trailers", "draft_of", "grade_of", "read_grading", "version_of"]

Trailers = Sequence[tuple[str, str]]
"""(key, value) pairs at the end of a commit's message."""

SIBLING: Final = "Sibling"
"""Trailer of a version, one for each protected sibling: what was found of it with the version beside."""

_WIDTH = 72
_GUIDANCE: Final = "renew the durable guidance"
_VERBS = {Op.ADD: "add", Op.REPLACE: "replace", Op.DELETE: "remove", Op.REWRITE: "rewrite"}


def version_of(
    record: RunRecord, event: VersionAccepted, at: str, parent: str, used: tuple[Usage, float]
) -> NewVersion:
    """Return the commit of an accepted version; used are the usage of its run and the error spent for it."""
    verdict, (usage, spent) = event.verdict, used
    subject = _summary(event.changes) if event.kind == "edits" else _GUIDANCE
    trailers = (
        ("Skillopt-Step", str(event.step)),
        ("Gate-Metric", _metric(record)),
        *(() if event.grading is None else _grade_trailers(event.grading)),
        *headline_trailers(verdict),
        ("Val-Expected", f"{verdict.expected:.4f}"),
        ("Wins-Ties-Losses", f"{verdict.wins}/{verdict.ties}/{verdict.losses}"),
        ("Confidence", f"{verdict.confidence:.3f}"),
        (ERROR_SPENT, f"{spent:.4f}"),
        ("Rollouts", str(event.rollouts)),
        ("Cost-USD", "unknown" if usage.usd is None else f"{usage.usd:.2f}"),
        *((SIBLING, disarm(escape_terminal(words))) for words in event.siblings),
    )
    return _commit(record, event, (at, parent), (subject, _result(verdict, _metric(record))), trailers)


def draft_of(
    record: RunRecord, draft: DraftChanged | DraftGraded, at: str, parent: str, marks: Sequence[LintFinding]
) -> NewVersion:
    """Return the commit of a draft; no changes that are edits are the durable guidance."""
    grading, rollouts = (draft.grading, draft.rollouts) if isinstance(draft, DraftGraded) else (None, 0)
    subject = f"draft, {_summary(draft.changes) if draft.changes else _GUIDANCE}"
    trailers = (
        ("Gate-Metric", _metric(record)),
        *_grade_trailers(grading),
        *([("Rollouts", str(rollouts))] if rollouts else []),
        *((NEEDS_A_PERSON, disarm(escape_terminal(f"{mark.kind.value}, {mark}"))) for mark in marks),
    )
    return _commit(record, draft, (at, parent), (subject, f"{grade_words(grading)}."), trailers)


def _commit(
    record: RunRecord,
    event: VersionAccepted | DraftChanged | DraftGraded,
    place: tuple[str, str],
    said: tuple[str, str],
    trailers: Trailers,
) -> NewVersion:
    """Make the commit of a text; its message explains each edit with its reason, then says what was shown."""
    (at, parent), (subject, result) = place, said
    _, harness, model, *_ = json.loads(record.config)
    return NewVersion(
        skill=record.skill,
        path=record.skill_path,
        files=files_of(decode_skill(record.skill, record.start).with_document(SkillDocument(event.text))),
        at=at,
        parent=parent,
        expected_tip=None,
        subject=f"{record.skill}: {subject}",
        body="\n\n".join([*map(_paragraph, event.changes), fill(result, _WIDTH)]),
        trailers=(
            ("Skill", record.skill),
            ("Skillopt-Run", record.id),
            *trailers,
            ("Harness", harness),
            ("Optimizer-Model", model),
            ("Suite-Digest", record.suite_digest),
            *edit_trailers([change.edit for change in event.changes]),
        ),
    )


def _metric(record: RunRecord) -> str:
    return str(json.loads(json.loads(record.config)[0])["metric"])


def _result(verdict: Verdict, metric: str) -> str:
    """Say how the validation tasks went."""
    result = (
        f"{compared_words(verdict, VAL, metric)}: {verdict.wins} better, {verdict.ties} equal, {verdict.losses} worse; "
        f"{len(verdict.fixed)} now pass that did not, {len(verdict.broken)} no longer pass."
    )
    if expected := expectation(verdict.after, verdict.expected, metric):
        result += f" What is chosen for its score has had some luck: {expected} when it is measured again."
    return result


def _summary(changes: Sequence[Change]) -> str:
    counts = Counter(change.edit.op for change in changes)
    parts = [f"{_VERBS[op]} {_rules(counts[op])}" for op in Op if counts[op]]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


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


_AGAINST: Final = "Grade-Against"
_FIRST: Final = "first version"
"""Of a version that builds on a proven one: its figures are of what was added."""

_INTERVAL: Final = re.compile(r"([+-]?\d\.\d+) to ([+-]?\d\.\d+)")


def _grade_trailers(grading: Grading | None) -> tuple[tuple[str, str], ...]:
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
