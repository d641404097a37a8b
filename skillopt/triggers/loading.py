"""Rollouts that show which skill is loaded for a request: tasks, verifier, and a runner that installs siblings.

What counts is what was loaded until a run ended, however it ended: one that the model refused, or that took too long,
and that loaded nothing left the skill alone. A run of which the harness cannot tell what was loaded is not measured.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from skillopt.protocols import Discovery, RolloutRequest, Runner, Verifier
from skillopt.rollouts import Reply, Rollout, Score, Status, Trajectory, skills_loaded
from skillopt.tasks import Task, VerifierSpec
from skillopt.triggers.queries import Query

__all__ = ["TRIGGER", "DiscoveryRunner", "trigger_task", "trigger_verifier"]

TRIGGER: Final = "trigger"
"""Kind of the verifier that looks at what was loaded."""

_SECONDS: Final = 180.0
_UNTOLD: Final = "expected a harness that tells which skills were loaded, found a run that does not"


@dataclass(frozen=True, slots=True)
class _Loads:
    """Passes where a skill was loaded, or where it was left alone."""

    skill: str
    should: bool

    def score(self, trajectory: Trajectory, workspace: str) -> Score:  # noqa: ARG002 - it is not about files
        loaded = skills_loaded(trajectory)
        if loaded is None:
            raise ValueError(_UNTOLD)
        right = (self.skill in loaded) == self.should
        return Score(float(right), right, "" if right else f"loaded: {', '.join(loaded) or 'no skill'}")


def trigger_verifier(spec: VerifierSpec) -> Verifier:
    """Make the verifier of a request."""
    options = json.loads(spec.options)
    return _Loads(options["skill"], options["should"])


def trigger_task(query: Query, skill: str) -> Task:
    """Make the task of a request: it passes where the skill is loaded exactly if it is the expected one."""
    should = query.expected == skill
    options = json.dumps({"skill": skill, "should": should}, sort_keys=True)
    return Task(query.key, query.text, VerifierSpec(TRIGGER, options), timeout=_SECONDS)


@dataclass(frozen=True, slots=True)
class DiscoveryRunner:
    """A runner whose rollouts show which skill the target loads."""

    runner: Runner
    discovery: Discovery

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run rollouts, and score each by what was loaded; answers are in the order of the requests."""
        found = self.runner.rollouts([replace(one, discovery=self.discovery) for one in requests])
        return tuple(map(_by_loading, requests, found))

    def replies(self, prompts: Iterable[str], schema: str = "") -> tuple[Reply, ...]:
        """Ask the optimizer model."""
        return self.runner.replies(prompts, schema)


def _by_loading(request: RolloutRequest, rollout: Rollout) -> Rollout:
    """Score a rollout by what was loaded in it; elsewhere a refusal or a timeout is a 0, whatever was asked for."""
    if rollout.score is None or rollout.status in (Status.OK, Status.LIMIT):
        return rollout
    if skills_loaded(rollout.trajectory) is None:
        return replace(rollout, status=Status.INFRA_ERROR, score=None, reason=f"{_UNTOLD}: {rollout.reason}")
    return replace(rollout, score=trigger_verifier(request.task.verifier).score(rollout.trajectory, ""))
