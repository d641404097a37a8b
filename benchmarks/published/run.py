"""Measure no skill, a start text and the trained text on the held-out tasks of a benchmark, and train in between."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from benchmarks.published.benchmark import Benchmark, Reading, suite_of, verifiers_of
from benchmarks.published.oracle import answers_from_memory
from benchmarks.published.results import MeasuredRow
from skillopt import Skill, compare, evaluate, optimize
from skillopt.errors import UsageError
from skillopt.execution.calls import CompareResult, EvaluateResult, OptimizeResult
from skillopt.gate.grades import Grade
from skillopt.gate.judge_noise import share_interval
from skillopt.loop.events import DraftGraded, Event
from skillopt.protocols import Harness, Model
from skillopt.rollouts import Usage
from skillopt.skills.document import SkillDocument
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split

_SPARE: Final = 1.3
"""Dollars that are kept for the trained text, as a share of what the start text took: a trained text is longer."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is made with; the same plan goes on with what `store` keeps. Caps are None where there is none."""

    harness: Harness | str
    model: Model | str
    start: Skill
    store: Path
    seed: int = 0
    max_usd: float | None = None
    max_rollouts: int | None = None
    more: Mapping[str, object] | None = None
    on_event: Callable[[Event], None] | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run came to; `spent` is what its training took, whenever it was run."""

    rows: tuple[MeasuredRow, ...]
    training: OptimizeResult
    spent: Usage
    trained: Skill
    handed_over: str
    compared: CompareResult


def measure(benchmark: Benchmark, reading: Reading, plan: Plan) -> Measured:
    """Measure, train and measure; no text but the trained one is chosen, and it never by a held-out task."""
    suite = suite_of(benchmark, reading)
    shared: dict[str, Any] = {"harness": plan.harness, "verifiers": verifiers_of(benchmark), "store": plan.store}
    used: list[Usage] = []

    def measured(skill: Skill | None) -> EvaluateResult:
        found = evaluate(skill, suite, split=Split.TEST, settings=_settings(plan, _left(plan, used)), **shared)
        used.append(found.usage)
        return found

    none, start = measured(None), measured(plan.start)
    kept = (start.usage.usd or 0.0) * _SPARE
    settings = _settings(plan, _left(plan, used, kept), max_rollouts=plan.max_rollouts)
    result = optimize(plan.start, suite, model=plan.model, settings=settings, on_event=plan.on_event, **shared)
    trained, grade = handed_over(result)
    with closing(Ledger.open(plan.store)) as ledger:
        spent = tuple(ledger.spending(result.run).values())
    used += spent
    left = _settings(plan, _left(plan, used))
    compared = compare(plan.start, trained, suite, split=Split.TEST, settings=left, **shared)
    used.append(compared.after.usage)

    def row(name: str, found: EvaluateResult) -> MeasuredRow:
        values = [one.score.value for one in found.rollouts if one.score is not None]
        return row_of(benchmark, name, values, len(found.rollouts), found.usage)

    measured_rows = row("no skill", none), row("start", compared.before), row("trained", compared.after)
    return Measured(
        (*_without_model(benchmark, reading), *measured_rows), result, Usage.total(spent), trained, grade, compared
    )


def _settings(plan: Plan, usd: float | None, **more: object) -> dict[str, object]:
    caps = {"max_usd": usd, **more}
    return {"seed": plan.seed, **(plan.more or {}), **{name: cap for name, cap in caps.items() if cap is not None}}


def _left(plan: Plan, used: Sequence[Usage], kept: float = 0.0) -> float | None:
    """Return the dollars that are left; what is recorded counts, so that a run that goes on has the same caps."""
    if plan.max_usd is None:
        return None
    spent = sum(one.usd or 0.0 for one in used) + kept
    if spent >= plan.max_usd:
        raise UsageError(
            f"expected more than {spent:.2f} USD, which measuring takes, found a cap of {plan.max_usd:g} USD; raise "
            "--max-usd or lower --tasks (what was run is kept)"
        )
    return plan.max_usd - spent


def handed_over(result: OptimizeResult) -> tuple[Skill, str]:
    """Return what a user would get, and what it is; a draft that is worse is not offered."""
    draft = result.draft
    if result.versions:
        grading = result.versions[-1].grading
        return result.skill, f"version, {grading.grade}" if grading else "version"
    if draft is None or (isinstance(draft, DraftGraded) and draft.grading.grade is Grade.WORSE):
        return result.skill, "the start text: nothing better was found"
    grade = f"draft, {draft.grading.grade}" if isinstance(draft, DraftGraded) else "draft without a grade"
    return result.skill.with_document(SkillDocument(draft.text)), grade


def _without_model(benchmark: Benchmark, reading: Reading) -> list[MeasuredRow]:
    held_out = reading.of(Split.TEST)
    nothing = [benchmark.score("", item.expected) for item in held_out]
    memory = [
        benchmark.score(answer, item.expected)
        for answer, item in zip(answers_from_memory(reading), held_out, strict=True)
    ]
    return [row_of(benchmark, "nothing", nothing), row_of(benchmark, "memory", memory)]


def row_of(
    benchmark: Benchmark, name: str, scores: Sequence[float], rollouts: int = 0, usage: Usage | None = None
) -> MeasuredRow:
    """Sum up scores with the 95% interval of the number that others publish, each task counting once.

    For a mean of partial scores the interval is that of as many passes, which is never too narrow.
    """
    passed, score, share = sum(one == 1.0 for one in scores), fmean(scores), benchmark.published(scores)
    low, high = share_interval(share, len(scores))
    used = usage or Usage()
    found = {"low": min(low, share), "high": max(high, share), "rollouts": rollouts}
    return MeasuredRow.model_validate(
        {"name": name, "tasks": len(scores), "passed": passed, "score": score, "calls": used.calls, "usd": used.usd}
        | found
    )
