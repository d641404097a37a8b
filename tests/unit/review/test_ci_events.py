"""Every event of GitHub has a base, or says which input is missing."""

from typing import Any

import pytest

from skillopt.errors import UsageError
from skillopt.review.ci_events import find_event_base

NONE = "0" * 40


def test_a_payload_without_a_repository_takes_the_branch_that_the_job_knows() -> None:
    assert find_event_base({"schedule": "17 3 * * *"}, "main").revision == "refs/remotes/origin/main"


@pytest.mark.parametrize("event", [{}, {"pull_request": "x"}, {"before": NONE, "repository": []}, {"before": 7}])
def test_an_event_that_names_nothing_says_which_input_to_set(event: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="set the input base"):
        find_event_base(event)
