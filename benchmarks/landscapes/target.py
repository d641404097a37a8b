"""The simulated target: how each rollout turns out, drawn from the world's truth.

Owns the draws, the harness behind which the real runner can run them, and counting them. A draw is a
function of seed, skill, task and repeat; only an infrastructure error goes away when the rollout is
asked for again, and only a shift makes the order of rollouts matter. Does not own the truth (truth).
"""

import json
from collections import Counter
from hashlib import blake2b
from struct import unpack

from benchmarks.landscapes.tasks import DONE, flaky_tasks, needed_rules, part_names
from benchmarks.landscapes.truth import chances, wanted_rule
from benchmarks.landscapes.worlds import World
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Status, Trajectory, Usage

__all__ = ["Target"]

_DRAWS = 8
_COIN = "bad luck"


class Target:
    """A harness whose target is simulated.

    Args:
        world: How it behaves.
        seed: Of every draw.
    """

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._seed = seed
        self._tried: Counter[tuple[str, str, int]] = Counter()
        self._chances: dict[tuple[str, bool], tuple[float, ...]] = {}
        self._needed = needed_rules(world)
        self._parts = part_names(world)
        self._flaky = flaky_tasks(world)
        self.done = 0

    @property
    def identity(self) -> str:
        """Name the world by its parameters, and the seed."""
        return f"landscape {self._world!r} seed={self._seed}"

    @property
    def shifted(self) -> bool:
        """Tell whether the target has changed by now."""
        return 0 < self._world.shift_at <= self.done

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - a simulation costs nothing
        """Bound a rollout, which costs nothing."""
        return Usage(calls=1)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG002 - the answer is text
        """Say of every part of the task whether it is done, or which symptom it shows."""
        digest = request.skill.digest if request.skill else ""
        key = (digest, request.task.id, request.repeat)
        shifted = self.shifted
        attempt = self._tried[key]
        self._tried[key] += 1
        self.done += 1
        if self._world.errors and self._draws("error", *key, attempt)[0] < self._world.errors:
            return Trajectory(status=Status.INFRA_ERROR, reason="simulated infrastructure error")
        draws = iter(self._draws("outcome", *key, shifted))
        by_rule = self._chances_of(request, digest, shifted=shifted)
        outcomes = [
            DONE if next(draws) < by_rule[rule] else f"symptom S{wanted_rule(self._world, rule, shifted=shifted):02d}"
            for rule in self._needed[request.task.id][1]
        ]
        outcomes += [DONE if next(draws) < 0.5 else _COIN for _ in range(self._world.coins)]  # noqa: PLR2004 - a coin
        return Trajectory(answer=json.dumps(dict(zip(self._parts, outcomes, strict=True))), usage=Usage(calls=1))

    def flips(self, request: RolloutRequest) -> bool:
        """Tell whether the verdict on a rollout is to be the opposite; the verifier, which reads the answer, cannot."""
        digest = request.skill.digest if request.skill else ""
        key = ("flip", digest, request.task.id, request.repeat)
        return request.task.id in self._flaky and self._draws(*key)[0] < 0.5  # noqa: PLR2004 - a coin

    def _chances_of(self, request: RolloutRequest, digest: str, *, shifted: bool) -> tuple[float, ...]:
        known = self._chances.get((digest, shifted))
        if known is None:
            text = request.skill.document.text if request.skill else ""
            known = self._chances[digest, shifted] = chances(self._world, text, shifted=shifted)
        return known

    def _draws(self, *key: object) -> list[float]:
        """Draw numbers in [0, 1) that depend on the key alone."""
        source = "\x1f".join(map(str, (self._seed, *key))).encode()
        return [number / 2**32 for number in unpack(f"<{_DRAWS}I", blake2b(source, digest_size=4 * _DRAWS).digest())]
