"""The command `doctor`: check what a run needs; each failing row names the fix."""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import typer

from skillopt.commands.options import JsonOption, SkillArgument
from skillopt.commands.output import show
from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.access import expect_chosen, find_login, find_served
from skillopt.execution.credentials import exposure_warning
from skillopt.execution.drivers import load_target
from skillopt.execution.installation import namesake
from skillopt.nightly.forges import load_forge
from skillopt.project import CONFIG, Project, Selection
from skillopt.runs.forecast import what_it_can_show
from skillopt.safety.escaping import count_noun, escape_terminal, escape_terminal_lines
from skillopt.sandbox.bubblewrap import unboxed_checks
from skillopt.settings import Settings
from skillopt.skills.discovery import HOW_TO_BEGIN
from skillopt.skills.validation import check_trainable, validate
from skillopt.storage.ledger import Ledger
from skillopt.storage.schema import check_pages
from skillopt.targets.chat import unopened_files
from skillopt.targets.command_line.agreement import AgentTerms, is_unsandboxed_by_file
from skillopt.targets.drivers import AGENTS, load_model
from skillopt.tasks import Split, Suite
from skillopt.versions.remotes import Remote
from skillopt.versions.repository import Repository

_MOST_CHECKED: Final = 4
"""Skills that are checked where none is configured: each asks its servers, and one screen shows their rows."""

_DEMO: Final = "the demo is a program that understands table rules only, not a language model"


@dataclass(frozen=True, slots=True)
class _Check:
    name: str
    ok: bool
    found: str
    warnings: tuple[str, ...] = ()


def doctor(
    skill: SkillArgument = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Check what a run needs, of one skill or of all.

    Model servers are asked for their models, which is free. On a terminal it asks about each agent of skillopt.toml
    that has a table of its own, before its command runs. Ends with 2 when a check fails, and says how to fix it.
    """
    if not as_json and sys.stdin.isatty() and sys.stderr.isatty():
        for terms in _unagreed_agents():
            if typer.confirm(f"{escape_terminal(terms.words)}. Do you agree?", err=True):
                terms.agree()
    if skill:
        Project.find(Path.cwd()).target(Selection(skill))  # one line says that there is none
    checks = list(_checks(Path.cwd(), skill))
    show({"checks": checks}, lambda _: "\n".join(_text(checks)), as_json=as_json)
    if not all(check.ok for check in checks):
        raise typer.Exit(2)


def _text(checks: Sequence[_Check]) -> Iterator[str]:
    """Write the rows; what is the same about the models of several skills is said once."""
    rows: dict[tuple[object, ...], list[_Check]] = {}
    for check in checks:
        kind = check.name.partition(" ")[0]
        own = check.name if kind in ("skill", "suite") else kind
        rows.setdefault((own, check.ok, check.found, check.warnings), []).append(check)
    for first, *others in rows.values():
        state = "FAIL" if not first.ok else "warn" if first.warnings else "ok  "
        yield escape_terminal_lines(f"{state} {first.name}: {first.found}")
        yield from (f"     {escape_terminal(line)}" for line in first.warnings)
        if others:
            yield f"     the same for {count_noun(len(others), 'more skill')}"


def _unagreed_agents() -> tuple[AgentTerms, ...]:
    """Find the agents, with own tables or without a sandbox, to which nobody agreed yet; none if unreadable."""
    found: dict[str, AgentTerms] = {}
    try:
        project = Project.find(Path.cwd())
        for settings in (project.settings(), *(project.target(Selection(name)).settings for name in project.entries)):
            asked = [AgentTerms(name, table, project.root, settings.sandbox) for name, table in settings.agents.items()]
            if settings.sandbox == "none" and is_unsandboxed_by_file(project.root):
                targets = (name.partition("/")[0] for name in settings.targets)
                asked += [AgentTerms(name, None, project.root, "none") for name in targets if name in AGENTS]
            found |= {terms.words: terms for terms in asked if not terms.agreed}
    except SkilloptError:
        return ()  # its row says it
    return tuple(found.values())


def _checks(folder: Path, skill: str | None) -> Iterator[_Check]:
    yield _Check("python", ok=True, found=sys.version.split()[0])
    if clash := namesake():
        yield _Check("import name", ok=False, found=clash)
    yield _check("git", lambda: _repository(folder))
    missing = tuple(filter(None, (exposure_warning("auto", os.environ), unboxed_checks("auto"))))
    found = "none" if missing else "bubblewrap works; agents and programs of verifiers run in it"
    yield _Check("sandbox", ok=True, found=found, warnings=missing)
    if lines := [f"`{one.register}`" for one in AGENTS.values() if shutil.which(one.register.split(maxsplit=1)[0])]:
        found = f"to use skillopt in your agent, run {' and '.join(lines)}"
        lost = "skillopt-mcp is not on the PATH; install it from a clone of skillopt: pipx install PATH-OF-CLONE"
        yield _Check("clients", ok=True, found=found, warnings=() if shutil.which("skillopt-mcp") else (lost,))
    try:
        project = Project.find(folder)
    except SkilloptError as error:
        yield _Check("configuration", ok=False, found=str(error))
        return
    yield _check("ledger", lambda: _ledger(project))
    nightly = project.values.get("nightly")
    if isinstance(nightly, dict) and nightly.get("forge", "none") != "none":
        yield _check("forge", lambda: _forge(project))
    skills = project.discover()
    with_tasks = [one for one in skills if one.suite]
    if skills:
        count = f"{len(skills)} here, {len(with_tasks)} with tasks"
        hint = f"none is in {CONFIG}: `skillopt init` writes it; commands take the name or folder of a skill without it"
        found = f"{count}, {len(project.entries)} in {CONFIG}"
        yield _Check("skills", ok=True, found=found, warnings=() if project.entries else (hint,))
    else:
        yield _Check("skills", ok=False, found=HOW_TO_BEGIN)
    here = [one.name for one in with_tasks or skills]
    for name in [skill] if skill else project.entries or here[:_MOST_CHECKED]:
        yield from _skill(project, name)


def _check(name: str, probe: Callable[[], str]) -> _Check:
    try:
        return _Check(name, ok=True, found=probe())
    except SkilloptError as error:
        return _Check(name, ok=False, found=str(error))


def _repository(folder: Path) -> str:
    repository = Repository.find(folder)
    return f"{repository.git_version}, repository {repository.root}, commits as {repository.identity}"


def _ledger(project: Project) -> str:
    with closing(Ledger.open(project.root)) as ledger:
        check_pages(ledger.path)
        return f"{ledger.path}, {count_noun(len(ledger.runs()), 'run')}"


def _forge(project: Project) -> str:
    """Find what pull requests need, without asking anybody."""
    settings, repository = project.settings().nightly, project.repository()
    remote = Remote.find(repository, settings.remote) if settings.remote else None
    load_forge(settings, remote.url if remote else "", project.root)
    if remote is None:
        expected = f"expected a git remote named {settings.remote!r} to push to"
        raise UsageError(f"{expected}, found none; add it with `git remote add`")
    return f"{settings.forge}, a token is set, branches go to {remote.name}"


def _skill(project: Project, name: str) -> Iterator[_Check]:
    """Check that a skill can be trained; what a client or the specification finds wrong with it are warnings."""
    try:
        target = project.target(Selection(name))
        skill = replace(target.skill(), name=target.folder.name)
        check_trainable(skill)
    except SkilloptError as error:
        yield _Check(f"skill {name}", ok=False, found=str(error))
        return
    findings = validate(skill)
    counts = Counter(f"{finding.severity}" for finding in findings)
    listed = ", ".join(count_noun(counts[kind], kind) for kind in ("error", "warning") if counts[kind])
    unopened = unopened_files(target.settings.targets, skill)
    warnings = (*map(str, findings), *filter(None, [unopened]))
    found = f"trainable, with {listed} for clients" if findings else "valid"
    yield _Check(f"skill {name}", ok=True, found=found, warnings=warnings)
    try:
        suite = target.suite()
        yield from _suite(name, suite, target.settings)
    except SkilloptError as error:
        yield _Check(f"suite {name}", ok=False, found=str(error))
    yield from _drivers(project, name, target.settings)


def _suite(name: str, suite: Suite, settings: Settings) -> Iterator[_Check]:
    """Check that tasks can show something, and who judges them; those that cannot be run are a warning."""
    prospect = what_it_can_show(suite, settings)
    sizes = ", ".join(f"{len(suite.tasks(split))} {split.value}" for split in Split if suite.tasks(split))
    found = prospect.words if suite.folds or not prospect.can_show else f"{sizes}. {prospect.words}"
    skipped = f"{count_noun(suite.skipped, 'item')} of its files left out: `skillopt suite show {name}` says why"
    left_out = (skipped,) if suite.skipped and prospect.can_show else ()
    yield _Check(f"suite {name}", ok=prospect.can_show, found=found, warnings=left_out)
    judged = sum(task.verifier.judged for _, task in suite.splits)
    if not judged or settings.judge:
        return
    line = 'set one in skillopt.toml, as in judge = "anthropic/claude-haiku-4-5"'
    count = f"{judged} of {len(suite.splits)} tasks have criteria that a model must judge"
    if settings.model in ("", "demo"):
        yield _Check(f"judge {name}", ok=False, found=f"{count}: expected a judge, found none; {line}")
    else:
        told = f"no judge is set, so {settings.model}, which proposes the edits, judges them too; {line}"
        yield _Check(f"judge {name}", ok=True, found=count, warnings=(told,))


def _drivers(project: Project, name: str, settings: Settings) -> Iterator[_Check]:
    """Check each role of a skill: its driver and its login."""
    try:
        expect_chosen(settings, harness=True, model=True)
    except SkilloptError as error:
        yield _Check(f"target and optimizer {name}", ok=False, found=str(error))
    models = {"optimizer": settings.model, "judge": settings.judge, "reviewer": settings.reviewer}
    roles = [("target", one.harness, one) for one in settings.by_target]
    roles += [(role, chosen, settings) for role, chosen in models.items()]
    for role, chosen, own in roles:
        if not chosen:
            continue
        target = partial(load_target, own, project.root)
        model = partial(load_model, chosen, settings, project.root / ".skillopt" / "handoff")
        row = _check(f"{role} {name}", lambda: (target if role == "target" else model)().identity)  # noqa: B023 - called at once
        yield replace(row, warnings=(_DEMO,)) if row.ok and chosen == "demo" else row
        ready, found = find_login(chosen.removeprefix("chat/").partition("/")[0], settings.agents)
        served, told = find_served(chosen, settings)
        ready, found = ready and served, told or found
        yield _Check(f"{role} {name} {'server' if told else 'login'}", ok=ready, found=found)
