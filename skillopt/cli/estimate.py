"""The command `estimate`."""

from skillopt.cli.options import (
    JsonOption,
    PresetOption,
    SetOption,
    SkillArgument,
    SuiteOption,
    flags_of,
    select,
)
from skillopt.cli.output import show

__all__ = ["estimate"]


def estimate(
    skill: SkillArgument = None,
    *,
    suite: SuiteOption = None,
    preset: PresetOption = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what a run could take; spends nothing."""
    from skillopt.commands.estimate import estimate as run

    show(run(select(skill, suite, flags_of(settings, preset=preset))), as_json=as_json)
