"""Numbers of others, and the results file of a run; both are checked when they are read."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from benchmarks.published.catalogue import BENCHMARKS

_NUMBERS = Path(__file__).parent / "numbers"
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0)]
_Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)] | None


class _Checked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedNumber(_Checked):
    """What others published: a percentage, for what, and where it stands."""

    method: str
    model: str
    value: Annotated[float, Field(ge=0, le=100)]
    paper: str
    table: str


class _Numbers(_Checked):
    note: str
    rows: tuple[PublishedNumber, ...]


class MeasuredRow(_Checked):
    """What was measured on the held-out tasks; the interval is that of the number that others publish.

    Dollars are null where the price of the model is not known; `nothing` and `memory` need no model.
    """

    name: Literal["nothing", "memory", "no skill", "start", "trained"]
    tasks: Annotated[int, Field(ge=1)]
    passed: _Count
    score: _Share
    low: _Share
    high: _Share
    rollouts: _Count = 0
    calls: _Count = 0
    usd: _Usd = 0.0


class _Training(_Checked):
    rollouts: _Count
    calls: _Count
    reason: str


class _Paired(_Checked):
    """The trained text against the start text, task by task."""

    gain: Annotated[float, Field(ge=-1, le=1)]
    wins: _Count
    ties: _Count
    losses: _Count
    confidence: _Share


class ResultsFile(_Checked):
    """One run of `python -m benchmarks.published`; `answered_by` says who answered what was handed off."""

    format: Literal[1] = 1
    benchmark: str
    metric: Literal["passed", "score"]
    tasks: dict[Literal["train", "val", "test"], Annotated[int, Field(ge=1)]]
    drawn: Annotated[int, Field(ge=1)] | None = None
    data: dict[str, str] = {}
    version: str
    date: str
    harness: str
    model: str
    answered_by: str = ""
    seed: _Count
    max_usd: _Usd
    max_rollouts: Annotated[int, Field(ge=1)] | None
    rows: tuple[MeasuredRow, ...]
    training: _Training
    training_usd: _Usd
    handed_over: str
    paired: _Paired
    start: str
    trained: str

    @model_validator(mode="after")
    def _agrees(self) -> "ResultsFile":
        if self.benchmark not in BENCHMARKS:
            raise ValueError(f"expected a benchmark of {', '.join(BENCHMARKS)}, found {self.benchmark!r}")
        expected = ["nothing", "memory", "no skill", "start", "trained"]
        if [row.name for row in self.rows] != expected:
            raise ValueError(f"expected the rows {', '.join(expected)}")
        for row in self.rows:
            share = row.score if self.metric == "score" else row.passed / row.tasks
            if row.passed > row.tasks or not row.low <= share <= row.high or row.tasks > self.tasks["test"]:
                raise ValueError(
                    f"expected in the row {row.name!r} at most {self.tasks['test']} tasks and an interval "
                    f"around {share:.3f}, found {row.low} to {row.high}"
                )
        return self


def numbers_of(name: str) -> tuple[str, tuple[PublishedNumber, ...]]:
    """Read what others published on a benchmark, and the note about it."""
    found = _Numbers.model_validate_json((_NUMBERS / f"{name}.json").read_text(encoding="utf-8"))
    return found.note, found.rows
