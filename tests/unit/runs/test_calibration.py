"""Drafts that were called likely better are counted against what later runs decided about them."""

from dataclasses import replace
from pathlib import Path

from skillopt.gate.decide import Outcome
from skillopt.loop.events import GateDecided
from skillopt.runs.recorded import count_calibration
from tests.fakes.drafts import gated, graded, run_events
from tests.fakes.projects import skillopt


def decided(rule: str, outcome: Outcome) -> GateDecided:
    event = gated(0.0, rule)
    return replace(event, verdict=replace(event.verdict, outcome=outcome))


def test_a_draft_counts_once_a_later_run_decides_about_it_and_the_log_tells_of_five(folder: Path) -> None:
    rules = [f"Rule {number}." for number in range(6)]
    drafts = [graded(rule, probability=0.85) for rule in rules]
    same_run = decided(rules[0], Outcome.ACCEPT)
    run_events(folder, same_run, *drafts, graded("Sure.", probability=0.95))
    assert count_calibration(folder) == (0, 0)
    found = [decided(rule, Outcome.ACCEPT) for rule in (*rules[:3], "Sure.")]
    run_events(folder, *found, decided(rules[3], Outcome.REJECT), decided(rules[4], Outcome.INCONCLUSIVE), seed=1)
    assert count_calibration(folder) == (4, 3)
    assert "80-90%" not in skillopt(folder, "log", "rows").stdout
    run_events(folder, decided(rules[4], Outcome.REJECT), seed=2)
    assert "of 5 drafts called 80-90% better" in skillopt(folder, "log", "rows").stdout
