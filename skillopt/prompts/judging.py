"""Prompt and reply of the judge: criteria in random order, a key that a result cannot know, and one control.

The control is a criterion that no result can meet. A reading that finds it met says yes to whatever it is asked, or was
talked into it, and counts for nothing. All criteria stand in one prompt, because a call for each would cost five times
as much for a usual task; the random order, which differs from reading to reading, keeps one verdict from leading
another, and every verdict is read by itself.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from skillopt.errors import ReplyError
from skillopt.prompts import fill
from skillopt.prompts.evidence import fence
from skillopt.prompts.json_replies import find_object
from skillopt.prompts.judge_address import quote_lines
from skillopt.tasks import digest_of

JUDGING: Final = "each criterion twice, in random order"
"""How criteria are judged; scores that came about in another way are not compared with these."""

_MARKS: Final = {"met": "y", "not met": "n", "cannot tell": "?"}
_NOT_ASKED: Final = "-"
_LETTERS: Final = "bcdfghjkmnpqrstvwz"


class _Verdict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    criterion: int
    verdict: Literal["met", "not met", "cannot tell"]


JUDGE_SCHEMA: Final = json.dumps(
    {
        "type": "object",
        "properties": {
            "key": {"type": "string"},
            "verdicts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "criterion": {"type": "integer"},
                        "evidence": {"type": "string"},
                        "verdict": {"type": "string", "enum": list(_MARKS)},
                    },
                    "required": ["criterion", "evidence", "verdict"],
                    "additionalProperties": False,
                },
            },
            "advice": {"type": "string"},
        },
        "required": ["key", "verdicts", "advice"],
        "additionalProperties": False,
    }
)


@dataclass(frozen=True, slots=True)
class JudgedResult:
    """What is judged."""

    task: str
    criteria: tuple[str, ...]
    reference: str
    result: str


@dataclass(frozen=True, slots=True)
class JudgeReading:
    """One reading of a judge."""

    marks: str
    advice: str
    misled: bool


def ask_judge(judged: JudgedResult, asked: Sequence[int], number: int) -> str:
    """Fill in the prompt of one reading."""
    order, key, control = _drawn(judged, asked, number)
    listed = [control if at is None else judged.criteria[at] for at in order]
    numbered = "\n".join(f"{place}. {' '.join(text.split())}" for place, text in enumerate(listed, 1))
    return fill(
        "judge",
        key=key,
        task=fence("task", quote_lines(judged.task)),
        reference=fence("reference", quote_lines(judged.reference or "(nothing is given)")),
        result=fence("result", quote_lines(judged.result)),
        criteria=fence("criteria", quote_lines(numbered)),
    )


def read_judge(reply: str, judged: JudgedResult, asked: Sequence[int], number: int) -> JudgeReading:
    """Read one reading; a verdict that cannot be read leaves its criterion open."""
    order, key, _ = _drawn(judged, asked, number)
    found = find_object(reply, "verdicts")
    if found.get("key") != key:
        raise ReplyError(f"expected the key {key!r} of this reading, found {found.get('key')!r}")
    marks = dict[int | None, str]()
    for item in found["verdicts"] if isinstance(found["verdicts"], list) else []:
        with suppress(ValidationError):
            verdict = _Verdict.model_validate(item)
            if 1 <= verdict.criterion <= len(order):
                at, mark = order[verdict.criterion - 1], _MARKS[verdict.verdict]
                marks[at] = mark if marks.get(at, mark) == mark else _MARKS["cannot tell"]
    control = marks.get(None, "")
    if not control:
        raise ReplyError(f"expected a verdict on each of {len(order)} criteria, found one missing")
    advice = found.get("advice")
    return JudgeReading(
        "".join(marks.get(at, _NOT_ASKED) for at in range(len(judged.criteria))),
        advice if isinstance(advice, str) else "",
        control == "y",
    )


def _drawn(judged: JudgedResult, asked: Sequence[int], number: int) -> tuple[list[int | None], str, str]:
    """Draw order, key and control from all that is judged: a rerun asks the same, and no result can know them."""
    seed = digest_of("judge", judged.task, *judged.criteria, judged.reference, judged.result, repr(asked), str(number))
    draw = Random(seed)
    order: list[int | None] = [*asked, None]
    draw.shuffle(order)
    word = "".join(draw.choices(_LETTERS, k=10))
    control = f'The result has the word "{word}" in it.'
    return order, seed[:16], control
