"""What the simulated optimizer model proposes, and how it errs.

Owns the draw from failing tasks to edits: the rule that a task needs, or a line that is useless or
harmful, or a deletion. It knows what it is shown and nothing else. Does not own prompts (replies).
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from random import Random
from typing import Final

from benchmarks.demo.prompts import EditProposal
from benchmarks.landscapes.lines import (
    BREAKING,
    PLAIN,
    SECTION,
    TEMPTING,
    block_line,
    harm_line,
    idle_line,
    is_doubtful,
    memo_line,
    read,
    rule_line,
)
from benchmarks.landscapes.worlds import World

_SYMPTOM = re.compile(r"\bsymptom S(\d\d)\b")
_UNCLEAR: Final = -1
"""The symptom of a task that shows none."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a prompt shows."""

    failing: tuple[tuple[str, str], ...]
    text: str
    lines: tuple[str, ...]
    rejected: tuple[str, ...]
    budget: int


def seeded(seed: int, *parts: object) -> Random:
    """Make draws that depend on the seed and on the parts alone."""
    source = "\x1f".join(map(repr, (seed, *parts))).encode("utf-8", "surrogatepass")
    return Random(int.from_bytes(blake2b(source, digest_size=8).digest()))


@dataclass(slots=True)
class _Draft:
    """Edits so far, and what they must not repeat."""

    world: World
    shown: Situation
    draw: Random
    edits: list[EditProposal] = field(default_factory=list)

    def add(self, line: str, tasks: tuple[str, ...], why: str, instead: str = "") -> None:
        """Propose a new line, maybe instead of another, unless it is there, or was rejected and is heeded."""
        tried = any(line in rejected for rejected in self.shown.rejected)
        if line in self.shown.text or any(line in edit.content for edit in self.edits):
            return
        if not (tried and self.draw.random() < self.world.habits.heed):
            place = {"op": "replace", "anchor": instead} if instead else {"op": "add", "section": SECTION}
            self.edits.append(EditProposal(**place, content=f"- {line}", rationale=why, tasks=tasks))

    def delete(self, lines: Sequence[str], tasks: tuple[str, ...], why: str) -> None:
        """Propose to delete one of some lines, if any is left."""
        left = [line for line in lines if all(line != edit.anchor for edit in self.edits)]
        if left:
            self.edits.append(EditProposal("delete", anchor=self.draw.choice(left), rationale=why, tasks=tasks))


def propose(world: World, seed: int, shown: Situation) -> tuple[EditProposal, ...]:
    """Propose edits for failing tasks, each citing the tasks it comes of."""
    causes = _causes(shown.failing)
    draw = seeded(seed, "propose", shown.text, sorted(causes.items()), shown.budget, shown.rejected)
    order = list(causes)
    draw.shuffle(order)
    if world.habits.support:
        order.sort(key=lambda symptom: -len(causes[symptom]))
    draft = _Draft(world, shown, draw)
    for symptom in order:
        if len(draft.edits) >= shown.budget * world.habits.pack:
            break
        _answer(draft, symptom, tuple(causes[symptom]))
    if world.habits.beside and order and len(draft.edits) < shown.budget:
        symptom = draw.choice(order)
        draft.add(idle_line(0), tuple(causes[symptom]), f"Beside {_name(symptom)}.")
    return _packed(draft.edits, world.habits.pack)


def _packed(edits: Sequence[EditProposal], size: int) -> tuple[EditProposal, ...]:
    """Make one edit of several that add lines; what it cites is what they cite together."""
    if size == 1:
        return tuple(edits)
    added = [edit for edit in edits if edit.op == "add"]
    packs = [added[start : start + size] for start in range(0, len(added), size)]
    made = [
        replace(
            pack[0].citing(tuple(task for edit in pack[1:] for task in edit.tasks)),
            content="\n".join(edit.content for edit in pack),
            rationale=" ".join(edit.rationale for edit in pack),
        )
        for pack in packs
    ]
    return (*made, *(edit for edit in edits if edit.op != "add"))


def _causes(failing: Sequence[tuple[str, str]]) -> dict[int, list[str]]:
    """Group tasks by the symptoms they show."""
    causes: dict[int, list[str]] = defaultdict(list)
    for task, text in failing:
        for symptom in sorted({int(found) for found in _SYMPTOM.findall(text)}) or [_UNCLEAR]:
            causes[symptom].append(task)
    return dict(causes)


def _answer(draft: _Draft, symptom: int, tasks: tuple[str, ...]) -> None:
    """Propose at most one edit about a symptom."""
    world, draw, shown = draft.world, draft.draw, draft.shown
    habits = world.habits
    why = f"{len(tasks)} {'tasks show' if len(tasks) > 1 else 'task shows'} {_name(symptom)}."
    bullets = [line for line in shown.lines if line.startswith("- ")]
    if draw.random() < habits.delete:
        draft.delete(bullets, tasks, why)
        return
    right = "" if symptom == _UNCLEAR else _right_line(world, draw, symptom, shown.text)
    clear = bool(right) and right not in shown.text
    if not clear and not habits.guess:
        if draw.random() < habits.blame:
            draft.delete([line for line in bullets if is_doubtful(line)], tasks, why)
        return
    line = right if clear and draw.random() >= habits.wrong else _wrong_line(world, draw)
    if habits.memorise and draw.random() < habits.memorise:
        line = memo_line(draw.choice(tasks))
    if habits.carry and line == right and draw.random() < habits.carry:
        line = f"{line}\n- {harm_line(draw.randrange(habits.choices))}"
    spoiler = f"- {block_line(symptom)}"
    instead = spoiler in bullets and habits.replace > 0 and draw.random() < habits.replace
    draft.add(line, tasks, why, spoiler if instead else "")


def _right_line(world: World, draw: Random, symptom: int, text: str) -> str:
    """Word the rule of a symptom; in a cell one of two, the other where one is there."""
    wording, cell = draw.randrange(world.wordings), next((pair for pair in world.pairs if symptom in pair), (symptom,))
    if world.cells and len(cell) > 1:
        symptom = draw.choice([rule for rule in cell if rule not in read(text).rules] or cell)
    if world.contexts:
        symptom %= world.rules // 2
    special = BREAKING if world.rare else PLAIN if world.contexts else TEMPTING
    if world.habits.tempt and draw.random() < world.habits.tempt:
        wording = special
    return rule_line(symptom, wording)


def _wrong_line(world: World, draw: Random) -> str:
    harmful, number = draw.random() < world.habits.harmful, draw.randrange(world.habits.choices)
    if not harmful:
        return idle_line(number)
    return block_line(draw.randrange(world.rules)) if world.harm is None else harm_line(number)


def _name(symptom: int) -> str:
    return "no clear symptom" if symptom == _UNCLEAR else f"symptom S{symptom:02d}"
