"""The simulated target: how each rollout turns out, drawn from the world's truth.

Owns the draws, the harness behind which the real runner can run them, and counting them. A draw is a
function of seed, skill, task and repeat; only an infrastructure error goes away when the rollout is
asked for again. Does not own the truth (truth).
"""

import json
from collections import Counter
from hashlib import blake2b
from struct import unpack

from benchmarks.landscapes.tasks import CRASHED, DONE, judge, needed_rules, part_names, symptom_of
from benchmarks.landscapes.truth import chance_of, chances, with_memos
from benchmarks.landscapes.worlds import World
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Score, Status, Trajectory, Usage

_DRAWS = 8


class Target:
    """A harness whose target is simulated."""

    def __init__(self, world: World, seed: int, night: int = 0) -> None:
        self._world = world
        self._seed = (seed, night) if night else seed
        self._tried: Counter[tuple[str, str, int]] = Counter()
        self._chances: dict[str, tuple[float, ...]] = {}
        self._needed = needed_rules(world, seed)
        self.done = 0

    @property
    def identity(self) -> str:
        """Name the world by its parameters, and the seed."""
        return f"landscape {self._world!r} seed={self._seed}"

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - a simulation costs nothing
        """Bound a rollout, which costs nothing."""
        return Usage(calls=1)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG002 - the answer is text
        """Say of every part of the task whether it is done, or which symptom it shows."""
        digest = request.skill.digest if request.skill else ""
        key = (digest, request.task.id, request.repeat)
        attempt = self._tried[key]
        self._tried[key] += 1
        self.done += 1
        if self._world.errors and self._draws("error", *key, attempt)[0] < self._world.errors:
            return Trajectory(status=Status.INFRA_ERROR, reason="simulated infrastructure error")
        if self._world.lasting and self._draws("lasting", digest, request.task.id)[0] < self._world.lasting:
            return Trajectory(status=Status.INFRA_ERROR, reason="simulated failure that lasts")
        needs = self._needed[request.task.id][1]
        by_rule = self._chances_of(request, digest)
        draws = iter(self._outcome_draws(*key, "False"))
        eased = with_memos(request.skill.document.text if request.skill else "", request.task.id, needs)
        outcomes = [
            DONE if next(draws) < chance_of(by_rule, ease) else symptom_of(self._world, need)
            for ease, need in zip(eased, needs, strict=True)
        ]
        if self._world.crash and self._draws("crash", *key)[0] < self._world.crash:
            outcomes = [CRASHED] * len(needs)
        answer = dict(zip(part_names(self._world, needs), outcomes, strict=True))
        return Trajectory(answer=json.dumps(self._shown(answer)), usage=Usage(calls=1))

    def _outcome_draws(self, *key: object) -> list[float]:
        """Draw a number for each part, which is the same for all where they fail together."""
        draws = self._draws("outcome", *key)
        if self._world.together and self._draws("together", *key)[0] < self._world.together:
            return draws[:1] * _DRAWS
        return draws

    def _shown(self, answer: dict[str, str]) -> dict[str, str]:
        """Cut what was not reached, where the first failure is the last that shows."""
        failed = [at for at, outcome in enumerate(answer.values(), 1) if outcome != DONE]
        return dict(list(answer.items())[: failed[0]]) if failed and self._world.first_only else answer

    def judge(self, request: RolloutRequest, answer: str) -> Score:
        """Score an answer by the verifier of its task."""
        return judge(self._world, request.task.verifier, answer)

    def _chances_of(self, request: RolloutRequest, digest: str) -> tuple[float, ...]:
        known = self._chances.get(digest)
        if known is None:
            text = request.skill.document.text if request.skill else ""
            known = self._chances[digest] = chances(self._world, text)
        return known

    def _draws(self, *key: object) -> list[float]:
        """Draw numbers in [0, 1) that depend on the key alone."""
        source = "\x1f".join(map(str, (self._seed, *key))).encode()
        return [number / 2**32 for number in unpack(f"<{_DRAWS}I", blake2b(source, digest_size=4 * _DRAWS).digest())]
