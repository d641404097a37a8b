"""The drawings: round axes, marks that differ in shape, and words for those who cannot see them."""

import re
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from skillopt.reports.html.charts import (
    MARKS,
    ParetoPoint,
    ScorePoint,
    draw_marks,
    draw_pareto,
    draw_scores,
    nice_scale,
    pareto_front,
)
from skillopt.reports.html.svg import element

LOOKS = (
    ScorePoint(0, 0.4, "start", "before training: 4 of 10 tasks passed"),
    ScorePoint(60, 0.8, "accept", "gate 1, accept: 8 of 10 tasks passed"),
    ScorePoint(90, 0.6, "reject", "gate 2, reject: 6 of 10 tasks passed"),
)
SCORES = st.floats(0, 1, allow_nan=False)
NUMBERS = st.floats(0, 1e6, allow_nan=False)


@given(NUMBERS, NUMBERS)
def test_an_axis_reaches_around_its_values_in_a_few_equal_steps(one: float, other: float) -> None:
    scale = nice_scale(min(one, other), max(one, other))
    assert scale.ticks[0] <= min(one, other) + 1e-6
    assert scale.ticks[-1] >= max(one, other) - 1e-6
    assert 2 <= len(scale.ticks) <= 9
    assert -1e-6 <= scale.share(one) <= 1 + 1e-6


@given(st.lists(st.tuples(st.integers(0, 10**6), SCORES, st.sampled_from(sorted(MARKS))), min_size=1))
def test_any_measurements_make_a_drawing_that_is_sound_xml_within_its_bounds(
    found: list[tuple[int, float, str]],
) -> None:
    looks = [ScorePoint(rollouts, score, kind, "<&>") for rollouts, score, kind in sorted(found)]
    drawn = ET.fromstring(draw_scores(looks, 'a "description" & more'))  # noqa: S314 - our own drawing
    for node in drawn.iter():
        for name in ("x", "x1", "x2"):
            value = node.get(name, "0%")
            assert 0 <= float(value.removesuffix("%")) <= 100.01


def test_each_verdict_has_a_shape_of_its_own_and_all_are_defined_once() -> None:
    assert len(set(MARKS.values())) == len(MARKS)
    defined = re.findall(r'id="mark-(\w+)"', draw_marks())
    assert defined == list(MARKS)
    used = set(re.findall(r'href="#mark-(\w+)"', draw_scores(LOOKS, "")))
    assert used == {"start", "accept", "reject"}


def test_a_drawing_says_in_words_what_it_shows() -> None:
    drawn = draw_scores(LOOKS, "three measurements")
    assert 'role="img" aria-labelledby="scores-title" aria-describedby="scores-desc"' in drawn
    assert '<desc id="scores-desc">three measurements</desc>' in drawn
    assert "gate 2, reject: 6 of 10 tasks passed, after 90 rollouts" in drawn


def test_the_line_of_the_best_skill_rises_at_accepted_versions_only() -> None:
    best = re.findall(
        r'<line x1="([\d.]+)%" x2="([\d.]+)%" y1="([\d.]+)" y2="([\d.]+)" class="best"/>', draw_scores(LOOKS, "")
    )
    assert [(left, right) for left, right, *_ in best] == [("0", "60"), ("60", "60"), ("60", "90")]
    assert best[0][2] == best[0][3]
    assert float(best[1][3]) < float(best[1][2])


def test_the_front_holds_the_skills_that_no_other_beats_on_both_sides() -> None:
    skills = [
        ParetoPoint("start", 100, 0.4, "start"),
        ParetoPoint("v1", 300, 0.8, "accept"),
        ParetoPoint("v2", 400, 0.7, "accept"),
        ParetoPoint("v3", 90, 0.4, "accept"),
    ]
    assert [one.name for one in pareto_front(skills)] == ["v3", "v1"]
    assert draw_pareto(skills, "").count('class="name"') == 2


def test_text_in_a_drawing_cannot_leave_it() -> None:
    assert element("text", '"><script>', title='"><script>') == (
        '<text title="&#34;&gt;&lt;script&gt;">&#34;&gt;&lt;script&gt;</text>'
    )
