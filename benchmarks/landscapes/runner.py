"""A runner for simulations: what the recorded runner does, in memory and without workspaces.

Owns remembering answers, and that a rollout which failed is tried again only by a rerun. Does not own the target, the
model, or the verifier, which is the real one.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from benchmarks.landscapes.lines import read
from benchmarks.landscapes.target import Target
from skillopt.protocols import Model, RolloutRequest
from skillopt.rollouts import Reply, Rollout, Status
from skillopt.skills.document import Skill, SkillDocument

_Key = tuple[str, str, int]

_MEMORY: Final = '"memory"'
"""What only a reply holds that repeats edits and offers none."""


class SimulatedRunner:
    """Answers rollouts and prompts at once, and the same again.

    `offered` gives for each rule that a reply held the rollouts and the calls by then, of the last such reply.
    """

    def __init__(self, target: Target, model: Model) -> None:
        self._target = target
        self._model = model
        self._known: dict[_Key, Rollout] = {}
        self._gaps: dict[_Key, Rollout] = {}
        self.asked = 0
        self._rounds = 0
        self._calls = 0
        self.offered: dict[int, tuple[int, int]] = {}

    @property
    def rounds(self) -> int:
        """Count the times that prompts were asked: prompts asked together do not wait for each other."""
        return self._rounds

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run what is not known; answer in the order of the requests."""
        return tuple(self._rollout(request) for request in requests)

    def replies(self, prompts: Iterable[str], schema: str = "", *, review: bool = False) -> tuple[Reply, ...]:  # noqa: ARG002 - none has a reviewer
        """Ask the model; note when it last offered each rule."""
        found = tuple(self._model.reply(prompt, schema=schema) for prompt in prompts)
        self._rounds += bool(found)
        self._calls += len(found)
        rules = frozenset[int]().union(*(read(reply.text).rules for reply in found if _MEMORY not in reply.text))
        self.offered |= dict.fromkeys(rules, (self.asked, self._calls))
        return found

    def tasks_run(self, text: str) -> frozenset[str]:
        """Return the ids of the tasks of which a rollout of this very text has ended."""
        digest = Skill("", SkillDocument(text)).digest
        return frozenset(task for skill, task, _ in self._known if skill == digest)

    def keep_failures(self) -> None:
        """Keep the failures that the loop has gone on without, so that a rerun decides the same."""
        self._known |= self._gaps
        self._gaps.clear()

    def begin_again(self) -> None:
        """Forget the failures that stopped the loop, and count what is asked from the start."""
        self._gaps.clear()
        self.asked = 0

    def _rollout(self, request: RolloutRequest) -> Rollout:
        self.asked += 1
        digest = request.skill.digest if request.skill else ""
        key = (digest, request.task.id, request.repeat)
        found = self._known.get(key) or self._gaps.get(key)
        if found is not None:
            return found
        trajectory = self._target.run(request, "")
        score = None if trajectory.status is Status.INFRA_ERROR else self._target.judge(request, trajectory.answer)
        made = Rollout(request.task.id, digest, request.repeat, trajectory, trajectory.status, score, trajectory.reason)
        (self._gaps if score is None else self._known)[key] = made
        return made
