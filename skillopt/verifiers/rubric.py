"""Verifier `rubric`: a model judges a result by criteria, in several readings, and the majority counts.

What the optimizer model may learn of it is advice in words of the judge, never a criterion.

What is judged is untrusted text and stands behind a fence that its own text cannot close. A reading that
is not the JSON asked for counts for nothing; too few readings are missing data, not a score.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.errors import FailureKind, InfrastructureError, ProviderError
from skillopt.prompts import fill
from skillopt.prompts.evidence import fence, shorten_middle
from skillopt.protocols import Model
from skillopt.rollouts import Reply, Score, Status, Trajectory, Usage
from skillopt.sandbox.workspace import Unreadable, read_workspace_file
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import read_options

__all__ = ["RubricOptions", "RubricVerifier"]

_OBJECT: Final = re.compile(r"\{.*\}", re.DOTALL)
_LARGEST: Final = 200_000
_SHOWN_TOKENS: Final = 12_000
_FILE_TOKENS: Final = 4_000
_MOST_FILES: Final = 20
_SAME_WORDS: Final = 6
"""So many words in a row that stand in a criterion too give it away."""

_Text = Annotated[str, Field(pattern=r"\S", max_length=4_000)]


class RubricOptions(BaseModel):
    """Options of the verifier `rubric`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    criteria: Annotated[
        tuple[_Text, ...], Field(description="What must hold, one sentence each.", min_length=1, max_length=50)
    ]
    reference: Annotated[str, Field(description="What a good result would be.", max_length=20_000)] = ""
    votes: Annotated[
        int, Field(description="Readings of the judge; the majority decides each criterion.", ge=1, le=9)
    ] = 3
    need: Annotated[float, Field(description="Share of criteria that is a pass.", gt=0, le=1)] = 1.0


class _Verdict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    criterion: int
    passed: bool
    evidence: str


class _Reading(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    verdicts: tuple[_Verdict, ...]
    advice: str


_VERDICT_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "criterion": {"type": "integer"},
        "passed": {"type": "boolean"},
        "evidence": {"type": "string"},
    },
    "required": ["criterion", "passed", "evidence"],
    "additionalProperties": False,
}
_SCHEMA: Final = json.dumps(
    {
        "type": "object",
        "properties": {"verdicts": {"type": "array", "items": _VERDICT_SCHEMA}, "advice": {"type": "string"}},
        "required": ["verdicts", "advice"],
        "additionalProperties": False,
    }
)


class RubricVerifier:
    """Scores the share of criteria that most readings of a judge find met; all of them is a pass.

    Args:
        spec: The criteria.
        judge: The model that judges; None while the suite is only read.

    Raises:
        SuiteError: An option is wrong.
    """

    def __init__(self, spec: VerifierSpec, judge: Model | None = None) -> None:
        self._options = read_options(RubricOptions, spec)
        self._judge = judge

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Have the result judged.

        Raises:
            InfrastructureError: There is no judge, it failed, or too few of its readings can be read.
        """
        if self._judge is None:
            raise InfrastructureError("expected a judge for a task with a rubric, found none; set judge")
        criteria, votes = self._options.criteria, self._options.votes
        readings: list[_Reading] = []
        usage, problem = Usage(), ""
        for vote in range(1, votes + 1):
            reply = self._judge.reply(self._prompt(trajectory, workspace, vote), schema=_SCHEMA)
            usage += reply.usage
            reading = _read(reply, len(criteria))
            if isinstance(reading, _Reading):
                readings.append(reading)
            else:
                problem = reading
            if _settled(readings, len(criteria), votes - vote):
                break
        if 2 * len(readings) <= votes:
            kind = FailureKind.MALFORMED
            raise ProviderError(
                kind, f"{kind}: {len(readings)} of {votes} readings of the judge can be read: {problem}"
            )
        met = [2 * sum(r.verdicts[at].passed for r in readings) > len(readings) for at in range(len(criteria))]
        value = sum(met) / len(met)
        return Score(value, value >= self._options.need, self._feedback(readings, met), usage)

    def _prompt(self, trajectory: Trajectory, workspace: str, vote: int) -> str:
        task = trajectory.messages[0].text if trajectory.messages else ""
        numbered = "\n".join(f"{number}. {text}" for number, text in enumerate(self._options.criteria, 1))
        return fill(
            "judge",
            vote=str(vote),
            votes=str(self._options.votes),
            task=fence("task", shorten_middle(task, _FILE_TOKENS)),
            criteria=fence("criteria", numbered),
            reference=fence("reference", self._options.reference or "(nothing is given)"),
            result=fence("result", shorten_middle(_result(trajectory, workspace), _SHOWN_TOKENS)),
        )

    def _feedback(self, readings: Sequence[_Reading], met: Sequence[bool]) -> str:
        """Tell the optimizer model how much is met, and the advice without what gives a criterion away."""
        if all(met):
            return ""
        secret = {words for text in (*self._options.criteria, self._options.reference) for words in _runs(text)}
        sentences = (
            sentence for reading in readings for sentence in re.split(r"(?<=[.!?])\s+", reading.advice.strip())
        )
        kept = list(dict.fromkeys(sentence for sentence in sentences if sentence and not secret & set(_runs(sentence))))
        return "\n".join([f"{sum(met)} of {len(met)} hidden criteria are met.", *kept])


def _result(trajectory: Trajectory, workspace: str) -> str:
    """Write out the answer and the changed files as far as they are text."""
    parts = [f"### Final answer\n{trajectory.answer or '(none)'}"]
    for path in trajectory.files_changed[:_MOST_FILES]:
        content = read_workspace_file(workspace, path, _LARGEST)
        if isinstance(content, Unreadable):
            parts.append(f"### File {path}\n({content.reason})")
        else:
            parts.append(f"### File {path}\n{shorten_middle(content.decode('utf-8', 'replace'), _FILE_TOKENS)}")
    left = len(trajectory.files_changed) - _MOST_FILES
    return "\n\n".join([*parts, *([f"({left} more files were changed)"] if left > 0 else [])])


def _read(reply: Reply, criteria: int) -> _Reading | str:
    """Read one reading, or say why it cannot be read."""
    found = _OBJECT.search(reply.text)
    if reply.status is not Status.OK or found is None:
        return f"expected a JSON object, found {reply.status.value}: {reply.text[:80]!r}"
    try:
        reading = _Reading.model_validate_json(found[0], strict=True)
    except ValidationError as error:
        return str(error.errors(include_url=False)[0]["msg"])
    numbers = [verdict.criterion for verdict in reading.verdicts]
    if numbers != list(range(1, criteria + 1)):
        return f"expected verdicts on criteria 1 to {criteria} in order, found {numbers}"
    return reading


def _settled(readings: Sequence[_Reading], criteria: int, left: int) -> bool:
    """Tell whether no reading that is still to come could change the majority of any criterion."""
    counts = [sum(reading.verdicts[at].passed for reading in readings) for at in range(criteria)]
    return all(2 * max(count, len(readings) - count) > len(readings) + left for count in counts)


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """Yield every run of so many words."""
    words = re.findall(r"\w+", text.casefold())
    return (tuple(words[at : at + _SAME_WORDS]) for at in range(len(words) - _SAME_WORDS + 1))
