"""The command `init`: its options, what it asks on a terminal, and its result as text."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from skillopt.commands.options import HarnessOption, JsonOption, ModelOption
from skillopt.commands.output import interruptible, show
from skillopt.safety.escaping import escape_terminal
from skillopt.skills.discovery import HOW_TO_BEGIN

if TYPE_CHECKING:
    from skillopt.actions.init import Initialized
    from skillopt.execution.available import Choice
    from skillopt.project import FoundSkill

__all__ = ["init"]

_MOST_OFFERS: Final = 3
"""With more skills without tasks, nobody wants to be asked about each."""

_SCAFFOLD: Final = 2


def init(
    *,
    harness: HarnessOption = None,
    model: ModelOption = None,
    scaffold: Annotated[
        list[str] | None,
        typer.Option("--scaffold", metavar="SKILL", help="Write a suite to start from for a skill without tasks."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Take the first choice; ask nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write skillopt.toml for the skills that are there.

    Looks for Claude Code, Codex, API keys and local model servers, and writes who does the tasks and who proposes
    edits; asks on a terminal. A file that is there keeps its lines, and gets those that are missing.
    """
    from skillopt.actions.init import Wishes
    from skillopt.actions.init import init as run

    asks = not (yes or as_json) and sys.stdin.isatty() and sys.stderr.isatty()
    choose = _ask if asks else (lambda choices: choices[0]) if yes else None
    with interruptible():
        result = run(Wishes(harness or "", model or "", tuple(scaffold or ())), choose=choose)
    show(result, _text, as_json=as_json)
    if asks:
        for skill in [skill.name for skill in result.skills if not skill.suite][:_MOST_OFFERS]:
            if _wants_scaffold(skill):
                typer.echo(f"wrote {run(Wishes(scaffold=(skill,))).scaffolds[0]}; put tasks of your own into it")


def _wants_scaffold(skill: str) -> bool:
    """Ask what to do about a skill without tasks."""
    name = escape_terminal(skill)
    typer.echo(f"The skill {name} has no tasks.", err=True)
    typer.echo(f"  1. leave it; `skillopt write-tasks {name}` drafts some for you to read", err=True)
    typer.echo(f"  2. write suites/{name}/suite.yaml with examples to replace", err=True)
    return int(typer.prompt("Number", default=1, type=int, err=True)) == _SCAFFOLD


def _ask(choices: "Sequence[Choice]") -> "Choice | None":
    """Ask who does the tasks: numbered, Enter for the first."""
    typer.echo("Who should do the tasks and propose edits?", err=True)
    for number, choice in enumerate(choices, 1):
        typer.echo(f"  {number}. {_told(choice)}", err=True)
    typer.echo(f"  {len(choices) + 1}. leave it open; the choices stand in the file as comments", err=True)
    number = 0
    while not 1 <= number <= len(choices) + 1:
        number = typer.prompt("Number", default=1, type=int, err=True)
    return choices[number - 1] if number <= len(choices) else None


def _told(choice: "Choice") -> str:
    missing = f"; {choice.missing}" if choice.missing else ""
    label = f"{escape_terminal(choice.label)}: " if choice.label else ""
    return f'{label}harness = "{choice.harness}", model = "{choice.model}"{missing}'


def _text(result: "Initialized") -> str:
    state = "wrote" if result.created else "extended" if result.added else "kept"
    lines = [f"{state} {result.config}"]
    lines += [f"  + {line}" for line in result.added]
    lines += _choice_lines(result)
    lines += [f"wrote {path}; put tasks of your own into it" for path in result.scaffolds]
    lines += _skill_lines(result)
    return "\n".join([*lines, *(["next: skillopt doctor"] if result.skills else [])])


def _choice_lines(result: "Initialized") -> "Iterator[str]":
    if result.chosen is not None:
        yield f"chose {_told(result.chosen)}"
    elif result.choices:
        yield "harness and model are left open; choose with --harness and --model, or --yes for the first:"
        yield from (f"  {_told(choice)}" for choice in result.choices)
    elif result.created:
        found = "found no agent, API key or local model server"
        yield f"{found}; set harness and model in the file (skillopt docs architecture)"


def _skill_lines(result: "Initialized") -> "Iterator[str]":
    for skill in result.skills:
        if skill.name in result.listed:
            yield _skill(skill)
    more = len(result.skills) - len(result.listed)
    if more:
        others = f"{more} more skills" if result.listed else f"{more} skills"
        yield f"{others} have no tasks and no table; commands take them by name, skillopt write-tasks NAME drafts tasks"
    if not result.skills:
        yield HOW_TO_BEGIN


def _skill(skill: "FoundSkill") -> str:
    name = escape_terminal(skill.name)
    if skill.suite:
        return f"skill {name}: {skill.path}, suite {skill.suite}"
    return f"skill {name}: {skill.path}, no tasks yet: skillopt write-tasks {name}, or init --scaffold {name}"
