"""Verifier `exact`: the result equals the expected text or bytes."""

from itertools import zip_longest
from typing import Annotated

from pydantic import Field

from skillopt.rollouts import Score, Trajectory
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import ComparedOptions, failed, quote_json, read_options, read_reference, read_result, read_text


class ExactOptions(ComparedOptions):
    """Options of the verifier `exact`."""

    value: Annotated[str | None, Field(description="The expected text.")] = None
    strip: Annotated[bool, Field(description="Leave out white space at both ends of the text.")] = True
    ignore_case: Annotated[bool, Field(description="Compare without regard to case.")] = False


class ExactVerifier:
    """Scores 1 for the expected text, else 0."""

    def __init__(self, spec: VerifierSpec) -> None:
        options = self._options = read_options(ExactOptions, spec)
        if options.value is not None:
            self._expected = options.value.encode("utf-8", "surrogatepass")
        else:
            self._expected = read_reference(spec, options.expected or "")
        try:
            self._text: str | None = self._expected.decode("utf-8-sig")
        except UnicodeDecodeError:  # what is not text can only be compared byte by byte
            self._text = None

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Compare the result with what is expected."""
        given = self._options.file, trajectory, workspace, max(4_000_000, 2 * len(self._expected))
        if self._text is None:
            result = read_result(*given)
            if isinstance(result, Score) or result[1] == self._expected:
                return result if isinstance(result, Score) else Score(1.0, passed=True)
            return failed(f"{result[0]}: the bytes differ from what is expected")
        read = read_text(*given)
        if isinstance(read, Score):
            return read
        texts = (text.strip() if self._options.strip else text for text in (self._text, read[1]))
        wanted, found = ((text.casefold() if self._options.ignore_case else text).split("\n") for text in texts)
        if found == wanted:
            return Score(1.0, passed=True)
        pairs = enumerate(zip_longest(wanted, found))  # a line that is not there is null
        line, left, right = next((at, left, right) for at, (left, right) in pairs if left != right)
        return failed(f"{read[0]} line {line + 1}: expected {quote_json(left)}, found {quote_json(right)}")
