"""Score a version on other targets, against no skill and the first version, for the command `transfer`.

A target that cannot be measured is a row of its own and costs no other target its result.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.drivers import Drivers, caps_of, load_drivers
from skillopt.execution.metering import Meter
from skillopt.execution.runner import RunObserver
from skillopt.execution.scoring import NO_SKILL, Scoring
from skillopt.gate.comparison import Tally, Verdict
from skillopt.project import Project, Selection
from skillopt.rollouts import Usage
from skillopt.runs.lineage import newest_version, skill_at, starting_commit, trained_on, versions_of
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite, Task

__all__ = ["TargetComparison", "TargetRow", "Transferred", "transfer"]


@dataclass(frozen=True, slots=True)
class TargetComparison:
    """What one target scores with no skill, the first version and the version, and the version against both."""

    identity: str
    no_skill: Tally
    first: Tally
    version: Tally
    against_no_skill: Verdict
    against_first: Verdict


@dataclass(frozen=True, slots=True)
class TargetRow:
    """One target."""

    target: str
    status: Literal["measured", "invalid"]
    reason: str
    paid_rollouts: int
    found: TargetComparison | None


@dataclass(frozen=True, slots=True)
class Transferred:
    """What a transfer found."""

    skill: str
    version: str
    first: str
    trained_on: str
    split: str
    repeats: int
    targets: tuple[TargetRow, ...]
    spent: Mapping[str, Usage]

    @property
    def complete(self) -> bool:
        """Whether every target was measured."""
        return all(row.status == "measured" for row in self.targets)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is measured on every target."""

    subjects: Sequence[tuple[str, Skill | None]]
    tasks: Sequence[Task]
    repeats: int
    settings: Settings


def transfer(
    selection: Selection,
    *,
    targets: Sequence[str],
    version: str | None = None,
    split: Split = Split.VAL,
    repeats: int = 1,
    observer: RunObserver | None = None,
) -> Transferred:
    """Score a version on targets, each against no skill and against the first version."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    settings, suite = target.settings, target.suite()
    versions = versions_of(repository, target.name)
    first, chosen = starting_commit(versions), repository.resolve(version or newest_version(versions))
    subjects = (
        (NO_SKILL, None),
        ("first version", skill_at(repository, target, first)),
        (f"version {chosen[:10]}", skill_at(repository, target, chosen)),
    )
    plan = _Plan(subjects, suite.tasks_to_evaluate(split), repeats, settings)
    meter = Meter(caps_of(settings))
    loaded = _load(project, settings, suite, targets, meter)
    with closing(Ledger.open(project.root)) as ledger:
        rows = tuple(_row(name, drivers, ledger, plan, observer or RunObserver()) for name, drivers in loaded.items())
    trained = trained_on(versions).get(chosen, "")
    return Transferred(target.name, chosen, first, trained, split.value, repeats, rows, meter.by_role)


def _load(
    project: Project, settings: Settings, suite: Suite, targets: Sequence[str], meter: Meter
) -> Mapping[str, Drivers]:
    """Make the drivers of every target before the first one is run; one that is named twice is run once."""
    if not targets:
        raise UsageError("expected the targets to score, found none; name one, as in --to claude-code/MODEL")
    return {
        name: load_drivers(
            settings.model_copy(update={"harness": name}), suite, project.root, optimizer=False, meter=meter
        )
        for name in targets
    }


def _row(name: str, drivers: Drivers, ledger: Ledger, plan: _Plan, observer: RunObserver) -> TargetRow:
    observer.notice(f"target {name}")
    scoring = Scoring(ledger, drivers, plan.settings, observer)
    try:
        identity = drivers.harness.identity
        none, first, version = scoring.measure(plan.subjects, plan.tasks, plan.repeats)
        verdicts = scoring.compare(none, version), scoring.compare(first, version)
    except SkilloptError as error:
        return TargetRow(name, "invalid", str(error), scoring.paid_rollouts, None)
    found = TargetComparison(identity, none.tally, first.tally, version.tally, *verdicts)
    return TargetRow(name, "measured", "", scoring.paid_rollouts, found)
