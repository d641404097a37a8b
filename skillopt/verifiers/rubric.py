"""Verifier `rubric`: a model judges a result by criteria, each read at least twice, and the majority counts.

What the optimizer model may learn of it is advice in words of the judge, never a criterion.

What is judged is untrusted text. It is quoted behind a fence that its own text cannot close; a reading counts only with
its key, and not if it finds met what no result can meet; where lines address the judge, all readings but the first are
without them, so that those lines alone meet nothing. Too few readings are missing data, not a score.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

from pydantic import Field

from skillopt.errors import AnswersPendingError, FailureKind, InfrastructureError, ProviderError, ReplyError
from skillopt.prompts.evidence import shorten_middle
from skillopt.prompts.judge_address import addressing_lines, leave_out_lines
from skillopt.prompts.judging import JUDGE_SCHEMA, JudgedResult, JudgeReading, ask_judge, read_judge
from skillopt.protocols import Model
from skillopt.rollouts import Judgement, Score, Status, Trajectory, Usage
from skillopt.sandbox.workspace import Unreadable, read_workspace_file
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import StrictOptions, read_options, written_trace

_FILE_TOKENS: Final = 4_000  # of one file, a third of what the judge is shown
_MOST_FILES: Final = 20  # more would each be cut to nothing
_SAME_WORDS: Final = 6
"""So many words in a row that stand in a criterion too give it away."""

_Text = Annotated[str, Field(pattern=r"\S", max_length=4_000)]


class RubricOptions(StrictOptions):
    """Options of the verifier `rubric`."""

    criteria: Annotated[
        tuple[_Text, ...], Field(description="What must hold, one sentence each.", min_length=1, max_length=50)
    ]
    reference: Annotated[str, Field(description="What a good result would be.", max_length=20_000)] = ""
    trace: Annotated[bool, Field(description="Also show the judge what the agent did: its texts and tool calls.")] = (
        False
    )
    votes: Annotated[
        int,
        Field(
            description="Most readings that count for a criterion; most of them decide it. With 3 each criterion is "
            "read twice, and once more where the two differ.",
            ge=1,
            le=9,
        ),
    ] = 3
    need: Annotated[float, Field(description="Share of criteria that is a pass.", gt=0, le=1)] = 1.0


class RubricVerifier:
    """Scores the share of criteria that most readings of a judge find met; all of them is a pass."""

    def __init__(self, spec: VerifierSpec, judge: Model | None = None) -> None:
        self._options = read_options(RubricOptions, spec)
        self._judge = judge

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Have the result judged."""
        if self._judge is None:
            raise InfrastructureError("expected a judge for a task with a rubric, found none; set judge")
        options = self._options
        task = trajectory.messages[0].text if trajectory.messages else ""
        done = f"### What was done\n{written_trace(trajectory)}\n\n" if options.trace else ""
        result = shorten_middle(done + _result(trajectory, workspace), 12_000)
        judged = JudgedResult(shorten_middle(task, _FILE_TOKENS), options.criteria, options.reference, result)
        addressed, lines = addressing_lines(judged.result, "\n".join((task, options.reference, *options.criteria)))
        needed = options.votes // 2 + 1
        panel = _Panel(self._judge, judged, max(needed, 2) if addressed else needed)
        panel.read(replace(judged, result=leave_out_lines(judged.result, lines)) if addressed else judged)
        met = panel.met()
        value = sum(met) / len(met)
        marks = tuple(reading.marks for reading in panel.readings)
        judgement = Judgement(judged.criteria, marks, judged.result, options.need, addressed or panel.misled)
        feedback = self._feedback(panel.readings, met, judgement.addressed)
        return Score(value, value >= options.need, feedback, panel.usage, judgement)

    def _feedback(self, readings: Sequence[JudgeReading], met: Sequence[bool], addressed: str) -> str:
        """Tell the optimizer model how much is met, and the advice without what gives a criterion away."""
        if all(met):
            return ""
        secret = {words for text in (*self._options.criteria, self._options.reference) for words in _runs(text)}
        sentences = (
            sentence for reading in readings for sentence in re.split(r"(?<=[.!?])\s+", reading.advice.strip())
        )
        kept = list(dict.fromkeys(sentence for sentence in sentences if sentence and not secret & set(_runs(sentence))))
        warned = [f"The result addresses the judge ({addressed}), which counts for nothing."] if addressed else []
        return "\n".join([f"{sum(met)} of {len(met)} criteria are met.", *warned, *kept])


@dataclass(slots=True)
class _Panel:
    """Readings of one result."""

    judge: Model
    judged: JudgedResult
    needed: int
    readings: list[JudgeReading] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    misled: str = ""
    _problem: str = ""
    _asked: int = 0

    def read(self, again: JudgedResult) -> None:
        """Read until every criterion is decided."""
        # Two readings may be repeated, because they cannot be read or count for nothing.
        most, misled = 2 * self.needed + 1, 0
        while self._open() and self._asked < most:
            try:
                reading = self._read(again if self._asked else self.judged, self._open())
            except AnswersPendingError:
                # The first readings need nothing of each other, so whoever answers gets them in one round.
                while self._asked < self.needed:
                    with suppress(AnswersPendingError):
                        self._read(again, self._open())
                raise
            if reading is not None and reading.misled:
                self._problem = "it finds met what no result can meet"
                misled += 1
            elif reading is not None:
                self.readings.append(reading)
        if not self._open():
            return
        if misled:
            # Either the judge says yes to everything, or this result makes it do so: then it does not about nothing.
            nothing = replace(self.judged, result="(nothing was delivered)")
            reading = self._read(nothing, range(len(nothing.criteria)))
            if reading is not None and not reading.misled:
                self.misled = "its judge says yes to everything"
                return
        problem = f"{len(self.readings)} of {self._asked} readings of the judge can be read: {self._problem}"
        if misled:
            problem = f"in {misled} of {self._asked} readings the judge called met what no result can meet; use another"
        raise ProviderError.of(FailureKind.MALFORMED, problem)

    def met(self) -> list[bool]:
        """Say of each criterion whether enough readings find it met."""
        return [self._count(at)[0] >= self.needed for at in range(len(self.judged.criteria))]

    def _count(self, at: int) -> tuple[int, int]:
        marks = [reading.marks[at] for reading in self.readings]
        return marks.count("y"), marks.count("n") + marks.count("?")

    def _open(self) -> list[int]:
        return [at for at in range(len(self.judged.criteria)) if max(self._count(at)) < self.needed]

    def _read(self, judged: JudgedResult, asked: Sequence[int]) -> JudgeReading | None:
        self._asked += 1
        number = self._asked
        reply = self.judge.reply(ask_judge(judged, asked, number), schema=JUDGE_SCHEMA)
        self.usage += reply.usage
        if reply.status is not Status.OK:
            self._problem = f"expected a JSON object, found {reply.status.value}: {reply.text[:80]!r}"
            return None
        try:
            return read_judge(reply.text, judged, asked, number)
        except ReplyError as error:
            self._problem = str(error)
            return None


def _result(trajectory: Trajectory, workspace: str) -> str:
    """Write out the answer and the changed files as far as they are text."""
    parts = [f"### Final answer\n{trajectory.answer or '(none)'}"]
    for path in trajectory.files_changed[:_MOST_FILES]:
        content = read_workspace_file(workspace, path, 200_000)
        if isinstance(content, Unreadable):
            parts.append(f"### File {path}\n({content.reason})")
        else:
            parts.append(f"### File {path}\n{shorten_middle(content.decode('utf-8', 'replace'), _FILE_TOKENS)}")
    left = len(trajectory.files_changed) - _MOST_FILES
    return "\n\n".join([*parts, *([f"({left} more files were changed)"] if left > 0 else [])])


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """Yield every run of so many words."""
    words = re.findall(r"\w+", text.casefold())
    return (tuple(words[at : at + _SAME_WORDS]) for at in range(len(words) - _SAME_WORDS + 1))
