"""The command `estimate`: its options, and its result as text."""

from skillopt.commands.options import JsonOption, RunOptions, SkillArgument, with_run_options
from skillopt.commands.output import show
from skillopt.runs.forecast import Estimate
from skillopt.runs.forecast import estimate as foresee


@with_run_options
def estimate(skill: SkillArgument = None, *, options: RunOptions, as_json: JsonOption = False) -> None:
    """Estimate cost and power of a run; spends nothing, and times one call where the target is a local server.

    Takes the settings of `optimize`. Ends with 2 when no gain could be detected, and says how many tasks or rollouts
    are needed.
    """
    show(foresee(options.select(skill), timed=True), _text, as_json=as_json)


def _text(result: Estimate) -> str:
    rollouts, calls = result.costs
    likely, tokens = result.likely, result.likely.tokens
    roles = f"tasks by {result.harness or 'no harness yet'}, edits by {result.model or 'no optimizer model yet'}"
    guess = "" if rollouts.recorded and calls.recorded else ", else on typical costs, right to a factor of two"
    costs = [
        f"time: {likely.time}",
        f"cost: {likely.price}; {tokens.written()} tokens",
        f"based on {rollouts.recorded} recorded rollouts and {calls.recorded} optimizer calls{guess}",
    ]
    ran = "nothing" if result.timed is None else f"one call of {result.timed:.1f} s, nothing else,"
    lines = [
        f"{result.skill}: {roles}",
        f"rollouts: {likely.rollouts.written()}: median and 80% range of simulated runs",
        f"optimizer calls: {likely.calls.written()}",
        *(costs if tokens.high else []),
        f"power: {result.prospect.words}",
        *([f"note: {result.caution}"] if result.caution else []),
        *([f"keys: {result.keys}"] if result.keys else []),
        *([f"cap: {result.cap}"] if result.cap else []),
        *([f"no-go: {result.missing}"] if result.missing else []),
        f"Dry run: {ran} was executed. Cached rollouts would cost nothing.",
    ]
    return "\n".join(lines)
