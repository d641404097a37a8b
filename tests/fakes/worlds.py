"""A tiny world: tasks that pass when the skill says the words they need, and a proposer that reads feedback.

A need is written as `alpha` (the word), `alpha|alias` (either will do) or `alpha+beta` (both together, else nothing).
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random

from skillopt.loop.caps import TrainRollouts
from skillopt.loop.draft import Line
from skillopt.loop.evidence import TrainEvidence
from skillopt.loop.memory import PeoplesRefusal
from skillopt.loop.training_run import TrainingRun
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Stream
from skillopt.settings import make_settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Edit, Op
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored

SKILL = Skill("words", SkillDocument("---\nname: words\ndescription: Words.\n---\n# Words\n\n## Rules\n\n- keep\n"))


@dataclass(frozen=True)
class World:
    """What tasks need, and what does harm."""

    needs: Mapping[str, Sequence[str]]
    harmful: frozenset[str] = frozenset()
    clashing: frozenset[str] = frozenset()
    crashing: frozenset[str] = frozenset()
    first_only: bool = False
    flips: float = 0.0
    dead: frozenset[str] = frozenset()
    refused: Sequence[PeoplesRefusal] = ()
    requests: list[RolloutRequest] = field(default_factory=list)

    def rollout(self, request: RolloutRequest) -> Rollout:
        """Run a task."""
        self.requests.append(request)
        said, name = words_of(request.skill), request.task.id
        if name in self.dead:
            return scored(request, None)
        heard = frozenset() if said & self.harmful else said
        heard -= self.clashing if self.clashing <= said else frozenset()
        unmet = [need for need in self.needs[name] if not _met(need, heard)]
        unmet = ["output"] if said & self.crashing else unmet
        key = f"{request.skill.digest if request.skill else ''}/{name}/{request.repeat}"
        if int(sha256(key.encode()).hexdigest()[:8], 16) / 16**8 < self.flips:
            unmet = [] if unmet else list(self.needs[name]) or ["luck"]
        shown = unmet[:1] if self.first_only else unmet
        return scored(request, float(not unmet), "\n".join(f"missing {need}" for need in shown))

    def evidence(self, skill: Skill = SKILL, seed: int = 0) -> TrainEvidence:
        """Return what is to be seen of all tasks, run in this world."""
        rollouts = TrainRollouts(ScriptedRunner(self.rollout, str), Stream.LEARNING)
        return TrainEvidence(skill, [_task(name) for name in self.needs], Random(seed), rollouts.measure)

    def runner(self, reply: Callable[[str], str]) -> ScriptedRunner:
        """Return a runner of this world, whose optimizer model is a function of the prompt."""
        return ScriptedRunner(self.rollout, reply)

    def training(self, reply: Callable[[str], str], sizes: Sequence[int], **values: object) -> TrainingRun:
        """Return a run of the loop before its first step."""
        settings = make_settings(("test", values))
        return TrainingRun(SKILL, self.suite(sizes), settings, self.runner(reply), refused=self.refused)

    def suite(self, sizes: Sequence[int]) -> Suite:
        """Return the tasks, in order, as `train`, `val` and `test` of so many each."""
        return split_suite(list(self.needs), sizes)


def named(needs: Sequence[Sequence[str]], sizes: Sequence[int]) -> dict[str, Sequence[str]]:
    """Name tasks by their splits; the needs go round in each."""
    names = [(split.value, at) for split, size in zip(Split, sizes, strict=True) for at in range(size)]
    return {f"{split}-{at}": needs[at % len(needs)] for split, at in names}


def split_suite(names: Sequence[str], sizes: Sequence[int]) -> Suite:
    """Cut tasks into `train`, `val` and `test`."""
    splits = [split for split, size in zip(Split, sizes, strict=True) for _ in range(size)]
    return Suite("words", tuple((split, _task(name)) for split, name in zip(splits, names, strict=True)))


def words_of(skill: Skill | None) -> frozenset[str]:
    """Return the words that a skill says, one in a line."""
    return frozenset(re.findall(r"^- (\w+)$", skill.document.body if skill else "", re.MULTILINE))


def missing(*needs: str) -> frozenset[str]:
    """Return the symptoms of a task that lacks something."""
    return frozenset(f"missing {need}" for need in needs)


def add(word: str, *tasks: str) -> Edit:
    """Add a word; the edit has its name."""
    return Edit(word, Op.ADD, section="Rules", content=f"- {word}", tasks=tasks)


def line(word: str, targets: Mapping[str, Iterable[str]], *, packed: bool = False) -> Line:
    """Make a line that says a word and is to mend by task what is missing."""
    return Line(add(word, *targets), {name: missing(*needs) for name, needs in targets.items()}, packed)


def propose_words(prompt: str) -> str:
    """Propose each word that failures in the evidence miss, citing the tasks that miss it."""
    cited: dict[str, list[str]] = {}
    for block in re.split(r"^(?=### )", prompt, flags=re.MULTILINE)[1:]:
        names = re.findall(r"\b(?:train|val)-\d+\b", block)
        for need in re.findall(r"^missing (\S+)$", block, re.MULTILINE):
            for word in re.split(r"[|+]", need)[: 1 if "|" in need else None]:
                cited.setdefault(word, []).extend(name for name in names if name not in cited.get(word, []))
    return reply_with(*(add(word, *tasks) for word, tasks in cited.items()))


def reply_with(*edits: Edit) -> str:
    """Return the reply that proposes edits."""
    return json.dumps({"diagnosis": "words", "edits": [_as_reply(edit) for edit in edits]})


def _as_reply(edit: Edit) -> dict[str, object]:
    given = {"op": edit.op.value, "anchor": edit.anchor, "section": edit.section, "content": edit.content}
    return {key: value for key, value in given.items() if value} | {"tasks": list(edit.tasks)}


def _met(need: str, said: frozenset[str]) -> bool:
    return any(set(words.split("+")) <= said for words in need.split("|"))


def _task(name: str) -> Task:
    return Task(name, f"Do {name}.", VerifierSpec("exact"))
