"""Tasks and suites: prompts, input files, verifiers, and disjoint splits."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Final

from skillopt.errors import SuiteError

__all__ = [
    "DEFAULT_SHARES",
    "File",
    "Split",
    "Suite",
    "Task",
    "VerifierSpec",
    "assign_splits",
    "digest_of",
    "fill_splits",
]


class Split(StrEnum):
    """`train` is evidence for edits, `val` is the gate, `test` is held-out."""

    TRAIN = "train"
    VAL = "val"
    TEST = "test"


DEFAULT_SHARES: Final[Mapping[Split, float]] = {Split.TRAIN: 0.5, Split.VAL: 0.2, Split.TEST: 0.3}
"""Sizes of the splits when neither the suite nor its tasks say anything."""


def digest_of(*parts: str | bytes) -> str:
    """Hash parts so that no two different lists of parts collide by concatenation.

    Args:
        parts: Text (hashed as UTF-8, lone surrogates kept) or bytes.

    Returns:
        64 lowercase hexadecimal digits (SHA-256).
    """
    hasher = sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        hasher.update(len(data).to_bytes(8, "big"))
        hasher.update(data)
    return hasher.hexdigest()


@dataclass(frozen=True, slots=True)
class File:
    """A file by its relative POSIX path and its bytes."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class VerifierSpec:
    """How a task is scored.

    Args:
        kind: Name of the verifier driver.
        options: The driver's options as canonical JSON text, validated by the driver.
        files: Reference files; they enter no workspace before the target has stopped.
    """

    kind: str
    options: str = "{}"
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work with a way to score it.

    Args:
        id: Unique in its suite.
        prompt: What the target is told.
        verifier: How the result is scored.
        files: What lies in the workspace at the start.
        tags: Free labels, for reports.
        timeout: Wall-clock limit in seconds, > 0.
    """

    id: str
    prompt: str
    verifier: VerifierSpec
    files: tuple[File, ...] = ()
    tags: tuple[str, ...] = ()
    timeout: float = 600.0

    @property
    def digest(self) -> str:
        """Identify everything that can change a rollout's score; id and tags cannot."""
        return digest_of(
            self.prompt,
            repr(self.timeout),
            self.verifier.kind,
            self.verifier.options,
            *(part for file in (*self.files, *self.verifier.files) for part in (file.path, file.content)),
        )

    @property
    def content_digest(self) -> str:
        """Identify what the target is shown, ignoring case and spacing of the prompt."""
        words = " ".join(self.prompt.casefold().split())
        files = sorted((file.path, file.content) for file in self.files)
        return digest_of(words, *(part for file in files for part in file))


@dataclass(frozen=True, slots=True)
class Suite:
    """A set of tasks, each in exactly one split.

    Args:
        name: For people.
        splits: One (split, task) pair per task, in the order of the source.

    Raises:
        SuiteError: Two tasks share an id or their content, within or across splits.
    """

    name: str
    splits: tuple[tuple[Split, Task], ...]

    def __post_init__(self) -> None:
        """Refuse what would leak between splits or count one task twice."""
        ids: dict[str, Split] = {}
        contents: dict[str, tuple[str, Split]] = {}
        for split, task in self.splits:
            if task.id in ids:
                message = (
                    f"suite {self.name!r}: task id {task.id!r} stands in {ids[task.id]} and {split}; ids must be unique"
                )
                raise SuiteError(message)
            ids[task.id] = split
            twin = contents.setdefault(task.content_digest, (task.id, split))
            if twin[0] != task.id:
                message = (
                    f"suite {self.name!r}: tasks {twin[0]!r} ({twin[1]}) and {task.id!r} ({split}) have the same "
                    "prompt and input files; remove one, a task may not be seen twice"
                )
                raise SuiteError(message)

    def tasks(self, split: Split) -> tuple[Task, ...]:
        """List the tasks of one split in the order of the source."""
        return tuple(task for member, task in self.splits if member is split)

    @property
    def digest(self) -> str:
        """Identify content and split membership, whatever the order of the source."""
        rows = sorted((task.id, split.value, task.digest) for split, task in self.splits)
        return digest_of(*(part for row in rows for part in row))


def assign_splits(tasks: Iterable[Task], shares: Mapping[Split, float]) -> tuple[tuple[Split, Task], ...]:
    """Put each task in a split by a hash of its content, so that it never moves when others come or go.

    Args:
        tasks: Tasks without a split.
        shares: Relative size of each split, each ≥ 0 and not all 0.

    Returns:
        (split, task) pairs in the order given.
    """
    total = sum(shares.values())
    return tuple((_split_at(int(task.content_digest[:15], 16) / 16**15 * total, shares), task) for task in tasks)


def fill_splits(assigned: Iterable[tuple[Split, Task]]) -> tuple[tuple[Split, Task], ...]:
    """Leave no split empty: each empty one takes a task from the largest, that of the lowest content digest.

    What is returned depends on the tasks and their splits only, not on their order or ids. With fewer tasks
    than splits some splits stay empty.

    Args:
        assigned: (split, task) pairs; no two tasks have the same content.

    Returns:
        (split, task) pairs in the order given.
    """
    pairs = list(assigned)
    for empty in Split:
        sizes = Counter(split for split, _ in pairs)
        largest = max(Split, key=lambda split: sizes[split])
        if sizes[empty] or sizes[largest] <= 1:
            continue
        taken = min((task.content_digest, at) for at, (split, task) in enumerate(pairs) if split is largest)[1]
        pairs[taken] = (empty, pairs[taken][1])
    return tuple(pairs)


def _split_at(point: float, shares: Mapping[Split, float]) -> Split:
    """Find the split whose share covers a point on [0, total)."""
    edge = 0.0
    for split, share in shares.items():
        edge += share
        if point < edge:
            return split
    return max(shares, key=lambda split: shares[split])
