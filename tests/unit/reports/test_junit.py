"""JUnit XML: what CI systems read, by the rules that both common schemas make."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from skillopt.gate.comparison import Outcome, Tally
from skillopt.loop.events import BaselineMeasured, GateDecided, RunStarted
from skillopt.reports.junit import render_junit
from skillopt.reports.view import RunView
from tests.fakes.hostile_views import attack
from tests.fakes.views import EVENTS, HEAD, make_view, verdict

_SUITE = ["name", "package", "id", "timestamp", "hostname", "tests", "failures", "errors", "skipped", "time"]


def suites(view: RunView) -> dict[str, ET.Element]:
    """Parse a report and give its suites by name."""
    return {str(suite.get("name")): suite for suite in ET.fromstring(render_junit(view))}  # noqa: S314 - our own report


def counts(suite: ET.Element) -> dict[str, int]:
    return {name: int(str(suite.get(name))) for name in ("tests", "failures", "errors", "skipped")}


@pytest.mark.parametrize("view", [make_view(), make_view(ended=False), RunView("r", "rows"), attack(make_view())])
def test_every_report_keeps_to_the_schemas(view: RunView) -> None:
    root = ET.fromstring(render_junit(view))  # noqa: S314 - our own report
    assert (root.tag, root.attrib) == ("testsuites", {})
    for number, suite in enumerate(root):
        assert sorted(suite.attrib) == sorted(_SUITE)
        assert suite.get("id") == str(number)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", str(suite.get("timestamp")))
        first, *cases, out, err = suite
        assert [first.tag, out.tag, err.tag] == ["properties", "system-out", "system-err"]
        assert counts(suite)["tests"] == len(cases)
        for case in cases:
            assert sorted(case.attrib) == ["classname", "name", "time"]
            assert [(found.tag, sorted(found.attrib)) for found in case] in (
                [],
                *([(kind, ["message", "type"])] for kind in ("failure", "error", "skipped")),
            )


def test_each_gated_task_is_a_case_and_what_was_not_evaluated_is_skipped() -> None:
    found = suites(make_view())
    assert counts(found["rows: val, gate 1"]) == {"tests": 10, "failures": 1, "errors": 0, "skipped": 0}
    assert counts(found["rows: test"]) == {"tests": 10, "failures": 2, "errors": 0, "skipped": 0}
    assert counts(found["rows: verdict"]) == {"tests": 1, "failures": 0, "errors": 0, "skipped": 0}
    rejected = [event for event in EVENTS if isinstance(event, GateDecided)][-1]
    only_rejected = make_view(ended=False, events=(*EVENTS[:2], replace(rejected, text="never run")))
    (gate,) = (suite for name, suite in suites(only_rejected).items() if "gate" in name)
    assert counts(gate) == {"tests": 10, "failures": 0, "errors": 0, "skipped": 10}


@pytest.mark.parametrize(
    ("outcome", "kind"), [(Outcome.REJECT, "failure"), (Outcome.INCONCLUSIVE, "failure"), (Outcome.INVALID, "error")]
)
def test_a_verdict_other_than_accept_fails_and_an_invalid_one_is_an_error(outcome: Outcome, kind: str) -> None:
    view = make_view()
    assert view.test is not None
    told = suites(replace(view, test=replace(view.test, verdict=verdict(outcome, "why"))))
    (found,) = told["rows: verdict"].iter(kind)
    assert "why" in str(found.get("message")) or kind == "error"


def test_a_run_without_a_candidate_is_skipped_rather_than_passed() -> None:
    begun = (RunStarted("rows", "d", "s", "d", 1), BaselineMeasured(Tally(0.4, 0.4, 10, 0), None, None))
    assert counts(suites(make_view(ended=False, events=begun, head=HEAD))["rows: verdict"])["skipped"] == 1
