"""The one place in which an outcome is made: a comparison, a question and an error give a verdict.

Who compares chooses the question, the tasks and the error; loops, commands and reports only read what came of it.
"""

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from itertools import chain
from typing import Final, assert_never

from skillopt.gate.comparison import Comparison, Figures
from skillopt.gate.grades import Against, Grade, Grading, grade_unproven
from skillopt.gate.mean_bet import bet_on_mean, bet_on_repeats
from skillopt.gate.sign_flips import LookPlan, Tested, flip_signs

ONE_LOOK: Final = LookPlan()

LOSS_ERRORS: Final = (0.08, 0.02)
"""Chances to say that nothing is lost where a margin or more is, in a first look and in a second one."""

MARGINS: Final = (0.20, 0.15, 0.10, 0.05)
"""Margins of a loss that are tested in this order, each with the whole error, until one is not ruled out (fixed
sequence, Maurer, Hothorn and Lehmacher 1995): where outcomes vary, the widest is often all that shows."""


class Outcome(StrEnum):
    """The verdict in a word; `invalid` says that too little was measured to tell anything."""

    ACCEPT = "accept"
    REJECT = "reject"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"


class Question(StrEnum):
    """What is asked of the text after: on new tasks like these, or on these very tasks (`here`, `worse`)."""

    BETTER = "better"
    HERE = "better here"
    NOT_WORSE = "not worse"
    WORSE = "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Figures):
    """What was decided of two texts, with one minus the p-value of the test; `over` where no look is left that could.

    `accept` is of a text that is shown to be as asked, which spends no error, `reject` of one that did no better or is
    shown to be worse.
    """

    outcome: Outcome
    reason: str
    confidence: float = 0.0
    error_spent: float = 0.0
    over: bool = True
    grading: Grading

    @property
    def accepted(self) -> bool:
        """Whether the text is shown to be as asked."""
        return self.outcome is Outcome.ACCEPT

    @property
    def rejected(self) -> bool:
        """Whether the text did no better, or is shown to be worse."""
        return self.outcome is Outcome.REJECT


@dataclass(frozen=True, slots=True)
class Terms:
    """What else decides: a loss to rule out, in [0, 1), and a verdict on these very tasks that must hold for `proven`.

    `unless` says what speaks against whatever a test shows, and `refuses` whether that makes it a `reject`; `enough` is
    the grade from which a text is accepted, and `spent` the error of earlier comparisons, which the reason names. It
    `proves` nothing where its error is not one that all comparisons of a skill share.
    """

    margin: float = 0.0
    here: Verdict | None = None
    unless: str = ""
    refuses: bool = False
    proves: bool = True
    enough: Grade = Grade.PROVEN
    against: Against = Against.BEFORE
    spent: float = 0.0


def decide(
    comparison: Comparison, question: Question, error: float, plan: LookPlan = ONE_LOOK, terms: Terms | None = None
) -> Verdict:
    """Decide whether the text after is as asked; with an error of 1 a gain that was measured is enough."""
    terms = terms or Terms()
    if not comparison.covered:
        found = f"only {len(comparison.pairs)} of {len(comparison.pairs) + comparison.missing} tasks could be measured"
        untested = Tested(shown=False, over=True, p_value=1.0, spent=0.0)
        grading = _grade(comparison, question, terms, shown=False)
        return _verdict(comparison, Outcome.INVALID, found, untested, grading)
    tested = _test(comparison, question, error, plan, terms.margin)
    noise = "the judge agrees with itself hardly more often than a coin" if comparison.tossed and error < 1 else ""
    problem = (tested.shown and noise) or (terms.unless if tested.shown or terms.refuses else "")
    shown = tested.shown and not problem
    # Only an accept that stands is free: else whoever is refused would try again with all of the error.
    spent = max(error if problem and tested.shown else tested.spent, terms.here.error_spent if terms.here else 0.0)
    tested = Tested(shown=shown, over=tested.over, p_value=tested.p_value, spent=spent)
    grading = _grade(comparison, question, terms, shown=shown and error < 1 and terms.proves)
    match question:
        case Question.BETTER | Question.HERE:
            accepted = shown if terms.here is None else grading.grade in (Grade.PROVEN, terms.enough)
            told, failed = "shown to be better", "not shown to be better"
        case Question.NOT_WORSE:
            accepted, told = shown, f"a loss of {100 * terms.margin:.0f} points is ruled out"
            failed = f"a loss of {100 * terms.margin:.0f} points is not ruled out"
        case Question.WORSE:
            accepted, told, failed = shown, "shown to be worse", "not shown to be worse"
        case _:
            assert_never(question)
    behind = sum(comparison.gains) <= 0 and question in (Question.BETTER, Question.HERE)
    outcome = Outcome.REJECT if behind or (problem and terms.refuses) else Outcome.INCONCLUSIVE
    if accepted:
        outcome = Outcome.REJECT if question is Question.WORSE else Outcome.ACCEPT
    elif behind:
        failed = "not better"
    asked = f" at confidence {1 - tested.p_value:.3f}, {1 - error:.3f} asked for" if 0 < error < 1 else ""
    before = f"; {terms.spent:.3f} of the error was spent before" if terms.spent and not accepted else ""
    reason = f"{told if accepted or problem else failed}{asked}{before}{f', but {problem}' if problem else ''}"
    return _verdict(comparison, outcome, reason, tested, grading)


def rule_out_loss(comparison: Comparison, error: float, terms: Terms) -> tuple[Verdict, float]:
    """Ask whether less than some margin is lost; return the verdict on the least that is ruled out, and that margin."""
    margins = list(MARGINS)
    verdict = decide(comparison, Question.NOT_WORSE, error, ONE_LOOK, replace(terms, margin=margins[0]))
    while verdict.accepted and len(margins) > 1:
        closer = decide(comparison, Question.NOT_WORSE, error, ONE_LOOK, replace(terms, margin=margins[1]))
        if not closer.accepted:
            break
        verdict, margins = closer, margins[1:]
    return verdict, margins[0]


def least_margin(tasks: int, error: float) -> float | None:
    """Return the least margin of a loss that so many equal outcomes rule out; None for none.

    >>> least_margin(24, 0.08), least_margin(11, 0.08)
    (0.15, None)
    """
    shown = [margin for margin in MARGINS if tasks and bet_on_mean([[0.0] * tasks], error, ONE_LOOK, -margin).shown]
    return shown[-1] if shown else None


def _test(comparison: Comparison, question: Question, error: float, plan: LookPlan, margin: float) -> Tested:
    """Test pass and fail by signs, partial scores and margins by bets; an error of 0 or 1 needs no test."""
    if not 0 < error < 1:
        seen = sum(comparison.gains) + (question is Question.NOT_WORSE) * 1e-9
        return Tested(error >= 1 and seen > 0, over=True, p_value=1.0 - min(1.0, error), spent=0.0)
    if question is Question.NOT_WORSE:
        return bet_on_mean(comparison.looks, error, plan, -margin)
    if question is Question.BETTER:
        test = bet_on_mean if comparison.partial else flip_signs
        return test(comparison.looks, error, plan)
    runs = comparison.runs
    if len(runs) > 1 and not comparison.partial and all(one == runs[0] for one in runs):
        # The target is deterministic: repeats tell nothing new, so each task counts once.
        runs = (runs[0], *[()] * (len(runs) - 1))
    rounds = [tuple(chain(*runs[: number + 1])) for number in range(len(runs))]
    if comparison.judged:  # a judge may give one text the same wrong marks in each repeat, so each task counts once
        rounds = [tuple(gain for gain in look if gain is not None) for look in comparison.looks]
    if question is Question.WORSE:  # a mean would hide a little harm in many tasks behind one that did well by chance
        rounds = [tuple(float((gain < 0) - (gain > 0)) for gain in seen) for seen in rounds]
    elif comparison.partial and not comparison.judged:
        return bet_on_repeats(rounds, error, plan)
    return flip_signs(rounds, error, plan)


def _grade(comparison: Comparison, question: Question, terms: Terms, *, shown: bool) -> Grading:
    """Grade the text by its own figures."""
    grade, likely = grade_unproven(comparison.gains, tossed=comparison.tossed)
    here = terms.here is not None and terms.here.accepted
    if shown and question is Question.BETTER and (terms.here is None or here):
        grade = Grade.PROVEN
    elif here or (shown and question is not Question.BETTER):
        grade = Grade.WORSE if question is Question.WORSE else Grade.PROVEN_HERE
    changed = sum(abs(pair.passed_after - pair.passed_before) >= 0.5 for pair in comparison.pairs)  # noqa: PLR2004 - half of its runs
    figures = (comparison.gain, comparison.low, comparison.high, len(comparison.pairs), changed)
    return Grading(grade, likely, *figures, against=terms.against)


def _verdict(comparison: Comparison, outcome: Outcome, reason: str, tested: Tested, grading: Grading) -> Verdict:
    return Verdict(
        **{one.name: getattr(comparison, one.name) for one in fields(Figures) if one.init},
        outcome=outcome,
        reason=reason,
        confidence=1.0 - tested.p_value,
        error_spent=tested.spent,
        over=tested.over,
        grading=grading,
    )
