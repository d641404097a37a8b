"""The command `evidence`."""

from skillopt.cli.options import (
    HarnessOption,
    JsonOption,
    SetOption,
    SkillArgument,
    StartOption,
    SuiteOption,
    flags_of,
    select,
)
from skillopt.cli.output import show

__all__ = ["evidence"]


def evidence(
    skill: SkillArgument = None,
    *,
    start: StartOption = "auto",
    suite: SuiteOption = None,
    settings: SetOption = None,
    harness: HarnessOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is recorded of the skill on train tasks.

    It is what a proposer of edits needs to know; nothing of val or test is in it. Spends nothing.
    """
    from skillopt.commands.evidence import evidence as run

    show(run(select(skill, suite, flags_of(settings, harness=harness)), start=start), as_json=as_json)
