"""The plot of a search: one file of its own that shows every attempt."""

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from skillopt.attempts import Attempt, Result
from skillopt.reports.attempts_table import format_attempts
from skillopt.reports.front_plot import draw_front

RESULTS = st.builds(Result, st.floats(0, 1), st.integers(0, 5000))
ATTEMPTS = st.lists(st.lists(RESULTS, min_size=1, max_size=3), min_size=1, max_size=6)


def made(found: list[list[Result]]) -> list[Attempt]:
    values = {"schedule": '<"&'}
    results = [{str(at): one for at, one in enumerate(own)} for own in found]
    return [Attempt(number, values, own, given_up=number > 3) for number, own in enumerate(results)]


@given(ATTEMPTS)
def test_every_attempt_is_a_dot_in_both_panels_inside_the_frame(found: list[list[Result]]) -> None:
    attempts = made(found)
    drawn = draw_front(attempts, 0)
    root = ET.fromstring(drawn)  # noqa: S314 - our own text
    assert drawn == draw_front(attempts, 0)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    dots = [dot for dot in root.iter("{http://www.w3.org/2000/svg}circle") if dot.attrib["r"] == "4"]
    assert len(dots) == 2 * len(attempts) + 3, "and three in the legend"
    assert all(0 < float(dot.attrib["cx"]) < width and 0 < float(dot.attrib["cy"]) < height for dot in dots)
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", ""), "nothing is loaded from elsewhere"


def test_the_table_shows_the_front_first_and_says_what_it_leaves_out() -> None:
    scores = (0.5, 0.9, 0.2, 0.3, 0.8)
    attempts = [
        Attempt(number, {"epochs": number}, {"a": Result(score, 100 + number)}, given_up=number == 4)
        for number, score in enumerate(scores)
    ]
    _, _, *rows = format_attempts(attempts, 1).splitlines()
    assert [row.split("|")[1].strip() for row in rows] == ["2", "1", "4", "3", "5"]
    assert rows[0] == "| 2 | 0.900 | 101 | 1 | front, recommended | epochs=1 |"
    assert rows[1].endswith("| front | none |")
    assert "given up" in rows[-1]
    assert format_attempts(attempts, 1, most=1).endswith("\n\n2 more attempts are left out.")
