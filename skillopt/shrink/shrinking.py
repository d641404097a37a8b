"""Shorten a skill: find the units that tasks need, leave out the rest, and show that the short text loses nothing.

The search chose the short text by these tasks, so the verdict runs both texts afresh, in a stream of repeats of its
own. A second look follows only on what the first one showed to be broken, and has its share of the error.
"""

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from skillopt.errors import EditError, UsageError
from skillopt.gate.comparison import Outcome, Pairs, Verdict, compare_pairs, task_gains
from skillopt.gate.grades import Against, Grade, Grading, grade_words
from skillopt.gate.mean_bet import gain_limits
from skillopt.gate.non_inferior import LOSS_ERROR, Look, Loss, judge_loss, plan_looks
from skillopt.loop import events
from skillopt.loop.caps import BudgetReached, CappedRunner, TrainRollouts
from skillopt.loop.course import Answerer, go
from skillopt.loop.draft import find_held
from skillopt.loop.evidence import TrainEvidence
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Stream
from skillopt.settings import GateRule, Settings
from skillopt.shrink.search import Search, confirm, find_needed, measure_start
from skillopt.shrink.units import Unit, deletions, find_units, plain_words, without_units
from skillopt.skills.document import Skill, estimate_tokens
from skillopt.skills.edits import Change, Edit, Op, apply_edits
from skillopt.tasks import Split, Suite, Task

__all__ = ["SHRINK", "UNEXERCISED", "Shrinking", "least_for_shrinking", "shrink", "shrink_tasks"]

SHRINK: Final = "shrink"
"""Kind of the events of a shortened text."""

UNEXERCISED: Final = "unexercised: no task can tell whether it is needed"
"""Reason of a unit that stays though no task needs it."""

_AT_A_TIME: Final = 3
"""Tasks that search side by side: more of them find the same units again and again."""

_NOISY_REPEATS: Final = 2
"""Repeats of each task in the verdict where outcomes vary: with 24 tasks a third one shows 2 to 4% more."""


def shrink_tasks(suite: Suite) -> tuple[Task, ...]:
    """Return the tasks that decide: all but the held-out ones."""
    found = {task.id: task for split in (Split.TRAIN, Split.VAL) for task in suite.tasks(split)}
    return tuple(found.values())


def least_for_shrinking(tasks: int, texts: int = 2) -> int:
    """Return the smallest cap under which anything can be shown: the start, one run without a group, the verdict."""
    return (2 + texts) * tasks


def shrink(
    skill: Skill, suite: Suite, settings: Settings, runner: Runner, *, drop_unexercised: bool = False
) -> Iterator[events.Event]:
    """Shorten a skill as events, the search capped so that the rollouts of the verdict are left.

    Raises:
        UsageError: The cap is too small for a verdict; nothing was spent.
    """
    return Shrinking(skill, shrink_tasks(suite), settings, runner, drop=drop_unexercised).as_events(suite)


_Told = Generator[events.Event, None, None]


class Shrinking:
    """One run: `texts` are compared by its verdict, on `tasks` that search and verdict run."""

    kind, start, texts, against = SHRINK, "the old text", 2, Against.LONGER

    def __init__(
        self, skill: Skill, tasks: Sequence[Task], settings: Settings, runner: Runner, *, drop: bool = False
    ) -> None:
        self.skill, self.tasks, self.settings, self.drop = skill, tasks, settings, drop
        self.runner = CappedRunner(runner, settings, 0, self.texts * len(tasks), place="the search")
        draw = Random(f"{settings.seed}/shrink")
        evidence = TrainEvidence(skill, tasks, draw)
        self.search = Search(evidence, find_units(skill.document), self._without)
        self.answers = Answerer(self.runner.replies, TrainRollouts(self.runner, Stream.LEARNING).measure)
        self.order = draw.sample(list(tasks), len(tasks))
        self._built: dict[tuple[int, ...], Skill] = {}

    def as_events(self, suite: Suite) -> Iterator[events.Event]:
        """Run it as events; refuse a cap under which nothing can be shown."""
        cap, runner, least = self.settings.max_rollouts, self.runner, least_for_shrinking(len(self.tasks), self.texts)
        if cap is not None and cap < least:
            raise UsageError(
                f"expected max_rollouts of at least {least} to {self.kind} with {len(self.tasks)} tasks (once each for "
                f"the first text, the search, and all {self.texts} texts of the verdict), found {cap}; raise it"
            )
        yield events.RunStarted(self.skill.name, self.skill.digest, suite.name, suite.digest, 1)
        try:
            reason, accepted = yield from self.run()
            reached = False
        except BudgetReached as end:
            reason, accepted, reached = str(end), 0, True
        yield events.RunEnded(reason, accepted, runner.rollouts_asked, runner.calls_asked, capped=reached)

    def run(self) -> Generator[events.Event, None, tuple[str, int]]:
        """Return why it ended, and how many versions were accepted."""
        search = self.search
        yield from go([measure_start(search)], self.answers)
        telling = self.telling
        if not telling:
            return f"all {len(self.tasks)} tasks fail under {self.start}, so nothing can be shown to be lost", 0
        yield from self._find(telling)
        looks = self._looks()
        for number, look in enumerate(looks or (Look(len(self.tasks), 0.0, LOSS_ERROR, self.noisy),)):
            short, changes = self._short()
            if short.digest == self.skill.digest:
                yield from self._told()
                return "no unit can go: tasks need each of them, or none can tell", 0
            pairs, verdict, loss = self._judge(short, look, number)
            broken = [name for name in telling if name in verdict.broken]
            if loss.shown or number + 1 >= len(looks) or not (yield from self._put_back(broken, short)):
                break
        yield from self._told()
        return (yield from self._hand_over(short, changes, verdict, self._grading(loss, look, pairs)))

    @property
    def telling(self) -> list[str]:
        """List the tasks that pass at the start, so that what one of them needs can be told."""
        return [one.id for one in self.order if one.id not in self.search.failing and one.id in self.search.passed]

    def _looks(self) -> tuple[Look, ...]:
        return plan_looks(len(self.tasks), noisy=self.noisy)

    @property
    def noisy(self) -> bool:
        """Whether some text and task came out both ways, or scores are partial."""
        asked = [*self.search.passed.values(), *(one.passed for one in self.search.questions.values())]
        return self.search.partial or any(len(set(one)) > 1 for one in asked)

    def _find(self, names: Sequence[str]) -> _Told:
        for at in range(0, len(names), _AT_A_TIME):
            yield from go([find_needed(self.search, name) for name in names[at : at + _AT_A_TIME]], self.answers)
        alone = Counter(unit.heading for unit in self.search.needed)
        for unit in [] if self.drop else list(self.search.needed):
            if alone[unit.heading] == 1 and unit.heading not in (self._title, -1):
                yield from go([confirm(self.search, unit)], self.answers)

    @property
    def _title(self) -> int:
        """Where the first heading stands, whose text is about all sections."""
        return next((section.start for section in self.skill.document.sections), -1)

    def _put_back(self, broken: Sequence[str], short: Skill) -> Generator[events.Event, None, bool]:
        """Search again what broken tasks need, from new runs; return whether the text is another one then."""
        self.runner.release(self.texts * len(self.tasks))
        for name in broken:
            for key in [key for key in self.search.questions if key[1] == name]:
                del self.search.questions[key]
        try:
            yield from go([find_needed(self.search, name) for name in broken], self.answers)
        except BudgetReached:
            return False
        after, _ = self._short()
        return after.digest != short.digest and self.runner.left >= self.texts * len(self.tasks)

    def _without(self, out: Sequence[Unit]) -> Skill:
        key = tuple(sorted(unit.start for unit in out))
        if key not in self._built:
            self._built[key] = self.skill.with_document(without_units(self.skill.document, out))
        return self._built[key]

    @property
    def unexercised(self) -> list[Unit]:
        """List the idle units of sections that no task needs anything of, and whose heading none names."""
        needed = {unit.heading for unit in self.search.needed}
        if not needed:
            return self.search.idle
        own = [plain_words(text) for text in self._texts()]
        return [
            unit
            for unit in self.search.idle
            if unit.heading not in {*needed, self._title, -1}
            and not any(plain_words(unit.section) and plain_words(unit.section) <= words for words in own)
        ]

    def _texts(self) -> Iterator[str]:
        for task in self.tasks:
            seen = self.search.evidence.seen.get(task.id)
            answer = seen.rollout.trajectory.answer if seen else ""
            yield "\n".join((task.prompt, answer, *(f"{file.path}\n{file.text}" for file in task.files)))

    def _gone(self) -> list[Unit]:
        kept = set() if self.drop else set(self.unexercised)
        return [unit for unit in self.search.idle if unit not in kept]

    def _short(self) -> tuple[Skill, tuple[Change, ...]]:
        """Return the short text and the edits that it takes."""
        gone = self._gone()
        short = self._without(gone)
        edits = deletions(self.skill.document, gone, dict.fromkeys(gone, "nothing fails without it"))
        try:
            return short, apply_edits(self.skill.document, edits).changes
        except EditError as error:
            raise UsageError(
                f"{self.skill.name}: the text cannot be cut without breaking its structure: {error}"
            ) from error

    def _judge(self, short: Skill, look: Look, number: int) -> tuple[Pairs, Verdict, Loss]:
        """Run both texts afresh, and test whether less than the margin is lost."""
        self.runner.release()
        affordable = max(1, self.runner.left // (self.texts * len(self.tasks)))
        repeats = min(_NOISY_REPEATS if look.noisy else 1, affordable)
        first = number * _NOISY_REPEATS
        wanted = [(task, Stream.SHRINK.repeat(first + one)) for one in range(repeats) for task in self.order]
        requests = [RolloutRequest(one, task, repeat) for one in (self.skill, short) for task, repeat in wanted]
        found = self.runner.rollouts(requests)
        pairs = Pairs(list(found[: len(wanted)]), list(found[len(wanted) :]))
        verdict = compare_pairs(pairs, self.settings, GateRule.STRICT, "verdict")
        gains = task_gains(pairs.before, pairs.after, self.settings.metric)
        loss = judge_loss([gains.get(task.id) for task in self.order], look)
        said = f"less than {look.margin:.0%} of tasks passed is lost" if look.margin else "too few tasks for a verdict"
        reason = f"{said}, p = {loss.p_value:.3f}" if loss.shown else f"not shown: {said}"
        outcome = Outcome.ACCEPT if loss.shown else Outcome.INCONCLUSIVE
        return pairs, replace(verdict, outcome=outcome, reason=reason, confidence=1.0 - loss.p_value), loss

    def _grading(self, loss: Loss, look: Look, pairs: Pairs) -> Grading:
        gains = task_gains(pairs.before, pairs.after, self.settings.metric)
        low, high = gain_limits([gains.get(task.id) for task in self.order], len(self.order), LOSS_ERROR / 2)
        grade = Grade.PROVEN_HERE if loss.shown else Grade.UNPROVEN
        changed = sum(abs(one) >= 0.5 for one in gains.values())  # noqa: PLR2004 - half of its runs
        found = Grading(grade, 1.0 - loss.p_value, loss.gain, low, high, len(gains), changed, "")
        found = replace(found, against=self.against)
        return replace(found, reason=f"{grade_words(found)}, margin {look.margin:.2f}")

    def _told(self) -> Iterator[events.Event]:
        """Tell of each unit, as an edit that deletes it: whether that stands, and which tasks need the unit."""
        unexercised = set() if self.drop else set(self.unexercised)
        for number, unit in enumerate(self.search.units, 1):
            tasks = tuple(self.search.needed.get(unit, ()))
            edit = Edit(f"u{number}", Op.DELETE, unit.text, "", "", "", tasks)
            stays = unit in unexercised or bool(tasks)
            reason = "a task fails without it" if tasks else UNEXERCISED if stays else "nothing fails without it"
            yield events.EditScreened(1, edit, len(tasks), 0, 0, not stays, reason)

    def _hand_over(
        self, short: Skill, changes: tuple[Change, ...], verdict: Verdict, grading: Grading
    ) -> Generator[events.Event, None, tuple[str, int]]:
        asked, text = self.runner.rollouts_asked, short.text
        old, new = estimate_tokens(self.skill.text), estimate_tokens(text)
        accepted = verdict.outcome is Outcome.ACCEPT
        marks = find_held(self.skill.text, text, self.settings) if accepted else ()
        yield events.GateDecided(1, self.kind, changes, verdict, text, rollouts=asked, folded=True)
        if accepted and not marks:
            yield events.VersionAccepted(1, 1, 1, self.kind, text, changes, verdict, asked, grading)
        else:
            yield events.DraftGraded(text, changes, grading, self.skill.digest, asked)
        held = f"; a person must look at it first: {'; '.join(map(str, marks))}" if marks else ""
        return f"{old} → {new} tokens: {verdict.reason}{held}", int(accepted and not marks)
