"""What another job left in the folder of offers is data: it names nobody, closes nothing, and keeps nobody waiting."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from skillopt.errors import UsageError
from skillopt.nightly.forges import ForgeAccount
from skillopt.nightly.github import GitHubForge
from skillopt.nightly.offer_folder import OFFERS, read_offers
from skillopt.nightly.people_commands import last_handled
from skillopt.nightly.posting import BranchOffer, PostedAnswer, disarm_page, post_answers, post_offer
from skillopt.protocols import Forge
from skillopt.reports.escape_markdown import inline_code, text_block
from tests.fakes.fake_forge import FakeForge, fake_forge

BRANCH = "skillopt/rows"
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


def test_a_text_that_was_tampered_with_mentions_nobody_and_closes_no_issue(server: FakeForge, forge: Forge) -> None:
    offer = BranchOffer(branch=BRANCH, tip="a" * 40, title=CALLS, body=CALLS, known_by="rows")
    post_offer(forge, offer, lambda: True)
    post_answers(forge, [BRANCH], [PostedAnswer(pull_request=1, lines=(CALLS,))])
    said = [server.pulls[1]["title"], server.pulls[1]["body"], *(one["body"] for one in server.comments[1])]
    assert len(said) == 3
    assert [ACTIVE.findall(text) for text in said] == [[], [], []]
    assert all("team" in text for text in said)


def test_what_the_product_writes_itself_is_posted_as_it_is() -> None:
    page = f"# Rows\n\n{inline_code(CALLS)} by skillopt@1.0\n\n{text_block(CALLS)}\n\n- [x] edit 1 (3 of 4 tasks)\n"
    page = page.replace(" by skillopt@1.0", "")
    assert disarm_page(page) == page


def test_answered_up_to_no_later_than_the_newest_comment(server: FakeForge, forge: Forge) -> None:
    number = forge.create(BRANCH, "main", "Title", "Body").number
    told = {"login": "ada"}
    said = {"id": 7, "body": "/skillopt train", "user": told, "created_at": "2026-01-02T03:04:05Z", "html_url": "u"}
    server.comments[number] = [said]
    post_answers(forge, [BRANCH], [PostedAnswer(pull_request=number, lines=(), last=2**62)])
    assert last_handled(forge.pull_requests(BRANCH)[0].body)[0] == 7


@pytest.mark.parametrize("last", [-1, 2**63])
def test_a_number_that_no_comment_has_is_refused(last: int) -> None:
    with pytest.raises(ValidationError, match="last"):
        PostedAnswer(pull_request=1, lines=(), last=last)


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
