"""Protected siblings: what refuses a version, what does not, what it costs, and what a run records of it."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from skillopt.gate.comparison import Outcome
from skillopt.loop.caps import BudgetReached, CappedRunner
from skillopt.loop.events import (
    DraftChanged,
    DraftGraded,
    Event,
    GateDecided,
    RunEnded,
    SiblingMeasured,
    StepFailed,
    VersionAccepted,
)
from skillopt.loop.optimizer import train
from skillopt.loop.proposals import ProposalTerms, check_proposal, try_proposal
from skillopt.loop.siblings import Sibling, SiblingGuard, rollouts_kept
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored
from tests.fakes.constants import settings_with
from tests.fakes.worlds import SKILL, World, add, named, propose_words, words_of
from tests.unit.loop.test_optimizer import SKILL as LOOP_SKILL
from tests.unit.loop.test_optimizer import by_words, suite

OTHER = Skill("other", SkillDocument("---\nname: other\ndescription: Other.\n---\n# Other\n\n- own\n"))
WITH_ALPHA = SKILL.with_document(SkillDocument(SKILL.document.text + "- alpha\n"))


def sibling(tasks: int = 8, name: str = "other") -> Sibling:
    made = tuple(
        Task(f"{name}-{at}", f"Do {name} {at}", VerifierSpec("exact", '{"expected": "x"}')) for at in range(tasks)
    )
    return Sibling(name, replace(OTHER, name=name), made)


def settings(**values: object) -> Settings:
    return settings_with(values)


def falls_beside(word: str) -> Callable[[RolloutRequest], float]:
    """Let a sibling's tasks fail when a skill beside it says a word."""
    return lambda request: float(not any(word in words_of(one) for one in request.beside))


def guard(score: Callable[[RolloutRequest], float | None], *siblings: Sibling, **values: object) -> SiblingGuard:
    chosen = settings(**values)
    runner = ScriptedRunner(lambda request: scored(request, score(request)), str)
    return SiblingGuard(siblings or (sibling(),), SKILL, chosen, CappedRunner(runner, chosen, 0))


def checked(one: SiblingGuard, candidate: Skill = WITH_ALPHA) -> tuple[list[SiblingMeasured], str]:
    events, checking = [], one.check(1, candidate)
    while True:
        try:
            events.append(next(checking))
        except StopIteration as stopped:
            return events, stopped.value


def test_a_version_beside_which_a_sibling_falls_is_refused_with_what_was_measured() -> None:
    one = guard(falls_beside("alpha"))
    (event,), refused = checked(one)
    assert event.fell
    assert event.verdict is not None
    assert event.verdict.broken == tuple(sorted(event.verdict.broken))
    assert len(event.verdict.broken) == 8
    assert "8 of 8 → 0 of 8 tasks passed" in refused
    assert "regression of sibling other" in refused
    assert one.refused == {WITH_ALPHA.digest}
    assert one.words(WITH_ALPHA) == ()


def test_the_sibling_is_tried_and_the_trained_text_only_lies_beside_it() -> None:
    seen: list[RolloutRequest] = []

    def score(request: RolloutRequest) -> float:
        seen.append(request)
        return 1.0

    checked(guard(score))
    assert {request.skill for request in seen} == {replace(OTHER, name="other")}
    assert {request.beside for request in seen} == {(SKILL,), (WITH_ALPHA,)}
    assert len({(request.digest, request.task.id, request.repeat) for request in seen}) == len(seen)


def test_a_skill_that_is_new_is_compared_with_nothing_beside() -> None:
    seen: list[RolloutRequest] = []

    def rollout(request: RolloutRequest) -> Rollout:
        seen.append(request)
        return scored(request, 1.0)

    runner = ScriptedRunner(rollout, str)
    none = Skill(SKILL.name, SkillDocument(""))
    checked(SiblingGuard((sibling(),), none, settings(), CappedRunner(runner, settings(), 0)))
    assert {request.beside for request in seen} == {(), (WITH_ALPHA,)}


def test_chat_shows_no_body_of_other_skills_so_nothing_is_run_for_a_change_of_it() -> None:
    one = guard(lambda _: pytest.fail("a rollout was asked for"), harness="chat/anthropic/some-model")
    (event,), refused = checked(one)
    assert refused == ""
    assert event.verdict is None
    assert "nothing was run" in event.words
    assert one.kept == 0


@pytest.mark.slow
@pytest.mark.parametrize(("siblings", "tasks"), [(1, 4), (1, 12), (3, 8)])
def test_harmless_versions_are_refused_no_more_often_than_the_error_allows(siblings: int, tasks: int) -> None:
    """Half of the runs pass, whatever lies beside; 150 versions, so at most 0.1 and three standard errors."""
    refused, named_so = 0, [sibling(tasks, f"s{at}") for at in range(siblings)]
    for number in range(150):
        draw = Random(number)

        def score(_: RolloutRequest, draw: Random = draw) -> float:
            return float(draw.random() < 0.5)

        refused += bool(checked(guard(score, *named_so))[1])
    assert refused / 150 <= 0.1 + 3 * 0.0245


def test_part_of_a_cap_is_kept_back_for_siblings() -> None:
    assert rollouts_kept((), settings(max_rollouts=400)) == 0
    assert rollouts_kept((sibling(8),), settings()) == 2 * 8 * 3
    assert rollouts_kept((sibling(8),), settings(max_rollouts=80)) == 20


def beside(
    score: Callable[[RolloutRequest], float], other: Callable[[RolloutRequest], Rollout]
) -> Callable[[RolloutRequest], Rollout]:
    """Score a sibling's tasks one way, and all others another."""
    return lambda request: scored(request, score(request)) if request.beside else other(request)


def trained(world: World, sizes: tuple[int, int, int], siblings: tuple[Sibling, ...], word: str) -> list[Event]:
    rollout = beside(falls_beside(word), world.rollout)
    runner = ScriptedRunner(rollout, propose_words)
    return list(train(SKILL, world.suite(sizes), settings(), runner, siblings=siblings))


def test_training_accepts_nothing_that_lowers_a_sibling_and_leaves_no_draft_of_it() -> None:
    sizes = (12, 24, 0)
    events = trained(World(named([("alpha",), ()], sizes)), sizes, (sibling(),), "alpha")
    assert any(isinstance(event, SiblingMeasured) and event.fell for event in events)
    assert not any(isinstance(event, VersionAccepted | DraftGraded) for event in events)
    decided = [event for event in events if isinstance(event, GateDecided)]
    assert {event.verdict.outcome for event in decided} == {Outcome.REJECT}
    assert all("regression of sibling other" in event.verdict.reason for event in decided)
    drafts = [event for event in events if isinstance(event, DraftChanged)]
    assert not drafts[-1].changes


def test_folds_that_lower_a_sibling_leave_no_version_and_no_draft() -> None:
    names = [f"val-{at}" for at in range(8)]
    world = World(dict.fromkeys(names, ("alpha",)))
    tasks = tuple(Task(name, f"Do {name}", VerifierSpec("exact", '{"expected": "x"}')) for name in names)
    suite = Suite("words", tuple((Split.VAL, task) for task in tasks), (tasks[::2], tasks[1::2]))
    rollout = beside(falls_beside("alpha"), world.rollout)
    chosen = settings(accept="here")
    unguarded = list(train(SKILL, suite, chosen, ScriptedRunner(rollout, propose_words)))
    assert [event for event in unguarded if isinstance(event, VersionAccepted)]
    events = list(train(SKILL, suite, chosen, ScriptedRunner(rollout, propose_words), siblings=(sibling(),)))
    assert any(isinstance(event, SiblingMeasured) and event.fell for event in events)
    assert not any(isinstance(event, VersionAccepted | DraftGraded) for event in events)
    assert not [event for event in events if isinstance(event, DraftChanged)][-1].changes


@pytest.mark.parametrize(("word", "accepted"), [("alpha", False), ("omega", True)])
def test_proposed_edits_are_held_to_siblings_too(word: str, *, accepted: bool) -> None:
    rollout = beside(falls_beside(word), by_words)
    chosen = settings(edit_budget=2, min_edits=2, token_budget=40, confidence=0.8, gate="paired")
    changes, _ = check_proposal(LOOP_SKILL.document, [add("alpha", "train-0")], suite(), chosen)
    terms = ProposalTerms(siblings=(sibling(),))
    events = list(try_proposal(changes, LOOP_SKILL, suite(), chosen, ScriptedRunner(rollout, str), terms))
    assert any(isinstance(event, VersionAccepted) for event in events) is accepted
    (decided,) = [event for event in events if isinstance(event, GateDecided)]
    assert ("regression of sibling other" in decided.verdict.reason) is not accepted
    assert not [event for event in events if isinstance(event, DraftGraded | DraftChanged)]


def test_proposed_edits_that_a_cap_leaves_unchecked_wait_as_a_draft() -> None:
    rollout = beside(lambda _: 1.0, by_words)
    chosen = settings(edit_budget=2, min_edits=2, token_budget=40, confidence=0.8, gate="paired")
    changes, _ = check_proposal(LOOP_SKILL.document, [add("alpha", "train-0")], suite(), chosen)
    runner = ScriptedRunner(rollout, str)
    list(try_proposal(changes, LOOP_SKILL, suite(), chosen, runner, ProposalTerms()))
    capped = chosen.model_copy(update={"max_rollouts": len(runner.requests) + 4})
    terms = ProposalTerms(siblings=(sibling(),))
    events = list(try_proposal(changes, LOOP_SKILL, suite(), capped, ScriptedRunner(rollout, str), terms))
    assert not any(isinstance(event, VersionAccepted) for event in events)
    assert any(isinstance(event, DraftChanged) and event.changes for event in events)
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert "protected skills were not measured" in ended.reason


def test_training_that_a_cap_leaves_unchecked_accepts_nothing_and_keeps_the_draft() -> None:
    sizes = (12, 24, 0)
    world = World(named([("alpha",), ()], sizes))

    def rollout(request: RolloutRequest) -> Rollout:
        if request.beside:
            raise BudgetReached("the cap leaves nothing for siblings")
        return world.rollout(request)

    runner = ScriptedRunner(rollout, propose_words)
    events = list(train(SKILL, world.suite(sizes), settings(), runner, siblings=(sibling(),)))
    assert not any(isinstance(event, VersionAccepted) for event in events)
    assert [event for event in events if isinstance(event, DraftGraded)]
    assert any(isinstance(event, StepFailed) and "siblings were not measured" in event.reason for event in events)
