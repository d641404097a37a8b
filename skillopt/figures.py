"""The one figure of a comparison: tasks passed before and after, gain in points with its 90% interval, and grade.

Everything that tells of a comparison takes its words from here, so that all outputs agree. Scores come second.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from skillopt.gate.comparison import PairedTask, Tally, gain_interval
from skillopt.gate.decide import Verdict
from skillopt.gate.grades import Against, Grade, Grading, gain_words

HELD_OUT: Final = "held-out"
VAL: Final = "val"

_GAIN: Final = re.compile(r"([+-]\d+) points \(90%: ([+-]\d+) to ([+-]\d+)\)")
_SURE: Final = 0.99  # no posterior of a few flips is surer


@dataclass(frozen=True, slots=True)
class Headline:
    """What two texts did on the same tasks; `low` and `high` limit the true gain, as a share of tasks."""

    passed_before: float
    passed_after: float
    tasks: int
    score_before: float
    score_after: float
    place: str = ""
    low: float = -1.0
    high: float = 1.0

    @property
    def before(self) -> str:
        """Return the tasks passed before, as in `2 of 48`."""
        return passed_words(self.passed_before, self.tasks)

    @property
    def after(self) -> str:
        """Return the tasks passed after."""
        return passed_words(self.passed_after, self.tasks)

    @property
    def counts(self) -> str:
        """Return the tasks passed before and after, as in `2 → 40 of 48`."""
        return f"{_number(self.passed_before)} → {self.after}"

    @property
    def passed(self) -> str:
        """Return the tasks passed in words."""
        return f"{self.counts} {f'{self.place} ' if self.place else ''}tasks passed"

    @property
    def gain(self) -> str:
        """Return the gain in points of tasks with its 90% interval."""
        return gain_words((self.passed_after - self.passed_before) / self.tasks, self.low, self.high)

    @property
    def score(self) -> str:
        """Return the mean score, labelled; empty where each score is that of what passed or failed."""
        sides = (self.passed_before, self.score_before), (self.passed_after, self.score_after)
        if all(abs(passed / self.tasks - score) < 1e-9 for passed, score in sides):  # noqa: PLR2004 - of sums
            return ""
        return f"score {self.score_before:.2f} → {self.score_after:.2f}"

    @property
    def words(self) -> str:
        """Say all of it."""
        return ", ".join(filter(None, (self.passed, self.gain, self.score)))


def _number(passed: float) -> str:
    return f"{passed:.1f}".removesuffix(".0")


def passed_words(passed: float, tasks: int) -> str:
    """Return how many tasks passed; a part of a task is one whose runs differ.

    >>> passed_words(40.0, 48), passed_words(39.96, 48), passed_words(17.5, 48)
    ('40 of 48', '40 of 48', '17.5 of 48')
    """
    return f"{_number(passed)} of {tasks}"


def tally_passed(tally: Tally) -> str:
    """Return how many tasks passed with one text."""
    return passed_words(tally.passed * tally.measured, tally.measured)


def tally_words(tally: Tally, place: str = "") -> str:
    """Return what one text came to."""
    score = f", score {tally.score:.2f}" if abs(tally.score - tally.passed) >= 1e-9 else ""  # noqa: PLR2004 - of sums
    return f"{tally_passed(tally)} {f'{place} ' if place else ''}tasks passed{score}"


def headline_of_verdict(verdict: Verdict, place: str = "") -> Headline | None:
    """Sum up a comparison; None where no task was measured on both sides."""
    return _headline(verdict.pairs, place, verdict.low, verdict.high) if verdict.pairs else None


def headline_of_versions(verdicts: Sequence[Verdict], place: str = "") -> Headline | None:
    """Compare what the first version was accepted against with the newest one, on the tasks that both were run on."""
    begun = {pair.task: pair for pair in verdicts[0].pairs} if verdicts else {}
    both = [
        replace(pair, passed_before=begun[pair.task].passed_before, score_before=begun[pair.task].score_before)
        for pair in (verdicts[-1].pairs if verdicts else ())
        if pair.task in begun
    ]
    if not both:
        return headline_of_verdict(verdicts[0], place) if verdicts else None
    gains = [pair.passed_after - pair.passed_before for pair in both]
    return _headline(both, place, *gain_interval(fmean(gains), gains))


def _headline(pairs: Sequence[PairedTask], place: str, low: float, high: float) -> Headline:
    return Headline(
        passed_before=sum(pair.passed_before for pair in pairs),
        passed_after=sum(pair.passed_after for pair in pairs),
        tasks=len(pairs),
        score_before=fmean(pair.score_before for pair in pairs),
        score_after=fmean(pair.score_after for pair in pairs),
        place=place,
        low=low,
        high=high,
    )


def comparison_words(verdict: Verdict, place: str = "") -> str:
    """Say a comparison in words, and how many tasks it has no answer of."""
    found = headline_of_verdict(verdict, place)
    missing = f", {verdict.missing} not measured" if verdict.missing else ""
    return f"{found.words}{missing}" if found else "no task was measured with both texts"


def headline_trailers(found: Headline | None, kind: str = "Val") -> tuple[tuple[str, str], ...]:
    """List the trailers of a commit that say its headline; those of a draft are of the kind `Draft`."""
    if found is None:
        return ((f"{kind}-After", "not measured"),)
    score = (("Score", f"{found.score_before:.2f} to {found.score_after:.2f}"),) if found.score else ()
    return (f"{kind}-Before", found.before), (f"{kind}-After", found.after), ("Gain", found.gain), *score


def read_headline(trailers: Mapping[str, str]) -> str:
    """Return the headline of a version or a draft by the trailers of its commit; empty for none.

    >>> read_headline({"Val-Before": "2 of 24", "Val-After": "14 of 24", "Gain": "+50 points (90%: +22 to +71)"})
    '2 → 14 of 24 tasks passed, +50 points (90%: +22 to +71)'
    """
    kind = "Val" if "Val-After" in trailers else "Draft"
    before, after = trailers.get(f"{kind}-Before", ""), trailers.get(f"{kind}-After", "")
    if not before:
        return after
    score = f"score {trailers['Score'].replace(' to ', ' → ')}" if "Score" in trailers else ""
    passed = f"{before.partition(' ')[0]} → {after} tasks passed"
    return ", ".join(filter(None, (passed, trailers.get("Gain", ""), score)))


def read_gain(text: str) -> tuple[float, float, float] | None:
    """Read a gain with its limits, as shares of tasks.

    >>> read_gain("+50 points (90%: +22 to +71)")
    (0.5, 0.22, 0.71)
    """
    found = _GAIN.fullmatch(text)
    return (int(found[1]) / 100, int(found[2]) / 100, int(found[3]) / 100) if found else None


def name_grade(grading: Grading | None) -> str:
    """Return a grade in words; None is the draft of a run that ended before it was graded.

    >>> name_grade(Grading(Grade.LIKELY, 0.93, 0.1, 0.0, 0.2, 12, 3))
    'likely better (93%)'
    """
    if grading is None:
        return "not graded: its run ended before that"
    if grading.against is Against.LONGER:
        shown = grading.grade is Grade.PROVEN_HERE
        return "nothing lost, shown here" if shown else "shorter, not shown to lose nothing"
    if grading.grade is Grade.LIKELY and grading.probability is not None:
        return f"{grading.grade} ({min(grading.probability, _SURE):.0%})"
    if grading.grade is Grade.CANNOT_TELL and grading.probability is None:
        judge = "the judge agrees with itself hardly more often than a coin"
        return f"{grading.grade}: {judge if grading.tasks else 'no task that decides was run with it'}"
    return f"{grading.grade}{' against the first version' if grading.against else ''}"
