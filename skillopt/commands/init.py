"""The command `init`: write skillopt.toml for the skills that are there, or one workflow for CI."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from skillopt import __version__
from skillopt.agent_table import find_agent_table
from skillopt.commands.options import HarnessOption, JsonOption, ModelOption
from skillopt.commands.output import interruptible, show
from skillopt.contrib import find_driver
from skillopt.errors import RepositoryError, UsageError
from skillopt.execution.access import Choice, find_choices, toml_lines
from skillopt.project import FoundSkill, Project
from skillopt.safety.escaping import count_noun, escape_terminal
from skillopt.skills.discovery import HOW_TO_BEGIN
from skillopt.suites.config_lines import add_to_config, put_file, quote_toml
from skillopt.targets.drivers import AGENTS, find_harness_driver, find_model_driver
from skillopt.versions.repository import Repository

Start = Literal["path", "label", "always"]
"""When a pull request is gated without being asked: where it changes skills, by the label `skillopt`, or always."""

_PLACE: Final = ".github/workflows/skillopt.yml"
_ACTION: Final = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}")
_REMOTE: Final = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")
_SECRETS: Final = {
    "anthropic": "ANTHROPIC_API_KEY",
    "claude-code": "ANTHROPIC_API_KEY",
    "codex": "OPENAI_API_KEY",
    "openai": "OPENAI_API_KEY",
}
_USUAL_TARGET: Final = "claude-code"
"""Who does the tasks in CI where no skillopt.toml says so."""

_STARTED: Final = {
    "path": (" at once", "    paths: {paths}\n  merge_group:", ""),
    "label": (
        " when it gets the label `skillopt`",
        "    types: [labeled]",
        " && github.event.label.name == 'skillopt'",
    ),
    "always": (", as every pull request is", "  merge_group:", ""),
}

_MOST_TABLES: Final = 20
"""With more skills than this, only those that have tasks get a table: a library has hundreds, most without tasks."""

_HEAD: Final = """\
# Settings for all skills stand here, settings for one skill in its table.
# Every setting and its default: skillopt docs settings.
preset = "default"
"""

_DEMO: Final = "a program that understands table rules only, not a language model"

_Chooser = Callable[[Sequence[Choice]], Choice | None]
"""Asks a person for one of several choices; None leaves it open."""


def init(
    *,
    harness: HarnessOption = None,
    model: ModelOption = None,
    ci: Annotated[
        Literal["github"] | None,
        typer.Option("--ci", help="Write one workflow, and nothing else: gate, record on push, night."),
    ] = None,
    start: Annotated[
        Start, typer.Option("--start", help="With --ci: gate a pull request that changes skills, by label, or always.")
    ] = "path",
    action: Annotated[
        str, typer.Option("--action", metavar="OWNER/REPO@HASH", help="With --ci: the action to call.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Take the first choice; ask nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write skillopt.toml for the skills found here.

    Looks for Claude Code, Codex, API keys and local model servers, and sets harness and model; asks on a terminal. An
    existing file keeps its lines and gets those that are missing.
    """
    if ci is not None:
        with interruptible():
            project = Project.find(Path.cwd())
            chosen = None if project.settings().harness else _wished(project, harness or _USUAL_TARGET, model or "")
            written = _write_ci(project, chosen, start, _find_action(action))
        secrets = [f"gh secret set {name}" for name in written["secrets"]] or ["no secret: the target needs no key"]
        what = f"gate in pull requests, records on push, a night at 03:17 UTC; tasks are done by {written['harness']}"
        lines = f"wrote {_PLACE}: {what}\nnext: {'; '.join(secrets)}; commit {_PLACE}"
        show(written, lambda _: lines, as_json=as_json)
        return
    asks = not (yes or as_json) and sys.stdin.isatty() and sys.stderr.isatty()
    choose = _ask if asks else (lambda choices: choices[0]) if yes else None
    with interruptible():
        result = _init(harness or "", model or "", choose)
    show(result, lambda found: "\n".join(_text(found)), as_json=as_json)


def _ask(choices: Sequence[Choice]) -> Choice | None:
    """Ask who does the tasks: numbered, Enter for the first."""
    typer.echo("Who should do the tasks and propose edits?", err=True)
    for number, choice in enumerate(choices, 1):
        typer.echo(f"  {number}. {_told(choice)}", err=True)
    typer.echo(f"  {len(choices) + 1}. decide later; the choices are comments in the file", err=True)
    number = 0
    while not 1 <= number <= len(choices) + 1:
        number = typer.prompt("Number", default=1, type=int, err=True)
    return choices[number - 1] if number <= len(choices) else None


def _told(choice: Choice) -> str:
    missing = f"; {choice.missing}" if choice.missing else ""
    label = f"{escape_terminal(choice.label)}: " if choice.label else ""
    return f'{label}harness = "{choice.harness}", model = "{choice.model}"{missing}'


def _text(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'wrote' if result['created'] else 'extended' if result['added'] else 'kept'} {result['config']}"
    yield from (f"  + {line}" for line in result["added"])
    chosen, skills, listed = result["chosen"], result["skills"], result["listed"]
    if chosen is not None:
        yield f"chose {_told(chosen)}"
    elif result["choices"]:
        yield "harness and model are left open; choose with --harness and --model, or --yes for the first:"
        yield from (f"  {_told(choice)}" for choice in result["choices"])
    elif result["created"]:
        found = "found no agent, API key or local model server"
        yield f"{found}; set harness and model in the file (skillopt docs agents-and-sandbox)"
    for skill in skills:
        name = escape_terminal(skill.name)
        tasks = f"suite {skill.suite}" if skill.suite else f"no tasks yet: skillopt write-tasks {name}"
        yield from [f"skill {name}: {skill.path}, {tasks}"] if skill.name in listed else []
    if more := len(skills) - len(listed):
        others = f"{more} more skills" if listed else f"{more} skills"
        yield f"{others} have no tasks and no table; commands take them by name, skillopt write-tasks NAME drafts tasks"
    if result["history"]:
        changes = count_noun(result["history"], "merged change")
        yield f"no tasks found; {changes} carry tests: skillopt harvest --commits (skillopt docs history)"
    ready = [skill.name for skill in skills if skill.suite]
    if chosen is not None and not chosen.missing and ready:
        yield f"next: skillopt optimize {escape_terminal(ready[0])}    (first its cost: skillopt estimate)"
    else:
        yield "next: skillopt doctor" if skills else HOW_TO_BEGIN


def _init(harness: str, model: str, choose: _Chooser | None) -> dict[str, Any]:
    """Write skillopt.toml at the project's root, or add to it what is missing; lines that are there stay."""
    project = Project.find(Path.cwd())
    found = project.discover()
    choices, chosen = _choice(project, harness, model, choose)
    created = not project.config.exists()
    top: tuple[str, ...] = ()
    if chosen is not None:
        top = tuple(_chosen_lines(project, chosen))
    elif created:
        top = tuple(_open_lines(choices))
    example = ("# [skills.my-skill]", '# path = "skills/my-skill"', '# suite = "suites/my-skill"')
    top += ("", *example) if created and not found else ()
    tables = dict(_tables(project, found))
    before = _HEAD if created else project.config.read_text(encoding="utf-8")
    after = add_to_config(before, project.config, tables, top)
    if created or after != before:
        put_file(project.config, after)
    return {
        "config": str(project.config),
        "created": created,
        "added": () if created else (*top, *(line for own in tables.values() for line in own)),
        "skills": found,
        "listed": tuple(skill.name for skill in found if skill.name in {*project.entries, *tables}),
        "choices": choices,
        "chosen": chosen,
        "history": 0 if any(skill.suite for skill in found) else _changes_with_tests(project),
    }


def _changes_with_tests(project: Project) -> int:
    """Count the merged changes from which tasks could be made; none where nothing is trained, or there is no git."""
    count: Callable[[Repository], int] | None = find_driver("changes_with_tests")
    try:
        known = project.documents() or project.skill_names()
        return count(project.repository()) if known and count else 0
    except (RepositoryError, UsageError):
        return 0


def _choice(
    project: Project, harness: str, model: str, choose: _Chooser | None
) -> tuple[tuple[Choice, ...], Choice | None]:
    """Find what can do the tasks, and choose of it what the file has not chosen yet."""
    settings = project.settings()
    if harness or model:
        return (), _wished(project, harness, model)
    if settings.harness and settings.model:
        return (), None
    choices = find_choices()
    if choose is not None and choices:
        return choices, choose(choices)
    ready = [choice for choice in choices if not choice.missing] or choices
    return choices, ready[0] if len(ready) == 1 else None


def _wished(project: Project, harness: str, model: str) -> Choice:
    """Complete what the user names: who does the tasks can propose edits too."""
    if not harness:
        is_chat = "model" in find_model_driver(model).takes and model.partition("/")[0] not in AGENTS
        harness = f"chat/{model}" if is_chat else model
    agents = project.settings().agents
    find_harness_driver(harness, agents)
    if not model and find_agent_table(harness, agents) is not None:
        raise UsageError(
            f"{harness} does tasks and proposes no edits: add an optimizer model, as in --model claude-code"
        )
    model = model or harness.removeprefix("chat/")
    find_model_driver(model)
    for key, wanted in (("harness", harness), ("model", model)):
        set_to = project.values.get(key, wanted)
        if set_to != wanted:
            raise UsageError(f"{project.config}: expected no {key} yet, found {key} = {set_to!r}; change it there")
    return Choice(_DEMO if harness == "demo" else "", harness, model)


def _tables(project: Project, found: Sequence[FoundSkill]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return the lines that tables of skills lack: a whole table, or the suite that lies outside of the folder."""
    paths, many = project.configured_paths().values(), len(found) > _MOST_TABLES
    for skill in found:
        suite = f"suite = {quote_toml(skill.suite)}" if skill.suite else ""
        entry = project.entries.get(skill.name)
        if entry is None and skill.path not in paths:
            if suite or not many:
                path = f"path = {quote_toml(skill.path)}"
                yield skill.name, (path, suite or f"# no tasks yet: skillopt write-tasks {skill.name}")
        elif entry is not None and suite and "suite" not in entry and not skill.suite.startswith(f"{skill.path}/"):
            is_its_folder = str(entry.get("path", f"skills/{skill.name}")) == skill.path
            yield from [(skill.name, (suite,))] if is_its_folder else []


def _chosen_lines(project: Project, chosen: Choice) -> Iterator[str]:
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


def _open_lines(choices: Sequence[Choice]) -> Iterator[str]:
    """Show the choices as comments."""
    yield "# Who does the tasks (harness) and who proposes edits (model): take the marks away from one pair."
    if not choices:
        yield "# Or codex, chat/PROVIDER/MODEL and PROVIDER/MODEL, a local server, …: skillopt docs agents-and-sandbox"
        yield from ('# harness = "claude-code"', '# model = "claude-code"')
    for choice in choices:
        yield f"# {choice.label}{f'; {choice.missing}' if choice.missing else ''}"
        yield from (f"# {line}" for line in toml_lines(choice))


def _write_ci(project: Project, chosen: Choice | None, start: Start, action: str) -> dict[str, Any]:
    """Write the workflow of a project, with a target where its settings name none; a file that is there stays."""
    root = project.repository().root
    path = root / _PLACE
    if path.exists():
        raise UsageError(f"expected no {_PLACE} yet, found one; move it away, then run this again")
    settings = project.settings()
    names = [chosen.harness, chosen.model] if chosen else [settings.harness, settings.model, settings.judge]
    drivers = [part for name in names for part in name.split("/")[:2]]
    secrets = tuple(dict.fromkeys(_SECRETS[name] for name in drivers if name in _SECRETS))
    agents = dict.fromkeys(name for name in drivers if name in ("claude-code", "codex"))
    source = f"{action.partition('@')[0]}/.github/actions/skillopt@{action.partition('@')[2]} # v{__version__}"
    words = {"SECRETS": " and ".join(secrets) or "of no provider", "AGENTS": json.dumps(" ".join(agents))}
    named = {"HARNESS": chosen.harness, "MODEL": chosen.model, "JUDGE": chosen.model} if chosen else {}
    lines = (f"\n          SKILLOPT_{name}: {json.dumps(value)}" for name, value in named.items())
    words["TARGET"] = (
        f"\n          # Delete these once {project.config.name} names them.{''.join(lines)}" if chosen else ""
    )
    # What a change of skills touches.
    places = [place for skill in project.discover() for place in (skill.path, skill.suite) if place]
    tops = sorted({place.partition("/")[0] for place in places} - {".", ""})
    paths = ["**/SKILL.md", *(f"{top}/**" for top in tops), project.config.name, _PLACE]
    put_file(path, workflow_text(start, paths, {"ACTION": source, "FORGE": "github", **words}))
    return {"path": _PLACE, "secrets": secrets, "harness": chosen.harness if chosen else settings.harness}


def workflow_text(start: Start, paths: list[str], words: Mapping[str, str]) -> str:
    """Fill in the workflow."""
    told, pull_request, label = _STARTED[start]
    listed = f"[{', '.join(json.dumps(path) for path in paths)}]"
    block = f"  pull_request:\n{pull_request.format(paths=listed)}"
    text = files("skillopt.commands").joinpath("github.yml").read_text(encoding="utf-8")
    for name, word in {**words, "START": told, "PULL_REQUEST": block, "LABEL": label, "PATHS": listed}.items():
        text = text.replace(f"@{name}@", word)
    return text


def _find_action(named: str) -> str:
    """Return the action to call, as OWNER/REPO@HASH: the one that is named, else of the commit installed here."""
    found = named
    if not found:
        with suppress(PackageNotFoundError):  # pip writes down where it got this program from
            source = json.loads(distribution("skillopt-mcp").read_text("direct_url.json") or "{}")
            remote = _REMOTE.fullmatch(str(source.get("url", "")))
            commit = source.get("vcs_info", {}).get("commit_id", "")
            found = f"{remote[1]}@{commit}" if remote and commit else ""
    if not _ACTION.fullmatch(found):
        raise UsageError(
            "--action: expected OWNER/REPO@HASH, the repository of this program and the full hash of a commit that you "
            f"have read, found {found or 'none, as it was not installed from github.com'!r}"
        )
    return found
