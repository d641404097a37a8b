"""Loops of a few lines that prove nothing and learn from train and val alike: one shot, rounds and lean."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Final

from benchmarks.peers.arena import BudgetSpentError, Outcome, SimulatedArena, failures

ONE_SHOT: Final = "one shot"
ROUNDS: Final = "rounds"
LEAN: Final = "lean"

_EDITS = 40
_Seen = dict[str, Outcome]


def one_shot(arena: SimulatedArena) -> None:
    """Run every task once, ask once with all failures, and take the text as it is."""
    if failing := failures(arena.run(arena.start, [*arena.train, *arena.val])):
        arena.returns(arena.propose(arena.start, failing, _EDITS))


def rounds(arena: SimulatedArena) -> None:
    """Repeat one shot; a text is kept where it scores higher on all tasks, without the lines that broke some."""
    text = arena.start
    seen = _run(arena, text, [*arena.train, *arena.val])
    for _ in range(4):
        failing = failures(list(seen.values()))
        if not failing:
            return
        patched = arena.propose(text, failing, _EDITS)
        if len(seen) > arena.left and text == arena.start:
            arena.returns(patched)
            return
        patched, after = _without_harm(arena, text, patched, seen)
        if _mean(after) > _mean(seen):
            text, seen = patched, after
            arena.returns(text)


def _without_harm(arena: SimulatedArena, old: str, new: str, before: _Seen) -> tuple[str, _Seen]:
    """Run a text on all tasks; leave out the half, quarter and so on of its lines without which broken tasks pass."""
    after = _run(arena, new, list(before))
    while broken := [name for name in after if before[name].score >= 1 > after[name].score]:
        found = _bisect(arena, new, _added(old, new), broken[:3])
        shorter = _drop(new, found)
        if shorter == old or len(after) > arena.left:
            break
        again = _run(arena, shorter, list(after))
        if _mean(again) <= _mean(after):
            break
        new, after = shorter, again
    return new, after


def _bisect(arena: SimulatedArena, text: str, suspects: Sequence[str], probe: Sequence[str]) -> Sequence[str]:
    """Halve suspects by whether most of some tasks pass without a half."""
    while len(suspects) > 1 and len(probe) <= arena.left:
        half = suspects[: len(suspects) // 2]
        passed = sum(one.score >= 1 for one in arena.run(_drop(text, half), probe))
        suspects = half if passed * 2 >= len(probe) else suspects[len(half) :]
    return suspects


class _Lean:
    """Learn from all failures, check on passing tasks what breaks, leave each new line out once or twice."""

    def __init__(self, arena: SimulatedArena) -> None:
        self.arena, self.draw = arena, Random(arena.seed)
        self.best, self.bad = arena.start, set[str]()
        self.cited: Mapping[str, tuple[str, ...]] = {}
        self.seen: _Seen = {}

    def train(self) -> None:
        """Take patches until three in a row bring nothing."""
        arena, idle = self.arena, 0
        self.seen = _run(arena, arena.start, [*arena.train, *arena.val])
        while idle < 3 and (failing := failures(list(self.seen.values()))) and arena.left:  # noqa: PLR2004 - as is
            text = _drop(arena.propose(self.best, failing, _EDITS), self.bad - set(self.best.split("\n")))
            self.cited = arena.cited
            idle = 0 if text != self.best and self._take(text, [one.task for one in failing]) else idle + 1

    def _take(self, text: str, names: list[str]) -> bool:
        """Test, check and prune a patch; return whether it was taken."""
        arena = self.arena
        if len(names) > arena.left:
            names = self.draw.sample(names, arena.left)
        after = _run(arena, text, names)
        text, gained = self._mend(text, after)
        if not gained:
            return False
        passing = [name for name, one in self.seen.items() if one.score >= 1]
        sample = self.draw.sample(passing, min(len(passing), max(6, arena.left // 3), arena.left))
        beside = _run(arena, text, sample)
        text = self._without_harm(text, beside, after, gained)
        broken = sum(one.score < 1 for one in beside.values())
        if broken < max(1, len(gained)):
            arena.returns(text)
        text = self._prune(text, after)
        if text == self.best or self._gained(after) <= broken:
            return False
        self.best = text
        self.seen |= beside | after
        arena.returns(text)
        return True

    def _gained(self, after: _Seen) -> int:
        return sum(one.score > self.seen[name].score for name, one in after.items())

    def _cites(self, line: str, names: Iterable[str]) -> bool:
        return bool(set(self.cited.get(line, ())) & set(names))

    def _mend(self, text: str, after: _Seen) -> tuple[str, list[str]]:
        """Drop lines that moved nothing; where most tasks did not move, try on some the lines that cite them alone."""
        arena, added = self.arena, _added(self.best, text)
        gained = [name for name, one in after.items() if one.score > self.seen[name].score]
        lost = sum(one.score < self.seen[name].score for name, one in after.items())
        if gained:
            text = _drop(text, [line for line in added if line in self.cited and not self._cites(line, gained)])
        if len(gained) > lost and len(gained) >= 0.4 * len(after):
            return text, gained
        kept = [line for line in added if self._cites(line, gained)] if len(gained) > lost else []
        for name in [name for name in after if name not in gained][:6]:
            mine = [line for line in self.cited if name in self.cited[line] and line not in self.bad]
            if mine and arena.left:
                (alone,) = arena.run(_append(_drop(text, added), mine), [name])
                if alone.score > self.seen[name].score:
                    kept += mine
                    after[name] = alone
        text = _append(_drop(text, added), list(dict.fromkeys(kept)))
        return text, [name for name, one in after.items() if one.score > self.seen[name].score] if kept else []

    def _without_harm(self, text: str, beside: _Seen, after: _Seen, gained: Sequence[str]) -> str:
        """Take out lines without which passing tasks that broke pass again."""
        arena = self.arena
        for _ in range(3):
            broken = [name for name, one in beside.items() if one.score < 1]
            if broken and len(broken) <= arena.left:
                beside |= {name: one for name, one in _run(arena, text, broken).items() if one.score >= 1}
                broken = [name for name in broken if beside[name].score < 1]
            added = _added(self.best, text)
            if not broken or not added:
                break
            suspects = _bisect(arena, text, added, broken[:2])
            mended = [name for name in gained if self._cites(suspects[0], [name])][:3]
            check = list(dict.fromkeys([*broken, *mended]))
            if arena.left < len(check):
                break
            got = _run(arena, _drop(text, suspects), check)
            better = sum(got[name].score > beside[name].score for name in broken)
            if better <= sum(got[name].score < after[name].score for name in mended):
                break
            text = _drop(text, suspects)
            self.bad.update(suspects)
            beside |= {name: got[name] for name in broken}
            after |= {name: got[name] for name in mended}
        return text

    def _prune(self, text: str, after: _Seen) -> str:
        """Leave each new line out on tasks that it mended, up to three times; what most of these pass without goes."""
        arena, added = self.arena, _added(self.best, text)
        for line in self.draw.sample(added, len(added)):
            probe = [name for name, one in after.items() if self._cites(line, [name]) and self._moved(name, one)]
            self.draw.shuffle(probe)
            evidence = 0
            for name in (probe * 3)[:3]:
                if arena.left and abs(evidence) <= 1 and evidence < 1:
                    (without,) = arena.run(_drop(text, [line]), [name])
                    evidence += 1 if without.score < after[name].score else -1
            if evidence < 0:
                text = _drop(text, [line])
                self.bad.add(line)
        return text

    def _moved(self, name: str, one: Outcome) -> bool:
        return one.score > self.seen[name].score


def _run(arena: SimulatedArena, text: str, names: Sequence[str]) -> _Seen:
    return {outcome.task: outcome for outcome in arena.run(text, names)}


def _mean(seen: _Seen) -> float:
    return fmean(one.score for one in seen.values())


def _added(old: str, new: str) -> list[str]:
    known = set(old.split("\n"))
    return [line for line in new.split("\n") if line not in known]


def _drop(text: str, lines: Iterable[str]) -> str:
    gone = set(lines)
    return "\n".join(line for line in text.split("\n") if line not in gone)


def _append(text: str, lines: Sequence[str]) -> str:
    known = text.split("\n")
    return "".join([text.rstrip("\n"), *(f"\n{line}" for line in lines if line not in known), "\n"])


def lean(arena: SimulatedArena) -> None:
    """Learn, check and prune, patch by patch."""
    try:
        _Lean(arena).train()
    except BudgetSpentError:
        return


SMALL_LOOPS: Final[Mapping[str, Callable[[SimulatedArena], None]]] = {ONE_SHOT: one_shot, ROUNDS: rounds, LEAN: lean}
"""By name."""
