"""Refusing tasks that ask which tools were used where the harness does not tell."""

from skillopt.errors import SettingsError
from skillopt.tasks import Suite
from skillopt.verifiers.tool_calls import RECORDED_TOOLS, asked_tools, is_recorded

__all__ = ["check_recorded_tools"]


def check_recorded_tools(harness: str, suite: Suite, *, blind: bool = False) -> None:
    """Refuse a suite whose scores ask for tools that the harness cannot tell of: their use would count as none."""
    for _, task in suite.splits:
        unknown = [tool for tool in asked_tools(task.verifier) if blind or not is_recorded(tool, harness)]
        if unknown:
            able = ", ".join(sorted(name for name in RECORDED_TOOLS if is_recorded(unknown[0], name)))
            message = (
                f"task {task.id!r} asks whether the tool {unknown[0]!r} was used, which harness {harness!r} does not "
                f"tell; set harness to one that does ({able}), or remove the check"
            )
            raise SettingsError(message)
