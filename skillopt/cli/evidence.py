"""The command `evidence`: its options, and its result as text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from skillopt.commands.evidence import Evidence, ShownTask

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

    show(run(select(skill, suite, flags_of(settings, harness=harness)), start=start), _text, as_json=as_json)


def _text(result: "Evidence") -> str:
    budget = f"at most {result.edit_budget} edits" + (
        f" and {result.token_budget} changed tokens" if result.token_budget else ""
    )
    measured = len(result.failing) + len(result.passing)
    head = (
        f"{result.skill} {result.base}: {measured} of {result.tasks} train tasks measured, "
        f"{len(result.failing)} of them failed at least once; {budget}; {result.looks} proposals measured so far"
    )
    return "\n\n".join(
        [
            head,
            result.text.rstrip(),
            *([f"tried before:\n{_listed(result.rejected)}"] if result.rejected else []),
            *([f"notes of the optimizer model:\n{result.memory}"] if result.memory else []),
            *map(_rollout, (*result.failing, *result.passing)),
        ]
    )


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _rollout(shown: "ShownTask") -> str:
    return f"passed {shown.passed} of {shown.repeats} repeats\n{shown.text}"
