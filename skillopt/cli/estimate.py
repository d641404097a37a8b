"""The command `estimate`: its options, and its result as text."""

from typing import TYPE_CHECKING

from skillopt.cli.options import JsonOption, PresetOption, SetOption, SkillArgument, SuiteOption, flags_of, select
from skillopt.cli.output import show

if TYPE_CHECKING:
    from skillopt.commands.estimate import Cost, Estimated

__all__ = ["estimate"]


def estimate(
    skill: SkillArgument = None,
    *,
    suite: SuiteOption = None,
    preset: PresetOption = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate what a run could cost and show; spends nothing.

    Ends with 2 when the suite can show nothing, and says how many tasks or rollouts would do.
    """
    from skillopt.commands.estimate import estimate as run

    show(run(select(skill, suite, flags_of(settings, preset=preset))), _text, as_json=as_json)


def _text(result: "Estimated") -> str:
    train, val, test = result.tasks
    likely = "" if result.bounds else " in four of five simulated runs to their own end"
    return "\n".join(
        [
            f"{result.skill}: {train} train, {val} val, {test} test tasks",
            f"rollouts: {result.rollouts[0]} to {result.rollouts[1]}{likely}",
            f"optimizer calls: {result.calls[0]} to {result.calls[1]}{likely}",
            f"what it can show: {result.prospect.words}",
            *([f"note: {result.earlier}"] if result.earlier else []),
            *(_cost(result.cost) if result.cost else []),
            "nothing was run; recorded rollouts would be free",
        ]
    )


def _cost(cost: "Cost") -> list[str]:
    if not cost.measured_rollouts:
        return ["cost: unknown until this target is measured; run `skillopt evaluate` first"]
    dollars = "price unknown" if cost.usd is None else f"${cost.usd[0]:.2f} to ${cost.usd[1]:.2f}"
    replies = f"{cost.measured_calls} optimizer calls" if cost.measured_calls else "no optimizer call yet, not counted"
    return [
        f"cost: {cost.tokens[0]:,} to {cost.tokens[1]:,} tokens, {dollars}",
        f"measured on {cost.measured_rollouts} rollouts, {replies}",
    ]
