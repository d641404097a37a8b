"""The drivers of a run: the target's harness, the optimizer model and the judge, with retries and metering."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Final

from skillopt.agent_tables.shipped import find_agent_table
from skillopt.errors import SettingsError
from skillopt.execution.available import expect_chosen
from skillopt.execution.credentials import exposure_warning
from skillopt.execution.executors import Cluster, ClusterHarness, ClusterVerifier, RerunningHarness, open_cluster
from skillopt.execution.masking import environment_masking
from skillopt.execution.metering import NO_CAPS, Caps, Meter, MeteredHarness, MeteredModel
from skillopt.execution.provider_limits import provider_limit
from skillopt.execution.retry import LimitedHarness, Retry, RetryingModel, WaitNotices
from skillopt.execution.rollout import shared_verifier
from skillopt.execution.suite_checks import (
    check_recorded_tools,
    checks_warning,
    collected_code_note,
    expect_sandbox_in_ci,
    with_checks,
)
from skillopt.execution.wrappers import MaskedModel
from skillopt.prompts.judging import JUDGING
from skillopt.protocols import Harness, Model, RolloutRequest, Verifier, VerifierFactory
from skillopt.sandbox.bubblewrap import SandboxChoice
from skillopt.settings import Settings
from skillopt.storage.ledger import rollout_key
from skillopt.targets.api_model import ApiModel
from skillopt.targets.harnesses import HarnessParts, load_harness, runs_agent
from skillopt.targets.models import MODELS, load_model
from skillopt.tasks import Suite, Task, VerifierSpec, digest_of
from skillopt.verifiers import load_verifier

__all__ = [
    "Drivers",
    "PlainDrivers",
    "caps_of",
    "identify_target",
    "load_drivers",
    "load_retrying_model",
    "load_target",
    "make_drivers",
    "meter_drivers",
]

_LONGEST_CALL: Final = 600.0
"""Seconds that an agent's command line gets for one answer."""

_SILENCE: Final = 300.0
"""Seconds without data after which an API call is given up."""


@dataclass(frozen=True, slots=True)
class PlainDrivers:
    """Drivers as objects, as a user of the Python API passes them, and as they are made by their names."""

    harness: Harness | None = None
    model: Model | None = None
    judge: Model | None = None
    verifiers: Mapping[str, VerifierFactory] = field(default_factory=dict)
    waits: WaitNotices = field(default_factory=WaitNotices)
    warning: str = ""
    cluster: Cluster | None = None


@dataclass(frozen=True, slots=True)
class Drivers:
    """The drivers of a run."""

    harness: Harness
    model: Model | None = None
    judge: Model | None = None
    meter: Meter = field(default_factory=lambda: Meter(NO_CAPS))
    notice: str = ""
    verifiers: Mapping[str, VerifierFactory] = field(default_factory=dict)
    waits: WaitNotices = field(default_factory=WaitNotices)
    sandbox: SandboxChoice = "auto"
    cluster: Cluster | None = None

    def verifier(self, spec: VerifierSpec) -> Verifier:
        """Make the verifier of a task."""
        own = self.verifiers.get(spec.kind)
        if own is not None:
            return own(spec)
        if self.cluster is not None and not spec.judged and any(part.kind == "command" for part in spec.parts):
            return ClusterVerifier(spec, self.cluster)
        return (
            shared_verifier(spec, self.sandbox) if self.judge is None else load_verifier(spec, self.judge, self.sandbox)
        )

    @property
    def clock(self) -> Callable[[], float]:
        """What measures how long a rollout takes: on a cluster without what it waits for a place."""
        return monotonic if self.cluster is None else self.cluster.clock

    @property
    def target_identity(self) -> str:
        """Identify the target and, where there is one, the judge: what the scores of rollouts depend on."""
        return self.harness.identity + (f" judge={self.judge.identity}" if self.judge else "")

    def key_of(self, request: RolloutRequest) -> str:
        """Return the key under which a rollout is recorded; a judge is part of it only where it judges."""
        digest = request.digest
        if request.discovery is not None:
            digest = digest_of(digest, request.discovery.digest)
        return self.recorded_key(digest, request.task, request.repeat)

    def recorded_key(self, skill_digest: str, task: Task, repeat: int) -> str:
        """Return the key of a repeat of a task under the text with a digest, empty for no skill."""
        judged = self.judge is not None and task.verifier.judged
        target_identity = f"{self.target_identity} {JUDGING}" if judged else self.harness.identity
        return rollout_key(skill_digest, task.digest, target_identity, repeat)


def caps_of(settings: Settings) -> Caps:
    """Return what a run may consume."""
    return Caps(settings.max_usd or 0.0, settings.max_tokens or 0, (settings.max_minutes or 0.0) * 60.0)


def load_target(settings: Settings, root: Path, waits: WaitNotices | None = None) -> Harness:
    """Make the target's harness alone, not metered."""
    expect_chosen(settings, harness=True, model=False)
    folder = _handoff(root)

    def load(name: str) -> Model:
        return load_retrying_model(name, settings, folder, target=True, waits=waits)

    harness = load_harness(settings.harness, HarnessParts(settings, folder, load, root))
    agent = settings.harness.partition("/")[0]
    return LimitedHarness(harness, provider_limit(agent)) if runs_agent(settings) else harness


def identify_target(settings: Settings, suite: Suite, root: Path) -> str:
    """Identify the target as runs over a suite record it."""
    return with_checks(load_target(settings, root), suite, settings.sandbox).identity


def load_retrying_model(
    name: str, settings: Settings, folder: Path, *, target: bool = False, waits: WaitNotices | None = None
) -> Model:
    """Make a model by its name, as `load_model` does, whose transient failures are retried."""
    model = load_model(name, settings, folder, target=target)
    if not MODELS[name.partition("/")[0]].retried:
        return model
    limit = provider_limit(f"{model.driver} {model.url}") if isinstance(model, ApiModel) else None
    return RetryingModel(model, Retry(settings.executor.retry_seconds, notices=waits, limit=limit))


def load_drivers(
    settings: Settings,
    suite: Suite,
    root: Path,
    *,
    optimizer: bool = True,
    meter: Meter | None = None,
    allowance: Meter | None = None,
) -> Drivers:
    """Make the drivers that a run needs by their names; all of them keep to its caps."""
    return meter_drivers(make_drivers(settings, suite, root, optimizer=optimizer), settings, meter, allowance)


def make_drivers(
    settings: Settings, suite: Suite, root: Path, given: PlainDrivers | None = None, *, optimizer: bool = True
) -> PlainDrivers:
    """Make the drivers that a run needs and that were not given as objects."""
    given = given or PlainDrivers()
    expect_chosen(settings, harness=given.harness is None, model=optimizer and given.model is None)
    folder, waits = _handoff(root), given.waits
    if given.harness is None:
        table = find_agent_table(settings.harness, settings.agents)
        check_recorded_tools(settings.harness, suite, blind=table is not None and table.tool is None)
    expect_sandbox_in_ci(settings, suite, agent=given.harness is None and runs_agent(settings))
    harness = given.harness or load_target(settings, root, waits)
    cluster = open_cluster(settings, root, harness, given.harness, [task for _, task in suite.splits])
    harness = with_checks(harness if cluster is None else ClusterHarness(harness, cluster), suite, settings.sandbox)
    model = (given.model or load_retrying_model(settings.model, settings, folder, waits=waits)) if optimizer else None
    judge = None
    if any(task.verifier.judged for _, task in suite.splits):
        judge = given.judge or (None if settings.judge else given.model) or _load_judge(settings, suite, folder, waits)
    warning = "\n".join(filter(None, (checks_warning(suite, settings.sandbox), collected_code_note(suite))))
    return PlainDrivers(harness, model, judge, given.verifiers, waits, warning, cluster)


def meter_drivers(
    drivers: PlainDrivers, settings: Settings, meter: Meter | None = None, allowance: Meter | None = None
) -> Drivers:
    """Let drivers keep to caps."""
    meter = meter or Meter(caps_of(settings))
    longest = max(_LONGEST_CALL, _SILENCE + settings.executor.retry_seconds)
    harness, model, judge = drivers.harness, drivers.model, drivers.judge
    if harness is None:
        raise ValueError("expected a harness, found none; make one with make_drivers")
    for one in (meter, *([allowance] if allowance else [])):
        harness = MeteredHarness(harness, one)
        model = model and MeteredModel(model, one, "optimizer", longest)
        judge = judge and MeteredModel(judge, one, "judge", longest)
    harness = harness if drivers.cluster is None else RerunningHarness(harness, drivers.cluster)
    judge = judge and MaskedModel(judge, environment_masking())
    exposed = exposure_warning(settings.sandbox, os.environ) if runs_agent(settings) else ""
    return Drivers(
        harness,
        model,
        judge,
        meter,
        "\n".join(filter(None, (exposed, drivers.warning))),
        drivers.verifiers,
        drivers.waits,
        settings.sandbox,
        drivers.cluster,
    )


def _load_judge(settings: Settings, suite: Suite, folder: Path, waits: WaitNotices) -> Model:
    name = settings.judge or settings.model
    if name in {"", "demo"}:
        raise SettingsError(
            f"suite {suite.name!r} has tasks with a rubric: expected a model to judge them, found none; "
            'set judge, as in judge = "anthropic/claude-haiku-4-5"'
        )
    return load_retrying_model(name, settings, folder, waits=waits)


def _handoff(root: Path) -> Path:
    return root / ".skillopt" / "handoff"
