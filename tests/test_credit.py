"""What an edit is worth, told from train rollouts."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from skillopt.credit import CreditBook
from skillopt.edits import Edit, Op
from skillopt.rollouts import Rollout, Score, Status, Trajectory

TASKS = ("t1", "t2", "t3", "t4")


def edit(name: str, *tasks: str) -> Edit:
    return Edit(name, Op.ADD, section="Rules", content=f"- {name}", tasks=tasks or TASKS)


def rollout(task: str, score: float | None) -> tuple[Rollout, float]:
    told = None if score is None else Score(score, passed=score > 0.5, feedback="")
    status = Status.OK if told else Status.INFRA_ERROR
    return Rollout(task, "digest", 0, Trajectory(), status, told, ""), score or 0.0


def noted(book: CreditBook, edits: list[Edit], score: float, times: int = 6) -> None:
    for _ in range(times):
        book.note(edits, [rollout(task, score) for task in TASKS])


def test_an_edit_is_worth_what_its_tasks_score_more_with_it() -> None:
    book, good = CreditBook(), edit("good")
    noted(book, [], 0.2)
    noted(book, [good], 0.8)
    (credit,) = book.estimate([good])
    assert 0.45 < credit.gain < 0.65
    assert credit.rollouts == 24
    assert credit.gain > 3 * credit.error


def test_an_edit_that_harms_has_a_negative_worth() -> None:
    book, bad = CreditBook(), edit("bad")
    noted(book, [], 0.8)
    noted(book, [bad], 0.2)
    assert book.estimate([bad])[0].gain < -0.4


def test_edits_that_were_always_together_share_the_gain() -> None:
    book, one, other = CreditBook(), edit("one"), edit("other")
    noted(book, [], 0.2)
    noted(book, [one, other], 0.8)
    first, second = book.estimate([one, other])
    assert abs(first.gain - second.gain) < 0.1
    assert 0.4 < first.gain + second.gain < 0.65


def test_an_edit_that_was_tried_apart_is_told_from_its_companions() -> None:
    book, good, idle = CreditBook(), edit("good"), edit("idle")
    noted(book, [], 0.2)
    noted(book, [good], 0.8)
    noted(book, [good, idle], 0.8)
    found = {credit.edit: credit.gain for credit in book.estimate([good, idle])}
    assert found["good"] > 0.4
    assert abs(found["idle"]) < 0.1


def test_only_the_tasks_that_an_edit_cites_count_for_it() -> None:
    book, local = CreditBook(), edit("local", "t1")
    noted(book, [], 0.2)
    noted(book, [local], 0.2)
    book.note([local], [rollout("t1", 1.0)] * 8)
    assert book.estimate([local])[0].rollouts == 14
    assert book.estimate([local])[0].gain > 0.2


def test_an_edit_without_rollouts_is_worth_nothing_as_far_as_is_known() -> None:
    (credit,) = CreditBook().estimate([edit("new")])
    assert (credit.gain, credit.rollouts) == (0.0, 0)
    assert credit.error > 0.25


def test_what_could_not_be_measured_counts_nothing() -> None:
    book, good = CreditBook(), edit("good")
    book.note([good], [rollout("t1", None)])
    assert book.estimate([good])[0].rollouts == 0


def test_a_new_version_begins_a_new_account() -> None:
    book, good = CreditBook(), edit("good")
    noted(book, [good], 0.8)
    book.clear()
    assert book.estimate([good])[0].rollouts == 0


@given(st.integers(0, 10_000))
def test_effects_that_were_planted_are_found_within_their_errors(seed: int) -> None:
    draw, book = Random(seed), CreditBook()
    effects = {"a": 0.4, "b": 0.0, "c": -0.3}
    edits = {name: edit(name) for name in effects}
    for _ in range(60):
        held = [name for name in effects if draw.random() < 0.5]
        chance = 0.5 + sum(effects[name] for name in held)
        book.note([edits[name] for name in held], [rollout(task, float(draw.random() < chance)) for task in TASKS])
    for credit in book.estimate(list(edits.values())):
        assert abs(credit.gain - effects[credit.edit]) < 4.5 * credit.error + 0.1
