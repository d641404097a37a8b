"""The MCP prompts that a person picks from a menu; each text is a Markdown file beside this one.

Tools and resources are in the modules of skillopt_mcp.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

__all__ = ["PROMPTS", "PromptDefinition", "get_prompt", "list_prompts"]

_LONGEST = 200


@dataclass(frozen=True, slots=True)
class PromptDefinition:
    """A prompt that is offered."""

    name: str
    title: str
    description: str
    arguments: tuple[tuple[str, str, str], ...]


_SKILL = ("skill", "Name of the skill.", "the skill that the user means; ask when there are several")

PROMPTS: tuple[PromptDefinition, ...] = (
    PromptDefinition(
        "optimize-skill",
        "Optimize a skill",
        "Train a skill: measure it, propose small edits, keep what proves better.",
        (_SKILL,),
    ),
    PromptDefinition(
        "review-skill-change",
        "Review a change of a skill",
        "Review what changed between two versions of a skill, and what the numbers say.",
        (_SKILL, ("version", "The version to review.", "the newest version")),
    ),
    PromptDefinition(
        "write-evals",
        "Write evals for a skill",
        "Write the tasks and checks that a skill can be measured and trained on.",
        (_SKILL,),
    ),
)
"""All prompts, in the order in which they are listed."""


def list_prompts() -> list[Prompt]:
    """List the prompts as the protocol has them."""
    return [
        Prompt(
            name=offer.name,
            title=offer.title,
            description=offer.description,
            arguments=[
                PromptArgument(name=name, description=about, required=False) for name, about, _ in offer.arguments
            ],
        )
        for offer in PROMPTS
    ]


def get_prompt(name: str, given: Mapping[str, str]) -> GetPromptResult:
    """Fill in a prompt."""
    offer = next((offer for offer in PROMPTS if offer.name == name), None)
    if offer is None:
        raise MCPError(INVALID_PARAMS, f"expected one of {[offer.name for offer in PROMPTS]}, found {name[:80]!r}")
    known = {key: left_out for key, _, left_out in offer.arguments}
    unknown = sorted(set(given) - set(known))
    if unknown or any(len(value) > _LONGEST for value in given.values()):
        message = f"expected arguments of {sorted(known)} of at most {_LONGEST} characters each"
        raise MCPError(INVALID_PARAMS, message)
    text = _template(name)
    for key, left_out in known.items():
        value = " ".join(given.get(key, "").split())
        text = text.replace(f"{{{{{key}}}}}", f"`{value.replace('`', '')}`" if value else left_out)
    asked = PromptMessage(role="user", content=TextContent(text=text))
    return GetPromptResult(description=offer.description, messages=[asked])


@cache
def _template(name: str) -> str:
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")
