"""The user action `init`: write skillopt.toml for the skills that are there, and choose who runs them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from skillopt.agent_tables.shipped import find_agent_table
from skillopt.errors import UsageError
from skillopt.execution.available import Choice, find_choices, toml_lines
from skillopt.project import FoundSkill, Project
from skillopt.suites.config_lines import ConfigLines, add_to_config, put_file, quote_toml
from skillopt.suites.suite_file import scaffold_suite
from skillopt.targets.agents import AGENTS
from skillopt.targets.harnesses import find_harness_driver
from skillopt.targets.models import find_model_driver

__all__ = ["MOST_TABLES", "Chooser", "Initialized", "Wishes", "init"]

MOST_TABLES: Final = 20
"""With more skills than this, only those that have tasks get a table."""

_HEAD: Final = """\
# Settings for all skills stand here, settings for one skill in its table.
# Every setting and its default: skillopt docs settings.
preset = "default"
"""

_DEMO: Final = "a program that understands table rules only, not a language model"

Chooser = Callable[[Sequence[Choice]], Choice | None]
"""Asks a person for one of several choices; None leaves it open."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asks of `init`."""

    harness: str = ""
    model: str = ""
    scaffold: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Initialized:
    """What was written."""

    config: str
    created: bool
    added: tuple[str, ...]
    skills: tuple[FoundSkill, ...]
    listed: tuple[str, ...]
    choices: tuple[Choice, ...]
    chosen: Choice | None
    scaffolds: tuple[str, ...] = ()


def init(wishes: Wishes = Wishes(), *, folder: Path | None = None, choose: Chooser | None = None) -> Initialized:
    """Write skillopt.toml at the project's root, or add to it what is missing; lines that are there stay."""
    project = Project.find(folder or Path.cwd())
    found = project.discover().skills
    choices, chosen = _choice(project, wishes, choose)
    scaffolds = tuple(_scaffold(project.root, found, name) for name in wishes.scaffold)
    suites = dict(zip(wishes.scaffold, scaffolds, strict=True))
    found = tuple(replace(skill, suite=suites.get(skill.name, skill.suite)) for skill in found)
    for name, suite in suites.items():
        put_file(project.root / suite, scaffold_suite(name))
    created = not project.config.exists()
    lines = _lines(project, found, chosen, choices if created else ())
    before = _HEAD if created else project.config.read_text(encoding="utf-8")
    after = add_to_config(before, lines, project.config)
    if created or after != before:
        put_file(project.config, after)
    added = () if created else (*lines.top, *(line for own in lines.skills.values() for line in own))
    listed = tuple(skill.name for skill in found if skill.name in {*project.entries, *lines.skills})
    return Initialized(str(project.config), created, added, found, listed, choices, chosen, scaffolds)


def _choice(project: Project, wishes: Wishes, choose: Chooser | None) -> tuple[tuple[Choice, ...], Choice | None]:
    """Find what can do the tasks, and choose of it what the file has not chosen yet."""
    settings = project.settings()
    if wishes.harness or wishes.model:
        return (), _wished(project, wishes)
    if settings.harness and settings.model:
        return (), None
    choices = find_choices()
    if choose is not None and choices:
        return choices, choose(choices)
    ready = [choice for choice in choices if not choice.missing] or choices
    return choices, ready[0] if len(ready) == 1 else None


def _wished(project: Project, wishes: Wishes) -> Choice:
    """Complete what the user names: who does the tasks can propose edits too."""
    harness = wishes.harness or (
        f"chat/{wishes.model}"
        if "model" in find_model_driver(wishes.model).takes and not _is_agent(wishes.model)
        else wishes.model
    )
    agents = project.settings().agents
    find_harness_driver(harness, agents)
    if not wishes.model and find_agent_table(harness, agents) is not None:
        raise UsageError(
            f"{harness} does tasks and proposes no edits: add an optimizer model, as in --model claude-code"
        )
    model = wishes.model or harness.removeprefix("chat/")
    find_model_driver(model)
    for key, wanted in (("harness", harness), ("model", model)):
        set_to = project.values.get(key, wanted)
        if set_to != wanted:
            raise UsageError(f"{project.config}: expected no {key} yet, found {key} = {set_to!r}; change it there")
    return Choice(_DEMO if harness == "demo" else "", harness, model)


def _is_agent(model: str) -> bool:
    return model.partition("/")[0] in AGENTS


def _scaffold(root: Path, found: Sequence[FoundSkill], name: str) -> str:
    """Return the path of the suite to write for a skill."""
    skill = next((skill for skill in found if skill.name == name), None)
    if skill is None:
        known = ", ".join(skill.name for skill in found) or "none"
        raise UsageError(f"--scaffold: expected a skill that is here, found {name!r}; skills: {known}")
    path = f"suites/{name}/suite.yaml"
    if skill.suite or (root / path).exists():
        raise UsageError(f"--scaffold: expected a skill without tasks, found {skill.suite or path} of {name!r}")
    return path


def _lines(
    project: Project, found: Sequence[FoundSkill], chosen: Choice | None, open_choices: Sequence[Choice]
) -> ConfigLines:
    """Return the lines that the file lacks."""
    top = tuple(_chosen_lines(project, chosen, open_choices)) if chosen else ()
    if chosen is None and not project.config.exists():
        top = tuple(_open_lines(open_choices))
    missing = [skill for skill in found if not _is_configured(project, skill)]
    many = len(found) > MOST_TABLES
    tables: Mapping[str, tuple[str, ...]] = {
        **{skill.name: _suite_line(skill) for skill in found if _lacks_suite(project, skill)},
        **{skill.name: (_path_line(skill), *_suite_line(skill)) for skill in missing if skill.suite or not many},
    }
    example = ("# [skills.my-skill]", '# path = "skills/my-skill"', '# suite = "suites/my-skill"')
    return ConfigLines(top, tables, () if found or project.config.exists() else example)


def _chosen_lines(project: Project, chosen: Choice, others: Sequence[Choice]) -> Iterator[str]:
    meaning = {
        "harness": f"who does the tasks{f': {chosen.label}' if chosen.label else ''}",
        "model": "who proposes edits",
        "judge": "who judges criteria in words",
        "base_url": "where the model is served",
    }
    lines = list(toml_lines(chosen))
    if chosen.model not in {"demo", "handoff"}:
        lines.insert(2, f"judge = {quote_toml(chosen.model)}")
    for line in lines:
        key = line.partition(" ")[0]
        if key not in project.values:
            yield f"{line}  # {meaning[key]}"
    for other in others:
        if other != chosen:
            yield f"# or {', '.join(toml_lines(other))}: {_told(other)}"


def _open_lines(choices: Sequence[Choice]) -> Iterator[str]:
    """Show the choices as comments."""
    yield "# Who does the tasks (harness) and who proposes edits (model): take the marks away from one pair."
    if not choices:
        yield "# Or codex, chat/anthropic/MODEL and anthropic/MODEL, a local server, …: skillopt docs architecture"
        yield from ('# harness = "claude-code"', '# model = "claude-code"')
    for choice in choices:
        yield f"# {_told(choice)}"
        yield from (f"# {line}" for line in toml_lines(choice))


def _told(choice: Choice) -> str:
    return choice.label + (f"; {choice.missing}" if choice.missing else "")


def _is_configured(project: Project, skill: FoundSkill) -> bool:
    paths = (str(entry.get("path", f"skills/{name}")) for name, entry in project.entries.items())
    known = {(project.root / path).resolve() for path in paths}
    return skill.name in project.entries or (project.root / skill.path).resolve() in known


def _lacks_suite(project: Project, skill: FoundSkill) -> bool:
    """Return whether a skill's table misses the suite that lies outside of its folder."""
    entry = project.entries.get(skill.name)
    if entry is None or "suite" in entry or not skill.suite:
        return False
    return str(entry.get("path", f"skills/{skill.name}")) == skill.path and not skill.suite.startswith(f"{skill.path}/")


def _path_line(skill: FoundSkill) -> str:
    return f"path = {quote_toml(skill.path)}"


def _suite_line(skill: FoundSkill) -> tuple[str, ...]:
    if skill.suite:
        return (f"suite = {quote_toml(skill.suite)}",)
    return (f"# no tasks yet: skillopt write-tasks {skill.name}",)
