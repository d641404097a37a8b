"""The drivers of a run: the target's harness, the optimizer model and the judge, with retries and metering."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from skillopt.agents import AGENTS
from skillopt.errors import SettingsError
from skillopt.execution.budget import NO_CAPS, Caps
from skillopt.execution.metering import Meter, MeteredHarness, MeteredModel
from skillopt.execution.retry import Retry, RetryingModel
from skillopt.harnesses import Wanted, load_harness
from skillopt.models import MODELS, load_model
from skillopt.protocols import Harness, Model, RolloutRequest
from skillopt.sandbox.bubblewrap import sandbox_warning
from skillopt.settings import Settings
from skillopt.storage.ledger import rollout_key
from skillopt.tasks import Suite

__all__ = ["Drivers", "caps_of", "load_drivers", "load_retrying_model", "load_target"]

_LONGEST_CALL: Final = 600.0
"""Seconds that an agent's command line gets for one answer."""

_SILENCE: Final = 300.0
"""Seconds without data after which an API call is given up."""

_JUDGED: Final = "rubric"


@dataclass(frozen=True, slots=True)
class Drivers:
    """The drivers of a run.

    Args:
        harness: Runs the target.
        model: The optimizer model; None where none is asked.
        judge: Judges rubrics; None where no task has one.
        meter: Counts what they consume.
        notice: What the user should know before anything runs, in one line; empty for nothing.
    """

    harness: Harness
    model: Model | None = None
    judge: Model | None = None
    meter: Meter = field(default_factory=lambda: Meter(NO_CAPS))
    notice: str = ""

    @property
    def target_identity(self) -> str:
        """Identify the target and, where there is one, the judge: what the scores of rollouts depend on."""
        return self.harness.identity + (f" judge={self.judge.identity}" if self.judge else "")

    def key_of(self, request: RolloutRequest) -> str:
        """Give the key under which a rollout is recorded; a judge is part of it only where it judges."""
        judged = self.judge is not None and request.task.verifier.kind == _JUDGED
        target_identity = self.target_identity if judged else self.harness.identity
        return rollout_key(
            request.skill.digest if request.skill else "", request.task.digest, target_identity, request.repeat
        )


def caps_of(settings: Settings) -> Caps:
    """Give what a run may consume."""
    return Caps(settings.max_usd, settings.max_tokens, settings.max_minutes * 60.0)


def load_target(settings: Settings, root: Path) -> Harness:
    """Make the target's harness alone, not metered.

    Args:
        settings: Names it.
        root: The project; tasks that are handed off lie below it.

    Raises:
        SettingsError: There is no such harness, or it lacks what it needs.
    """
    folder = _handoff(root)
    return load_harness(
        settings.harness, Wanted(settings, folder, lambda name: load_retrying_model(name, settings, folder))
    )


def load_retrying_model(name: str, settings: Settings, folder: Path) -> Model:
    """Make a model by its name, as `load_model` does, whose transient failures are retried.

    Raises:
        SettingsError: There is no such model, or it lacks what it needs.
    """
    model = load_model(name, settings, folder)
    retried = MODELS[name.partition("/")[0]].retried
    return RetryingModel(model, Retry(settings.executor.retry_seconds)) if retried else model


def load_drivers(
    settings: Settings,
    suite: Suite,
    root: Path,
    *,
    optimizer: bool = True,
    meter: Meter | None = None,
    allowance: Meter | None = None,
) -> Drivers:
    """Make the drivers that a run needs, all of which keep to its caps.

    Args:
        settings: Names and limits.
        suite: Its tasks tell whether a judge is needed.
        root: The project; prompts that are handed off lie below it.
        optimizer: Whether an optimizer model will be asked.
        meter: Counts what they consume beside others; None for a meter of their own, with the caps of the settings.
        allowance: Counts and caps what this command alone pays for, whatever the run cost before; None for no such cap.

    Raises:
        SettingsError: A driver has no such name, or lacks what it needs.
    """
    meter, folder = meter or Meter(caps_of(settings)), _handoff(root)
    longest = max(_LONGEST_CALL, _SILENCE + settings.executor.retry_seconds)
    meters = [meter, *([allowance] if allowance else [])]
    harness = load_target(settings, root)
    for one in meters:
        harness = MeteredHarness(harness, one)
    model = None
    if optimizer:
        model = _metered(load_retrying_model(settings.model, settings, folder), meters, "optimizer", longest)
    judge = None
    if any(task.verifier.kind == _JUDGED for _, task in suite.splits):
        name = settings.judge or settings.model
        if name == "demo":
            raise SettingsError(
                f"suite {suite.name!r} has tasks with a rubric: expected a model to judge them, found none; "
                'set judge, as in judge = "anthropic/claude-haiku-4-5"'
            )
        judge = _metered(load_retrying_model(name, settings, folder), meters, "judge", longest)
    agent = settings.harness.partition("/")[0] in AGENTS
    return Drivers(harness, model, judge, meter, sandbox_warning(settings.sandbox) if agent else "")


def _metered(model: Model, meters: Sequence[Meter], role: str, longest: float) -> Model:
    for meter in meters:
        model = MeteredModel(model, meter, role, longest)
    return model


def _handoff(root: Path) -> Path:
    return root / ".skillopt" / "handoff"
