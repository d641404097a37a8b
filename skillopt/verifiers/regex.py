"""Verifier `regex`: a pattern is found in the result, or must not be, within a bound on time."""

import re
from typing import Annotated

from pydantic import Field

from skillopt.rollouts import Score, Trajectory
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import Options, failed, quote_json, read_options, read_text, written_trace
from skillopt.verifiers.pattern_search import LONGEST_PATTERN, compile_pattern, search_pattern


class RegexOptions(Options):
    """Options of the verifier `regex`."""

    pattern: Annotated[
        str,
        Field(description="Pattern in Python's syntax, searched anywhere.", min_length=1, max_length=LONGEST_PATTERN),
    ]
    ignore_case: Annotated[bool, Field(description="Match without regard to case.")] = False
    multiline: Annotated[bool, Field(description="Let `^` and `$` match at every line.")] = False
    dotall: Annotated[bool, Field(description="Let `.` match line ends.")] = False
    absent: Annotated[bool, Field(description="Pass when the pattern is not found.")] = False
    trace: Annotated[
        bool, Field(description="Search what the agent did, its texts and tool calls as lines of JSON, not its answer.")
    ] = False
    time_limit: Annotated[float, Field(description="Seconds a search may take.", gt=0, le=60)] = 5.0


class RegexVerifier:
    """Scores 1 when the pattern is found (or, with `absent`, is not), else 0.

    A search that takes longer than its limit scores 0: only a text made for it takes so long.
    """

    def __init__(self, spec: VerifierSpec) -> None:
        options = self._options = read_options(RegexOptions, spec)
        flags = options.ignore_case * re.IGNORECASE | options.multiline * re.MULTILINE | options.dotall * re.DOTALL
        self._pattern = compile_pattern("regex", options.pattern, re.RegexFlag(flags))

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Search the result."""
        trace = ("trace", written_trace(trajectory)) if self._options.trace else None
        read = trace or read_text(self._options.file, trajectory, workspace)
        if isinstance(read, Score):
            return read
        name, text = read
        found = search_pattern(self._pattern, text, self._options.time_limit)
        pattern = quote_json(self._options.pattern)
        if found is None:
            return failed(f"{name}: the search for {pattern} took more than {self._options.time_limit:g} s")
        if found is self._options.absent:
            wanted, seen = ("no match", "one") if self._options.absent else ("a match", "none")
            return failed(f"{name}: expected {wanted} of {pattern}, found {seen}")
        return Score(1.0, passed=True)
