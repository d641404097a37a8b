"""The command `estimate`: its options, and its result as text."""

from typing import Annotated, Final

import typer

from skillopt.commands.options import JsonOption, RunOptions, SkillArgument, StartOption, with_run_options
from skillopt.commands.output import show
from skillopt.forecast.estimate import Estimated
from skillopt.forecast.estimate import estimate as foresee
from skillopt.storage.mean_costs import MeanCost

_ENDED: Final = ("", "the longest runs", "half of the runs", "nearly every run")


@with_run_options
def estimate(
    skill: SkillArgument = None,
    *,
    options: RunOptions,
    start: StartOption = "auto",
    pass_rate: Annotated[
        float | None,
        typer.Option("--pass-rate", min=0, max=1, help="Share of tasks that pass now, instead of what is recorded."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate cost and power of a run; spends nothing.

    Takes the options of `optimize`. Where no rollout is recorded, one short call of a local model server is timed.
    Ends with 2 when no gain could be detected, and says how many tasks or rollouts are needed.
    """
    found = foresee(options.select(skill), start=start, pass_rate=pass_rate, times=True)
    show(found, _text, as_json=as_json)


def _text(result: Estimated) -> str:
    train, val, test = result.tasks
    likely = result.likely
    executed = "nothing but one call, which was timed," if result.known.pace else "nothing"
    roles = f"tasks by {result.harness or 'no harness yet'}, edits by {result.model or 'no optimizer model yet'}"
    lines = [
        f"{result.skill}: {train} train, {val} val, {test} test tasks; {roles}",
        f"rollouts: {likely.rollouts.words}: median and 80% range of simulated runs",
        f"optimizer calls: {likely.calls.words}",
        *([f"judge calls: {result.judge_calls.words}"] if result.judge_calls.high else []),
        *_costs(result),
        f"tasks that pass now: {_start(result)}",
        f"power: {result.prospect.words}",
        *_chances(result),
        *([f"note: {result.caution}"] if result.caution else []),
        *([f"keys: {result.keys}"] if result.keys else []),
        *([f"cap: {result.cap}"] if result.cap else []),
        *([f"the cap ends {_ENDED[likely.capped]}"] if likely.capped else []),
        result.verdict,
        f"Dry run: {executed} was executed. Cached rollouts would cost nothing.",
    ]
    return "\n".join(lines)


def _costs(result: Estimated) -> list[str]:
    """Return what it takes in time, dollars and tokens; nothing for programs that cost nothing."""
    likely, known = result.likely, result.known
    if not likely.tokens.high and known.rollout is None:
        return []
    tokens = f"{_tokens(likely.tokens.median)} ({_tokens(likely.tokens.low)} to {_tokens(likely.tokens.high)}) tokens"
    where = " on Ray, whose start is not counted" if result.executor != "threads" else ""
    pace = f"from one call of the server, {known.pace:.3f} s a token" if known.pace else ""
    timed = f"from {known.timed} recorded latencies" if known.timed else pace or "a guess: no latencies are recorded"
    figures = [
        f"a rollout costs as {_source(known.rollout, 'rollouts')}",
        f"an optimizer call as {_source(known.call, 'calls')}",
    ]
    return [
        *([f"time: {likely.time} with {result.workers} workers{where}; {timed}"] if likely.minutes else []),
        f"cost: {likely.price or 'price unknown'}; {tokens}",
        f"assumed: {', '.join(figures)}",
    ]


def _chances(result: Estimated) -> list[str]:
    if not result.chances:
        return []
    gains, here, proven = (
        " / ".join(f"{round(100 * share)}" for share in shares)
        for shares in zip(*((one.gain, one.here, one.proven) for one in result.chances), strict=True)
    )
    return [f"power for a true gain of {gains} points: {here}% on these tasks, {proven}% on new tasks"]


def _start(result: Estimated) -> str:
    known = result.known
    if result.pass_rate is not None:
        return f"{result.pass_rate:.0%} by --pass-rate"
    if known.tasks:
        return f"{known.passed:.0f} of {known.tasks} as measured"
    return "no results yet: 0% to 60% assumed. Run `skillopt evaluate` or set --pass-rate for a narrower estimate"


def _source(recorded: MeanCost | None, what: str) -> str:
    return f"measured on {recorded.calls} {what}" if recorded else "typical, not measured here"


def _tokens(count: float) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.{0 if count >= 10 * size else 1}f}{unit}"
    return f"{count:.0f}"
