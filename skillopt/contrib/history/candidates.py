"""Make candidates for tasks of requests: one of each group of near copies, with a drafted rubric."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from skillopt.contrib.history.redaction import Redaction
from skillopt.contrib.history.requests import Request, failure_key
from skillopt.gate.families import ALIKE, likeness, wording
from skillopt.safety.escaping import count_noun
from skillopt.suites.near_copies import is_near_copy, near_copies, word_digests
from skillopt.tasks import File, Task, VerifierSpec, digest_of

_WORD: Final = re.compile(r"[^\W_]+")
_WHOLE: Final = "The result does all that the request asks for, and nothing that it does not ask for."


@dataclass(frozen=True, slots=True)
class Candidate:
    """A request that may become a task, and why it is worth a look, in one line."""

    task: Task
    why: str


FilesOf = Callable[[Request], tuple[str, tuple[File, ...]]]
"""Gives the commit that a request was made at, and the files that it was about as they were there."""


def grouped_requests(requests: Sequence[Request]) -> list[tuple[Request, ...]]:
    """Group near copies, those that went wrong or came often first."""
    groups = [tuple(requests[at] for at in group) for group in near_copies([one.text for one in requests])]
    return sorted(
        groups, key=lambda group: (-sum(bool(one.corrections) for one in group), -len(group), group[0].session)
    )


def without_twins(
    candidates: Iterable[Candidate], known: Iterable[Task], most: int, dropped: Collection[AbstractSet[str]] = ()
) -> tuple[list[Candidate], list[tuple[str, str]]]:
    """Leave out what is nearly the same as a task that is there, or as a candidate before it, files included.

    Tasks that are nearly the same could end in different splits, where one tells of the other.
    """
    kept, left_out = list[Candidate](), list[tuple[str, str]]()
    seen = [_Seen(task) for task in known]
    for one in candidates:
        own = _Seen(one.task)
        twin = next((other.task for other in seen if own.is_twin(other)), None)
        if is_near_copy(one.task.prompt, dropped):
            left_out.append((one.task.id, "nearly the same as one that you dropped"))
        elif twin is not None:
            left_out.append((one.task.id, f"nearly the same as {twin.id}"))
        else:
            kept.append(one)
            seen.append(own)
        if len(kept) >= most:
            break
    return kept, left_out


class _Seen:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.content, self.words = task.content_digest, word_digests(task.prompt)
        self.wording = wording([task.prompt, *(file.text for file in task.files)])

    def is_twin(self, other: "_Seen") -> bool:
        """Return whether another task is nearly the same."""
        return (
            self.content == other.content
            or is_near_copy(self.task.prompt, [other.words])
            or likeness(self.wording, other.wording) >= ALIKE
        )


def make_candidate(
    group: Sequence[Request], often: Mapping[str, int], files_of: FilesOf, redaction: Redaction
) -> Candidate:
    """Make a candidate of a group of near copies."""
    best = max(group, key=lambda one: (bool(one.corrections), one.started))
    commit, files = files_of(best)
    said = [text for one in group for text in one.corrections]
    heard = (text for one in group for text in (one.text, *one.corrections, *one.failures))
    redaction.learn(*heard, *(file.content.decode("utf-8", "replace") for file in files))
    shared = (line for one in group for line in one.failures if failure_key(line) in often)
    failures = tuple(dict.fromkeys(failure_key(redaction.text(line)) for line in shared))
    prompt = redaction.text(best.text)
    shown = tuple(_redacted(file, redaction) for file in files if redaction.file(file.path) == file.path)
    criteria = list(_criteria((redaction.text(text) for text in said), iter(failures)))
    task = Task(
        task_name(prompt),
        prompt,
        VerifierSpec("rubric", json.dumps({"criteria": criteria}, ensure_ascii=False)),
        shown,
        ("harvested",),
    )
    redacted = prompt != best.text or shown != tuple(files)
    sessions, unnamed = len({one.session for one in group}), len(files) - len(shown)
    told = (
        (True, f"asked {_times(len(group))} in {count_noun(sessions, 'session')}"),
        (said, f"the person was against a result {_times(len(said))}"),
        (failures, f"{count_noun(len(failures), 'failure')} as in other sessions"),
        (True, f"{count_noun(len(shown), 'file')} from {commit[:10]}" if shown else "no files"),
        (best.after, f"{count_noun(best.after, 'request')} came before in its session: see what they changed"),
        (unnamed, f"{count_noun(unnamed, 'file')} left out for secrets or personal data in the name"),
        (redacted, "secrets or personal data taken out: see that it still makes sense"),
    )
    return Candidate(task, "; ".join(text for holds, text in told if holds))


def _redacted(file: File, redaction: Redaction) -> File:
    text = file.content.decode("utf-8", "replace")
    return File(file.path, redaction.file(text).encode())


def _criteria(said: Iterator[str], failures: Iterator[str]) -> Iterator[str]:
    """Draft what must hold: the request itself, what the person said against results, and failures that came again."""
    yield _WHOLE
    flat = dict.fromkeys(" ".join(one.split()) for one in said)
    heard = [text for text in flat if len(_WORD.findall(text)) > 2]  # noqa: PLR2004 - "try again" names no criterion
    for text in heard[:8]:  # a person has to read each of them
        yield f"The result heeds what the person said of an earlier one: {text[:600]}"
    for line in list(dict.fromkeys(failures))[:4]:
        yield f"The work does not end in this failure: {line[:600]}"


def task_name(prompt: str) -> str:
    """Name a task after its first words, and after all of them.

    >>> task_name("Clean the vendor table, please!")
    'clean-the-vendor-table-8d27ff'
    """
    words = [word.lower() for word in re.findall(r"[A-Za-z0-9]+", prompt)][:4]
    return "-".join([*(word[:20] for word in words), digest_of(" ".join(prompt.casefold().split()))[:6]])


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")
