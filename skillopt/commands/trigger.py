"""The user action `trigger`: measure when the target loads a skill, or train its description."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from skillopt.commands.spending import Payment, payment_of
from skillopt.errors import UsageError
from skillopt.execution.budget import Caps
from skillopt.execution.drivers import Drivers, PlainDrivers, make_drivers, meter_drivers
from skillopt.execution.metering import Meter
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.execution.threads import ThreadExecutor
from skillopt.gate.comparison import Outcome
from skillopt.gate.gate import check_coverage, resolvable_gain
from skillopt.harnesses import find_harness_driver
from skillopt.project import Project, Selection, Target
from skillopt.prompts.descriptions import TriedDescription
from skillopt.protocols import Discovery, RolloutRequest
from skillopt.rollouts import Stream, Usage
from skillopt.settings import Settings, SkillMode
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import SKILL_FILE
from skillopt.skills.frontmatter import listed_description
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.suites.formats import find_tasks, find_triggers
from skillopt.tasks import Suite
from skillopt.triggers.loading import TRIGGER, DiscoveryRunner, trigger_task, trigger_verifier
from skillopt.triggers.quality import TriggerQuality, TriggerRate, judge_loading
from skillopt.triggers.queries import Queries, Query, TriggerSet, read_queries, split_queries
from skillopt.triggers.training import DescriptionTraining, HeldOutTriggers, TrainedDescription, train_description
from skillopt.triggers.version import (
    description_body,
    description_trailers,
    publish_description,
    trigger_branch,
    with_newest_description,
)

__all__ = [
    "MeasuredTriggers",
    "TrainedTriggers",
    "TriggerAsk",
    "foresee_triggers",
    "measure_triggers",
    "train_triggers",
]

_TRIALS: Final = 3
_TESTS: Final = 6
"""Times that training may run the training requests at most: as they are, and of each description on all."""

_GATE_RUNS: Final = 6
"""Times that the gate may run each held-out request: three with either description."""


@dataclass(frozen=True, slots=True)
class TriggerAsk:
    """What is measured or trained.

    Args:
        selection: The skill and its settings.
        requests: Files of requests in place of those that the skill brings along.
        siblings: Whether requests that should load the other skills, by their own files, are asked too.
        repeats: Runs of each request, ≥ 1.
        turns: Most turns of the model in a run, ≥ 1.
    """

    selection: Selection
    requests: tuple[Path, ...] = ()
    siblings: bool = False
    repeats: int = _TRIALS
    turns: int = 2


@dataclass(frozen=True, slots=True)
class MeasuredTriggers:
    """When the target loads a skill.

    Args:
        skill: Name of the skill.
        harness: Identity of the target.
        repeats: Runs of each request.
        beside: Other skills that were installed.
        description: Characters of its description.
        quality: What was found.
        skipped: Items of the files that say nothing about loading, with file and line.
        paid_rollouts: Runs that were not recorded before.
        spent: What each role consumed in this command.
    """

    skill: str
    harness: str
    repeats: int
    beside: int
    description: int
    quality: TriggerQuality
    skipped: tuple[str, ...]
    paid_rollouts: int
    spent: Mapping[str, Usage]


@dataclass(frozen=True, slots=True)
class TrainedTriggers:
    """What training a description came to.

    Args:
        skill: Name of the skill.
        branch: Where accepted descriptions are.
        commit: The new one; empty where none was accepted.
        outcome: Of the gate: `accept`, `reject`, `inconclusive`; empty where nothing reached it.
        reason: Why, in a sentence.
        before: The description that training started from.
        description: The best one on the training requests; the same where none was better.
        train_requests: Requests that the optimizer model saw.
        held_out_requests: Requests that only the gate ran.
        train_before: Training requests that went right before.
        train_after: The same with the best description.
        held_out: Recall and false triggers on the held-out requests; None where nothing reached the gate.
        tried: What was tried, and what became of it.
        pull_request: Text for a pull request; empty where none was accepted.
        skipped: Items of the files that say nothing about loading, with file and line.
        paid_rollouts: Runs that were not recorded before.
        paid_calls: Calls of the optimizer model that were not recorded before.
        spent: What each role consumed in this command.
    """

    skill: str
    branch: str
    commit: str
    outcome: str
    reason: str
    before: str
    description: str
    train_requests: int
    held_out_requests: int
    train_before: TriggerRate
    train_after: TriggerRate
    held_out: HeldOutTriggers | None
    tried: tuple[TriedDescription, ...]
    pull_request: str
    skipped: tuple[str, ...]
    paid_rollouts: int
    paid_calls: int
    spent: Mapping[str, Usage]


@dataclass(frozen=True, slots=True)
class _Plan:
    """All that is known before anything runs."""

    ask: TriggerAsk
    project: Project
    target: Target
    settings: Settings
    skill: Skill
    beside: tuple[Skill, ...]
    queries: Queries

    @property
    def split(self) -> tuple[tuple[Query, ...], tuple[Query, ...]]:
        return split_queries(self.queries.queries)

    @property
    def skipped(self) -> tuple[str, ...]:
        return tuple(map(str, self.queries.skipped))

    def drivers(self, *, optimizer: bool) -> Drivers:
        """Make who runs requests and who writes descriptions."""
        most = self.settings.max_rollouts
        given = PlainDrivers(verifiers={TRIGGER: trigger_verifier})
        plain = make_drivers(self.settings, Suite("triggers", ()), self.project.root, given, optimizer=optimizer)
        return meter_drivers(plain, self.settings, allowance=Meter(Caps(rollouts=most)) if most else None)

    def runner(self, ledger: Ledger, drivers: Drivers, observer: RunObserver) -> RecordedRunner:
        """Make a runner that records every answer."""
        executor = ThreadExecutor(self.settings.executor.workers, observer.notice)
        return RecordedRunner(ledger, "", drivers, executor, observer, self.settings.executor.breaker)

    @property
    def discovery(self) -> Discovery:
        return Discovery(self.beside, self.ask.turns)


def foresee_triggers(ask: TriggerAsk, *, train: bool) -> tuple[Payment, str]:
    """Foresee whether the command is paid for, and say what it will run; nothing is run.

    Raises:
        UsageError: Something is missing or wrong.
    """
    plan = _plan(ask)
    settings, asked = plan.settings, len(plan.queries.queries)
    models = (settings.model,) if train else ()
    runs, words = asked * ask.repeats, f"{asked} requests, each run {ask.repeats} times"
    if train:
        trained, held_out = plan.split
        runs = len(trained) * ask.repeats * _TESTS + len(held_out) * _GATE_RUNS
        words = f"{len(trained)} training and {len(held_out)} held-out requests, at most {runs} runs in all"
    words += f", each of at most {ask.turns} turns, beside {len(plan.beside)} other skills"
    return payment_of(plan.project.root, settings, (settings.harness, *models)), words


def measure_triggers(ask: TriggerAsk, *, observer: RunObserver | None = None) -> MeasuredTriggers:
    """Measure when the target loads a skill.

    Raises:
        UsageError: Something is missing or wrong; nothing was spent.
        SuiteError: A file of requests cannot be read, or contradicts itself.
        InvalidMeasurementError: Too little could be measured.
    """
    plan, observer = _plan(ask), observer or RunObserver()
    drivers = plan.drivers(optimizer=False)
    queries = plan.queries.queries
    with closing(Ledger.open(plan.project.root)) as ledger:
        recorded = plan.runner(ledger, drivers, observer)
        requests = [
            RolloutRequest(plan.skill, trigger_task(query, plan.skill.name), Stream.TRIGGERS.repeat(repeat))
            for repeat in range(ask.repeats)
            for query in queries
        ]
        rollouts = DiscoveryRunner(recorded, plan.discovery).rollouts(requests)
    check_coverage("requests", rollouts, plan.settings.coverage)
    return MeasuredTriggers(
        plan.skill.name,
        drivers.harness.identity,
        ask.repeats,
        len(plan.beside),
        len(listed_description(plan.skill.document)),
        judge_loading(plan.skill.name, queries, rollouts),
        plan.skipped,
        recorded.paid_rollouts,
        drivers.meter.by_role,
    )


def train_triggers(
    ask: TriggerAsk,
    *,
    observer: RunObserver | None = None,
    now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
) -> TrainedTriggers:
    """Train the description of a skill; what is accepted is a commit on `skillopt-trigger/<skill>`.

    The same command goes on where it was interrupted; recorded answers are never paid for again.

    Args:
        ask: What is trained.
        observer: Follows it.
        now: Gives the time of a commit, ISO 8601.

    Raises:
        UsageError: Something is missing or wrong; nothing was spent.
        SuiteError: A file of requests cannot be read, or contradicts itself.
        BusyError: Another command trains this skill.
        InvalidMeasurementError: Too little could be measured; the same command continues.
    """
    plan, observer = _plan(ask), observer or RunObserver()
    train, held_out = plan.split
    _expect_enough(plan, train, held_out)
    repository, name = plan.project.repository(), plan.skill.name
    path = repository.relative(plan.target.folder)
    _expect_committed(plan, path)
    start = with_newest_description(repository, plan.skill, path)
    drivers = plan.drivers(optimizer=True)
    with writer_lock(plan.project.root, name), closing(Ledger.open(plan.project.root)) as ledger:
        recorded = plan.runner(ledger, drivers, observer)
        training = DescriptionTraining(
            train,
            held_out,
            plan.beside,
            ask.repeats,
            DiscoveryRunner(recorded, plan.discovery),
            plan.settings,
            rounds=min(5, plan.settings.max_calls or 5),
            told=observer.notice,
        )
        trained = train_description(start, training)
        verdict, seen, commit, body = trained.verdict, trained.held_out, "", ""
        if verdict is not None and seen is not None and verdict.outcome is Outcome.ACCEPT:
            identities = (drivers.harness.identity, drivers.model.identity if drivers.model else "")
            spent = (recorded.paid_rollouts, recorded.usage)
            trailers = description_trailers(name, verdict, seen, (*identities, plan.queries.digest), spent)
            body = description_body(listed_description(start.document), trained, seen)
            commit = publish_description(repository, trained, path, (body, trailers), now())
    return _trained(plan, start, trained, (commit, body), (recorded, drivers))


def _trained(
    plan: _Plan,
    start: Skill,
    trained: TrainedDescription,
    published: tuple[str, str],
    ran: tuple[RecordedRunner, Drivers],
) -> TrainedTriggers:
    (train, held_out), (commit, body), (recorded, drivers) = plan.split, published, ran
    return TrainedTriggers(
        start.name,
        trigger_branch(start.name),
        commit,
        trained.verdict.outcome.value if trained.verdict else "",
        trained.reason,
        listed_description(start.document),
        trained.description,
        len(train),
        len(held_out),
        trained.train_before,
        trained.train_after,
        trained.held_out,
        trained.tried,
        body,
        plan.skipped,
        recorded.paid_rollouts,
        recorded.paid_calls,
        drivers.meter.by_role,
    )


def _plan(ask: TriggerAsk) -> _Plan:
    project = ask.selection.project()
    target = project.target(ask.selection)
    settings = target.settings.model_copy(update={"skill_mode": SkillMode.DISCOVERY})
    _expect_choice(settings)
    folders = {one.name: project.root / one.path for one in project.discover().skills}
    folders = {name: folder for name, folder in folders.items() if folder.resolve() != target.folder.resolve()}
    sets = list(_own_sets(target, ask.requests))
    if ask.siblings:
        sets += [
            TriggerSet(path, name, only_positive=True)
            for name, folder in folders.items()
            for path in find_triggers(folder)
        ]
    queries = read_queries(sets, (target.name, *folders), project.root) if sets else Queries((), ())
    if not queries.queries:
        raise UsageError(
            f"expected requests that say when skill {target.name!r} should be loaded, found none; write "
            f"evals/trigger-evals.json in its folder, or name a file with --requests (`skillopt docs triggers`)"
        )
    return _Plan(ask, project, target, settings, target.skill(), tuple(_read(folders)), queries)


def _expect_choice(settings: Settings) -> None:
    """Refuse a target that gets no list of skills to choose from; none at all is refused where it is made."""
    name = settings.harness
    if name and name != "demo" and "mode" not in find_harness_driver(name, settings.agents).takes:
        raise UsageError(
            f"expected a harness that lists skills for the model to choose from (claude-code or codex), found {name!r}"
            "; set --harness"
        )


def _own_sets(target: Target, given: Sequence[Path]) -> Iterator[TriggerSet]:
    """Yield the files of requests of a skill: those named, else those in its folder, its tasks included."""
    tasks = find_tasks(target.folder)
    paths = given or (*find_triggers(target.folder), *([tasks] if tasks else []))
    yield from (TriggerSet(path, target.name) for path in dict.fromkeys(paths))


def _read(folders: Mapping[str, Path]) -> Iterator[Skill]:
    """Read what of each skill is listed; its other files change nothing about that."""
    for name, folder in folders.items():
        try:
            yield Skill(name, SkillDocument.parse((folder / SKILL_FILE).read_bytes()))
        except OSError as error:
            raise UsageError(
                f"{folder / SKILL_FILE}: expected to read it, found: {error.strerror}; mend that"
            ) from error


def _expect_enough(plan: _Plan, train: Sequence[Query], held_out: Sequence[Query]) -> None:
    """Refuse too few requests before anything is spent."""
    if train and resolvable_gain(len(held_out), plan.settings) is not None:
        if any(one.expected != plan.skill.name for one in held_out):
            return
        raise UsageError(
            f"expected held-out requests that should not load {plan.skill.name!r}, found none of {len(held_out)}: a "
            "description that loads it always would be accepted; write near misses with should_trigger false"
        )
    raise UsageError(
        f"expected enough requests to train on some and test on others, found {len(train)} for training and "
        f"{len(held_out)} held out, of which no gain could be told from luck; write more: 20 are usual, 40 are better"
    )


def _expect_committed(plan: _Plan, path: str) -> None:
    """Refuse a document that HEAD does not have: the commit would bring more than a description."""
    repository = plan.project.repository()
    head = repository.head()
    files = repository.read_folder(head, path) if head else ()
    known = next((file.content for file in files if file.path == SKILL_FILE), None)
    if known != plan.skill.document.render():
        raise UsageError(
            f"{plan.target.folder / SKILL_FILE}: expected it as the last commit has it, found other text; commit it, "
            "then run this again"
        )
