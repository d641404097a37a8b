"""Plan of a measurement or training of triggers: skills, requests and settings, checked before anything runs."""

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Final

from skillopt.contrib.triggers.description import with_description
from skillopt.contrib.triggers.loading import TRIGGER, trigger_verifier
from skillopt.contrib.triggers.queries import Queries, Query, TriggerSet, read_queries, split_queries
from skillopt.errors import SkillError, SuiteError, UsageError
from skillopt.execution.drivers import Drivers, Given, load_drivers
from skillopt.execution.metering import Caps, Meter
from skillopt.gate.gate import resolvable_gain
from skillopt.project import Project, Selection, Target
from skillopt.protocols import Discovery
from skillopt.settings import GateRule, Settings, SkillMode
from skillopt.skills.document import Skill
from skillopt.skills.folder import SKILL_FILE, find_shared_file, read_document
from skillopt.suites.formats import find_tasks, find_triggers
from skillopt.suites.near_copies import near_copies
from skillopt.targets.drivers import find_harness_driver
from skillopt.tasks import Suite

_MOST_TRIALS: Final = 50
"""Most runs of a request: more tell nothing that more requests would not tell better."""

_MOST_SET_BYTES: Final = 20_000_000  # as the input files of a task may have


@dataclass(frozen=True, slots=True)
class TriggerAsk:
    """What is measured, trained, or shortened: without the optimizer model, unexercised parts kept or dropped."""

    selection: Selection
    requests: tuple[Path, ...] = ()
    siblings: bool = False
    repeats: int = 3
    turns: int = 2
    shorten: bool = False
    drop: bool = False


@dataclass(frozen=True)
class TriggerPlan:
    """All that is known before anything runs."""

    ask: TriggerAsk
    project: Project
    target: Target
    settings: Settings
    skill: Skill
    beside: tuple[Skill, ...]
    queries: Queries

    @cached_property
    def split(self) -> tuple[tuple[Query, ...], tuple[Query, ...]]:
        """Training requests and held-out ones."""
        return split_queries(self.queries.queries)

    @property
    def skipped(self) -> tuple[str, ...]:
        """List items of the files that say nothing about loading, with file and line."""
        return tuple(map(str, self.queries.skipped))

    def drivers(self, *, optimizer: bool, allowance: Meter | None = None) -> Drivers:
        """Make who runs requests and who writes descriptions."""
        most = self.settings.max_rollouts
        own = Meter(Caps(rollouts=most)) if most else None
        given = Given(verifiers={TRIGGER: trigger_verifier}, allowance=allowance or own)
        return load_drivers(self.settings, Suite("triggers", ()), self.project.root, given, optimizer=optimizer)

    @property
    def discovery(self) -> Discovery:
        """What is installed beside the skill, and how far a run goes."""
        return Discovery(self.beside, self.ask.turns)


def plan_triggers(ask: TriggerAsk) -> TriggerPlan:
    """Read skills and requests."""
    if ask.selection.suite is not None:
        raise UsageError(
            f"expected requests in a trigger set, found --suite {str(ask.selection.suite)!r}, which names tasks; name "
            "the set with --requests"
        )
    if not 1 <= ask.repeats <= _MOST_TRIALS:
        raise UsageError(f"expected from 1 to {_MOST_TRIALS} runs of each request, found {ask.repeats}")
    project = ask.selection.project()
    target = project.target(ask.selection)
    discovery = {"skill_mode": SkillMode.DISCOVERY, "gate": GateRule.SEQUENTIAL}
    settings = target.settings.model_copy(update=discovery)
    _expect_choice(settings)
    folders, queries = _read_requests(ask, project, target)
    if not queries.queries:
        raise UsageError(
            f"expected requests that say when skill {target.name!r} should be loaded, found none; write "
            f"evals/trigger-evals.json in its folder, or name a file with --requests (`skillopt docs triggers`)"
        )
    beside = tuple(Skill(name, read_document(folder, project.root)) for name, folder in folders.items())
    return TriggerPlan(ask, project, target, settings, skill=target.skill(), beside=beside, queries=queries)


def has_requests(selection: Selection) -> bool:
    """Return whether a skill brings along requests that should load it."""
    project = selection.project()
    target = project.target(selection)
    if not (find_triggers(target.folder) or find_tasks(target.folder)):
        return False
    found = _read_requests(TriggerAsk(selection), project, target)[1]
    return any(one.expected == target.name for one in found.queries)


def _read_requests(ask: TriggerAsk, project: Project, target: Target) -> tuple[dict[str, Path], Queries]:
    folders = {one.name: project.root / one.path for one in project.discover()}
    beside = {name: folder for name, folder in folders.items() if folder.resolve() != target.folder.resolve()}
    return beside, read_queries(list(_sets(ask, project, target, beside)), (target.name, *beside), project.root)


def _expect_choice(settings: Settings) -> None:
    name = settings.by_target[0].harness
    if name and name != "demo" and "mode" not in find_harness_driver(name, settings.agents).takes:
        raise UsageError(
            f"expected a harness that lists skills for the model to choose from (claude-code or codex), found {name!r}"
            "; set --harness"
        )


def _sets(ask: TriggerAsk, project: Project, target: Target, folders: Mapping[str, Path]) -> Iterator[TriggerSet]:
    """Yield the files of requests: those named, else those in the skill's folder, and those of its siblings."""
    tasks = find_tasks(target.folder)
    found = (*find_triggers(target.folder), *([tasks] if tasks else []))
    # A skill outside of the project was named by a person, so that its own folder is what its files stay in.
    inside = target.folder.resolve().is_relative_to(project.root.resolve())
    for path in dict.fromkeys(ask.requests or found):
        _expect_file(path, None if ask.requests else project.root if inside else target.folder)
        yield TriggerSet(path, target.name)
    for name, folder in folders.items() if ask.siblings else ():
        for path in find_triggers(folder):
            _expect_file(path, project.root)
            yield TriggerSet(path, name, only_positive=True)


def _expect_file(path: Path, root: Path | None) -> None:
    """Refuse what leads out of a root though nobody named it, is no file of its own, or is too large."""
    if root is not None and not path.resolve().is_relative_to(root.resolve()):
        raise SuiteError(
            f"{path}: expected requests inside {root}, found a link out of it; put a copy in its place, or name "
            "the file with --requests"
        )
    try:
        status = path.stat()
    except OSError:
        return
    if stat.S_ISDIR(status.st_mode):
        return
    if not stat.S_ISREG(status.st_mode):
        raise SuiteError(f"{path}: expected a regular file, found a device, pipe or socket; remove it")
    if status.st_size > _MOST_SET_BYTES:
        raise SuiteError(f"{path}: expected at most {_MOST_SET_BYTES:,} bytes of requests, found {status.st_size:,}")
    if problem := find_shared_file(path, status.st_nlink):
        raise SuiteError(problem)


def expect_trainable(plan: TriggerPlan) -> str:
    """Refuse what cannot be trained, before anything is spent; give the skill's path in its repository."""
    train, held_out = plan.split
    if not train or resolvable_gain(len(held_out), plan.settings) is None:
        least = next(size for size in count(len(held_out)) if resolvable_gain(size, plan.settings) is not None)
        missing = max(2, 2 * (least - len(held_out)), 2 * least - len(train) - len(held_out))
        groups = near_copies([one.key for one in plan.queries.queries])
        copies = sum(len(group) for group in groups if len(group) > 1)
        why = f", {copies} of them near copies of each other, which are trained on together" if copies else ""
        raise UsageError(
            f"expected at least {least} held-out requests, which can show a gain, and one to train on, found "
            f"{len(held_out)} and {len(train)}{why}; write about {missing} others. 20 in all are usual, 40 better"
        )
    if all(one.expected == plan.skill.name for one in held_out):
        raise UsageError(
            f"expected held-out requests that should not load {plan.skill.name!r}, found none of {len(held_out)}: a "
            "description that loads it always would be accepted; write near misses with should_trigger false"
        )
    repository = plan.project.repository()
    path = repository.relative(plan.target.folder)
    head = repository.head()
    files = repository.read_folder(head, path) if head else ()
    known = next((file.content for file in files if file.path == SKILL_FILE), None)
    place = plan.target.folder / SKILL_FILE
    if known != plan.skill.document.render():
        raise UsageError(
            f"{place}: expected it as the last commit has it, found other text; commit it, then run this again"
        )
    try:
        with_description(plan.skill.document, "another description")
    except SkillError as error:
        raise UsageError(f"{plan.target.folder}/{error}") from error
    return path
