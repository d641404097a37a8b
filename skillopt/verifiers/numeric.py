"""Verifier `numeric`: the last number of the result is the expected one, within a tolerance, exactly in decimal."""

import re
from decimal import Context, Decimal
from typing import Annotated

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.rollouts import Score, Trajectory
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import ComparedOptions, decode_reference, failed, quote_json, read_options, read_text

_NUMBER = re.compile(
    r"(?<![\w.])[-+\u2212]?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?"
    r"|(?<!\w)[-+\u2212]?(?:inf(?:inity)?|nan)(?!\w)",
    re.IGNORECASE,
)
# No traps: a number beyond all bounds becomes infinite or NaN and is compared as such.
_EXACT = Context(prec=120, Emin=-999_999, Emax=999_999, traps=[])


class NumericOptions(ComparedOptions):
    """Options of the verifier `numeric`."""

    value: Annotated[
        int | float | str | None, Field(description="The expected number; written as text it keeps all digits.")
    ] = None
    absolute_tolerance: Annotated[float, Field(description="Largest difference.", ge=0, allow_inf_nan=False)] = 0.0
    relative_tolerance: Annotated[
        float | None,
        Field(
            description="Largest difference as a share of the expected number; "
            "without it 0 for a whole number and 1e-9 for any other.",
            ge=0,
            allow_inf_nan=False,
        ),
    ] = None


class NumericVerifier:
    """Scores 1 for a number close enough to the expected one, else 0.

    NaN is close to NaN alone, an infinity to itself alone.
    """

    def __init__(self, spec: VerifierSpec) -> None:
        options = read_options(NumericOptions, spec)
        text = decode_reference(spec, options.expected) if options.expected is not None else str(options.value)
        expected = find_number(text)
        if expected is None:
            raise SuiteError(f"verifier 'numeric': expected a number, found {quote_json(text)}; write one like 12.5")
        self._options = options
        self._expected = expected
        relative = options.relative_tolerance
        if relative is None:
            relative = 0.0 if expected.is_finite() and expected == expected.to_integral_value() else 1e-9
        share = _EXACT.multiply(Decimal(str(relative)), expected.copy_abs())
        absolute = Decimal(str(options.absolute_tolerance))
        self._tolerance = max(absolute, share) if expected.is_finite() else absolute

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Find the number in the result and compare it."""
        read = read_text(self._options.file, trajectory, workspace)
        if isinstance(read, Score):
            return read
        name, text = read
        found = find_number(text)
        if found is not None and found.is_finite() and self._expected.is_finite():
            close = _EXACT.subtract(found, self._expected).copy_abs() <= self._tolerance
        else:
            close = found is not None and (found == self._expected or (found.is_nan() and self._expected.is_nan()))
        if close:
            return Score(1.0, passed=True)
        seen = "no number" if found is None else found
        return failed(f"{name}: expected the number {self._expected}, found {seen}")


def find_number(text: str) -> Decimal | None:
    """Find the last number in text: `1,200.50`, `-3`, `.5`, `1e-9`, `inf`, `nan`; a currency or unit may touch it.

    >>> find_number("The total of 3 orders is $1,200.50.")
    Decimal('1200.50')
    """
    found = [match[0] for match in _NUMBER.finditer(text)]
    if not found:
        return None
    return _EXACT.create_decimal(found[-1].replace(",", "").replace("\u2212", "-"))
