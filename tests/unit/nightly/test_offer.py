"""What becomes of a skill's pull request, and that an offer of another job is data: it names nobody, closes nothing."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from pydantic import ValidationError

from skillopt.errors import UsageError
from skillopt.nightly.forges import ForgeAccount
from skillopt.nightly.github import GitHubForge
from skillopt.nightly.handover import CLOSED_BY_NIGHT, OFFERS, BranchOffer, PostedAnswer, disarm_page, read_offers
from skillopt.nightly.offer import PullRequestDecision, decide_pull_request, post_answers, post_offer
from skillopt.nightly.people_commands import last_handled
from skillopt.protocols import Forge, PullRequest
from skillopt.reports.markdown import inline_code, text_block
from tests.fakes.fake_forge import FakeForge, fake_forge

BRANCH, TIP = "skillopt/rows", "a" * 40
CALLS = "Fixes #1, closes acme/skills#2 and GH-3, resolves https://github.com/acme/skills/issues/4; @team, &#64;ada"
ACTIVE = re.compile(r"@\w|#\d(?!\d?;)|GH-\d|/issues/\d|&#64;\w")


@pytest.fixture
def server() -> Iterator[FakeForge]:
    with fake_forge() as server:
        yield server


@pytest.fixture
def forge(server: FakeForge) -> Forge:
    account = ForgeAccount(server.url, "https://github.com/", "ghp_" + "a7" * 18)
    return GitHubForge(account, server.name, pause=0.0)


def request(number: int, state: Literal["open", "closed", "merged"], head: str = TIP, body: str = "") -> PullRequest:
    return PullRequest(number, f"https://example.com/{number}", state, head, "Title", body)


def decided(*requests: PullRequest, **facts: object) -> PullRequestDecision:
    return decide_pull_request(BranchOffer.model_validate({"branch": BRANCH, "tip": TIP, **facts}), requests)


def text(title: str, *, proven: bool = True) -> BranchOffer:
    return BranchOffer(branch=BRANCH, tip=TIP, proven=proven, title=title, body=title, known_by=title)


@pytest.mark.parametrize("state", ["closed", "merged"])
def test_a_settled_version_is_not_offered_again_but_the_next_one_is(state: Literal["closed", "merged"]) -> None:
    assert decided().action == "open"
    why = f"#1 with this version was {state} by people"
    assert decided(request(1, state)) == PullRequestDecision("leave", 1, why)
    assert decided(request(1, state, head="older")).action == "open"
    assert decided(request(2, "open"), request(1, state)) == PullRequestDecision("update", 2, "")
    by_the_night = request(1, "closed", body=f"{CLOSED_BY_NIGHT}Body")
    assert decided(by_the_night).action == "open"


def test_a_text_that_was_tampered_with_mentions_nobody_and_closes_no_issue(server: FakeForge, forge: Forge) -> None:
    post_offer(forge, text(CALLS), lambda: True)
    post_answers(forge, [BRANCH], [PostedAnswer(pull_request=1, lines=(CALLS,))])
    said = [server.pulls[1]["title"], server.pulls[1]["body"], *(one["body"] for one in server.comments[1])]
    assert len(said) == 3
    assert [ACTIVE.findall(text) for text in said] == [[], [], []]
    page = f"# Rows\n\n{inline_code(CALLS)}\n\n{text_block(CALLS)}\n\n- [x] edit 1 (3 of 4 tasks)\n"
    assert disarm_page(page) == page


def test_answered_up_to_no_later_than_the_newest_comment(server: FakeForge, forge: Forge) -> None:
    number = forge.create(BRANCH, "main", "Title", "Body").number
    told = {"login": "ada"}
    said = {"id": 7, "body": "/skillopt train", "user": told, "created_at": "2026-01-02T03:04:05Z", "html_url": "u"}
    server.comments[number] = [said]
    post_answers(forge, [BRANCH], [PostedAnswer(pull_request=number, lines=(), last=2**62)])
    assert last_handled(forge.pull_requests(BRANCH)[0].body)[0] == 7
    with pytest.raises(ValidationError, match="last"):
        PostedAnswer(pull_request=1, lines=(), last=2**63)


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_offers_that_are_no_plain_file_are_refused_at_once(kind: str, tmp_path: Path) -> None:
    place = tmp_path / OFFERS
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "link":
            (tmp_path / "elsewhere.json").write_text("{}")
            place.symlink_to("elsewhere.json")
        case _:
            place.mkdir()
    with pytest.raises(UsageError, match=r"offers\.json"):
        read_offers(tmp_path)
