"""Verifier `tool_order`: the agent first called one tool, then another."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from skillopt.rollouts import Score, ToolCall, Trajectory
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import failed, quote_json, read_options
from skillopt.verifiers.pattern_search import LONGEST_PATTERN, SearchedPattern
from skillopt.verifiers.tool_calls import CallSearch, calls_of

__all__ = ["ToolOrderOptions", "ToolOrderVerifier", "ToolStep"]

_SEARCH_SECONDS = 5.0


class ToolStep(BaseModel):
    """A call of a tool."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: Annotated[str, Field(description="Name of the tool.", min_length=1, max_length=200)]
    arguments: Annotated[
        str | None,
        Field(description="Pattern that is found in its arguments.", min_length=1, max_length=LONGEST_PATTERN),
    ] = None


class ToolOrderOptions(BaseModel):
    """Options of the verifier `tool_order`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: Annotated[
        tuple[ToolStep, ...],
        Field(description="Calls, each with `tool` and perhaps `arguments`, in order.", min_length=2, max_length=20),
    ]


class ToolOrderVerifier:
    """Scores 1 when the first call of each step comes before the first call of the next, else 0."""

    def __init__(self, spec: VerifierSpec) -> None:
        self._steps = [
            (step, None if step.arguments is None else SearchedPattern.read("tool_order", step.arguments))
            for step in read_options(ToolOrderOptions, spec).steps
        ]

    def score(self, trajectory: Trajectory, workspace: str) -> Score:  # noqa: ARG002 - the port gives both
        """Look for the first call of each step."""
        try:
            return self._order(tuple(calls_of(trajectory)))
        except TimeoutError as error:
            return failed(f"tools: {error}")

    def _order(self, calls: tuple[ToolCall, ...]) -> Score:
        search = CallSearch(_SEARCH_SECONDS)
        before, last = -1, ""
        for step, pattern in self._steps:
            first = next((at for at, call in enumerate(calls) if search.is_match(call, step.tool, pattern)), None)
            name = quote_json(step.tool)
            if first is None:
                return failed(f"tools: expected a call of {name}, found it missing")
            if first <= before:
                return failed(f"tools: expected the first call of {name} after that of {last}, found it before")
            before, last = first, name
        return Score(1.0, passed=True)
