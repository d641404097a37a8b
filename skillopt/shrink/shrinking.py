"""Shorten a skill: find the units that tasks need, leave out the rest, and show that the short text loses nothing.

The search chose the short text by these tasks, so the verdict runs both texts afresh, in a stream of repeats of its
own. A second look follows only on what the first one showed to be broken, and has its share of the error.
"""

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from random import Random
from typing import Final

from skillopt.errors import EditError, UsageError
from skillopt.gate.comparison import Pairs, compare, expect_measured
from skillopt.gate.decide import LOSS_ERRORS, Terms, Verdict, rule_out_loss
from skillopt.gate.families import find_families
from skillopt.gate.grades import Against
from skillopt.loop import events
from skillopt.loop.caps import BudgetReached, CappedRunner, TrainRollouts
from skillopt.loop.draft import find_held
from skillopt.loop.evidence import TrainEvidence
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Stream
from skillopt.safety.text_classes import LintClass
from skillopt.settings import Settings
from skillopt.shrink.search import Search, confirm, find_needed, measure_start, search_together
from skillopt.shrink.units import Unit, deletions, find_units, without_units
from skillopt.skills.document import Skill, estimate_tokens
from skillopt.skills.edits import Change, apply_edits
from skillopt.tasks import Split, Suite, Task

SHRINK: Final = "shrink"
"""Kind of the events of a shortened text."""

UNEXERCISED: Final = "unexercised: no task can tell whether it is needed"
"""Reason of a unit that stays though no task needs it."""

_GONE: Final = "no task fails without it"
"""Reason of a unit that goes."""

_AT_A_TIME: Final = 3
"""Tasks that search side by side: more of them find the same units again and again."""

_NOISY_REPEATS: Final = 2
"""Repeats of each task in the verdict where outcomes vary: with 24 tasks a third one shows 2 to 4% more."""


def shrink_tasks(suite: Suite) -> tuple[Task, ...]:
    """Return the tasks that decide: all but the held-out ones."""
    found = {task.id: task for split in (Split.TRAIN, Split.VAL) for task in suite.tasks(split)}
    return tuple(found.values())


def expect_shrinkable(skill: Skill, suite: Suite, settings: Settings) -> None:
    """Refuse a skill without units, a suite without tasks, and a cap that is too small for a verdict.

    Raises:
        UsageError: One of these; nothing was spent.
    """
    if not find_units(skill.document):
        raise UsageError(f"{skill.name}: expected lines or paragraphs below the frontmatter, found none to leave out")
    tasks, cap = len(shrink_tasks(suite)), settings.max_rollouts
    if not tasks:
        raise UsageError(f"suite {suite.name!r}: expected tasks that are not held out, found none; add some")
    least = (2 + _TEXTS) * tasks
    if cap is not None and cap < least:
        raise UsageError(
            f"expected max_rollouts of at least {least} to {SHRINK} with {tasks} tasks (once each for the first text, "
            f"the search, and both texts of the verdict), found {cap}; raise it"
        )


def shrink(
    skill: Skill, suite: Suite, settings: Settings, runner: Runner, *, drop_unexercised: bool = False
) -> Iterator[events.Event]:
    """Shorten a skill by deletions as events, the search capped so that the rollouts of the verdict are left.

    Units of which no task can tell whether they are needed go with `drop_unexercised`.

    Raises:
        UsageError: As in `expect_shrinkable`.
    """
    expect_shrinkable(skill, suite, settings)
    run = _Shrinking(skill, shrink_tasks(suite), settings, runner, drop=drop_unexercised)
    yield events.RunStarted(skill.name, skill.digest, suite.name, suite.digest, 0)
    try:
        reason, accepted = yield from run.run()
        reached = False
    except BudgetReached as end:
        reason, accepted, reached = str(end), 0, True
    yield events.RunEnded(reason, accepted, run.runner.rollouts_asked, run.runner.calls_asked, capped=reached)


_TEXTS: Final = 2
"""Texts that the verdict compares."""


class _Shrinking:
    """One run, on `tasks` that search and verdict run."""

    def __init__(self, skill: Skill, tasks: Sequence[Task], settings: Settings, runner: Runner, *, drop: bool) -> None:
        self.skill, self.tasks, self.settings, self.drop = skill, tasks, settings, drop
        self.runner = CappedRunner(runner, settings, 0, _TEXTS * len(tasks))
        draw = Random(f"{settings.seed}/shrink")
        evidence = TrainEvidence(skill, tasks, draw, TrainRollouts(self.runner, Stream.LEARNING).measure)
        self.search = Search(evidence, find_units(skill.document), self._without)
        self.order = draw.sample(list(tasks), len(tasks))
        self.names = tuple(task.id for task in self.order)
        self._built: dict[tuple[tuple[str, int], ...], Skill] = {}

    def run(self) -> Generator[events.Event, None, tuple[str, int]]:
        """Return why it ended, and how many versions were accepted."""
        search = self.search
        measure_start(search)
        telling = self.telling
        if not telling:
            return f"all {len(self.tasks)} tasks fail under the old text, so nothing can be shown to be lost", 0
        self._find(telling)
        for number in range(len(LOSS_ERRORS)):
            short, changes = self._short()
            if short.digest == self.skill.digest:
                yield from self._told()
                return "no unit can go: tasks need each of them, or none can tell", 0
            verdict = self._judge(short, number)
            broken = [name for name in telling if name in verdict.broken]
            over = verdict.accepted or number + 1 == len(LOSS_ERRORS)
            if over or not self._put_back(broken, short):
                break
        yield from self._told()
        return (yield from self._hand_over(short, changes, verdict))

    @property
    def telling(self) -> list[str]:
        """List the tasks that pass at the start, so that what one of them needs can be told."""
        return [one.id for one in self.order if one.id not in self.search.failing and one.id in self.search.passed]

    @property
    def noisy(self) -> bool:
        """Whether some text and task came out both ways, or scores are partial."""
        asked = [*self.search.passed.values(), *(one.passed for one in self.search.questions.values())]
        return self.search.partial or any(len(set(one)) > 1 for one in asked)

    def _find(self, names: Sequence[str]) -> None:
        failing = -1
        while failing < len(self.search.failing):  # again when a task is forgotten, whose units the others never missed
            failing = len(self.search.failing)
            left = [name for name in names if name not in self.search.failing]
            for at in range(0, len(left), _AT_A_TIME):
                search_together(self.search, [find_needed(self.search, name) for name in left[at : at + _AT_A_TIME]])
        alone = Counter(unit.heading for unit in self.search.needed)
        for unit in [] if self.drop else list(self.search.needed):
            if alone[unit.heading] == 1 and unit.heading not in self._general:
                search_together(self.search, [confirm(self.search, unit)])

    @property
    def _general(self) -> frozenset[tuple[str, int]]:
        """Name the first heading of the first file, and what stands above it: their text is about all sections."""
        path, first = self.skill.document.parts[0].path, self.skill.document.file()
        return frozenset((path, at) for at in (-1, *(section.start for section in first.sections[:1])))

    def _put_back(self, broken: Sequence[str], short: Skill) -> bool:
        """Search again what broken tasks need, from new runs; return whether the text is another one then."""
        self.runner.release(_TEXTS * len(self.tasks))
        for name in broken:
            for key in [key for key in self.search.questions if key[1] == name]:
                del self.search.questions[key]
        try:
            search_together(self.search, [find_needed(self.search, name) for name in broken])
        except BudgetReached:
            return False
        after, _ = self._short()
        return after.digest != short.digest and self.runner.left >= _TEXTS * len(self.tasks)

    def _without(self, out: Sequence[Unit]) -> Skill:
        key = tuple(sorted((unit.file, unit.start) for unit in out))
        if key not in self._built:
            self._built[key] = self.skill.with_document(without_units(self.skill.document, out))
        return self._built[key]

    @property
    def unexercised(self) -> list[Unit]:
        """List the idle units of sections that no task needs anything of."""
        needed = {unit.heading for unit in self.search.needed}
        if not needed:
            return self.search.idle
        return [unit for unit in self.search.idle if unit.heading not in needed | self._general]

    def _short(self) -> tuple[Skill, tuple[Change, ...]]:
        """Return the short text and the edits that it takes."""
        kept = set() if self.drop else set(self.unexercised)
        gone = [unit for unit in self.search.idle if unit not in kept]
        short = self._without(gone)
        edits = deletions(self.skill.document, gone, f"{_GONE[0].upper()}{_GONE[1:]}.")
        try:
            return short, apply_edits(self.skill.document, edits).changes
        except EditError as error:
            raise UsageError(
                f"{self.skill.name}: the text cannot be cut without breaking its structure: {error}"
            ) from error

    def _judge(self, short: Skill, number: int) -> Verdict:
        """Run both texts afresh, and ask whether less than a margin is lost."""
        self.runner.release()
        affordable = max(1, self.runner.left // (_TEXTS * len(self.tasks)))
        repeats = min(_NOISY_REPEATS if self.noisy else 1, affordable)
        first = number * _NOISY_REPEATS
        wanted = [(task, Stream.SHRINK.repeat(first + one)) for one in range(repeats) for task in self.order]
        requests = [RolloutRequest(one, task, repeat) for one in (self.skill, short) for task, repeat in wanted]
        pairs, settings = Pairs.halves(self.runner.rollouts(requests)), self.settings
        expect_measured("verdict", pairs, settings.coverage)
        found = compare(pairs, settings.metric, settings.coverage, families=find_families(self.tasks))
        return rule_out_loss(found, LOSS_ERRORS[number], Terms(against=Against.LONGER))[0]

    def _told(self) -> Iterator[events.Event]:
        """Tell of each unit whether it stays, why, and which tasks need it."""
        unexercised = set() if self.drop else set(self.unexercised)
        for unit in self.search.units:
            tasks = tuple(self.search.needed.get(unit, ()))
            kept = unit in unexercised or bool(tasks)
            reason = "a task fails or does worse without it" if tasks else UNEXERCISED if kept else _GONE
            yield events.TextScreened(unit.line, unit.text, unit.tokens, kept, reason=reason, tasks=tasks)

    def _hand_over(
        self, short: Skill, changes: tuple[Change, ...], verdict: Verdict
    ) -> Generator[events.Event, None, tuple[str, int]]:
        asked, text = self.runner.rollouts_asked, short.text
        old, new = estimate_tokens(self.skill.text), estimate_tokens(text)
        accepted = verdict.accepted
        held_back = find_held(self.skill.text, text, self.settings) if accepted else ()
        marks = [one for one in held_back if one.kind is not LintClass.REMOVED_RULE]  # to delete is what was asked
        yield events.GateDecided(1, SHRINK, changes, verdict, text, rollouts=asked, folded=True)
        if accepted and not marks:
            yield events.VersionAccepted(
                1, 1, 1, SHRINK, text=text, changes=changes, verdict=verdict, rollouts=asked, grading=verdict.grading
            )
        else:
            yield events.DraftGraded(text, changes, verdict.grading, self.skill.digest, asked)
        held = f"; a person must look at it first: {'; '.join(map(str, marks))}" if marks else ""
        return f"{old} → {new} tokens: {verdict.reason}{held}", int(accepted and not marks)
