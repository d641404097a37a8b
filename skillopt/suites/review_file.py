"""The file in which a person reads drafted tasks and ticks those to keep: Markdown, with each task as a YAML block.

What a person changes in a block is what is taken. Model text stands on one line or inside a fence, so that no draft can
tick itself or another one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.safety.escaping import escape_hidden
from skillopt.suites.trials import TrialResult, Tried
from skillopt.suites.writing import task_entry, yaml_text
from skillopt.tasks import Task

__all__ = ["ReviewEntry", "read_review", "render_candidates", "render_review", "without_entries"]

_HEADING: Final = re.compile(r"^## \[(?P<tick>[ xX])\] (?P<id>\S+)[ \t]*$")
_ANY_HEADING: Final = re.compile(r"^##? ")
_FENCE: Final = re.compile(r"^(?P<marks>`{3,})yaml[ \t]*$")
_ORDER: Final = (TrialResult.FAILS, TrialResult.HARMED, TrialResult.HELPED)


@dataclass(frozen=True, slots=True)
class ReviewEntry:
    """A drafted task in a review file."""

    id: str
    ticked: bool
    block: str
    line: int
    end: int
    why: str = ""


def render_review(skill: str, tried: Sequence[Tried], *, model: str, target: str) -> str:
    """Write a review file."""
    kept = sorted((one for one in tried if one.result.kept), key=lambda one: _ORDER.index(one.result))
    dropped = [one for one in tried if not one.result.kept]
    lines = [
        f"# Drafted tasks for the skill {skill}",
        "",
        f"{len(kept)} of {len(tried)} drafts are left to choose from. Drafted by {_flat(model)}, tried with",
        f"{_flat(target)}.",
        "",
        "None of them is a task yet. Read each, change what you like in its block, and tick what is right: `## [x] …`.",
        f"Then run `skillopt write-tasks {skill} --accept`. Training learns from tasks that fail with the skill; the",
        "others keep what it can do.",
    ]
    left_out = [(one.draft.task.id, ": ".join(filter(None, (one.result, _flat(one.detail))))) for one in dropped]
    return _file(lines, ((one.draft.task, tuple(_remarks(one))) for one in kept), left_out)


def render_candidates(
    skill: str, found: Sequence[tuple[Task, str]], left_out: Sequence[tuple[str, str]], intro: str
) -> str:
    """Write a review file of candidates from past sessions."""
    lines = [
        f"# Candidates for tasks of the skill {skill}",
        "",
        intro,
        "",
        "None of them is a task yet. Read each, make its criteria exact, and tick what is right: `## [x] …`.",
        f"Then run `skillopt harvest {skill} --accept`.",
    ]
    return _file(lines, ((task, (f"Why: {_flat(why)}",)) for task, why in found), left_out)


def _file(lines: list[str], entries: Iterable[tuple[Task, Sequence[str]]], left_out: Sequence[tuple[str, str]]) -> str:
    for task, remarks in entries:
        lines += ["", *_entry(task, remarks)]
    if left_out:
        lines += ["", "# Dropped", "", *(f"- {name}: {reason}" for name, reason in left_out)]
    return "\n".join(lines) + "\n"


def read_review(text: str) -> tuple[ReviewEntry, ...]:
    """Read the drafts of a review file, with their ticks; a heading without a block is passed over."""
    lines = text.splitlines()
    found, at = [], 0
    while at < len(lines):
        heading = _HEADING.match(lines[at])
        if heading is None:
            at += 1
            continue
        start, block, at, remarks = at, None, at + 1, list[str]()
        while at < len(lines) and not _ANY_HEADING.match(lines[at]):
            fence = _FENCE.match(lines[at])
            if fence and block is None:
                closing = next(
                    (end for end in range(at + 1, len(lines)) if lines[end].rstrip() == fence["marks"]), None
                )
                block = None if closing is None else "\n".join(lines[at + 1 : closing])
                at = at if closing is None else closing
            elif block is None and lines[at].strip():
                remarks.append(lines[at].strip())
            at += 1
        if block is not None:
            ticked = heading["tick"] != " "
            found.append(ReviewEntry(heading["id"], ticked, block, start + 1, at + 1, " ".join(remarks)))
    return tuple(found)


def without_entries(text: str, entries: Sequence[ReviewEntry]) -> str:
    """Take entries out of a review file."""
    gone = {line for entry in entries for line in range(entry.line - 1, entry.end - 1)}
    return "".join(line for at, line in enumerate(text.splitlines(keepends=True)) if at not in gone)


def _entry(task: Task, remarks: Sequence[str]) -> Iterator[str]:
    block = yaml_text(task_entry(task))
    marks = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", block) or [""]))
    yield f"## [ ] {task.id}"
    yield ""
    yield from remarks
    yield ""
    yield f"{marks}yaml"
    yield block
    yield marks


def _remarks(one: Tried) -> Iterator[str]:
    near = ", near miss" if one.draft.near_miss else ""
    yield f"{one.result}{near}: {one.passed_with} of {one.runs} passed with the skill, {one.passed_without} without."
    if one.draft.why:
        yield f"Why: {_flat(one.draft.why)}"
    if one.detail:
        yield f"Checks said: {_flat(one.detail)}"


def _flat(text: str) -> str:
    return escape_hidden(" ".join(text.split()))
