"""The simulated optimizer model: answers the prompt of every stage with the JSON that it asks for.

Owns which stage gets which reply. A reply depends on the seed and on what the prompt shows, not on
its wording. Does not own what is proposed (proposer), the layout of
prompts (demo_prompts).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.demo.prompts import EditProposal, Prompt, read_prompt, tasks_counted
from benchmarks.landscapes.proposer import Situation, propose, seeded
from benchmarks.landscapes.worlds import World
from skillopt.rollouts import Reply, Usage

_GUIDANCE_LINES: Final = 8
_GUIDANCE_NEW: Final = 2
_MEMORY_LINES: Final = 10


@dataclass(frozen=True, slots=True)
class SimulatedModel:
    """A model whose answers come from a world."""

    world: World
    seed: int

    @property
    def identity(self) -> str:
        """Name the world by its parameters, and the seed."""
        return f"landscape {self.world!r} seed={self.seed}"

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:  # noqa: ARG002 - a simulation costs nothing
        """Bound a call, which costs nothing."""
        return Usage(calls=1)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:  # noqa: ARG002 - read from the prompt
        """Answer a prompt."""
        read = read_prompt(prompt)
        stages: Mapping[str, Callable[[Prompt], Mapping[str, object]]] = {
            "reflect on failures": self._reflect,
            "reflect on successes": _leave,
            "merge proposals": _merge,
            "rank edits": self._rank,
            "write durable guidance": self._guide,
            "write optimizer memory": _remember,
            "probe": lambda _: {"ready": True},
        }
        if read.task not in stages:
            raise ValueError(f"expected a prompt of one of {sorted(stages)}, found {read.task!r}; teach it to replies")
        return Reply(json.dumps(stages[read.task](read)), Usage(calls=1))

    def _propose(self, prompt: Prompt, budget: int) -> tuple[EditProposal, ...]:
        return propose(
            self.world,
            self.seed,
            Situation(tuple(prompt.shown), prompt.skill, prompt.open_lines, prompt.rejected, budget),
        )

    def _reflect(self, prompt: Prompt) -> Mapping[str, object]:
        """Propose edits."""
        return {"diagnosis": "", "edits": [_shown(edit) for edit in self._propose(prompt, prompt.budget)]}

    def _rank(self, prompt: Prompt) -> Mapping[str, object]:
        """Order edits at random, or by the number of tasks they cite."""
        edits = list(prompt.listed)
        seeded(self.seed, "rank", edits).shuffle(edits)
        if self.world.habits.support:
            edits.sort(key=lambda edit: -tasks_counted(edit[1]))
        return {"reasoning": "", "order": [name for name, _ in edits]}

    def _guide(self, prompt: Prompt) -> Mapping[str, object]:
        """Keep the guidance so far and add a few lines for what keeps failing."""
        new = [edit.content for edit in self._propose(prompt, _GUIDANCE_NEW) if edit.op == "add"]
        return {"reasoning": "", "guidance": "\n".join([*prompt.guidance, *new][-_GUIDANCE_LINES:])}


def _leave(_: Prompt) -> Mapping[str, object]:
    """Learn nothing from successes."""
    return {"diagnosis": "", "edits": []}


def _merge(prompt: Prompt) -> Mapping[str, object]:
    """Join edits that are the same; the joined one cites the tasks of all."""
    joined: dict[tuple[str, str, str], EditProposal] = {}
    for edit in prompt.edits:
        key = (edit.op, edit.anchor, edit.content)
        joined[key] = joined[key].citing(edit.tasks) if key in joined else edit
    return {"reasoning": "", "edits": [_shown(_counted(edit)) for edit in joined.values()]}


def _counted(edit: EditProposal) -> EditProposal:
    """Say in the reason how many tasks there are by now."""
    count = len(edit.tasks)
    symptom = edit.rationale.partition(" show")[2].partition(" ")[2]
    return replace(edit, rationale=f"{count} {'tasks show' if count > 1 else 'task shows'} {symptom}")


def _remember(prompt: Prompt) -> Mapping[str, object]:
    half = _MEMORY_LINES // 2
    lines = [f"Accepted: {line}" for line in prompt.accepted][-half:]
    lines += [f"Not kept: {line}" for line in prompt.rejected][-half:]
    return {"reasoning": "", "memory": "\n".join(line[:300] for line in lines)}


def _shown(edit: EditProposal) -> dict[str, object]:
    """Write an edit as the prompt asks for it, without empty parts."""
    parts = {"op": edit.op, "anchor": edit.anchor, "section": edit.section, "content": edit.content}
    kept = {name: part for name, part in parts.items() if part}
    return kept | {"rationale": edit.rationale, "tasks": list(edit.tasks)}
