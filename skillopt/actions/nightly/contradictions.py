"""What a night says of lines that people changed in two ways, between which it does not choose."""

from skillopt.nightly.pull_requests import NightlyContext
from skillopt.nightly.skill_state import SkillState
from skillopt.safety.escaping import escape_terminal

__all__ = ["describe_contradiction"]


def describe_contradiction(context: NightlyContext, state: SkillState) -> str:
    """Return which lines people changed in two ways; the skill waits until one of them decides."""
    into, branch, found = context.default_branch.name, f"skillopt/{state.target.name}", state.conflicts[0]
    both = f"'{_one_line(found.theirs)}' on {into} and '{_one_line(found.ours)}' on {branch}"
    advice = f"merge {into} into {branch} by hand, or comment `/skillopt rebase` to go on from {into}"
    return f"people changed the same lines in two ways, {both}; {advice}"


def _one_line(text: str) -> str:
    return escape_terminal(" / ".join(text.splitlines()))
