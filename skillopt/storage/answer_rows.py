"""Recorded rollouts and replies as flat rows, read along the ledger a few at a time, for export."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from skillopt.rollouts import Reply, Rollout
from skillopt.storage.payloads import Payloads
from skillopt.storage.schema import connect_database, explain_errors

__all__ = ["AnswerRow", "read_rows"]

_COLUMNS: Final = """key, kind, run, identity, at, task, skill, repeat, score, passed, input_tokens, output_tokens, usd,
judge_calls, judge_tokens, judge_usd"""
_ALL: Final = f"SELECT {_COLUMNS}, payload FROM calls ORDER BY key"  # noqa: S608 - our own text


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One recorded rollout or reply; what only rollouts have is None for a reply.

    Args:
        key: Digest of all that can change the answer.
        kind: `rollout` or `reply`.
        run: The run that paid for it; empty for none.
        identity: Of target and judge, or of the model.
        at: When it was recorded, ISO 8601 in UTC.
        task: Id of the task.
        skill: Digest of the skill.
        repeat: Index of the repeat.
        score: In [0, 1].
        passed: Whether the task was passed.
        input_tokens: Tokens read.
        output_tokens: Tokens written.
        usd: Dollars; None where nobody knows.
        judge_calls: Calls of the judge.
        judge_tokens: Tokens of the judge.
        judge_usd: Dollars of the judge; None where nobody knows.
        answer: The whole rollout or reply as JSON; None unless asked for.
    """

    key: str
    kind: str
    run: str
    identity: str
    at: str
    task: str | None
    skill: str | None
    repeat: int | None
    score: float | None
    passed: bool | None
    input_tokens: int
    output_tokens: int
    usd: float | None
    judge_calls: int
    judge_tokens: int
    judge_usd: float | None
    answer: str | None = None


def read_rows(path: Path, *, whole: bool = False) -> Iterator[AnswerRow]:
    """Yield what is recorded, in the order of the keys.

    Args:
        path: The ledger.
        whole: With the whole rollouts and replies.

    Raises:
        LedgerError: It is damaged.
    """
    shapes: dict[str, TypeAdapter[Any]] = {"rollout": TypeAdapter(Rollout), "reply": TypeAdapter(Reply)}
    with explain_errors(path), closing(connect_database(path, read_only=True)) as database:
        stored = Payloads(database)
        for *row, payload in database.execute(_ALL):
            passed = None if row[9] is None else bool(row[9])
            answer: str | None = None
            if whole:
                value = stored.unpack(payload, Rollout) if row[1] == "rollout" else stored.unpack(payload, Reply)
                answer = shapes[row[1]].dump_json(value).decode()
            yield AnswerRow(*[*row[:9], passed, *row[10:], answer])
