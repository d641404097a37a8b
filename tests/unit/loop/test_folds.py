"""Two folds that swap roles: what one was taught is judged on the other."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from skillopt.loop.caps import CappedRunner
from skillopt.loop.draft import Draft, Line
from skillopt.loop.events import EditRefused
from skillopt.loop.folds import CrossFoldRunner, join_lines
from skillopt.loop.training_run import TrainingRun
from skillopt.presets import make_settings
from skillopt.protocols import RolloutRequest
from skillopt.skills.document import Skill
from skillopt.skills.edits import Edit, Op
from skillopt.tasks import File, Split, Suite, VerifierSpec
from skillopt.testing import ScriptedRunner
from tests.fakes.worlds import SKILL, World, line, words_of

PLACE = World({f"val-{at}": ("alpha",) for at in range(4)})
TASKS = [task for _, task in PLACE.suite((0, 4, 0)).splits]
FOLDS = (TASKS[:2], TASKS[2:])


def drafts(*words: str) -> list[Draft]:
    """Give one draft a fold, each with a line that says a word."""
    made = [Draft(SKILL) for _ in words]
    for draft, word in zip(made, words, strict=True):
        draft.set([line(word, {})] if word else [])
    return made


def crossed(*words: str) -> tuple[CrossFoldRunner, ScriptedRunner, Skill]:
    """Give a runner that knows the drafts of both folds, what it runs, and the joined draft."""
    inner = PLACE.runner(str)
    runner = CrossFoldRunner(CappedRunner(inner, make_settings(), 0), FOLDS)
    made, joined = drafts(*words), Draft(SKILL)
    join_lines(joined, made)
    runner.set_drafts(joined.skill, [draft.skill for draft in made])
    return runner, inner, joined.skill


def test_the_tasks_of_each_fold_are_run_with_the_draft_of_the_other_one() -> None:
    runner, inner, joined = crossed("alpha", "beta")
    found = runner.rollouts([RolloutRequest(joined, task, 0) for task in TASKS])
    said = {request.task.id: words_of(request.skill) - {"keep"} for request in inner.requests}
    assert said == {"val-0": {"beta"}, "val-1": {"beta"}, "val-2": {"alpha"}, "val-3": {"alpha"}}
    assert [rollout.score.passed for rollout in found if rollout.score] == [False, False, True, True]


def test_the_incumbent_is_run_as_it_is() -> None:
    runner, inner, _ = crossed("alpha", "beta")
    runner.rollouts([RolloutRequest(SKILL, task, 0) for task in TASKS])
    assert all(request.skill == SKILL for request in inner.requests)


def test_a_fold_that_learned_nothing_leaves_the_tasks_of_the_other_one_as_they_are_and_runs_them_once() -> None:
    runner, inner, joined = crossed("alpha", "")
    both = [RolloutRequest(skill, task, 0) for skill in (SKILL, joined) for task in TASKS]
    found = runner.rollouts(both)
    assert len(inner.requests) == 4 + 2
    assert found[:2] == found[4:6]


def test_rollouts_come_back_in_the_order_in_which_they_were_asked_for() -> None:
    runner, _, joined = crossed("alpha", "beta")
    asked = [RolloutRequest(skill, task, 0) for task in reversed(TASKS) for skill in (joined, SKILL)]
    assert [rollout.task_id for rollout in runner.rollouts(asked)] == [request.task.id for request in asked]


def test_what_both_folds_learned_is_said_once() -> None:
    joined = Draft(SKILL)
    join_lines(joined, drafts("alpha", "alpha"))
    assert joined.skill.document.text.count("- alpha") == 1
    assert len(joined.lines) == 1


WORDS = st.lists(st.sampled_from(("alpha", "beta", "gamma", "delta")), unique=True)


@given(WORDS, WORDS)
def test_the_joined_draft_says_what_either_fold_says(first: list[str], second: list[str]) -> None:
    made, joined = [Draft(SKILL), Draft(SKILL)], Draft(SKILL)
    for number, (draft, words) in enumerate(zip(made, (first, second), strict=True)):
        draft.set([line(word, {f"val-{number}": ["x"]}) for word in words])
    join_lines(joined, made)
    assert words_of(joined.skill) == {"keep", *first, *second}
    join_lines(joined, made)
    assert words_of(joined.skill) == {"keep", *first, *second}


def test_a_line_that_leaks_with_those_of_the_other_fold_goes_from_every_draft_that_the_gate_runs() -> None:
    answer = VerifierSpec("exact", json.dumps({}), (File("expected.csv", b"ORD-0032,2024-08-11,353.20"),))
    tasks = [replace(TASKS[0], verifier=answer), *TASKS[1:]]
    suite = Suite("words", tuple((Split.VAL, task) for task in tasks), folds=((*tasks[:2],), (*tasks[2:],)))
    inner = PLACE.runner(str)
    run = TrainingRun(SKILL, suite, make_settings(), inner)
    first, second = run.learners
    first.draft.set([line("alpha", {}), says("one", "Look at ORD-0032.")])
    second.draft.set([line("beta", {}), says("two", "Look at 2024-08-11."), says("again", "Look at 353.20.")])

    refused = [event for event in run.draft_changed() if isinstance(event, EditRefused)]

    dropped = {event.edit.content for event in refused}
    assert dropped
    assert list(run.draft_changed()) == []
    assert run.cross is not None
    run.cross.rollouts([RolloutRequest(run.draft.skill, task, 0) for task in tasks])
    ran = {request.task.id: request.skill.text for request in inner.requests if request.skill}
    assert [text for text in ran.values() for content in dropped if content in text] == []
    assert ["- alpha" in ran[task.id] for task in tasks] == [False, False, True, True]
    assert ["- beta" in ran[task.id] for task in tasks] == [True, True, False, False]
    assert first.memory.rejected + second.memory.rejected


def says(name: str, text: str) -> Line:
    """Make a line of a sentence."""
    return Line(Edit(name, Op.ADD, section="Rules", content=f"- {text}"))
