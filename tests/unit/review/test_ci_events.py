"""Every event of GitHub has a base, or says which input is missing."""

from typing import Any

import pytest

from skillopt.errors import UsageError
from skillopt.review.ci_events import find_event_base

OLD, NONE = "a" * 40, "0" * 40
REPOSITORY = {"default_branch": "trunk", "full_name": "acme/skills"}


@pytest.mark.parametrize(
    ("event", "revision"),
    [
        ({"pull_request": {"base": {"ref": "main", "sha": OLD}}, "repository": REPOSITORY}, "refs/remotes/origin/main"),
        ({"pull_request": {"base": {"ref": "main"}, "head": {"repo": None}}}, "refs/remotes/origin/main"),
        ({"merge_group": {"base_sha": OLD, "base_ref": "refs/heads/main"}, "repository": REPOSITORY}, OLD),
        ({"before": OLD, "after": "b" * 40, "forced": False, "repository": REPOSITORY}, OLD),
        ({"before": OLD, "after": "b" * 40, "forced": True, "repository": REPOSITORY}, "refs/remotes/origin/trunk"),
        ({"before": NONE, "created": True, "repository": REPOSITORY}, "refs/remotes/origin/trunk"),
        ({"inputs": None, "ref": "refs/heads/change", "repository": REPOSITORY}, "refs/remotes/origin/trunk"),
        ({"schedule": "17 3 * * *", "repository": REPOSITORY}, "refs/remotes/origin/trunk"),
    ],
    ids=["pull request", "fork that is gone", "merge group", "push", "forced", "first push", "dispatch", "schedule"],
)
def test_the_base_of_each_event(event: dict[str, Any], revision: str) -> None:
    assert find_event_base(event).revision == revision


def test_a_payload_without_a_repository_takes_the_branch_that_the_job_knows() -> None:
    assert find_event_base({"schedule": "17 3 * * *"}, "main").revision == "refs/remotes/origin/main"


@pytest.mark.parametrize("event", [{}, {"pull_request": "x"}, {"before": NONE, "repository": []}, {"before": 7}])
def test_an_event_that_names_nothing_says_which_input_to_set(event: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="set the input base"):
        find_event_base(event)
