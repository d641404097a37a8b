"""Verifier `checks`: several checks of one result, each of any other kind; a judge is asked last."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from skillopt.errors import SuiteError
from skillopt.protocols import Model, Verifier
from skillopt.rollouts import JUDGED_LINE, Judgement, Score, Trajectory, Usage
from skillopt.sandbox.bubblewrap import SandboxChoice
from skillopt.tasks import JUDGED_KINDS, VerifierSpec
from skillopt.verifiers import StrictOptions, load_verifier, read_options

_OWN_KIND: Final = "checks"


def _not_nested(kind: str) -> str:
    if kind == _OWN_KIND:
        raise ValueError("expected another kind than 'checks', which cannot stand in itself; list its checks here")
    return kind


class CheckOptions(StrictOptions):
    """One check."""

    kind: Annotated[str, AfterValidator(_not_nested), Field(description="Kind of the verifier.", min_length=1)]
    options: Annotated[dict[str, object], Field(description="Its options.", default_factory=dict)]
    weight: Annotated[float, Field(description="Its part of the score.", gt=0, le=1_000_000)] = 1.0
    name: Annotated[
        str, Field(description="What feedback calls it; else its number.", max_length=120, pattern=r"^[^\r\n]*$")
    ] = ""


class ChecksOptions(StrictOptions):
    """Options of the verifier `checks`."""

    checks: Annotated[tuple[CheckOptions, ...], Field(description="What is checked.", min_length=1, max_length=100)]
    threshold: Annotated[
        float, Field(description="Score from which the task is passed; 1 asks for every check.", gt=0, le=1)
    ] = 1.0


@dataclass(frozen=True, slots=True)
class _Check:
    name: str
    weight: float
    judged: bool
    verifier: Verifier


class ChecksVerifier:
    """Scores the weighted mean of its checks; all of them is a pass, or a score from the threshold on."""

    def __init__(self, spec: VerifierSpec, judge: Model | None = None, sandbox: SandboxChoice = "auto") -> None:
        self._options = read_options(ChecksOptions, spec)
        made = []
        for number, each in enumerate(self._options.checks, 1):
            name = each.name or f"check {number}"
            options = json.dumps(each.options, sort_keys=True, separators=(",", ":"))
            try:
                own = VerifierSpec(each.kind, options, spec.files, spec.inputs)
                verifier = load_verifier(own, judge, sandbox)
            except SuiteError as error:
                raise SuiteError(f"verifier {_OWN_KIND!r}: {name}: {error}") from error
            made.append(_Check(name, each.weight, each.kind in JUDGED_KINDS, verifier))
        self._checks = sorted(made, key=lambda check: check.judged)

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Run every check, those that cost nothing first.

        The judge is asked even where a check has failed already: its criteria are part of the score.
        """
        scores = [(check, check.verifier.score(trajectory, workspace)) for check in self._checks]
        total = sum(check.weight for check, _ in scores)
        value = min(1.0, sum(check.weight * score.value for check, score in scores) / total)
        passed = all(score.passed for _, score in scores)
        if self._options.threshold < 1.0:
            passed = passed or value >= self._options.threshold
        # A mean of scores that all are 1 can miss 1 by a rounding error.
        value = 1.0 if all(score.value == 1.0 for _, score in scores) else value
        # Each line names its check, so that it can be told which check moved on.
        lines = [
            f"{JUDGED_LINE if check.judged else ''}{check.name}: {line}"
            for check, score in scores
            if not (passed or score.passed)
            for line in score.feedback.splitlines() or ["not passed"]
        ]
        feedback = "\n".join(lines)[:8_000]
        usage = Usage.total(score.usage for _, score in scores)
        judged = [(check.weight / total, score.judgement) for check, score in scores if score.judgement is not None]
        return Score(value, passed, feedback, usage, _joined(judged))


def _joined(judged: Sequence[tuple[float, Judgement]]) -> Judgement | None:
    """Put what a judge said in several checks together, reading by reading."""
    if not judged:
        return None
    parts = [one for _, one in judged]
    most = max(len(one.readings) for one in parts)
    rows = [(*one.readings, *["-" * len(one.criteria)] * (most - len(one.readings))) for one in parts]
    return Judgement(
        tuple(criterion for one in parts for criterion in one.criteria),
        tuple(map("".join, zip(*rows, strict=True))),
        parts[0].shown,
        max(one.need for one in parts),
        addressed="; ".join(dict.fromkeys(one.addressed for one in parts if one.addressed)),
        share=min(1.0, sum(share for share, _ in judged)),
    )
