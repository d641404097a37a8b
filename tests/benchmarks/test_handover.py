"""What a run hands over, and whether what it says of it is true."""

import pytest

from benchmarks.landscapes.following import Watch
from benchmarks.landscapes.handover import Handover, hand_over
from benchmarks.landscapes.lines import START, block_line, idle_line, rule_line
from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.runs import Job, run_job
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite
from benchmarks.landscapes.truth import document_of
from benchmarks.landscapes.worlds import WORLDS
from skillopt.gate.comparison import Outcome, Verdict
from skillopt.gate.grades import Grade, Grading
from skillopt.loop.events import DraftGraded, Event, RunEnded, VersionAccepted
from skillopt.settings import make_settings
from skillopt.skills.document import SkillDocument
from tests.fakes.constants import settings_with

FIRST = document_of((rule_line(0), rule_line(1), idle_line(3)))
SECOND = document_of((rule_line(0), rule_line(1), rule_line(2)))
WORSE = document_of((block_line(0), rule_line(0)))
GAIN = 0.8 / 12
"""What each rule is worth in the world `distractors`."""


def graded(grade: Grade, probability: float, gain: float = 0.1) -> Grading:
    return Grading(grade, probability, gain, gain - 0.05, gain + 0.05, tasks=36, changed=6, reason="")


def version(text: str, rollouts: int, grading: Grading | None = None) -> VersionAccepted:
    verdict = Verdict(
        Outcome.ACCEPT, "", before=0.1, after=0.2, confidence=0.95, wins=6, ties=30, losses=0, fixed=(), broken=(),
        missing=0,
    )  # fmt: skip
    return VersionAccepted(1, 1, 1, "edits", text, (), verdict, rollouts, grading)


def draft(text: str, grading: Grading, incumbent: str = START.document.text) -> DraftGraded:
    return DraftGraded(text, (), grading, SkillDocument(incumbent).digest, 200)


def handed(*events: Event) -> Handover:
    world = WORLDS["distractors"]
    runner = SimulatedRunner(Target(world, 0), SimulatedModel(world, 0))
    watch = Watch(world, settings_with({"metric": "soft"}), runner, START.document, make_suite(world), 0)
    for event in (*events, RunEnded("the end", 0, 200, 20)):
        watch.take(event)
    return hand_over(watch, 210)


def test_a_run_that_found_nothing_hands_over_nothing() -> None:
    found = handed()
    assert (found.kind, found.grade, found.gain, found.first, found.claims) == ("nothing", "", 0.0, None, ())
    assert not found.harmed


def test_a_draft_is_handed_over_whatever_its_probability_where_there_is_no_version() -> None:
    found = handed(draft(FIRST, graded(Grade.UNPROVEN, 0.55)))
    assert (found.kind, found.grade, found.text) == ("draft", "unproven", FIRST)
    assert found.gain == pytest.approx(2 * GAIN)


def test_a_draft_that_is_worse_is_not_handed_over() -> None:
    found = handed(draft(WORSE, graded(Grade.WORSE, 0.1, -0.1)))
    assert (found.kind, found.text) == ("nothing", START.document.text)
    assert found.claims[0].grade == "worse"


@pytest.mark.parametrize(("probability", "kind"), [(0.79, "version"), (0.80, "draft")])
def test_what_is_left_after_a_version_is_handed_over_only_when_it_is_likely_better(
    probability: float, kind: str
) -> None:
    left = draft(SECOND, graded(Grade.UNPROVEN, probability), incumbent=FIRST)
    found = handed(version(FIRST, 120), left)
    assert (found.kind, found.first) == (kind, 120)
    assert found.gain == pytest.approx((2 if kind == "version" else 3) * GAIN)


def test_each_claim_is_held_against_what_it_was_compared_with() -> None:
    proven = graded(Grade.PROVEN, 0.97, gain=2 * GAIN)
    left = draft(SECOND, graded(Grade.UNPROVEN, 0.6, gain=0.3), incumbent=FIRST)
    accepted, last = handed(version(FIRST, 120, proven), left).claims
    assert (accepted.kind, accepted.covered, accepted.is_true) == ("version", True, True)
    assert accepted.gain == pytest.approx(2 * GAIN)
    assert (last.kind, last.covered, last.is_true) == ("draft", False, True)
    assert [last.gain, last.here] == pytest.approx([GAIN, GAIN])


def test_a_text_that_is_worse_than_the_first_one_is_harm() -> None:
    spoiled = document_of((block_line(0),))
    assert not handed(draft(spoiled, graded(Grade.UNPROVEN, 0.9))).harmed
    world, settings = WORLDS["spoiled"], make_settings()
    runner = SimulatedRunner(Target(world, 0), SimulatedModel(world, 0))
    watch = Watch(world, settings, runner, SkillDocument(document_of((rule_line(0),))), make_suite(world), 0)
    for event in (draft(START.document.text, graded(Grade.UNPROVEN, 0.9)), RunEnded("the end", 0, 9, 1)):
        watch.take(event)
    assert hand_over(watch, 9).harmed


def test_lines_that_can_go_without_a_loss_are_counted_as_useless() -> None:
    assert handed(draft(FIRST, graded(Grade.UNPROVEN, 0.9))).useless == 1
    assert handed(draft(SECOND, graded(Grade.UNPROVEN, 0.9))).useless == 0


@pytest.mark.slow
def test_the_last_useful_line_was_offered_before_the_version_that_has_it() -> None:
    run = run_job(Job("strong", "paper", 0, 500, shipped=True))
    rollouts, calls = run.handed.useful
    last = run.curve[-1][0]
    assert 0 < rollouts <= last
    assert 0 < calls <= run.calls
    assert run.handed.kind == "version"
    assert max(run.handed.rounds) <= 8
