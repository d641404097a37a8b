"""How far edits are supported by the rollouts that they cite."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.loop.readings import NOTHING_SAID, ground
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Message, Rollout, Score, Status, Trajectory
from skillopt.skills.edits import Edit, Op
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import scored

Shown = tuple[Task, Rollout]


def shown(name: str, feedback: str, *, failed: bool = True) -> Shown:
    task = Task(name, f"Tidy the table {name}.", VerifierSpec("exact"))
    return task, scored(RolloutRequest(None, task), float(not failed), feedback)


DATES = [shown(f"date-{number}", "column due: expected an ISO date, found 3/4/2024") for number in range(3)]
PHONES = [shown(f"phone-{number}", "column tel: expected a country code, found 0176") for number in range(3)]
FINE = [shown(f"fine-{number}", "", failed=False) for number in range(3)]
ALL = [*DATES, *PHONES, *FINE]


def number_of(content: str, *tasks: str, evidence: list[Shown] = ALL) -> float:
    return ground([Edit("e", Op.ADD, content=content, tasks=tasks)], evidence)["e"]


def test_an_edit_about_what_its_tasks_show_and_others_do_not_is_supported_more_by_each_of_them() -> None:
    rule = "- Write every date in the ISO form."
    one, three = number_of(rule, "date-0"), number_of(rule, "date-0", "date-1", "date-2")
    assert NOTHING_SAID < one < three == (1 + 3) / (2 + 3)


def test_an_edit_that_cites_tasks_which_show_something_else_is_not_supported() -> None:
    assert number_of("- Write every date in the ISO form.", "phone-0", "phone-1", "phone-2") < NOTHING_SAID


def test_a_task_that_was_never_shown_counts_against_an_edit_and_so_does_citing_none() -> None:
    rule = "- Write every date in the ISO form."
    assert number_of(rule, "date-0", "made-up") < number_of(rule, "date-0")
    assert number_of(rule, "made-up") == number_of(rule) == 1 / 3


def test_words_that_no_task_has_say_nothing_for_or_against_an_edit() -> None:
    assert number_of("- Bewahre Ruhe.", "date-0", "date-1") == NOTHING_SAID


def test_a_task_that_passed_supports_an_edit_less_than_one_that_failed() -> None:
    passed = [shown("date-0", "an ISO date", failed=False), *DATES[1:], *PHONES]
    rule = "- Write every date in the ISO form."
    assert number_of(rule, "date-0", evidence=passed) < number_of(rule, "date-0", evidence=[*DATES, *PHONES])


def test_words_that_every_failure_has_tell_it_only_from_the_tasks_that_passed() -> None:
    rule = "- Every column that is expected must be found."
    dates, rest = ("date-0", "date-1", "date-2"), ("phone-0", "phone-1", "phone-2")
    assert number_of(rule, *dates) == NOTHING_SAID
    assert number_of(rule, *dates, *rest) > NOTHING_SAID


def test_citing_a_task_twice_counts_once_and_citing_all_leaves_nothing_to_compare_with() -> None:
    rule = "- Write every date in the ISO form."
    assert number_of(rule, "date-0", "date-0") == number_of(rule, "date-0")
    assert number_of(rule, "date-0", "date-1", evidence=DATES[:2]) == NOTHING_SAID


def test_what_a_tool_said_is_evidence_and_the_first_message_is_not_because_it_holds_the_skill() -> None:
    def told(name: str, first: str, later: str) -> Shown:
        task = Task(name, "Work.", VerifierSpec("exact"))
        trajectory = Trajectory((Message("user", first), Message("assistant", later)))
        return task, Rollout(name, "", 0, trajectory, Status.OK, Score(0.0, passed=False))

    evidence = [told("a", "the skill says frobnicate", ""), told("b", "", "I frobnicate now")]
    assert number_of("- Never frobnicate.", "b", evidence=evidence) > NOTHING_SAID
    assert number_of("- Never frobnicate.", "a", evidence=evidence) < NOTHING_SAID


def test_a_deletion_is_judged_by_the_text_that_goes_and_an_addition_not_by_where_it_goes() -> None:
    delete = Edit("d", Op.DELETE, "- Write a date as found.", tasks=("date-0",))
    add = Edit("a", Op.ADD, "- Write a date as found.", content="- Bewahre Ruhe.", tasks=("date-0",))
    numbers = ground([delete, add], ALL)
    assert numbers["d"] > NOTHING_SAID == numbers["a"]


@given(
    st.lists(st.tuples(st.text("ab ", max_size=8), st.booleans()), max_size=6),
    st.text("ab c", min_size=1, max_size=12).filter(str.strip),
    st.lists(st.integers(0, 8), max_size=6),
)
def test_the_number_is_between_0_and_1_whatever_is_cited_and_in_whatever_order(
    texts: list[tuple[str, bool]], content: str, cited: list[int]
) -> None:
    evidence = [shown(f"t{at}", text * 3, failed=failed) for at, (text, failed) in enumerate(texts)]
    tasks = tuple(f"t{at}" for at in cited)
    number = number_of(content, *tasks, evidence=evidence)
    assert 0.0 < number < 1.0
    assert abs(number - number_of(content, *reversed(tasks), evidence=evidence[::-1])) < 1e-9
