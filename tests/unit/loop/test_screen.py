"""The screen: each edit alone, paired with the incumbent on the tasks that it cites."""

import pytest
from skillopt.loop.screen import Screened, screen

from skillopt.errors import InvalidMeasurementError
from skillopt.loop.edit_checks import check_edits
from skillopt.presets import make_settings
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Stream
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Edit, Op
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored

SKILL = Skill("words", SkillDocument("---\nname: words\ndescription: Words.\n---\n# Words\n\n- keep\n- useless\n"))
TASKS = {name: Task(name, name, VerifierSpec("exact")) for name in ("a", "b", "c", "d", "e")}


def add(word: str, *tasks: str) -> Edit:
    return Edit(word, Op.ADD, content=f"- {word}", tasks=tasks)


def try_out(runner: ScriptedRunner, *edits: Edit, **values: object) -> tuple[Screened, ...]:
    settings = make_settings(("test", {"metric": "soft", **values}))
    changes, refused = check_edits(SKILL.document, edits, ())
    assert not refused
    return screen(
        runner, SKILL, changes, {name: (task, 0.0) for name, task in TASKS.items()}, settings, Stream.SCREEN.repeat(0)
    )


def body_of(request: RolloutRequest) -> str:
    return request.skill.document.body if request.skill else ""


def by_name(request: RolloutRequest) -> Rollout:
    """Score a task by whether the skill names it; a skill without `keep` fails all."""
    return scored(request, float("- keep" in body_of(request) and f"- {request.task.id}\n" in body_of(request)))


def test_what_helps_alone_is_kept_and_what_changes_nothing_is_not() -> None:
    helps, idle = try_out(ScriptedRunner(by_name, str), add("a", "a"), add("z", "b"))
    assert (helps.kept, helps.before, helps.after, helps.tasks) == (True, 0.0, 1.0, 1)
    assert not idle.kept
    assert idle.reason.endswith("it changes nothing")


def test_a_deletion_must_help_like_any_other_edit() -> None:
    harmful, idle = Edit("u", Op.DELETE, "- useless", tasks=("a",)), Edit("k", Op.DELETE, "- keep", tasks=("b",))
    runner = ScriptedRunner(lambda request: scored(request, float("- useless" not in body_of(request))), str)
    helps, changes_nothing = try_out(runner, harmful, idle)
    assert (helps.kept, changes_nothing.kept) == (True, False)
    assert changes_nothing.reason.endswith("it changes nothing")


def test_the_incumbent_runs_again_with_the_same_repeats_so_that_luck_waves_nothing_through() -> None:
    runner = ScriptedRunner(lambda request: scored(request, 1.0), str)
    (idle,) = try_out(runner, add("z", "a"))
    assert not idle.kept
    assert idle.passing == ("a",)
    assert {(request.skill == SKILL, request.repeat) for request in runner.requests} == {
        (True, Stream.SCREEN.repeat(0)),
        (False, Stream.SCREEN.repeat(0)),
    }


def test_what_fails_as_before_costs_one_rollout() -> None:
    runner = ScriptedRunner(lambda request: scored(request, 0.0), str)
    (idle,) = try_out(runner, add("z", "a"))
    assert not idle.kept
    assert len(runner.requests) == 1


def test_edits_that_cite_the_same_task_share_the_incumbents_rollout() -> None:
    runner = ScriptedRunner(by_name, str)
    try_out(runner, add("a", "a"), add("a\n- b", "a"))
    mine = [request.repeat for request in runner.requests if request.skill == SKILL]
    assert len(mine) == len(set(mine)) > 0


def test_an_edit_that_cites_no_train_task_is_tried_on_the_first_ones() -> None:
    runner = ScriptedRunner(by_name, str)
    (found,) = try_out(runner, add("a\n- b\n- c", "val-1"))
    assert [request.task.id for request in runner.requests if request.skill != SKILL] == ["a", "b", "c"]
    assert found.kept


def test_an_edit_is_tried_on_at_most_four_of_the_tasks_it_cites() -> None:
    runner = ScriptedRunner(by_name, str)
    (found,) = try_out(runner, add("a\n- c\n- e", *TASKS))
    assert found.tasks == 4
    assert {request.task.id for request in runner.requests} == {"a", "b", "c", "d"}


def test_a_failed_rollout_is_missing_and_not_a_zero() -> None:
    def patchy(request: RolloutRequest) -> Rollout:
        return scored(request, None) if request.task.id == "b" and "- a" in body_of(request) else by_name(request)

    (found,) = try_out(ScriptedRunner(patchy, str), add("a", "a", "b"))
    assert (found.tasks, found.after, found.kept) == (1, 1.0, True)


def test_a_dead_provider_is_an_invalid_measurement() -> None:
    with pytest.raises(InvalidMeasurementError, match="scripted failure"):
        try_out(ScriptedRunner(lambda request: scored(request, None), str), add("a", "a"))


def test_an_edit_that_a_dying_provider_left_unmeasured_stops_the_run_instead_of_being_dropped() -> None:
    asked = 0

    def dying(request: RolloutRequest) -> Rollout:
        nonlocal asked
        asked += 1
        return scored(request, 1.0 if asked == 1 else None)

    with pytest.raises(InvalidMeasurementError, match="rollouts of a are missing"):
        try_out(ScriptedRunner(dying, str), add("a", "a", "b"))
