"""What is foreseen, in words."""

import pytest

from skillopt.forecast.foresight import Foresight, MostLikely
from skillopt.forecast.words import foresight_line, time_words

ROLLOUTS = MostLikely(16, 114, 388)


def foresight(minutes: MostLikely | None, usd: MostLikely | None = None) -> Foresight:
    return Foresight("a model", 9, ROLLOUTS, MostLikely(0, 2, 27), minutes, ROLLOUTS, usd, 1.0, 1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        (None, ""),
        (MostLikely(0.1, 0.2, 0.3), "under 1 min"),
        (MostLikely(0.5, 3, 200), "3 min (under 1 min to 3 h 20)"),
        (MostLikely(59.4, 59.6, 59.8), "1 h 00 (59 min to 1 h 00)"),
        (MostLikely(12, 12.2, 12.4), "12 min"),
    ],
)
def test_a_range_that_is_one_figure_is_said_once(minutes: MostLikely | None, said: str) -> None:
    assert time_words(foresight(minutes)) == said


def test_one_line_says_what_is_known_and_leaves_out_the_rest() -> None:
    assert foresight_line(foresight(None)) == "about 114 (16 to 388) rollouts, 2 (0 to 27) optimizer calls"
    told = foresight_line(foresight(MostLikely(1, 2, 3), MostLikely(0.5, 1, 2)))
    assert told.endswith("2 min (1 min to 3 min), $1.00 ($0.50 to $2.00)")
