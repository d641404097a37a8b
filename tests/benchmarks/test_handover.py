"""What a run hands over, and whether what it says of it is true."""

import pytest

from benchmarks.landscapes.following import Watch
from benchmarks.landscapes.handover import Handover, hand_over
from benchmarks.landscapes.lines import START, idle_line, rule_line
from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite
from benchmarks.landscapes.truth import document_of
from benchmarks.landscapes.worlds import WORLDS
from skillopt.gate.comparison import Outcome, Verdict
from skillopt.gate.grades import Grade, Grading
from skillopt.loop.events import DraftGraded, Event, RunEnded, VersionAccepted
from skillopt.skills.document import SkillDocument
from tests.fakes.constants import settings_with

FIRST = document_of((rule_line(0), rule_line(1), idle_line(3)))
SECOND = document_of((rule_line(0), rule_line(1), rule_line(2)))
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
