"""Pruning: the line that broke tasks is found in few rollouts, and deleted only on the screen's word."""

from math import ceil, log2

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.documents import Skill, SkillDocument
from skillopt.drafts import Draft
from skillopt.edits import Edit, Op
from skillopt.events import EditScreened, Event, SuspectsTried
from skillopt.ports import RolloutRequest
from skillopt.presets import make_settings
from skillopt.pruning import Pruner
from skillopt.rollouts import Rollout
from skillopt.screening import SCREEN_TRIALS
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored

SKILL = Skill("words", SkillDocument("---\nname: words\ndescription: Words.\n---\n# Words\n\n- Be brief.\n"))
TASKS = [Task(name, name, VerifierSpec("exact")) for name in ("a", "b")]
MOST = 24


def line(number: int) -> str:
    return f"- line {number:02}"


def broken_draft(lines: int, *tasks: str) -> Draft:
    """Give a draft under which tasks passed before so many lines came, and fail now."""
    draft = Draft(SKILL)
    for name in tasks or ("a",):
        draft.note(name, passed=True)
    draft.take([Edit(f"e{number}", Op.ADD, content=line(number), tasks=("c",)) for number in range(lines)])
    for name in tasks or ("a",):
        draft.note(name, passed=False)
    return draft


def broken_by(**culprits: tuple[int, ...]) -> ScriptedRunner:
    """Fail a task while any of its lines is there."""

    def score(request: RolloutRequest) -> Rollout:
        body = request.skill.document.body if request.skill else ""
        return scored(request, float(not any(line(number) in body for number in culprits[request.task.id])))

    return ScriptedRunner(score, str)


def prune(runner: ScriptedRunner, draft: Draft, **values: object) -> list[Event]:
    chosen = make_settings(("test", {"metric": "soft", "prune_lines": MOST, **values}))
    failing = [task for task in TASKS if task.id in draft.failing]
    return list(Pruner(runner, chosen).prune(3, draft, failing, SCREEN_TRIALS))


def left(draft: Draft, lines: int) -> list[int]:
    return [number for number in range(lines) if line(number) in draft.skill.document.body]


@settings(deadline=None)
@given(st.data(), st.integers(2, MOST))
def test_without_noise_the_culprit_is_found_in_one_look_and_one_for_each_halving(
    data: st.DataObject, lines: int
) -> None:
    culprit, draft = data.draw(st.integers(0, lines - 1)), broken_draft(lines)
    events = prune(broken_by(a=(culprit,)), draft)
    looks = [event for event in events if isinstance(event, SuspectsTried)]
    assert len(looks) <= 1 + ceil(log2(lines))
    (screened,) = [event for event in events if isinstance(event, EditScreened)]
    assert screened.kept
    assert left(draft, lines) == [number for number in range(lines) if number != culprit]


@settings(deadline=None)
@given(st.integers(3, MOST), st.integers(0, MOST))
def test_where_no_line_is_to_blame_two_rollouts_tell_whatever_the_number_of_suspects(lines: int, other: int) -> None:
    runner, draft = ScriptedRunner(lambda request: scored(request, 0.0), str), broken_draft(lines)
    (look,) = prune(runner, draft, seed=other)
    assert isinstance(look, SuspectsTried)
    assert (len(look.lines), look.tasks, look.mended) == (lines, ("a",), ())
    assert len(runner.requests) == 2
    assert left(draft, lines) == list(range(lines))


def test_a_task_that_passes_when_it_is_run_again_was_not_broken() -> None:
    runner, draft = ScriptedRunner(lambda request: scored(request, 1.0), str), broken_draft(4)
    assert not prune(runner, draft)
    assert len(runner.requests) == 1
    assert not draft.failing


def test_a_single_suspect_goes_to_the_screen_at_once() -> None:
    draft = broken_draft(1)
    (screened,) = prune(broken_by(a=(0,)), draft)
    assert isinstance(screened, EditScreened)
    assert not left(draft, 1)


def test_two_lines_of_which_each_breaks_the_task_are_both_kept_since_neither_deletion_helps_alone() -> None:
    draft = broken_draft(6)
    events = prune(broken_by(a=(1, 4)), draft)
    assert isinstance(events[0], SuspectsTried)
    assert events[0].mended == ("a",)
    assert isinstance(events[-1], EditScreened)
    assert not events[-1].kept
    assert left(draft, 6) == list(range(6))


def test_of_two_tasks_broken_by_different_lines_one_is_mended() -> None:
    draft = broken_draft(8, "a", "b")
    prune(broken_by(a=(1,), b=(6,)), draft)
    assert left(draft, 8) == [0, 1, 2, 3, 4, 5, 7]


def test_lines_that_came_before_a_task_passed_are_not_removed_with_the_others() -> None:
    draft = Draft(SKILL)
    draft.take([Edit("old", Op.ADD, content=line(0))])
    draft.note("a", passed=True)
    draft.take([Edit(f"e{number}", Op.ADD, content=line(number)) for number in (1, 2)])
    draft.note("a", passed=False)
    first, *_ = prune(broken_by(a=(2,)), draft)
    assert isinstance(first, SuspectsTried)
    assert first.lines == (line(2), line(1))
    assert left(draft, 3) == [0, 1]


def test_a_look_that_could_not_be_measured_deletes_nothing() -> None:
    def gone_without_lines(request: RolloutRequest) -> Rollout:
        body = request.skill.document.body if request.skill else ""
        return scored(request, 0.0 if all(line(number) in body for number in range(4)) else None)

    draft = broken_draft(4)
    (look,) = prune(ScriptedRunner(gone_without_lines, str), draft)
    assert isinstance(look, SuspectsTried)
    assert not look.mended
    assert left(draft, 4) == list(range(4))


def test_no_rollout_is_asked_for_twice_and_the_screen_has_trials_of_its_own() -> None:
    runner, draft = broken_by(a=(5,)), broken_draft(8)
    looks = [event for event in prune(runner, draft) if isinstance(event, SuspectsTried)]
    asked = [(request.skill, request.task.id, request.trial) for request in runner.requests]
    assert len(asked) == len(set(asked))
    assert [trial for _, _, trial in asked[: 1 + len(looks)]] == [SCREEN_TRIALS] * (1 + len(looks))
    assert all(trial > SCREEN_TRIALS for _, _, trial in asked[1 + len(looks) :])


def test_suspects_can_be_tried_one_by_one() -> None:
    draft = broken_draft(5)
    events = prune(broken_by(a=(2,)), draft, prune_groups=False)
    assert [(event.edit.anchor, event.kept) for event in events if isinstance(event, EditScreened)] == [
        (line(number), number == 2) for number in (4, 3, 2, 1, 0)
    ]
    assert left(draft, 5) == [0, 1, 3, 4]


def test_nothing_is_run_where_pruning_is_off() -> None:
    runner, draft = broken_by(a=(2,)), broken_draft(5)
    assert not prune(runner, draft, prune_lines=0)
    assert not runner.requests
