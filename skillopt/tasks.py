"""Tasks and suites: prompts, input files, verifiers, and disjoint splits."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from itertools import pairwise
from typing import Final

from skillopt.errors import SuiteError

JUDGED_KINDS: Final = frozenset({"rubric"})
"""Kinds of verifiers that ask a model to judge."""

RUN_AGENT: Final = "run-agent"
"""The program with which a check runs the agent's code in a sandbox of its own."""


class Split(StrEnum):
    """`train` is evidence for edits, `val` is the gate, `test` is held-out."""

    TRAIN = "train"
    VAL = "val"
    TEST = "test"


def digest_of(*parts: str | bytes) -> str:
    """Hash parts so that no two different lists of parts collide by concatenation."""
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

    @property
    def text(self) -> str:
        """Read it as text; a binary file has none."""
        return "" if b"\0" in self.content else self.content.decode("utf-8", "ignore")


@dataclass(frozen=True, slots=True)
class Environment:
    """The file system that a task is done in: the workspace is its root, so that absolute paths are what they say.

    Args:
        workdir: The folder in which programs start.
        variables: Names and values that programs get; `$NAME` in a value is one set before, or PATH.
        packages: Python packages that are there, as requirements for pip.
        tools: Those that the tests have in place of `packages`, as `uvx` gives them.
        python: Version of Python, such as `3.12`; empty for any.
        setup: Shell commands that make it ready, in order.
        missing: Packages of the system that the image has and this machine lacks.
        container: Why a container is needed, the line of the image first; empty where the sandbox does.
        network: Whether a container has a network.
    """

    workdir: str = "/"
    variables: tuple[tuple[str, str], ...] = ()
    packages: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    python: str = ""
    setup: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    container: str = ""
    network: bool = False

    @property
    def digest(self) -> str:
        """Identify what programs find in it; what a machine lacks, and why it is a container, is no part of it."""
        return digest_of(repr(replace(self, missing=(), container="yes" if self.container else "")))


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a commit, without some, that a task begins with below its own files; no text of the task."""

    commit: str
    without: tuple[str, ...] = ()
    files: tuple[File, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class VerifierSpec:
    """How a task is scored.

    Args:
        kind: Name of the verifier driver.
        options: The driver's options as canonical JSON text, validated by the driver.
        files: Reference files; they enter no workspace before the target has stopped.
        inputs: What the task placed in the workspace, where a rollout is scored; no part of what identifies a task.
        environment: Where the task was done, where a rollout is scored; None for the workspace alone.
    """

    kind: str
    options: str = "{}"
    files: tuple[File, ...] = ()
    inputs: tuple[File, ...] = ()
    environment: Environment | None = None

    @property
    def judged(self) -> bool:
        """Tell whether a model judges, if only in part."""
        return any(part.kind in JUDGED_KINDS for part in self.parts)

    @property
    def parts(self) -> "tuple[VerifierSpec, ...]":
        """List what `checks` is made of, each a verifier of its own; any other verifier is its only part."""
        if self.kind != "checks":
            return (self,)
        checks = json.loads(self.options).get("checks", ())
        return tuple(replace(self, kind=each["kind"], options=json.dumps(each.get("options", {}))) for each in checks)

    @property
    def can_be_gamed(self) -> bool:
        """Tell whether a check runs the agent's code itself, where that code can reach what decides the score."""
        commands = (part for part in self.parts if part.kind == "command" and not part.asks_runner)
        return any(json.loads(part.options).get("runs") == "agent" for part in commands)

    @property
    def asks_runner(self) -> bool:
        """Tell whether a program has `run-agent` run the agent's code."""
        return any(RUN_AGENT in text for text in (self.options, *(file.text for file in self.files)))

    @property
    def leaves(self) -> list[str]:
        """List the texts and numbers of the options."""
        pending, leaves = [json.loads(self.options)], []
        while pending:
            value = pending.pop()
            if isinstance(value, dict | list):
                pending += value.values() if isinstance(value, dict) else value
            elif isinstance(value, str | int | float) and not isinstance(value, bool):
                leaves.append(str(value))
        return leaves


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work with a way to score it.

    Args:
        id: Unique in its suite.
        prompt: What the target is told.
        verifier: How the result is scored.
        files: What lies in the workspace at the start.
        tags: Free labels, for reports and for splits that have their share of each.
        timeout: Wall-clock limit in seconds, > 0.
        environment: The file system it is done in; None where the workspace is just a folder.
        tree: The commit whose files lie in the workspace at the start, below `files`; None for none.
        family: Name of tasks that are one unit of every test; empty for its near copies, `none` for itself alone.
    """

    id: str
    prompt: str
    verifier: VerifierSpec
    files: tuple[File, ...] = ()
    tags: tuple[str, ...] = ()
    timeout: float = 600.0
    environment: Environment | None = None
    tree: Tree | None = None
    family: str = ""

    def __repr__(self) -> str:
        return f"<Task {self.id!r}: {self.verifier.kind}>"

    def __deepcopy__(self, _: dict[int, object]) -> "Task":
        """Share it with every copy: it never changes."""
        return self

    @property
    def with_image_files(self) -> "Task":
        """The task with the files of its image among the inputs: agents see them; a Dockerfile is no answer."""
        if self.environment is None or not self.environment.container:
            return self
        context = [file for file in self.verifier.files if file.path.startswith("environment/")]
        inputs = [file for file in context if file.path != "environment/Dockerfile"]
        own = tuple(file for file in self.verifier.files if file not in context)
        return replace(self, files=(*self.files, *inputs), verifier=replace(self.verifier, files=own))

    @property
    def placed(self) -> tuple[File, ...]:
        """Give all files that lie in the workspace at the start."""
        if self.tree is None:
            return self.files
        own = {file.path for file in self.files}
        return (*(file for file in self.tree.files if file.path not in own), *self.files)

    @property
    def verifier_with_inputs(self) -> VerifierSpec:
        """Give the verifier as it scores a rollout: it knows the files that the workspace held at the start."""
        return replace(self.verifier, inputs=self.placed, environment=self.environment)

    @property
    def digest(self) -> str:
        """Identify everything that can change a rollout's score; id and tags cannot."""
        return digest_of(
            self.prompt,
            repr(self.timeout),
            self.verifier.kind,
            self.verifier.options,
            *(() if self.environment is None else (self.environment.digest,)),
            *self._of_tree,
            *(part for file in (*self.files, *self.verifier.files) for part in (file.path, file.content)),
        )

    @property
    def _of_tree(self) -> tuple[str, ...]:
        return () if self.tree is None else ("tree", self.tree.commit, *self.tree.without)

    @property
    def content_digest(self) -> str:
        """Identify what the target is shown, ignoring case and spacing of the prompt."""
        words = " ".join(self.prompt.casefold().split())
        files = sorted((file.path, file.content) for file in self.files)
        return digest_of(words, *self._of_tree, *(part for file in files for part in file))


@dataclass(frozen=True, slots=True)
class Suite:
    """A set of tasks, each in exactly one split.

    Args:
        name: For people.
        splits: One (split, task) pair per task, in the order of the source.
        folds: Two halves of few tasks, which all teach and judge and are all in `val`; a gate that cannot judge afresh
            takes the first half as `train`. None where splits are fixed.
        skipped: Items of the source that cannot be run and are no tasks, ≥ 0.
        unchecked: Tasks with a solution of their own of which nobody has seen that it passes, ≥ 0.
        whole: The suite in two folds that this one is a view of, so that leaks are found by all tasks; else None.

    Raises:
        SuiteError: Two tasks share an id or their content, within or across splits; or folds are not all of `val`.
    """

    name: str
    splits: tuple[tuple[Split, Task], ...]
    folds: tuple[tuple[Task, ...], tuple[Task, ...]] | None = None
    skipped: int = 0
    unchecked: int = 0
    whole: "Suite | None" = field(default=None, compare=False, repr=False)

    def __repr__(self) -> str:
        counts = Counter(split for split, _ in self.splits)
        return f"<Suite {self.name!r}: {', '.join(f'{counts[split]} {split}' for split in Split)} tasks>"

    def __post_init__(self) -> None:
        """Refuse what would leak between splits or count one task twice."""
        ids: dict[str, Split] = {}
        contents: dict[str, tuple[str, Split]] = {}
        for split, task in self.splits:
            if task.id in ids:
                raise SuiteError(
                    f"suite {self.name!r}: task id {task.id!r} stands in {ids[task.id]} and {split}; ids must be unique"
                )
            ids[task.id] = split
            twin = contents.setdefault(task.content_digest, (task.id, split))
            if twin[0] != task.id:
                raise SuiteError(
                    f"suite {self.name!r}: tasks {twin[0]!r} ({twin[1]}) and {task.id!r} ({split}) have the same "
                    "prompt and input files; remove one, a task may not be seen twice"
                )
        if self.folds is not None:
            folded = sorted(task.id for fold in self.folds for task in fold)
            if set(ids.values()) - {Split.VAL} or folded != sorted(ids):
                raise SuiteError(
                    f"suite {self.name!r}: expected each task in val and in one fold, found {folded}; mend the folds"
                )

    def tasks(self, split: Split) -> tuple[Task, ...]:
        """List the tasks of one split in the order of the source."""
        return tuple(task for member, task in self.splits if member is split)

    def tasks_to_evaluate(self, split: Split) -> tuple[Task, ...]:
        """List the tasks that an evaluation of a split runs; with folds `train` is all tasks."""
        return self.tasks(Split.VAL if self.folds is not None and split is Split.TRAIN else split)

    @property
    def left_out(self) -> str:
        """Say how many items of the source are no tasks, and how many were never checked; empty for none."""
        tasks = "task" if len(self.splits) == 1 else "tasks"
        skipped = f"{len(self.splits)} {tasks} loaded, {self.skipped} skipped: `skillopt suite show`"
        unchecked = f"{self.unchecked} with a solution that was never run: `skillopt suite check` first"
        return "; ".join([skipped] * bool(self.skipped) + [unchecked] * bool(self.unchecked))

    @property
    def gamed_note(self) -> str:
        """Say of how many tasks the check runs the agent's code itself; empty where none does."""
        found = [task for _, task in self.splits if task.verifier.can_be_gamed]
        which = f"scores of {len(found)} {'task' if len(found) == 1 else 'tasks'} can be gamed"
        apart = "; `run-agent` runs it apart" * any(task.environment is None for task in found)
        return f"{which}: their checks run the agent's code in their own process{apart}" * bool(found)

    @property
    def first_fold_suite(self) -> "Suite":
        """Give the suite with the first fold as `train`, for what cannot swap them; without folds, the suite itself."""
        if self.folds is None:
            return self
        trained = {task.id for task in self.folds[0]}
        splits = tuple((Split.TRAIN if task.id in trained else Split.VAL, task) for _, task in self.splits)
        return replace(self, splits=splits, folds=None, whole=self)

    @property
    def digest(self) -> str:
        """Identify content and split membership, whatever the order, and whether or not folds swap."""
        # Family and tags change no score, but what a run draws and how it is judged.
        rows = {
            (task.id, split.value, task.digest, task.family, *task.tags) for split, task in self.first_fold_suite.splits
        }
        return digest_of(*(part for row in sorted(rows) for part in row))


FOLDS_BELOW: Final = 48
"""Tasks from which fixed splits do as well as tasks that all teach and judge: half of them can decide."""

LEAST_TEST: Final = 8
"""With fewer held-out tasks a release check can hardly tell anything, whatever the gain."""


def plan_splits(name: str, tasks: Sequence[Task]) -> Suite:
    """Divide tasks without given splits, by the tasks alone, so that no run learns from what another was judged on."""
    if len(tasks) < FOLDS_BELOW:
        first, second = divide(tasks, (len(tasks) // 2, len(tasks) - len(tasks) // 2))
        return Suite(name, tuple((Split.VAL, task) for task in tasks), (first, second) if first else None)
    # 24 `val` tasks tell a gain of four tasks in ten in 19 of 20 runs, 12 in two of three; of large suites a quarter
    # judges, so that half of the tasks teach. The rest is `test` if it can decide.
    train = len(tasks) // 2
    val = min(train, max(24, round(len(tasks) * 0.25)))
    test = len(tasks) - val - train
    parts = divide(tasks, (train, val, test) if test >= LEAST_TEST else (len(tasks) - val, val, 0))
    splits = {task.id: split for split, part in zip(Split, parts, strict=True) for task in part}
    return Suite(name, tuple((splits[task.id], task) for task in tasks))


def divide(tasks: Sequence[Task], sizes: Sequence[int]) -> tuple[tuple[Task, ...], ...]:
    """Cut tasks into parts of exactly the sizes asked for, each with its share of every kind of task.

    Tasks are of one kind if they have the same kind of verifier, and their commonest tag in common; a tag that all
    tasks have says nothing. The members of a kind are spread evenly in the order of their content digests
    (systematic sampling), so that a task which comes or goes moves about one other.
    """
    common = Counter(tag for task in tasks for tag in set(task.tags))
    kinds: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for at, task in enumerate(tasks):
        tags = [(-common[tag], tag) for tag in task.tags if common[tag] < len(tasks)]
        kind = (task.verifier.kind, min(tags)[1] if tags else "")
        kinds.setdefault(kind, []).append((task.content_digest, at))
    places: list[tuple[float, str]] = [(0.0, "")] * len(tasks)  # in [0, 1); the digest settles ties
    for kind, members in kinds.items():
        # Each kind has a start of its own, or what is left over of all kinds would go to the same part.
        start = int(digest_of("None", *kind)[:8], 16) / 16**8  # the splits behind published figures follow from this
        for rank, (digest, at) in enumerate(sorted(members)):
            places[at] = ((rank + start) / len(members), digest)
    order = sorted(range(len(tasks)), key=places.__getitem__)
    edges = [sum(sizes[:part]) for part in range(len(sizes) + 1)]
    return tuple(tuple(tasks[at] for at in sorted(order[first:last])) for first, last in pairwise(edges))
