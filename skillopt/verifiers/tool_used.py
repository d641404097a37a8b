"""Verifier `tool_used`: the agent called a tool often enough, and not too often."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from skillopt.errors import SuiteError
from skillopt.rollouts import Score, Trajectory
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import failed, quote_json, read_options
from skillopt.verifiers.pattern_search import LONGEST_PATTERN, SearchedPattern
from skillopt.verifiers.tool_calls import CallSearch, calls_of

__all__ = ["ToolUsedOptions", "ToolUsedVerifier"]

_SEARCH_SECONDS = 5.0


class ToolUsedOptions(BaseModel):
    """Options of the verifier `tool_used`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: Annotated[
        str,
        Field(
            description="Name of the tool, as any of the agents writes it; `*` stands for any characters.",
            min_length=1,
            max_length=200,
        ),
    ]
    arguments: Annotated[
        str | None,
        Field(
            description="Pattern in Python's syntax; only calls in whose arguments it is found count.",
            min_length=1,
            max_length=LONGEST_PATTERN,
        ),
    ] = None
    min: Annotated[int, Field(description="Fewest calls.", ge=0)] = 1
    max: Annotated[int | None, Field(description="Most calls; without it, any number.", ge=0)] = None


class ToolUsedVerifier:
    """Scores 1 when the number of calls is within the bounds, else 0."""

    def __init__(self, spec: VerifierSpec) -> None:
        options = self._options = read_options(ToolUsedOptions, spec)
        if options.max is not None and options.max < options.min:
            raise SuiteError(
                f"verifier 'tool_used': expected 'max' of at least {options.min}, found {options.max}; correct one"
            )
        self._pattern = None if options.arguments is None else SearchedPattern.read("tool_used", options.arguments)

    def score(self, trajectory: Trajectory, workspace: str) -> Score:  # noqa: ARG002 - the port gives both
        """Count the calls."""
        options = self._options
        search = CallSearch(_SEARCH_SECONDS)
        try:
            found = sum(search.is_match(call, options.tool, self._pattern) for call in calls_of(trajectory))
        except TimeoutError as error:
            return failed(f"tools: {error}")
        if options.min <= found and (options.max is None or found <= options.max):
            return Score(1.0, passed=True)
        wanted = f"at least {options.min}" if found < options.min else f"at most {options.max}"
        how = "" if options.arguments is None else f" with {quote_json(options.arguments)}"
        return failed(f"tools: expected {wanted} calls of {quote_json(options.tool)}{how}, found {found}")
