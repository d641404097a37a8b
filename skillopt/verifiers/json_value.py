"""Verifier `json`: the result equals the expected JSON value, compared leaf by leaf.

Without recursion, so that no nesting is too deep.
"""

import json
import math
import re
from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated, Final, cast

from pydantic import Field, JsonValue

from skillopt.errors import SuiteError
from skillopt.rollouts import Score, Trajectory
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import (
    ComparedOptions,
    ToleranceOptions,
    decode_reference,
    failed,
    last_code_block,
    quote_json,
    read_options,
    read_text,
)

_PLAIN = re.compile(r"[A-Za-z_]\w{0,79}", re.ASCII)
_ABSENT: Final = object()


class JsonOptions(ComparedOptions, ToleranceOptions):
    """Options of the verifier `json`; one of `value` and `expected` is required."""

    value: Annotated[JsonValue, Field(description="The expected value.")] = None


class JsonVerifier:
    """Scores the share of right leaves; passes when all are right and none is extra."""

    def __init__(self, spec: VerifierSpec) -> None:
        options = read_options(JsonOptions, spec)
        self._options = options
        self._tolerance = Tolerance(options.absolute_tolerance, options.relative_tolerance)
        self._expected: object = options.value
        if options.expected is not None:
            try:
                self._expected = json.loads(decode_reference(spec, options.expected))
            except (ValueError, RecursionError) as error:
                raise SuiteError(
                    f"verifier 'json': expected JSON in {options.expected!r}, found {error}; correct the file"
                ) from error

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Compare the result with what is expected; of an answer, the last code block counts."""
        read = read_text(self._options.file, trajectory, workspace)
        if isinstance(read, Score):
            return read
        name, text = read
        try:
            found = json.loads(last_code_block(text) if self._options.file is None else text)
        except (ValueError, RecursionError) as error:
            return failed(f"{name}: expected JSON, found {error}")
        total, wrong, lines = compare_values(self._expected, found, self._tolerance, self._options.max_feedback)
        if not wrong:
            return Score(1.0, passed=True)
        return Score(1 - wrong / total, passed=False, feedback="\n".join(f"{name} {line}" for line in lines))


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two numbers may differ; whole numbers get no allowance for rounding."""

    absolute: float = 0.0
    relative: float = 0.0

    def accepts(self, left: float, right: float) -> bool:
        """Return whether two numbers count as equal; NaN equals NaN."""
        if left == right or (left != left and right != right):  # noqa: PLR0124 - only NaN differs from itself
            return True
        try:
            if isinstance(left, int) and isinstance(right, int):
                return abs(left - right) <= max(self.absolute, self.relative * max(abs(left), abs(right)))
            return math.isclose(left, right, rel_tol=max(self.relative, 1e-12), abs_tol=self.absolute)
        except OverflowError:
            return False


def compare_values(expected: object, found: object, tolerance: Tolerance, most: int) -> tuple[int, int, list[str]]:
    """Compare two JSON values leaf by leaf: the number of leaves, how many are wrong, and the first differences.

    >>> compare_values({"a": [1, 2]}, {"a": [1, 3]}, Tolerance(), 9)
    (2, 1, ['$.a[1]: expected 2, found 3'])
    """
    total = wrong = 0
    lines: list[str] = []
    left: list[tuple[str, object, object]] = [("$", expected, found)]
    while left:
        place, right, given = left.pop()
        pairs = _pairs(right, given)
        if pairs is not None:
            left.extend((place + step, one, other) for step, one, other in reversed(pairs))
            continue
        leaves = max(_leaves(right), _leaves(given))
        total += leaves
        if _is_number(right) and _is_number(given):
            equal = tolerance.accepts(cast("float", right), cast("float", given))  # both were just found to be numbers
        else:
            equal = type(right) is type(given) and right == given
        if not equal:
            wrong += leaves
            if len(lines) < most:
                if right is _ABSENT:
                    told = f"unexpected {_brief(given)}"
                elif given is _ABSENT:
                    told = f"missing, expected {_brief(right)}"
                else:
                    told = f"expected {_brief(right)}, found {_brief(given)}"
                lines.append(f"{place}: {told}")
    return total, wrong, lines


def _pairs(expected: object, found: object) -> list[tuple[str, object, object]] | None:
    """Pair the members of two lists or objects; None when the values are leaves to each other."""
    if isinstance(expected, dict) and isinstance(found, dict) and (expected or found):
        keys = [*expected, *(key for key in found if key not in expected)]
        steps = {key: f".{key}" if _PLAIN.fullmatch(key) else f"[{quote_json(key)}]" for key in keys}
        return [(step, expected.get(key, _ABSENT), found.get(key, _ABSENT)) for key, step in steps.items()]
    if isinstance(expected, list) and isinstance(found, list) and (expected or found):
        return [
            (f"[{at}]", one, other) for at, (one, other) in enumerate(zip_longest(expected, found, fillvalue=_ABSENT))
        ]
    return None


def _leaves(value: object) -> int:
    count, left = 0, [value]
    while left:
        one = left.pop()
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        left.extend(inner)
        count += not inner
    return count


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _brief(value: object) -> str:
    """Write a leaf as JSON, and of anything larger only its kind and size."""
    if isinstance(value, dict) and value:
        return f"an object with {len(value)} keys"
    if isinstance(value, list) and value:
        return f"a list of {len(value)} items"
    return quote_json(value)
