"""The command `estimate`: its options, and its result as text."""

from typing import Annotated

import typer

from skillopt.commands.options import JsonOption, RunOptions, SkillArgument, StartOption, with_run_options
from skillopt.commands.output import show
from skillopt.forecast.estimate import Estimated
from skillopt.forecast.estimate import estimate as foresee
from skillopt.forecast.foresight import price_words, range_words

__all__ = ["estimate"]

_SURE = 0.05


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
    """Estimate what a run could cost and show; spends nothing.

    It takes the options of `optimize`. Ends with 2 when the suite can show nothing, and says how many tasks or
    rollouts would do.
    """
    show(foresee(options.select(skill), start=start, pass_rate=pass_rate), _text, as_json=as_json)


def _text(result: Estimated) -> str:
    train, val, test = result.tasks
    likely = result.likely
    roles = f"tasks by {result.harness or 'no harness yet'}, edits by {result.model or 'no optimizer model yet'}"
    lines = [
        f"{result.skill}: {train} train, {val} val, {test} test tasks; {roles}",
        f"rollouts: {range_words(likely.rollouts)}: median and 80% range of {likely.runs} simulated runs",
        f"optimizer calls: {range_words(likely.calls)}",
        *_costs(result),
        f"tasks that pass now: {_start(result)}",
        _model(result),
        f"what it can show: {result.prospect.words}",
        *_chances(result),
        *([f"note: {result.earlier}"] if result.earlier else []),
        *([f"note: {result.caution}"] if result.caution else []),
        *([f"keys: {result.keys}"] if result.keys else []),
        *([f"cap: {result.cap}"] if result.cap else []),
        *([f"the cap ends {_of_ten(likely.capped)} simulated runs"] if likely.capped > _SURE else []),
        result.verdict,
        "nothing was run; recorded rollouts would be free",
    ]
    return "\n".join(lines)


def _costs(result: Estimated) -> list[str]:
    """Return what it takes in time, dollars and tokens; nothing for programs that cost nothing."""
    likely, known = result.likely, result.known
    if not likely.tokens.high and result.known.rollouts == 0:
        return []
    tokens = f"{_tokens(likely.tokens.median)} ({_tokens(likely.tokens.low)} to {_tokens(likely.tokens.high)}) tokens"
    figures = [
        f"a rollout costs as {_source(known.rollouts, 'rollouts')}",
        f"an optimizer call as {_source(known.calls, 'calls')}",
    ]
    return [
        *([f"time: {likely.time} with {_workers(result)}; {_timed(result)}"] if likely.minutes else []),
        f"cost: {price_words(likely) or 'price unknown'}; {tokens}",
        f"assumed: {', '.join(figures)}",
    ]


def _workers(result: Estimated) -> str:
    where = " on Ray, whose start is not counted" if result.executor != "threads" else ""
    return f"{result.workers} workers{where}"


def _timed(result: Estimated) -> str:
    """Return what the time rests on."""
    timed = result.known.timed
    return f"from {timed} recorded latencies" if timed else "a guess: no latencies are recorded"


def _model(result: Estimated) -> str:
    """Return what is known of the optimizer model."""
    known = result.known
    if known.recorded_edits:
        return f"the optimizer model as recorded: {known.lasted} of {known.edits} edits stayed"
    return "the optimizer model has no recorded runs: a strong, a typical and a weak one are assumed, equally likely"


def _chances(result: Estimated) -> list[str]:
    if not result.chances:
        return []
    gains, here, proven = (
        " / ".join(f"{round(100 * share)}" for share in shares)
        for shares in zip(*((one.gain, one.here, one.proven) for one in result.chances), strict=True)
    )
    return [f"chance to show a true gain of {gains} points: {here}% at least proven here, {proven}% proven"]


def _start(result: Estimated) -> str:
    known = result.known
    if result.pass_rate is not None:
        return f"{result.pass_rate:.0%}, as stated"
    if known.tasks:
        return f"{known.passed:.0f} of {known.tasks} as recorded"
    return "nothing is recorded, 17% to 63% assumed; `skillopt evaluate` or --pass-rate makes this narrower"


def _source(recorded: int, what: str) -> str:
    return f"measured on {recorded} {what}" if recorded else "typical, not measured here"


def _tokens(count: float) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.{0 if count >= 10 * size else 1}f}{unit}"
    return f"{count:.0f}"


def _of_ten(share: float) -> str:
    return f"{round(10 * share)} of 10"
