"""Kinds of task failure that a reflection assigns: the closed list, its wording in a prompt, and reading a reply."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

__all__ = ["TASK_FAILURE_KINDS", "NamedFailure", "TaskFailureKind", "explain_kinds", "kind_of", "read_kind"]


class TaskFailureKind(StrEnum):
    """Why a task went wrong."""

    MEMORY = "memory"
    PLANNING = "planning"
    ACTION = "action"
    TOOL = "tool"
    FORMAT = "format"
    VERIFIER_SUSPECT = "verifier-suspect"


TASK_FAILURE_KINDS: Final = tuple(kind.value for kind in TaskFailureKind)

_MEANINGS: Final = MappingProxyType(
    {
        TaskFailureKind.MEMORY: "it was told or had seen what it needed, and lost track of it",
        TaskFailureKind.PLANNING: "steps were missing, in the wrong order, or it stopped too early",
        TaskFailureKind.ACTION: "the plan was right, and a step was carried out wrongly",
        TaskFailureKind.TOOL: "a tool was the wrong one, was called wrongly, or its result was misread",
        TaskFailureKind.FORMAT: "the result is right and its form is not",
        TaskFailureKind.VERIFIER_SUSPECT: "the result is right by all that is shown, and what judged it looks wrong; "
        "propose no edit for it",
    }
)


@dataclass(frozen=True, slots=True)
class NamedFailure:
    """What a reflection calls the failure of a task, and why."""

    task: str
    kind: TaskFailureKind
    reason: str = ""


def explain_kinds() -> str:
    """List the kinds with their meaning, as a prompt shows them."""
    return "\n".join(f"- {kind.value}: {_MEANINGS[kind]}" for kind in TaskFailureKind)


def read_kind(text: object) -> TaskFailureKind | None:
    """Read a kind, however it is cased and joined; None for what is none of them.

    A kind is a remark beside an edit: one that nobody knows is left out rather than the whole reply refused.
    """
    plain = "-".join(str(text).casefold().replace("_", " ").replace("-", " ").split())
    return TaskFailureKind(plain) if plain in TASK_FAILURE_KINDS else None


def kind_of(
    stated: TaskFailureKind | None, tasks: Sequence[str], named: Mapping[str, TaskFailureKind]
) -> TaskFailureKind | None:
    """Return the kind of an edit: the one stated, else the most frequent one of the tasks it cites."""
    if stated is not None:
        return stated
    counts = Counter(
        named[task] for task in tasks if task in named and named[task] is not TaskFailureKind.VERIFIER_SUSPECT
    )
    return min(counts, key=lambda kind: (-counts[kind], TASK_FAILURE_KINDS.index(kind)), default=None)
