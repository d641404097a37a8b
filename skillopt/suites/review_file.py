"""The files in which a person reads candidates for tasks, keeps, changes or drops them: one YAML file a candidate.

What a person changes in a file is what is taken. Model text is a value in the YAML, so no draft can decide of itself.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from skillopt.errors import SuiteError
from skillopt.safety.escaping import escape_hidden
from skillopt.suites.config_lines import put_file
from skillopt.suites.reading import read_yaml
from skillopt.suites.trials import TrialResult, Tried
from skillopt.suites.writing import folder_names, task_entry, yaml_text
from skillopt.tasks import VerifierSpec

_END: Final = ".yaml"
_ORDER: Final = (TrialResult.FAILS, TrialResult.HARMED, TrialResult.HELPED)
_KEYS: Final = frozenset({"decision", "why", "notes", "task"})
_HEAD: Final = """\
# A candidate for a task of {skill}; it is no task yet. Change what you like below, and set `decision` to keep or drop.
# Then run: skillopt {command} {skill} --accept
"""


class Decision(StrEnum):
    """What a person says of a candidate."""

    OPEN = "open"
    KEEP = "keep"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class ReviewEntry:
    """A candidate in its file: what the person decides, and the task as an entry of a suite."""

    path: Path
    decision: Decision
    task: Mapping[str, object]

    @property
    def id(self) -> str:
        """The name of the task."""
        return str(self.task.get("id", self.path.stem))

    @property
    def judged(self) -> bool:
        """Whether a model judges the result, if only in part."""
        verifier = self.task.get("verifier")
        options = dict(verifier) if isinstance(verifier, dict) else {}
        kind = str(options.pop("kind", ""))
        with suppress(TypeError, ValueError, KeyError):  # what is no verifier is refused where the task is read
            return VerifierSpec(kind, json.dumps(options)).judged
        return False

    @property
    def prompt(self) -> str:
        """What is asked for."""
        return str(self.task.get("prompt", ""))


def put_candidates(
    folder: Path, title: tuple[str, str], found: Iterable[tuple[Mapping[str, object], str, Sequence[str]]]
) -> None:
    """Write candidates, as entries of a suite, with why each is one and notes; `title` is the skill and the command."""
    several, (skill, command) = tuple(found), title
    names = folder_names([str(task["id"]) for task, _, _ in several])
    for name, (task, why, notes) in zip(names, several, strict=True):
        entry: dict[str, object] = {"decision": Decision.OPEN.value, "why": _flat(why)}
        if notes:
            entry["notes"] = [_flat(note) for note in notes]
        entry["task"] = dict(task)
        put_file(folder / f"{name}{_END}", f"{_HEAD.format(skill=skill, command=command)}{yaml_text(entry)}\n")


def read_candidates(folder: Path) -> tuple[ReviewEntry, ...]:
    """Read the candidates that wait in a folder, by name; none where there is no folder."""
    return tuple(_read(path) for path in sorted(folder.glob(f"*{_END}")))


def _read(path: Path) -> ReviewEntry:
    source = read_yaml(path)
    value = source.value
    if not isinstance(value, dict) or not isinstance(value.get("task"), dict):
        raise SuiteError(f"{path}:1: expected a candidate with a `task`, found {value!r:.80}; mend or delete the file")
    if strangers := sorted(map(str, value.keys() - _KEYS)):
        line = source.line_of((strangers[0],))
        raise SuiteError(f"{path}:{line}: expected {', '.join(sorted(_KEYS))}, found {strangers[0]!r}; correct it")
    try:
        decision = Decision(str(value.get("decision", Decision.OPEN)).strip().casefold())
    except ValueError as error:
        wanted, line = ", ".join(Decision), source.line_of(("decision",))
        raise SuiteError(f"{path}:{line}: expected one of {wanted}, found {value['decision']!r}; correct it") from error
    return ReviewEntry(path, decision, value["task"])


def remove(entries: Iterable[ReviewEntry]) -> None:
    """Remove the files of candidates, and their folder with the last."""
    for entry in entries:
        entry.path.unlink(missing_ok=True)
        with suppress(OSError):
            entry.path.parent.rmdir()


def drafted(tried: Iterable[Tried]) -> Iterator[tuple[Mapping[str, object], str, Sequence[str]]]:
    """Yield the drafts that a trial leaves, those to learn from first, with how it went."""
    kept = (one for one in tried if one.result.kept)
    for one in sorted(kept, key=lambda one: _ORDER.index(one.result)):
        near = ", near miss" if one.draft.near_miss else ""
        ran = f"{one.passed_with} of {one.runs} passed with the skill, {one.passed_without} without"
        detail = [f"checks said: {one.detail}"] if one.detail else []
        why = f" Why: {one.draft.why}" if one.draft.why else ""
        yield task_entry(one.draft.task), f"{one.result}{near}: {ran}.{why}", detail


def _flat(text: str) -> str:
    return escape_hidden(" ".join(text.split()))
