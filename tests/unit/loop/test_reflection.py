"""From rollouts to the patch to try."""

import json
from collections.abc import Mapping

from skillopt.errors import FailureKind, ProviderError
from skillopt.loop import proposing
from skillopt.loop.consultation import Optimizer
from skillopt.loop.events import EditUnreadable, PromptSkipped
from skillopt.loop.memory import Memory, PeoplesRefusal
from skillopt.loop.proposing import Briefing, Proposal
from skillopt.prompts.stages import Told
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.settings import Settings, make_settings
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored
from tests.fakes.constants import settings_with

NOTHING = Told()
DOCUMENT = SkillDocument("# Rules\n\n- One.\n- Two.\n")


def measured(failures: int, successes: int) -> list[tuple[Task, Rollout]]:
    tasks = [Task(f"t{number}", f"do {number}", VerifierSpec("exact")) for number in range(failures + successes)]
    return [(task, scored(RolloutRequest(None, task), float(at >= failures), "wrong")) for at, task in enumerate(tasks)]


def runner_that_says(*edits: Mapping[str, object], **stages: object) -> ScriptedRunner:
    def answer(prompt: str) -> str:
        stage = prompt.splitlines()[0].removeprefix("Task: ").split()[0]
        return json.dumps(stages.get(stage, {"edits": edits}))

    return ScriptedRunner(lambda request: scored(request, 0.0), answer)


def stages_asked(runner: ScriptedRunner) -> list[str]:
    return [prompt.splitlines()[0].removeprefix("Task: ") for prompt in runner.prompts]


def propose_edits(
    runner: ScriptedRunner,
    shown: list[tuple[Task, Rollout]],
    settings: Settings,
    *how: int,
    told: Told = NOTHING,
    by_people: tuple[PeoplesRefusal, ...] = (),
) -> Proposal:
    briefing = Briefing(Optimizer(runner), DOCUMENT, told, by_people)
    return proposing.propose_edits(briefing, shown, settings, *how)


def test_all_failures_stand_in_one_prompt_and_successes_in_none() -> None:
    runner = runner_that_says({"op": "add", "content": "- new"})
    proposal = propose_edits(runner, measured(9, 5), make_settings(), 2, 4)
    assert stages_asked(runner) == ["reflect on failures"]
    assert "t1, t2, t3, t4" in runner.prompts[0]
    assert [change.edit.id for change in proposal.patch.changes] == ["s2e1"]
    assert proposal.patch.document.text == "# Rules\n\n- One.\n- Two.\n- new\n"


def test_with_minibatches_failures_and_successes_are_reflected_on_apart_and_merged_in_a_tree() -> None:
    runner = runner_that_says({"op": "add", "content": "- new"})
    propose_edits(runner, measured(9, 5), Settings(minibatch_size=1), 1, 4)
    asked = stages_asked(runner)
    assert asked[:14] == ["reflect on failures"] * 9 + ["reflect on successes"] * 5
    # 9 → 2 → 1 takes 1 + 1 merges, 5 → 1 takes one, and one joins both sides.
    assert asked[14:].count("merge proposals") == 4


def test_more_edits_than_the_budget_are_cut_by_the_tasks_they_cite_and_the_rest_waits_untried() -> None:
    cited: list[tuple[str, list[str]]] = [("a", []), ("b", ["t0"]), ("c", ["t0", "t1"])]
    edits = [{"op": "add", "content": f"- {word}", "tasks": tasks} for word, tasks in cited]
    runner = runner_that_says(*edits)
    proposal = propose_edits(runner, measured(2, 0), make_settings(), 1, 2)
    assert [change.edit.content for change in proposal.patch.changes] == ["- c", "- b"]
    assert [(edit.content, reason) for edit, reason in proposal.untried] == [
        ("- a", "over the edit budget of its step")
    ]
    assert proposal.refused == ()
    assert stages_asked(runner) == ["reflect on failures"]


def test_the_token_budget_passes_over_an_edit_that_is_too_large() -> None:
    runner = runner_that_says({"op": "add", "content": "- " + "long " * 400}, {"op": "add", "content": "- short"})
    settings = settings_with({"token_budget": 50})
    proposal = propose_edits(runner, measured(1, 0), settings, 1, 4)
    assert [change.edit.content for change in proposal.patch.changes] == ["- short"]


def test_alternatives_for_one_line_are_rivals_and_none_of_them_is_refused() -> None:
    runner = runner_that_says(
        {"op": "replace", "anchor": "- One.", "content": "- 1.", "tasks": ["t0"]},
        {"op": "replace", "anchor": "- One.", "content": "- I."},
        {"op": "replace", "anchor": "- One.\n- Two.", "content": "- All."},
    )
    proposal = propose_edits(runner, measured(1, 0), make_settings(), 1, 4)
    assert [change.edit.id for change in proposal.patch.changes] == ["s1e1"]
    assert [(edit.id, reason.partition(":")[0]) for edit, reason in proposal.untried] == [
        ("s1e2", "it changes the same text as another edit, which was tried first"),
        ("s1e3", "it changes the same text as another edit, which was tried first"),
    ]
    assert proposal.refused == ()


def test_a_part_that_is_no_edit_is_reported_and_the_others_are_tried() -> None:
    proposal = propose_edits(
        runner_that_says({"op": "magic"}, {"op": "add", "content": "- new"}),
        measured(1, 0),
        make_settings(),
        1,
        4,
    )
    (unread,) = [event for event in proposal.findings if isinstance(event, EditUnreadable)]
    assert unread.text == '{"op": "magic"}'
    assert [change.edit.content for change in proposal.patch.changes] == ["- new"]


def test_a_prompt_that_never_gets_an_answer_is_skipped_by_halves_and_named_with_its_tasks() -> None:
    evidence = told("one", "two", "three", "poison")

    def answer(prompt: str) -> str:
        if "poison" in prompt:
            raise ProviderError(FailureKind.BAD_REQUEST, "content filter")
        return json.dumps({"edits": [{"op": "add", "content": "- new"}]})

    runner = ScriptedRunner(lambda request: scored(request, 0.0), answer)
    proposal = propose_edits(runner, evidence, make_settings(), 3, 4)
    assert [change.edit.content for change in proposal.patch.changes] == ["- new"]
    (skipped,) = [event for event in proposal.findings if isinstance(event, PromptSkipped)]
    assert skipped == PromptSkipped(3, "the prompt got no answer: content filter", ("t2", "t3"))


def told(*feedback: str) -> list[tuple[Task, Rollout]]:
    tasks = [Task(f"t{number}", "do", VerifierSpec("exact")) for number in range(len(feedback))]
    return [(task, scored(RolloutRequest(None, task), 0.0, text)) for task, text in zip(tasks, feedback, strict=True)]


def test_equal_edits_are_tried_once_and_cite_the_tasks_of_all_and_suspects_are_taken_over() -> None:
    edits = [{"op": "add", "content": "- new", "tasks": [name]} for name in ("t0", "t1")]
    runner = runner_that_says(reflect={"edits": edits, "suspects": [{"task": "t2", "reason": "it is right"}]})
    proposal = propose_edits(runner, told("a", "b", "c"), make_settings(), 1, 4)
    (change,) = proposal.patch.changes
    assert change.edit.tasks == ("t0", "t1")
    assert proposal.suspects == {"t2": "it is right"}


def test_an_edit_that_people_refused_is_not_tried_and_the_prompt_tells_of_it() -> None:
    runner = runner_that_says({"op": "add", "content": "- NEW "}, {"op": "add", "content": "- other"})
    refused = PeoplesRefusal(Edit("old", Op.ADD, content="- new"), "not ours to say", "Ada")
    memory = Memory([refused])
    told = Told("", memory.listing(DOCUMENT), memory.notes)
    proposal = propose_edits(runner, measured(2, 0), make_settings(), 1, 4, told=told, by_people=memory.by_people)
    assert [change.edit.content for change in proposal.patch.changes] == ["- other"]
    assert [(edit.content.strip(), why) for edit, why in proposal.refused] == [
        ("- NEW", "Ada refused '- NEW': not ours to say")
    ]
    shown = runner.prompts[0].partition("### Refused by people")[2]
    assert "'- new': Ada refused" in shown.partition(">>>")[0]
