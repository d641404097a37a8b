"""The reports of a gate: hostile text stays inert in each of them."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from skillopt.gate.decide import Outcome
from skillopt.reports.gate_report import (
    MOST_ANNOTATIONS,
    MOST_BYTES,
    render_annotations,
    render_gate_summary,
    render_gate_text,
)
from skillopt.review.result import (
    ChangeFinding,
    ChangeKind,
    GatedChange,
    GateReport,
    Judged,
    Required,
    Standing,
    SuiteMeasurement,
    Weight,
)
from skillopt.rollouts import Usage
from skillopt.safety.capabilities import NOTHING, DifferenceKind, NewCapability
from tests.fakes.golden import is_golden
from tests.fakes.hostile_views import tags_of
from tests.fakes.verdicts import made_verdict

HOSTILE = "\n::error::x\r\n# Fake\n<script>alert(1)</script> | @team `x` \u202e\x1b[31m\ud800 %0A ##[add-mask]x ]]>"
ALLOWED = {"h2", "h3", "p", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong", "code"}


def report(text: str = "rows", count: int = 1, findings: int = 1) -> GateReport:
    finding = ChangeFinding(text, 3, Weight.WARN, "url", text, person=True)
    verdict = made_verdict(Outcome.REJECT, text, fixed=(), broken=(text,))
    judged = Judged(verdict, Standing.REFUSED, reason=text, lowest=-0.7, confidence=0.9, worse=(text,))
    change = GatedChange(
        Standing.REFUSED,
        text,
        skill=text,
        kind=ChangeKind.RENAMED,
        path=text,
        before_path=text + "2",
        files=(text,),
        findings=(finding,) * findings,
        judged=judged,
        base_measurement=SuiteMeasurement(Standing.PASSED, text),
        first_path=f"{text}/SKILL.md",
        first_line=7,
        rollouts=16,
        paid_rollouts=8,
        difference=(NewCapability(DifferenceKind.HOST, text, 3),),
    )
    changes, spent = (change,) * count, {"target": Usage(8, 100, 10, 0.25)}
    return GateReport(text, text, "b" * 40, "a" * 40, Required.NOT_WORSE, strict=False, changes=changes, spent=spent)


@given(st.one_of(st.just(HOSTILE), st.text()))
def test_no_text_is_a_command_to_the_service_that_runs_the_job(text: str) -> None:
    lines = render_annotations(report(text)).splitlines()
    assert len(lines) == 2
    assert all(line.startswith(("::error file=", "::warning file=")) for line in lines)
    assert all(line.split("::")[1].count(",") == 2 for line in lines)
    for line in render_gate_text(report(text)).splitlines():
        assert not line.lstrip().startswith("::")
        assert "##[" not in line


@given(st.one_of(st.just(HOSTILE), st.text()))
def test_no_text_forges_markup_in_the_summary(text: str) -> None:
    written = render_gate_summary(report(text))
    tokens = MarkdownIt("commonmark").enable("table").parse(written)
    kinds = {child.type for token in tokens for child in (token.children or [token])}
    assert not kinds & {"html_block", "link_open", "image", "fence", "code_block"}
    markup = {child.content for token in tokens for child in token.children or [] if child.type == "html_inline"}
    assert markup <= {"<code>", "</code>", "<!-- -->"}
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h2", "h3"]
    assert {tag.strip("/") for tag in tags_of(written)} <= ALLOWED


def test_nothing_hidden_is_left_in_any_of_them() -> None:
    for render in (render_annotations, render_gate_summary, render_gate_text):
        text = render(report(HOSTILE))
        assert not {"\x1b", "\u202e", "\r", "\ud800"} & set(text)
        assert text.encode()


def test_annotations_are_no_more_than_are_shown_and_errors_come_first() -> None:
    lines = render_annotations(report(findings=30)).splitlines()
    assert len(lines) == MOST_ANNOTATIONS
    assert lines[0].startswith("::error file=rows/SKILL.md,line=7,title=skillopt%3A verdict::rows")


def test_a_gate_is_told_as_its_golden_files_say_and_what_a_person_must_look_at_stands_on_top() -> None:
    assert is_golden("gate.md", render_gate_summary(report()))
    assert is_golden("gate.txt", f"{render_gate_text(report())}\n")
    assert "title=skillopt%3A needs a person%3A" in render_annotations(report())


def test_beside_what_a_person_must_look_at_no_difference_is_called_nothing_new() -> None:
    for marked in (True, False):
        told = report(findings=int(marked))
        told = replace(told, changes=(replace(told.changes[0], difference=()),))
        assert (NOTHING in render_gate_text(told)) is not marked


def test_a_standing_is_said_once_and_then_why() -> None:
    told = report()
    change = replace(told.changes[0], standing=Standing.CANNOT_TELL, reason="cannot tell: a loss of up to 0.3 fits")
    lines = render_gate_text(replace(told, changes=(change,))).splitlines()
    assert lines[lines.index("rows: cannot tell") :][:3] == [
        "rows: cannot tell",
        "Renamed from rows2.",
        "a loss of up to 0.3 fits",
    ]


def test_a_long_summary_is_shortened_and_says_so() -> None:
    text = render_gate_summary(report("x" * 300, count=200, findings=40))
    assert len(text.encode()) <= MOST_BYTES
    assert "skills are not shown" in text
