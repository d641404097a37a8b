"""Train the description of a skill of a project, and commit what is accepted on its branch."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cached_property

from skillopt.errors import UsageError
from skillopt.execution.drivers import Drivers
from skillopt.execution.metering import Meter
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.gate.comparison import Outcome
from skillopt.gate.error_budget import ErrorBudget, ErrorSpent
from skillopt.loop.memory import MOST_LISTED, refusal_words
from skillopt.prompts.descriptions import TriedDescription
from skillopt.rollouts import Usage
from skillopt.runs.history import refusals_before, without_leaks
from skillopt.skills.document import Skill
from skillopt.skills.frontmatter import listed_description
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.storage.notes import TriggerBasis, begin_look, end_look, write_basis
from skillopt.tasks import Split, Suite, digest_of
from skillopt.triggers.loading import DiscoveryRunner, trigger_task
from skillopt.triggers.message import description_body, description_trailers
from skillopt.triggers.plan import TriggerAsk, TriggerPlan, expect_trainable, plan_triggers
from skillopt.triggers.shared_error import request_digests, spent_by_trainings, unreported_error, why_exhausted
from skillopt.triggers.training import DescriptionTraining, TrainedDescription, train_description
from skillopt.triggers.version import (
    declined_descriptions,
    description_digest,
    description_of,
    expect_free_branch,
    list_descriptions,
    publish_description,
    siblings_digest,
    trigger_branch,
    with_newest_description,
)
from skillopt.versions.repository import Repository

__all__ = ["TrainedTriggers", "description_basis", "train_triggers"]


@dataclass(frozen=True, slots=True)
class TrainedTriggers(TrainedDescription):
    """What training the description of a skill of a project came to."""

    skill: str
    branch: str
    commit: str
    outcome: str
    train_requests: int
    held_out_requests: int
    error: ErrorBudget
    pull_request: str
    skipped: tuple[str, ...]
    paid_rollouts: int
    paid_calls: int
    spent: Mapping[str, Usage]


@dataclass(frozen=True)
class _Training:
    """A training that can begin: what it starts from, and what came before it."""

    plan: TriggerPlan
    repository: Repository
    path: str
    start: Skill
    drivers: Drivers
    refused: tuple[TriedDescription, ...]

    @cached_property
    def id(self) -> str:
        """A digest of all that it rests on: begun again, it goes on, or comes to the same."""
        plan, drivers = self.plan, self.drivers
        split = (sorted((one.key, one.expected) for one in side) for side in plan.split)
        return digest_of(
            self.start.digest,
            *(one.digest for one in plan.beside),
            repr(list(split)),
            drivers.harness.identity,
            drivers.model.identity if drivers.model else "",
            plan.settings.identity,
            repr((plan.ask.repeats, plan.ask.turns, self.refused)),
        )[:12]

    def basis(self, result: str = "") -> TriggerBasis:
        """Return what it rests on, and the description that it came to; empty for none."""
        plan, drivers = self.plan, self.drivers
        texts = dict.fromkeys((listed_description(self.start.document), *([result] if result else ())))
        return TriggerBasis(
            tuple(map(description_digest, texts)),
            drivers.harness.identity,
            drivers.model.identity if drivers.model else "",
            siblings_digest(plan.beside),
            plan.queries.digest,
        )

    def budget(self) -> ErrorBudget:
        """Return the error that is left to this training."""
        return ErrorBudget.after(1.0 - self.plan.settings.confidence, self.earlier())

    def earlier(self) -> tuple[ErrorSpent, ...]:
        """List what trainings before it spent on these held-out requests."""
        plan, name = self.plan, self.plan.skill.name
        versions = list_descriptions(self.repository, name)
        return spent_by_trainings(plan.project.root, name, self.id, versions, plan.split[1])


def description_basis(plan: TriggerPlan) -> tuple[TriggerBasis, str]:
    """Return what a training of a description would rest on now, and the path of its skill in the repository."""
    begun = _begin(plan, None)
    return begun.basis(), begun.path


def _begin(plan: TriggerPlan, allowance: Meter | None) -> _Training:
    """Find what a training starts from."""
    path, repository, name = expect_trainable(plan), plan.project.repository(), plan.skill.name
    expect_free_branch(repository, name)
    start = with_newest_description(repository, plan.skill, path)
    refused = _refused(plan, repository, path)
    return _Training(plan, repository, path, start, plan.drivers(optimizer=True, allowance=allowance), refused)


def _refused(plan: TriggerPlan, repository: Repository, path: str) -> tuple[TriedDescription, ...]:
    """List the descriptions, and the edits of the skill, that people refused; no reason tells of held-out requests."""
    name = plan.skill.name
    held_out = {one.key: trigger_task(one, name) for one in plan.split[1]}
    hidden = Suite("held-out requests", tuple((Split.VAL, task) for task in held_out.values()))
    declined = declined_descriptions(repository, name)
    descriptions = (
        TriedDescription(description_of(repository, sha, path), refusal_words("it", word.by, word.reason))
        for sha, word in zip(declined, without_leaks([*declined.values()], hidden), strict=True)
    )
    base = repository.branch_tip(name) or repository.head() or ""
    edits = (
        TriedDescription(one.edit.summary, f"an edit of the skill's text; {one.words}")
        for one in refusals_before(repository, name, base, hidden)[-MOST_LISTED:]
    )
    return (*descriptions, *edits)


def train_triggers(
    ask: TriggerAsk,
    *,
    observer: RunObserver | None = None,
    allowance: Meter | None = None,
    now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
) -> TrainedTriggers:
    """Train the description of a skill; what is accepted is a commit on `skillopt-trigger/<skill>`.

    The same command goes on where it was interrupted; recorded answers are never paid for again.
    """
    plan, observer = plan_triggers(ask), observer or RunObserver()
    (train, held_out), root, name = plan.split, plan.project.root, plan.skill.name
    begun = _begin(plan, allowance)
    with writer_lock(root, name), closing(Ledger.open(root)) as ledger:
        earlier = begun.earlier()
        if why := why_exhausted(len(held_out), plan.settings, earlier):
            raise UsageError(why)
        recorded = plan.runner(ledger, begun.drivers, observer)
        training = DescriptionTraining(
            train,
            held_out,
            plan.beside,
            ask.repeats,
            DiscoveryRunner(recorded, plan.discovery),
            plan.settings,
            number=begin_look(root, name, begun.id, request_digests(held_out)),
            earlier=earlier,
            refused=begun.refused,
            rounds=5,
            told=observer.notice,
        )
        trained = train_description(begun.start, training)
        if trained.verdict is not None:
            accepted = trained.verdict.outcome is Outcome.ACCEPT
            end_look(root, name, begun.id, trained.verdict.error_spent, accepted=accepted)
        published = _published(begun, trained, recorded, now())
        write_basis(root, name, begun.basis(trained.description if published[0] else ""))
    return _trained(begun, trained, published, recorded)


def _published(begun: _Training, trained: TrainedDescription, recorded: RecordedRunner, at: str) -> tuple[str, str]:
    """Commit what was accepted; give the commit and its text for a pull request, both empty for nothing."""
    verdict, seen, name = trained.verdict, trained.held_out, begun.start.name
    if verdict is None or seen is None or verdict.outcome is not Outcome.ACCEPT:
        return "", ""
    spent = unreported_error(begun.plan.project.root, name, begun.id) + verdict.error_spent
    cost = recorded.paid_rollouts, recorded.usage
    trailers = description_trailers((name, begun.id), (verdict, spent), seen, begun.basis(), cost)
    body = description_body(trained, seen)
    return publish_description(begun.repository, name, trained.description, begun.path, (body, trailers), at), body


def _trained(
    begun: _Training, trained: TrainedDescription, published: tuple[str, str], recorded: RecordedRunner
) -> TrainedTriggers:
    (train, held_out), (commit, body), name = begun.plan.split, published, begun.start.name
    return TrainedTriggers(
        **{one.name: getattr(trained, one.name) for one in fields(trained)},
        skill=name,
        branch=trigger_branch(name),
        commit=commit,
        outcome=trained.verdict.outcome.value if trained.verdict else "",
        train_requests=len(train),
        held_out_requests=len(held_out),
        error=begun.budget().spend(trained.verdict.error_spent if trained.verdict else 0.0),
        pull_request=body,
        skipped=begun.plan.skipped,
        paid_rollouts=recorded.paid_rollouts,
        paid_calls=recorded.paid_calls,
        spent=begun.drivers.meter.by_role,
    )
