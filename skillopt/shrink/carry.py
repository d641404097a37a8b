"""Carry learned edits over to a new upstream text: apply them one by one, leave out what it made needless, judge it.

Only what stands in the new upstream word for word is left out at once. What it says in other words is applied, too:
ablation then shows whether it is needed. The old version says whether anything is lost, the new upstream alone whether
the edits still gain something.
"""

from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final, Literal

from skillopt.errors import EditError
from skillopt.gate.comparison import Outcome, Pairs, Verdict, compare_pairs
from skillopt.gate.grades import Against, Grading
from skillopt.gate.headline import compared_words
from skillopt.gate.non_inferior import LOSS_ERROR, Look, Loss
from skillopt.loop import events
from skillopt.loop.draft import Draft, Line
from skillopt.loop.evidence import TrainEvidence
from skillopt.protocols import RolloutRequest, Runner
from skillopt.settings import GateRule, Settings
from skillopt.shrink.search import Search
from skillopt.shrink.shrinking import Shortening, Shrinking
from skillopt.shrink.units import Unit
from skillopt.skills.addresses import LIST_ITEM
from skillopt.skills.document import Block, Skill, SkillDocument
from skillopt.skills.edits import Change, Edit, Op, apply_edits, blocks_of
from skillopt.suites.near_copies import is_near_copy, word_digests
from skillopt.tasks import Task

_LONGEST_QUOTE: Final = 80
_MARGIN: Final = 0.10
"""Least margin against the old version, as where a draft builds on a proven one: noise hides a smaller one."""


CarriedAs = Literal["applied", "already there", "anchor gone", "kept", "not needed"]
"""What became of an edit; one that was applied is kept or not needed after ablation."""


@dataclass(frozen=True, slots=True)
class Carried:
    """An edit as it is applied to the new upstream, the commit that brought it, what became of it, and why.

    `alike` is a line of the new upstream that shares most of its words.
    """

    edit: Edit
    commit: str
    fate: CarriedAs
    reason: str = ""
    alike: str = ""


def carry_edits(
    learned: Sequence[tuple[Edit, str]], base: SkillDocument, old: SkillDocument, upstream: SkillDocument
) -> tuple[Carried, ...]:
    """Apply edits, each with its commit, to a new upstream text; they were learned on `base` and stand in `old`."""
    document, found = upstream, list[Carried]()
    for number, (learned_edit, commit) in enumerate(learned, 1):
        edit = replace(learned_edit, id=f"e{number}")
        alike = _alike(edit, base, upstream.blocks)
        there = _is_there(edit, upstream, alike)
        fate: CarriedAs = "already there" if there else "anchor gone"
        reason = "word for word" if there else ""
        for way in () if there else (edit, *_elsewhere(edit, old)):
            try:
                document = apply_edits(document, [way]).document
            except EditError as error:
                reason = reason or str(error).removeprefix(f"edit {edit.id!r}: ")
                continue
            reason = "" if way is edit else "at the end of its section, for its anchor is gone"
            edit, fate = way, "applied"
            break
        found.append(Carried(edit, commit, fate, reason, alike))
    return tuple(found)


def _is_there(edit: Edit, upstream: SkillDocument, alike: str) -> bool:
    """Return whether upstream has all lines of an edit, but for their list markers, or lacks what it deletes."""
    if edit.op is Op.DELETE:
        return edit.anchor.strip("\n") not in upstream.text and not alike
    lines = {_plain(block.text) for block in upstream.blocks}
    return all(_plain(block) in lines for block in blocks_of(edit.content))


def _plain(text: str) -> str:
    marker = LIST_ITEM.match(text)
    return " ".join(text[marker.end() if marker else 0 :].split())


def _alike(edit: Edit, base: SkillDocument, blocks: Collection[Block]) -> str:
    """Return a line that upstream has brought and that shares most words with an edit; empty for none."""
    own = [word_digests(one) for one in blocks_of(edit.content or edit.anchor)]
    replaced = edit.anchor.strip("\n") if edit.op is Op.REPLACE else ""
    new = (one.text for one in blocks if one.text not in base.text and not (replaced and replaced in one.text))
    return " ".join(next((text for text in new if is_near_copy(text, own)), "").split())[:_LONGEST_QUOTE]


def _elsewhere(edit: Edit, old: SkillDocument) -> Iterator[Edit]:
    """Yield whole lines of an edit for the end of the section that they stand in, where their anchor is gone."""
    at = old.text.find(edit.content.strip("\n")) if edit.op in (Op.ADD, Op.REPLACE) else -1
    whole = any(block.start == at for block in old.blocks)
    if inside := [section.title for section in old.sections if whole and section.start <= at]:
        yield replace(edit, op=Op.ADD, anchor="", section=inside[-1])


class Reapplying(Shrinking):
    """The run that ablates edits that were applied to a new upstream, and compares the rest with two texts."""

    kind, start, texts, against = "update", "the new upstream with what was learned", 3, Against.OLD
    lost: tuple[str, ...] = ()
    """What people changed and the text lacks, so that it stays a draft."""

    def __init__(
        self,
        old: Skill,
        upstream: Skill,
        carried: Sequence[Carried],
        tasks: Sequence[Task],
        runner: Runner,
        settings: Settings,
    ) -> None:
        super().__init__(old, tasks, settings, runner, Shortening())
        self.upstream, self.carried, self.draft = upstream, tuple(carried), Draft(upstream)
        self.draft.set([Line(one.edit) for one in carried if one.fate == "applied"])
        shown = enumerate(line.edit.content or line.edit.anchor for line in self.draft.lines)
        units = tuple(Unit("", text, at, at, at, "", ("", -1)) for at, text in shown)
        self.search = Search(TrainEvidence(self.draft.skill, tasks, Random("update")), units, self._without)

    def run(self) -> Generator[events.Event, None, tuple[str, int]]:
        """Return why it ended, and how many versions were accepted."""
        left_out = (one for one in self.carried if one.fate != "applied")
        yield from (events.EditRefused(1, one.edit, f"{one.fate}: {one.reason}") for one in left_out)
        return (yield from super().run())

    def _looks(self) -> tuple[Look, ...]:
        planned = super()._looks()[:1]
        return tuple(replace(one, margin=max(_MARGIN, one.margin), error=LOSS_ERROR) for one in planned)

    def _without(self, out: Sequence[Unit]) -> Skill:
        return self.draft.without([self.draft.lines[unit.start] for unit in out])[0]

    def _short(self) -> tuple[Skill, tuple[Change, ...]]:
        return self.draft.without([self.draft.lines[unit.start] for unit in self._gone()])

    @property
    def unexercised(self) -> list[Unit]:
        """List the idle edits of which no task that they cite can tell anything."""
        telling = set(self.telling)
        return [one for one in self.search.idle if not telling & set(self.draft.lines[one.start].edit.tasks)]

    def _judge(self, short: Skill, look: Look, number: int) -> tuple[Pairs, Verdict, Loss]:
        pairs, verdict, loss = super()._judge(short, look, number)
        reason = f"old version → this text: {compared_words(verdict)}, {verdict.reason}"
        sound = loss.shown and not self.lost
        if short.digest != self.upstream.digest:
            tasks = {task.id: task for task in self.tasks}
            wanted = [RolloutRequest(self.upstream, tasks[one.task_id], one.repeat) for one in pairs.after]
            alone = Pairs(list(self.runner.rollouts(wanted)), pairs.after)
            gained = compare_pairs(alone, self.settings, GateRule.PAIRED, "verdict")
            reason += f"; new upstream → this text: {compared_words(gained)}, {gained.reason}"
            sound = sound and gained.outcome is Outcome.ACCEPT
        reason += "; what people changed is not carried over" if self.lost else ""
        return pairs, replace(verdict, outcome=Outcome.ACCEPT if sound else Outcome.INCONCLUSIVE, reason=reason), loss

    def _told(self) -> Iterator[events.Event]:
        """Tell what became of each edit that was applied, and note it."""
        unexercised, known = set(self.unexercised), {one.edit.id: one for one in self.carried}
        for unit, line in zip(self.search.units, self.draft.lines, strict=True):
            one, tasks = known[line.edit.id], tuple(self.search.needed.get(unit, ()))
            stays = bool(tasks) or unit in unexercised
            fate: CarriedAs = "kept" if stays else "already there" if one.alike else "not needed"
            why = f"in other words: {one.alike}" if one.alike else "its tasks pass without it"
            if stays:
                why = f"needed by {', '.join(tasks)}" if tasks else "no task that it cites can tell"
            known[line.edit.id] = replace(one, fate=fate, reason=why)
            yield events.EditScreened(1, one.edit, len(tasks), 0, 0, stays, f"{fate}: {why}")
        self.carried = tuple(known.values())

    def _hand_over(
        self, short: Skill, changes: tuple[Change, ...], verdict: Verdict, grading: Grading
    ) -> Generator[events.Event, None, tuple[str, int]]:
        return (yield from super()._hand_over(short, changes, verdict, replace(grading, reason=verdict.reason)))
