"""Headline of a comparison: tasks passed before and after on the same tasks, then the verifiers' mean score.

All outputs take these figures and words from here, so that they agree.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from skillopt.gate.comparison import PairedTask, Tally
from skillopt.gate.decide import Verdict
from skillopt.settings import Metric

HELD_OUT: Final = "held-out"
VAL: Final = "val"

_LABELS: Final = {metric.value: metric.label for metric in Metric}
_PASSED: Final = re.compile(r"\d+(\.\d)? of \d+")


@dataclass(frozen=True, slots=True)
class Headline:
    """What two skills did on the same tasks."""

    passed_before: float
    passed_after: float
    tasks: int
    score_before: float
    score_after: float
    place: str = ""

    @property
    def before(self) -> str:
        """Return the tasks passed before, as in `2 of 48`."""
        return passed_words(self.passed_before, self.tasks)

    @property
    def after(self) -> str:
        """Return the tasks passed after."""
        return passed_words(self.passed_after, self.tasks)

    @property
    def passed(self) -> str:
        """Return the tasks passed."""
        return f"{self.before} → {self.after} {f'{self.place} ' if self.place else ''}tasks passed"

    @property
    def score(self) -> str:
        """Return the score, labelled, as in `score 0.71 → 0.98`."""
        return f"score {self.score_before:.2f} → {self.score_after:.2f}"

    @property
    def words(self) -> str:
        """Say all of it."""
        return f"{self.passed} ({self.score})"


def passed_words(passed: float, tasks: int) -> str:
    """Return how many tasks passed; a part of a task is one whose runs differ.

    >>> passed_words(40.0, 48), passed_words(39.96, 48), passed_words(17.5, 48)
    ('40 of 48', '40 of 48', '17.5 of 48')
    """
    return f"{passed:.1f}".removesuffix(".0") + f" of {tasks}"


def tally_words(tally: Tally, place: str = "") -> str:
    """Return what one skill came to."""
    passed = passed_words(tally.passed * tally.measured, tally.measured)
    return f"{passed} {f'{place} ' if place else ''}tasks passed (score {tally.score:.2f})"


def _headline_of_pairs(pairs: Sequence[PairedTask], place: str = "") -> Headline | None:
    """Sum up tasks that were measured for both; None for none."""
    if not pairs:
        return None
    return Headline(
        passed_before=sum(pair.passed_before for pair in pairs),
        passed_after=sum(pair.passed_after for pair in pairs),
        tasks=len(pairs),
        score_before=fmean(pair.score_before for pair in pairs),
        score_after=fmean(pair.score_after for pair in pairs),
        place=place,
    )


def headline_of_verdict(verdict: Verdict, place: str = "") -> Headline | None:
    """Sum up a comparison; None where no task was measured on both sides."""
    return _headline_of_pairs(verdict.pairs, place)


def headline_of_versions(verdicts: Sequence[Verdict], place: str = "") -> Headline | None:
    """Compare what the first version was accepted against with the newest one, on the tasks that both were run on."""
    if not verdicts:
        return None
    begun = {pair.task: pair for pair in verdicts[0].pairs}
    both = [
        replace(pair, passed_before=begun[pair.task].passed_before, score_before=begun[pair.task].score_before)
        for pair in verdicts[-1].pairs
        if pair.task in begun
    ]
    return _headline_of_pairs(both or verdicts[0].pairs, place)


def headline_of_tallies(before: Tally, after: Tally, place: str = "") -> Headline:
    """Sum up two tallies, where the tasks of both are the same."""
    return Headline(
        passed_before=before.passed * before.measured,
        passed_after=after.passed * after.measured,
        tasks=after.measured,
        score_before=before.score,
        score_after=after.score,
        place=place,
    )


def compared_words(verdict: Verdict, place: str = "", metric: str = "") -> str:
    """Say a comparison in words: tasks passed, or the scores alone where no task was measured on both sides."""
    found = headline_of_verdict(verdict, place)
    return found.words if found else f"{metric_label(metric)} {verdict.before:.3f} → {verdict.after:.3f}"


def passed_cells(verdict: Verdict) -> tuple[str, str]:
    """Tasks passed and score of a comparison, for two columns of a table."""
    found = headline_of_verdict(verdict)
    if found is None:
        return "not recorded", f"{verdict.before:.3f} → {verdict.after:.3f}"
    return f"{found.before} → {found.after}", f"{found.score_before:.2f} → {found.score_after:.2f}"


def metric_label(metric: str) -> str:
    """Name what a gate compares, for gains and intervals; without a known metric it is a score."""
    return _LABELS.get(metric, Metric.SOFT.label)


def headline_trailers(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    """List the trailers of a version that say its headline."""
    found = headline_of_verdict(verdict)
    if found is None:
        return ("Val-Before", f"{verdict.before:.4f}"), ("Val-After", f"{verdict.after:.4f}")
    score = f"{found.score_before:.2f} to {found.score_after:.2f}"
    return ("Val-Before", found.before), ("Val-After", found.after), ("Score", score)


def read_headline(trailers: Mapping[str, str]) -> str:
    """Return the headline of a version by the trailers of its commit; empty for none.

    >>> read_headline({"Val-Before": "2 of 24", "Val-After": "14 of 24", "Score": "0.71 to 0.86"})
    '2 of 24 → 14 of 24 tasks passed (score 0.71 → 0.86)'
    """
    before, after = trailers.get("Val-Before", "?"), trailers.get("Val-After", "")
    if not after:
        return ""
    if not _PASSED.fullmatch(after):
        return f"{metric_label(trailers.get('Gate-Metric', ''))} {before} → {after}"
    score = trailers.get("Score", "").replace(" to ", " → ")
    return f"{before} → {after} tasks passed{f' (score {score})' if score else ''}"
