"""Two folds that swap roles: what one was taught is judged on the other."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import EditError
from skillopt.loop.course import Course, go
from skillopt.loop.decision import grade_draft, measure_baseline
from skillopt.loop.draft import Draft, Line
from skillopt.loop.events import DraftChanged, EditRefused, VersionAccepted
from skillopt.loop.evidence import TrainEvidence
from skillopt.loop.folds import join_lines, lines_left_out
from skillopt.loop.merging import merge_folds, parts_of_folds
from skillopt.loop.training_run import TrainingRun
from skillopt.settings import make_settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits
from skillopt.tasks import File, Split, Suite, VerifierSpec
from tests.fakes.worlds import SKILL, World, line, missing, words_of

PLACE = World({f"val-{at}": ("alpha",) for at in range(4)})
TASKS = [task for _, task in PLACE.suite((0, 4, 0)).splits]
FOLDS = (TASKS[:2], TASKS[2:])


def folded(world: World, **settings: object) -> TrainingRun:
    """Return a run with the tasks of a world in two folds, after its baseline."""
    tasks = [task for _, task in world.suite((0, len(world.needs), 0)).splits]
    half = len(tasks) // 2
    suite = Suite("words", tuple((Split.VAL, task) for task in tasks), folds=((*tasks[:half],), (*tasks[half:],)))
    run = TrainingRun(SKILL, suite, make_settings(("test", settings)), world.runner(str))
    list(measure_baseline(run))
    return run


def learn(run: TrainingRun, *words: Mapping[str, Sequence[str]]) -> None:
    """Let each fold learn words, each for some of its tasks."""
    for policy, said in zip(run.policies, words, strict=True):
        targets = {word: {name: [word] for name in names} for word, names in said.items()}
        policy.evidence.draft.set([line(word, of) for word, of in targets.items()])
    list(run.draft_changed())


def test_a_rule_that_both_folds_word_is_said_once_and_the_merged_text_runs_on_every_task() -> None:
    world = World({f"val-{at}": ("alpha|alias",) for at in range(8)}, clashing=frozenset({"alpha", "alias"}))
    run = folded(world)
    learn(run, {"alpha": ("val-0", "val-1")}, {"alias": ("val-5", "val-6")})
    for policy in run.policies:
        for one in policy.evidence.draft.lines:
            one.targets = dict.fromkeys(one.targets, missing("alpha|alias"))

    graded = [event for event in grade_draft(run) if isinstance(event, VersionAccepted)]

    assert len(words_of(run.draft.skill) & world.clashing) == 1
    assert [len(event.verdict.fixed) for event in graded] == [8]
    ran = {request.task.id for request in world.requests if request.skill == run.draft.incumbent}
    assert ran == set(world.needs)


def test_a_line_that_the_other_fold_replaced_by_luck_comes_back() -> None:
    world = World({f"val-{at}": ("alpha",) if at < 4 else ("beta",) for at in range(8)})
    run = folded(world)
    learn(run, {"alpha": ("val-0", "val-1")}, {"beta": ("val-5",)})
    run.doubles[run.policies[0].evidence.draft.lines[0]] = "by luck"
    list(merge_folds(run))
    assert words_of(run.draft.skill) == {"keep", "alpha", "beta"}
    assert run.doubles == {}


def in_the_way(**settings: object) -> tuple[TrainingRun, World]:
    """Return a run in which a line of one fold keeps three tasks of the other from passing."""
    needs = {f"val-{at}": ("alpha",) for at in range(4)} | {"val-4": ("poison",)}
    needs |= {f"val-{at}": ("beta",) for at in range(5, 8)}
    world = World(needs, clashing=frozenset({"alpha", "poison"}))
    run = folded(world, **settings)
    learn(run, {"alpha": ("val-0", "val-1", "val-2")}, {"poison": ("val-4",), "beta": ("val-5", "val-6")})
    for policy in run.policies:
        list(go([_seen(policy.evidence)], run.answers))
    return run, world


def test_a_line_that_stands_in_the_way_of_the_other_fold_is_located_and_left_out() -> None:
    run, _ = in_the_way()
    refused = [event.edit.id for event in merge_folds(run) if isinstance(event, EditRefused)]
    assert refused == ["poison"]
    assert words_of(run.draft.skill) == {"keep", "alpha", "beta"}


def test_where_the_cap_leaves_no_run_of_a_repaired_text_the_one_before_it_that_ran_whole_is_handed_over() -> None:
    free, world = in_the_way()
    list(merge_folds(free))
    before = next(at for at, request in enumerate(world.requests) if request.skill == free.draft.skill)
    run, _ = in_the_way(max_rollouts=before)
    run.runner.release()
    list(merge_folds(run))
    assert words_of(run.draft.skill) == {"keep", "alpha", "poison", "beta"}


def _seen(evidence: TrainEvidence) -> Course[None]:
    yield from evidence.run(evidence.draft.skill, evidence.tasks)


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
    texts = [run.draft.skill.text, *(policy.evidence.draft.skill.text for policy in run.policies)]
    assert [text for text in texts for content in dropped if content in text] == []
    assert [("- alpha" in text, "- beta" in text) for text in texts] == [(True, True), (True, False), (False, True)]
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
    learned = [draft.lines for draft in made]
    join_lines(joined, learned)

    text, listed = joined.skill.text, joined.waiting
    assert [change.edit for change in joined.pending] == listed
    assert reapplied(listed) == text
    for edit in listed:
        assert edit.content.strip() in text
        assert edit.op not in (Op.DELETE, Op.REPLACE) or edit.anchor not in text
        assert Draft(BEGUN).build([line for line in joined.lines if line.edit is not edit]).text != text
    lost = [line.edit for line in lines_left_out(joined, learned)]
    assert {edit.content for edit in lost if edit.content} & set(text.splitlines()) == set()


def test_rules_of_one_fold_stay_beside_the_section_that_the_other_one_rewrote() -> None:
    made, joined = [Draft(BEGUN), Draft(BEGUN)], Draft(BEGUN)
    rules = [Line(Edit(f"a{n}", Op.ADD, section="How", content=f"- rule {n}"), {"val-0": missing("x")}) for n in "123"]
    made[0].set(rules)
    made[1].set([Line(Edit("b", Op.REWRITE, section="How", content="- anew"), {"val-2": missing("y")})])

    join_lines(joined, [draft.lines for draft in made])

    assert {edit.id for edit in joined.waiting} == {"a1", "a2", "a3", "b"}
    assert joined.skill.text.endswith("## How\n\n- anew\n- rule 1\n- rule 2\n- rule 3\n")
    assert lines_left_out(joined, [draft.lines for draft in made]) == []


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
    for policy in run.policies:
        policy.evidence.start.update(dict.fromkeys(policy.evidence.tasks, missing("x")))
    assert not any("- uno" in part.text for part in parts_of_folds(run).values())
    assert "- uno" in first.draft.skill.text
