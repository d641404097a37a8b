"""The formats of a report: one function each, all of one view."""

import json
from pathlib import Path

import pytest

from skillopt.errors import UsageError
from skillopt.reports import FORMATS, format_of, render_view
from skillopt.reports.view import RunView
from tests.fakes.hostile_views import attack
from tests.fakes.views import make_view


def test_the_format_is_the_named_one_else_that_of_the_file_else_markdown() -> None:
    assert format_of("junit", Path("a.md")) == "junit"
    assert format_of(None, Path("a.xml")) == "junit"
    assert format_of(None, None) == "markdown"


@pytest.mark.parametrize(("name", "output"), [("docx", None), (None, Path("a.docx")), (None, Path("report"))])
def test_an_unknown_format_is_refused_with_those_there_are(name: str | None, output: Path | None) -> None:
    with pytest.raises(UsageError, match="markdown, pull-request, json"):
        format_of(name, output)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_renders_a_run_at_any_time_whatever_its_texts_say(name: str) -> None:
    for view in (make_view(), make_view(ended=False), attack(make_view()), RunView("r", "rows", kind="proposal")):
        render_view(view, name).encode("utf-8")


def test_json_tells_every_field_and_what_follows_from_it() -> None:
    told = json.loads(render_view(make_view(), "json"))
    assert told["format"] == 2
    assert told["verdict"] == "accept"
    assert told["headline"]["words"] == "5 of 10 → 8 of 10 held-out tasks passed (score 0.50 → 0.80)"
    assert told["rollouts"] == {"asked": 140, "paid": 130, "replayed": 10}
    assert told["gates"][0]["verdict"]["gain"] == pytest.approx(0.4)
    assert told["heat"][0]["cells"] == [
        {"repeats": 1, "passed": 1, "score": 1.0, "state": "passed"},
        {"repeats": 0, "passed": 0, "score": None, "state": "not evaluated"},
    ]
