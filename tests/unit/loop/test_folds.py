"""Two folds that swap roles: what one was taught is judged on the other."""

import json
from contextlib import suppress
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import EditError
from skillopt.loop.caps import CappedRunner
from skillopt.loop.draft import Draft, Line
from skillopt.loop.events import DraftChanged, EditRefused
from skillopt.loop.training_run import CrossFoldRunner, TrainingRun, join_lines, lines_left_out
from skillopt.protocols import RolloutRequest
from skillopt.settings import make_settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits
from skillopt.tasks import File, Split, Suite, VerifierSpec
from skillopt.testing import ScriptedRunner
from tests.fakes.worlds import SKILL, World, line, missing, words_of

PLACE = World({f"val-{at}": ("alpha",) for at in range(4)})
TASKS = [task for _, task in PLACE.suite((0, 4, 0)).splits]
FOLDS = (TASKS[:2], TASKS[2:])


def drafts(*words: str) -> list[Draft]:
    """Return one draft a fold, each with a line that says a word."""
    made = [Draft(SKILL) for _ in words]
    for draft, word in zip(made, words, strict=True):
        draft.set([line(word, {})] if word else [])
    return made


def crossed(*words: str) -> tuple[CrossFoldRunner, ScriptedRunner, Skill]:
    """Return a runner that knows the drafts of both folds, what it runs, and the joined draft."""
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


def test_a_line_that_leaks_with_those_of_the_other_fold_goes_from_every_draft_that_the_gate_runs() -> None:
    answer = VerifierSpec("exact", json.dumps({}), (File("expected.csv", b"ORD-0032,2024-08-11,353.20"),))
    tasks = [replace(TASKS[0], verifier=answer), *TASKS[1:]]
    suite = Suite("words", tuple((Split.VAL, task) for task in tasks), folds=((*tasks[:2],), (*tasks[2:],)))
    inner = PLACE.runner(str)
    run = TrainingRun(SKILL, suite, make_settings(), inner)
    first, second = (policy.evidence for policy in run.policies)
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


PLACES = SkillDocument(
    "---\nname: words\ndescription: Words.\n---\n# Words\n\n## Rules\n\n- one\n- two\n\n## How\n\n- three\n\nFour.\n"
)
BEGUN = Skill("words", PLACES)
TOLD = ("- one", "- two", "- three", "Four.")


@st.composite
def edits_of_a_fold(draw: st.DrawFn, name: str) -> list[Line]:
    """Draw edits of the text as it was, each with words of its own."""
    found = []
    for number in range(draw(st.integers(0, 6))):
        content, identity = f"- {name} {number}", f"{name}{number}"
        place = draw(st.sampled_from(TOLD))
        section = draw(st.sampled_from(("Rules", "How")))
        edit = draw(
            st.sampled_from(
                (
                    Edit(identity, Op.ADD, section=section, content=content),
                    Edit(identity, Op.ADD, place, content=content),
                    Edit(identity, Op.REWRITE, section=section, content=content),
                    Edit(identity, Op.REPLACE, place, content=content),
                    Edit(identity, Op.DELETE, place),
                )
            )
        )
        found.append(Line(edit))
    return found


def reapplied(edits: list[Edit]) -> str:
    """Apply edits to the text as it was, together or else in turn, every one of them."""
    with suppress(EditError):
        return apply_edits(PLACES, edits).document.text
    document = PLACES
    for edit in edits:
        document = apply_edits(document, [edit]).document
    return document.text


@given(edits_of_a_fold("a"), edits_of_a_fold("b"))
def test_every_edit_that_the_joined_draft_lists_is_in_its_text_and_no_other(
    first: list[Line], second: list[Line]
) -> None:
    made, joined = [Draft(BEGUN), Draft(BEGUN)], Draft(BEGUN)
    for draft, lines in zip(made, (first, second), strict=True):
        draft.set(lines)
    judged = join_lines(joined, made)

    text, listed = joined.skill.text, joined.waiting
    assert [change.edit for change in joined.pending] == listed
    assert reapplied(listed) == text
    for edit in listed:
        assert edit.content.strip() in text
        assert edit.op not in (Op.DELETE, Op.REPLACE) or edit.anchor not in text
        assert Draft(BEGUN).build([line for line in joined.lines if line.edit is not edit]).text != text
    lost = [line.edit for line in lines_left_out(joined, made)]
    assert {edit.content for edit in lost if edit.content} & set(text.splitlines()) == set()
    assert [edit.content for edit in lost if edit.content and any(edit.content in one.text for one in judged)] == []


def test_rules_of_one_fold_stay_beside_the_section_that_the_other_one_rewrote() -> None:
    made, joined = [Draft(BEGUN), Draft(BEGUN)], Draft(BEGUN)
    rules = [Line(Edit(f"a{n}", Op.ADD, section="How", content=f"- rule {n}"), {"val-0": missing("x")}) for n in "123"]
    made[0].set(rules)
    made[1].set([Line(Edit("b", Op.REWRITE, section="How", content="- anew"), {"val-2": missing("y")})])

    join_lines(joined, made)

    assert {edit.id for edit in joined.waiting} == {"a1", "a2", "a3", "b"}
    assert joined.skill.text.endswith("## How\n\n- anew\n- rule 1\n- rule 2\n- rule 3\n")
    assert lines_left_out(joined, made) == []


def test_an_edit_without_a_place_in_the_joined_draft_is_told_once_with_the_reason_and_not_judged() -> None:
    suite = Suite("words", PLACE.suite((0, 4, 0)).splits, folds=((*TASKS[:2],), (*TASKS[2:],)))
    inner = PLACE.runner(str)
    run = TrainingRun(BEGUN, suite, make_settings(), inner)
    first, second = (policy.evidence for policy in run.policies)
    first.draft.set([Line(Edit("a", Op.REPLACE, "- one", content="- uno"), {"val-0": missing("x")})])
    both = {"val-2": missing("y"), "val-3": missing("y")}
    second.draft.set([Line(Edit("b", Op.REPLACE, "- one", content="- een"), both)])

    told = [*run.draft_changed(), *run.draft_changed()]

    refused = [event for event in told if isinstance(event, EditRefused)]
    drafted = [event for event in told if isinstance(event, DraftChanged)]
    assert [(event.edit.id, "the other fold" in event.reason) for event in refused] == [("a", True)]
    assert [[change.edit.id for change in event.changes] for event in drafted] == [["b"]]
    assert run.cross is not None
    run.cross.rollouts([RolloutRequest(run.draft.skill, task, 0) for task in TASKS])
    assert not any("- uno" in request.skill.text for request in inner.requests if request.skill)
    assert "- uno" in first.draft.skill.text
