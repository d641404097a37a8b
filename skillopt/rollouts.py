"""Rollouts: the trajectory of one run of one task under one skill, its score and its usage."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import reduce

CHECKS_UNBOXED = " checks=unboxed"
"""What the identity of a target ends with where programs of verifiers ran without a sandbox."""

JUDGED_LINE = "judged by a model: "
"""What a line of feedback begins with where a model wrote it and programs wrote others; it is no sign of progress."""

_STREAM_LENGTH = 1_000_000  # repeats of a stream, as their index is kept in one number


def readable(text: str) -> str:
    """Replace what no encoding of Unicode can hold (lone surrogates), so that a text can be recorded and sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


class Stream(Enum):
    """What repeats are drawn for; what is run in one stream is never run again in another.

    So no verdict rests on rollouts that a candidate was chosen by.
    """

    LOOP = 0
    """Comparisons by the gate."""
    LEARNING = 1
    """Batches of `train`, patch tests and ablation."""
    PROPOSAL = 2
    """Comparisons of edits that an agent or a person proposes."""
    PROPOSAL_TEST = 3
    """Patch tests and ablation of such edits."""
    REVIEW = 4
    """Comparisons of changes by people."""
    RECORD = 5
    """Records of accepted texts, which decide nothing by themselves."""
    SLOW_UPDATE = 7
    """Comparisons of two epochs' skills on train tasks."""
    DRAFTED_TASKS = 8
    """Trials of drafted tasks: which of them became tasks was decided by how they went."""
    TRIGGERS = 9
    """Measurements of when a skill is loaded, outside of any training."""
    NO_SKILL = 10
    """Comparisons of skills with no skill, outside of any training."""
    SHRINK = 12
    """Comparisons of a text that was shortened with the one before."""

    def repeat(self, number: int) -> int:
        """Index of a repeat of a task in this stream; repeats are numbered from 0 to 999,999."""
        if not 0 <= number < _STREAM_LENGTH:
            raise ValueError(f"expected a repeat from 0 to {_STREAM_LENGTH - 1} in stream {self.name}, found {number}")
        return self.value * _STREAM_LENGTH + number


def repeat_number(repeat: int) -> int:
    """Number of a repeat within its stream, from 1.

    >>> repeat_number(Stream.LOOP.repeat(0)), repeat_number(Stream.LEARNING.repeat(2))
    (1, 3)
    """
    return repeat % _STREAM_LENGTH + 1


class Status(StrEnum):
    """How a rollout ended. Only `infra_error` is missing data; the rest is what the target did.

    `limit` is the end of allowed turns or tokens, where what is left is scored; a `timeout` and a
    `refusal` score 0.
    """

    OK = "ok"
    LIMIT = "limit"
    TIMEOUT = "timeout"
    REFUSAL = "refusal"
    INFRA_ERROR = "infra_error"


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls consumed.

    Args:
        calls: Number of model calls, ≥ 0.
        input_tokens: Tokens read, ≥ 0.
        output_tokens: Tokens written, ≥ 0.
        usd: Price in US dollars, or None when nobody knows it. Unknown is never 0.
        at_least: The part of an unknown price that is known.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    at_least: float = 0.0

    @property
    def price(self) -> str:
        """The price in words."""
        known = self.usd if self.usd is not None else self.at_least
        if self.usd is None and not known:
            return "price unknown"
        return f"{'at least ' if self.usd is None else ''}${known:,.{2 if known >= 1 or not known else 4}f}"

    @property
    def tokens(self) -> int:
        """All tokens, read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Sum two usages; an unknown price makes the sum unknown, but for what it is at least."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            usd,
            sum(one.at_least if one.usd is None else one.usd for one in (self, other)) if usd is None else 0.0,
        )

    @staticmethod
    def total(usages: "Iterable[Usage]") -> "Usage":
        """Sum any number of usages."""
        return reduce(Usage.__add__, usages, Usage())


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One use of a tool: its name, its arguments as text, and what came back."""

    name: str
    arguments: str
    result: str


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a trajectory: who spoke (`user`, `assistant`), the text, the tools used."""

    role: str
    text: str
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Acts:
    """What the sandbox recorded of an agent and all that it started; each thing once, sorted.

    Args:
        programs: Programs started: their names, or their paths where they are no part of the system.
        written: Files outside the workspace that were opened for writing, changed or tried.
        read: Files outside the workspace and the system's folders that were opened for reading or tried; None where
            the kernel is too old to record these.
        hosts: Names looked up and addresses tried, but for the provider's and this machine's own.
        unknown: Why nothing was recorded; empty where it was.
    """

    programs: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    read: tuple[str, ...] | None = None
    hosts: tuple[str, ...] = ()
    unknown: str = ""

    @staticmethod
    def of_record(record: str) -> "Acts":
        """Read the record that the sandbox wrote, one `KIND<tab>TEXT` a line."""
        found: dict[str, set[str]] = {}
        for line in record.splitlines():
            kind, _, text = line.partition("\t")
            found.setdefault(kind, set()).add(text)
        if "recorded" not in found:
            return Acts(unknown="this kernel does not let the sandbox record it")
        programs, written, read, hosts = (
            tuple(sorted(found.get(kind, ()))) for kind in ("program", "written", "read", "host")
        )
        return Acts(programs, written, read if "with reads" in found["recorded"] else None, hosts)

    def listed(self) -> tuple[tuple[str, str], ...]:
        """List what was recorded, each with the word for it."""
        named = (("program", self.programs), ("host", self.hosts), ("writes", self.written), ("reads", self.read or ()))
        return tuple((word, text) for word, texts in named for text in texts)

    def with_texts(self, change: Callable[[str], str]) -> "Acts":
        """Put every text of it through a function."""
        programs, written, hosts = (tuple(map(change, each)) for each in (self.programs, self.written, self.hosts))
        return Acts(
            programs, written, None if self.read is None else tuple(map(change, self.read)), hosts, self.unknown
        )


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What the target did in one rollout, in the same form for every harness.

    Args:
        messages: Turns in order.
        answer: The final answer as text; empty when the work is in files.
        files_changed: Workspace paths that were written or deleted, sorted.
        status: How it ended.
        reason: Why it ended so, in one line; empty when it ended well.
        usage: What it consumed.
        acts: What the sandbox recorded; None where the target starts no program. Trajectories that differ only in this
            are equal: nothing is decided by it.
    """

    messages: tuple[Message, ...] = ()
    answer: str = ""
    files_changed: tuple[str, ...] = ()
    status: Status = Status.OK
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    acts: Acts | None = field(default=None, compare=False)

    def with_texts(self, change: Callable[[str], str]) -> "Trajectory":
        """Put every text of it through a function."""

        def changed(call: ToolCall) -> ToolCall:
            return ToolCall(change(call.name), change(call.arguments), change(call.result))

        messages = (
            Message(change(one.role), change(one.text), tuple(map(changed, one.tool_calls))) for one in self.messages
        )
        return Trajectory(
            tuple(messages),
            change(self.answer),
            tuple(map(change, self.files_changed)),
            self.status,
            reason=change(self.reason),
            usage=self.usage,
            acts=None if self.acts is None else self.acts.with_texts(change),
        )


_LOADED = "skills loaded: "


def loading_note(names: Sequence[str]) -> Message:
    """Write which skills the target loaded by itself, for `skills_loaded` to read."""
    return Message("harness", _LOADED + (", ".join(names) or "none"))


def skills_loaded(trajectory: Trajectory) -> tuple[str, ...] | None:
    """Return the names of the skills that the target loaded by itself; None where the harness did not tell."""
    notes = (one.text for one in trajectory.messages if one.role == "harness" and one.text.startswith(_LOADED))
    note = next(notes, None)
    if note is None:
        return None
    listed = note.removeprefix(_LOADED)
    return () if listed == "none" else tuple(listed.split(", "))


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a judge came to a score: its readings, and what it was shown.

    Args:
        criteria: What was judged, in the order of the verifier.
        readings: One text for each reading, with one mark for each criterion: `y` met, `n` not met, `?` the judge
            cannot tell, `-` not asked or not answered.
        shown: The result as it was shown, so that it can be judged again.
        need: Share of the criteria that is a pass.
        addressed: What in the result addresses the judge; empty for nothing.
        share: Share of the score that the criteria decide, in (0, 1].
    """

    criteria: tuple[str, ...]
    readings: tuple[str, ...]
    shown: str
    need: float = 1.0
    addressed: str = ""
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Score:
    """What a verifier found.

    Args:
        value: Soft score in [0, 1].
        passed: Hard score: the task is done exactly right.
        feedback: What was wrong, in words the optimizer model may read; empty when all is right.
        usage: What judging consumed; nothing unless a model judged.
        judgement: How a model judged; None where none did.
    """

    value: float
    passed: bool
    feedback: str = ""
    usage: Usage = field(default_factory=Usage)
    judgement: Judgement | None = None

    def __post_init__(self) -> None:
        """Refuse a value outside [0, 1], NaN included."""
        if not 0.0 <= self.value <= 1.0:
            raise ValueError(f"expected a score in [0, 1], found {self.value!r}")


@dataclass(frozen=True, slots=True)
class Rollout:
    """One repeat of one task under one skill.

    Args:
        task_id: Which task.
        skill_digest: Which skill; empty for "no skill".
        repeat: Index of the repetition, ≥ 0.
        trajectory: What the target did.
        status: `ok`, `timeout`, or `infra_error` (the harness or the verifier broke).
        score: The verifier's score; None exactly when the status is `infra_error`.
        reason: Why it is not `ok`, in one line.
        seconds: From its start to its end, its verifier included; None where nobody measured. Rollouts that differ only
            in this are equal: nothing is decided by it.
    """

    task_id: str
    skill_digest: str
    repeat: int
    trajectory: Trajectory = field(repr=False)
    status: Status
    score: Score | None
    reason: str = ""
    seconds: float | None = field(default=None, compare=False)

    def __deepcopy__(self, _: dict[int, object]) -> "Rollout":
        """Share it with every copy: it never changes."""
        return self

    @property
    def usage(self) -> Usage:
        """Sum what the target and the judge consumed."""
        return self.trajectory.usage if self.score is None else self.trajectory.usage + self.score.usage

    def __post_init__(self) -> None:
        """Hold the invariant that an infrastructure error has no score and all else has one."""
        if (self.score is None) != (self.status is Status.INFRA_ERROR):
            raise ValueError(f"a rollout with status {self.status!r} cannot have score {self.score!r}")


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer to one prompt.

    Args:
        text: The answer.
        usage: What it consumed.
        status: `ok`, `limit` (the answer was cut off), or `refusal`.
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    status: Status = Status.OK


def new_acts(before: Iterable[Rollout], after: Iterable[Rollout]) -> tuple[str, ...]:
    """Say what agents did under a text and in no rollout of the text before, a line each with the first task.

    One line says why it is not known, where a sandbox did not record it; none where targets start no programs.
    """
    old = [one.trajectory.acts for one in before if one.trajectory.acts is not None]
    new = [(one.task_id, one.trajectory.acts) for one in after if one.trajectory.acts is not None]
    unknown = next((acts.unknown for acts in (*old, *(acts for _, acts in new)) if acts.unknown), "")
    if unknown:
        return (f"not known: {unknown}",)
    if not old or not new:
        return ()
    known = {act for acts in old for act in acts.listed()}
    reads = any(acts.read is not None for acts in old)
    first = {act: task for task, acts in reversed(new) for act in reversed(acts.listed())}
    found = [act for act in first if act not in known and (reads or act[0] != "reads")]
    order = ("program", "host", "writes", "reads")
    return tuple(
        f"{what} `{text}` in task {first[what, text]}"
        for what, text in sorted(found, key=lambda one: order.index(one[0]))
    )
