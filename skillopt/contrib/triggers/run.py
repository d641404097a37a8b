"""Train the description of a skill of a project within the error that all its trainings share, and commit it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path

from skillopt.contrib.triggers.drafts import (
    TRIGGER_ERROR,
    TRIGGER_TRAINING,
    DescriptionDraft,
    description_body,
    description_digest,
    description_trailers,
    siblings_digest,
)
from skillopt.contrib.triggers.loading import DiscoveryRunner, trigger_task
from skillopt.contrib.triggers.looks import TriggerBasis, begin_look, end_look, read_looks, write_basis
from skillopt.contrib.triggers.plan import TriggerAsk, TriggerPlan, expect_trainable, plan_triggers
from skillopt.contrib.triggers.queries import Query
from skillopt.contrib.triggers.shortening import shorten_description
from skillopt.contrib.triggers.training import DescriptionTraining, TrainedDescription, train_description
from skillopt.errors import UsageError
from skillopt.execution.drivers import Drivers
from skillopt.execution.metering import Meter
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.gate.error_budget import LEAST_ERROR, ErrorBudget
from skillopt.loop.memory import MOST_LISTED, refusal_words
from skillopt.prompts.descriptions import TriedDescription
from skillopt.rollouts import Usage
from skillopt.runs.history import told_refusals
from skillopt.runs.plan import incumbent_of
from skillopt.runs.recorded import read_error
from skillopt.runs.run import open_draft
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Edit
from skillopt.skills.frontmatter import listed_description
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.tasks import Split, Suite, digest_of
from skillopt.versions.commit_message import DESCRIPTION, Version
from skillopt.versions.refusals import refusals_of


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
    draft: DescriptionDraft
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
            repr((plan.ask.repeats, plan.ask.turns, plan.ask.shorten, plan.ask.drop, self.refused)),
        )[:12]

    def basis(self, result: str = "") -> TriggerBasis:
        """Return what it rests on, and the description that it came to; empty for none."""
        plan, drivers = self.plan, self.drivers
        texts = dict.fromkeys((listed_description(self.start.document), *([result] if result else ())))
        return TriggerBasis(
            tuple(map(description_digest, texts)),
            drivers.harness.identity,
            drivers.model.identity if drivers.model else "no model",
            siblings_digest(plan.beside),
            plan.queries.digest,
        )

    def earlier(self) -> tuple[float, ...]:
        plan, draft = self.plan, self.draft
        return spent_by_trainings(plan.project.root, plan.skill.name, self.id, draft.trained, plan.split[1])


def description_basis(plan: TriggerPlan) -> tuple[TriggerBasis, DescriptionDraft]:
    """Return what a training of a description would rest on now, and where it would wait."""
    begun = _begin(plan, None)
    return begun.basis(), begun.draft


def _begin(plan: TriggerPlan, allowance: Meter | None) -> _Training:
    expect_trainable(plan)
    root, repository = plan.project.root, plan.project.repository()
    draft = DescriptionDraft(open_draft(root, repository, plan.target))
    draft.expect_free()
    drivers = plan.drivers(optimizer=not plan.ask.shorten, allowance=allowance)
    return _Training(plan, draft, incumbent_of(plan.target, repository), drivers, _refused(plan, draft))


def _refused(plan: TriggerPlan, draft: DescriptionDraft) -> tuple[TriedDescription, ...]:
    """List the descriptions, and the edits of the skill, that people refused; no reason tells of held-out requests."""
    name, repository = plan.skill.name, draft.branch.repository
    held_out = {one.key: trigger_task(one, name) for one in plan.split[1]}
    hidden = Suite("held-out requests", tuple((Split.VAL, task) for task in held_out.values()))
    return tuple(
        TriedDescription(_told(one.edit), refusal_words("it", one.by, one.reason))
        if one.edit.id == DESCRIPTION
        else TriedDescription(one.edit.summary, f"an edit of the skill's text; {one.words}")
        for one in told_refusals(repository, refusals_of(repository, name), hidden)[-MOST_LISTED:]
    )


def _told(edit: Edit) -> str:
    return listed_description(SkillDocument(f"---\n{edit.content}\n---\n"))


def train_triggers(
    ask: TriggerAsk, *, observer: RunObserver | None = None, allowance: Meter | None = None
) -> TrainedTriggers:
    """Train or shorten the description of a skill, or go on with that; what is accepted is a commit on its branch."""
    plan, observer = plan_triggers(ask), observer or RunObserver()
    (train, held_out), root, name = plan.split, plan.project.root, plan.skill.name
    begun, commit, body = _begin(plan, allowance), "", ""
    with writer_lock(root, name), closing(Ledger.open(root)) as ledger:
        earlier = begun.earlier()
        if not ask.shorten and (why := why_exhausted(len(held_out), plan.settings, earlier)):
            raise UsageError(why)
        recorded = RecordedRunner(ledger, "", begun.drivers, observer)
        training = DescriptionTraining(
            train,
            held_out,
            plan.beside,
            ask.repeats,
            runner=DiscoveryRunner(recorded, plan.discovery),
            settings=plan.settings,
            number=begin_look(root, name, begun.id, request_digests(held_out)),
            earlier=earlier,
            refused=begun.refused,
            told=observer.notice,
        )
        shorten = partial(shorten_description, drop=ask.drop)
        trained = (shorten if ask.shorten else train_description)(begun.start, training)
        verdict, seen = trained.verdict, trained.held_out
        if verdict is not None and seen is not None:
            accepted = verdict.accepted
            end_look(root, name, begun.id, verdict.error_spent, accepted=accepted)
            if accepted or trained.promising:
                spent = unreported_error(root, name, begun.id) + verdict.error_spent
                cost = recorded.paid_rollouts, recorded.usage
                trailers = description_trailers(begun.id, (verdict, spent), seen, begun.basis(), cost)
                at, body = datetime.now(UTC).isoformat(timespec="seconds"), description_body(trained, seen)
                commit = begun.draft.publish(begun.start, trained, body, trailers, at)
        write_basis(root, name, begun.basis(trained.description if commit else ""))
    budget = ErrorBudget.after(1.0 - plan.settings.confidence, earlier)
    return TrainedTriggers(
        **{one.name: getattr(trained, one.name) for one in fields(trained)},
        skill=name,
        branch=begun.draft.branch.name,
        commit=commit,
        outcome=verdict.outcome.value if verdict else "",
        train_requests=len(train),
        held_out_requests=len(held_out),
        error=budget.spend(verdict.error_spent if verdict else 0.0),
        pull_request=body,
        skipped=plan.skipped,
        paid_rollouts=recorded.paid_rollouts,
        paid_calls=recorded.paid_calls,
        spent=begun.drivers.meter.by_role,
    )


def request_digests(held_out: Iterable[Query]) -> frozenset[str]:
    """Return short digests of requests, by which later trainings tell whether they look at the same ones."""
    return frozenset(digest_of(one.key)[:12] for one in held_out)


def spent_by_trainings(
    root: Path, skill: str, training: str, versions: Iterable[Version], held_out: Sequence[Query]
) -> tuple[float, ...]:
    """List what the trainings before one spent on today's held-out requests."""
    looks, today = read_looks(root, skill), request_digests(held_out)
    known = [look.id for look in looks]
    earlier = looks[: known.index(training)] if training in known else looks
    found = [look.error * len(look.requests & today) / max(1, len(today)) for look in earlier]
    # Which requests they looked at cannot be known here, and an error that is not counted would break the promise.
    others = (version for version in versions if version.trailer(TRIGGER_TRAINING) not in known)
    found += [read_error(version.trailer(TRIGGER_ERROR)) for version in others]
    return tuple(one for one in found if one > 0)


def unreported_error(root: Path, skill: str, training: str) -> float:
    """Add up what trainings spent since the last one that became a version, for the trailer of the next."""
    total = 0.0
    for look in read_looks(root, skill):
        if look.id == training:
            break
        total = 0.0 if look.accepted else total + look.error
    return total


def why_exhausted(held_out: int, settings: Settings, earlier: Sequence[float]) -> str:
    """Return why nothing can be accepted on these requests any more; empty when something can."""
    budget = ErrorBudget.after(1.0 - settings.confidence, earlier)
    if not (earlier and budget.allowance_for(held_out) < max(LEAST_ERROR, 0.5**held_out)):
        return ""
    return (
        f"expected error left for another training on these {held_out} held-out requests, found that earlier ones "
        f"spent {budget.spent:.3f} of the {budget.allowed:g} that they share; write new requests: "
        "each that is held out brings its share"
    )
