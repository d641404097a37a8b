"""The MCP prompts that a person picks from a menu; each text is a Markdown file beside this one.

Tools and resources are in the modules of skillopt_mcp.
"""

from collections.abc import Mapping
from importlib.resources import files

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

_LONGEST = 200  # characters: names and commits are shorter


_SKILL = PromptArgument(name="skill", description="Name of the skill.", required=False)
_VERSION = PromptArgument(name="version", description="The version to review.", required=False)
_LEFT_OUT = {"skill": "the skill that the user means; ask when there are several", "version": "the newest version"}

PROMPTS: tuple[Prompt, ...] = (
    Prompt(
        name="optimize-skill",
        title="Optimize a skill",
        description="Train a skill: measure it, propose small edits, keep what proves better.",
        arguments=[_SKILL],
    ),
    Prompt(
        name="review-skill-change",
        title="Review a change of a skill",
        description="Review what changed between two versions of a skill, and what the numbers say.",
        arguments=[_SKILL, _VERSION],
    ),
    Prompt(
        name="write-evals",
        title="Write evals for a skill",
        description="Write the tasks and checks that a skill can be measured and trained on.",
        arguments=[_SKILL],
    ),
)
"""All prompts, in the order in which they are listed."""


def get_prompt(name: str, given: Mapping[str, str]) -> GetPromptResult:
    """Fill in a prompt."""
    offer = next((offer for offer in PROMPTS if offer.name == name), None)
    if offer is None:
        raise MCPError(INVALID_PARAMS, f"expected one of {[offer.name for offer in PROMPTS]}, found {name[:80]!r}")
    known = {argument.name: _LEFT_OUT[argument.name] for argument in offer.arguments or ()}
    unknown = sorted(set(given) - set(known))
    if unknown or any(len(value) > _LONGEST for value in given.values()):
        message = f"expected arguments of {sorted(known)} of at most {_LONGEST} characters each"
        raise MCPError(INVALID_PARAMS, message)
    text = files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    for key, left_out in known.items():
        value = " ".join(given.get(key, "").split())
        text = text.replace(f"{{{{{key}}}}}", f"`{value.replace('`', '')}`" if value else left_out)
    asked = PromptMessage(role="user", content=TextContent(text=text))
    return GetPromptResult(description=offer.description, messages=[asked])
