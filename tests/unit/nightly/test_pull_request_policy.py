"""What becomes of a skill's pull request."""

from typing import Literal

import pytest

from skillopt.nightly.pull_request_policy import CLOSED_BY_NIGHT, Action, BranchFacts, decide_pull_request
from skillopt.protocols import PullRequest

FACTS = BranchFacts("tip")


def request(number: int, state: Literal["open", "closed", "merged"], head: str = "tip") -> PullRequest:
    return PullRequest(number, f"https://example.com/{number}", state, head, "Title", "Body")


def test_a_new_version_is_offered_once() -> None:
    assert decide_pull_request(FACTS, []).action is Action.OPEN
    found = decide_pull_request(FACTS, [request(1, "open")])
    assert (found.action, found.number) == (Action.UPDATE, 1)


@pytest.mark.parametrize("state", ["closed", "merged"])
def test_a_version_that_people_settled_is_not_offered_again_but_the_next_one_is(
    state: Literal["closed", "merged"],
) -> None:
    found = decide_pull_request(FACTS, [request(1, state)])
    assert (found.action, found.number, found.reason) == (
        Action.LEAVE,
        1,
        f"#1 with this version was {state} by people",
    )
    assert decide_pull_request(FACTS, [request(1, state, head="older")]).action is Action.OPEN
    assert decide_pull_request(FACTS, [request(2, "open"), request(1, state)]).action is Action.UPDATE


def test_what_is_superseded_is_closed_if_it_is_open() -> None:
    reason, facts = (
        "main has this text",
        BranchFacts("tip", moot_reason="main has this text", unfit_reason="not tested"),
    )
    found = decide_pull_request(facts, [request(7, "open"), request(3, "closed")])
    assert (found.action, found.number) == (Action.CLOSE, 7)
    assert reason in found.reason
    assert decide_pull_request(facts, [request(3, "closed")]).action is Action.LEAVE
    assert decide_pull_request(facts, []).action is Action.LEAVE


def test_what_is_not_fit_to_be_offered_changes_nothing() -> None:
    facts = BranchFacts("tip", unfit_reason="no better on the held-out test")
    for requests in ([], [request(1, "open")]):
        found = decide_pull_request(facts, requests)
        assert (found.action, found.reason) == (Action.LEAVE, "no better on the held-out test")


def test_a_draft_that_people_closed_is_refused_by_its_text_whatever_commit_it_is_in_later() -> None:
    closed = PullRequest(4, "https://example.com/4", "closed", "older", "Title", "Body\n<!-- text: d1 -->")
    found = decide_pull_request(BranchFacts("tip", mark="<!-- text: d1 -->"), [closed])
    assert (found.action, found.reason) == (Action.LEAVE, "#4 with this text was closed by people")
    assert decide_pull_request(BranchFacts("tip", mark="<!-- text: d2 -->"), [closed]).action is Action.OPEN


def test_one_that_people_closed_while_the_night_ran_is_not_opened_again_for_its_newer_text() -> None:
    found = decide_pull_request(BranchFacts("newer", opened=1), [request(1, "closed")])
    assert (found.action, found.number) == (Action.LEAVE, 1)
    assert "during this night" in found.reason


def test_what_a_night_closed_is_no_decision_of_people() -> None:
    closed = PullRequest(1, "https://example.com/1", "closed", "tip", "Title", f"{CLOSED_BY_NIGHT}Body")
    assert decide_pull_request(FACTS, [closed]).action is Action.OPEN
