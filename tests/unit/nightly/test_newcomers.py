"""Labels, reviewers, assignees and the number of open pull requests."""

from collections.abc import Iterator

import pytest

from skillopt.nightly.forges import ForgeAccount
from skillopt.nightly.github import GitHubForge
from skillopt.nightly.newcomers import Newcomers, OpenLimit, introduce
from skillopt.nightly.posting import BranchOffer, post_offer
from skillopt.protocols import Forge
from skillopt.settings import NightlySettings
from tests.fakes.fake_forge import FakeForge, fake_forge

TOKEN = "ghp_" + "a7" * 18
PEOPLE = Newcomers(("skills",), ("ada",), ("eve",))


@pytest.fixture
def server() -> Iterator[FakeForge]:
    with fake_forge() as server:
        yield server


@pytest.fixture
def forge(server: FakeForge) -> Forge:
    return GitHubForge(ForgeAccount(server.url, "https://github.com/", TOKEN), server.name, pause=0.0)


def offer(title: str, *, proven: bool) -> BranchOffer:
    return BranchOffer(branch="skillopt/rows", tip="a" * 40, proven=proven, title=title, body=title, known_by=title)


def test_nobody_is_asked_to_review_a_draft_until_it_is_ready(server: FakeForge, forge: Forge) -> None:
    post_offer(forge, offer("rows: unproven", proven=False), lambda: True, PEOPLE)
    assert (server.pulls[1]["draft"], server.pulls[1]["labels"]) == (True, ["skills"])
    assert "reviewers" not in server.pulls[1]
    post_offer(forge, offer("rows: proven", proven=True), lambda: True, PEOPLE)
    assert (server.pulls[1]["draft"], server.pulls[1]["reviewers"]) == (False, ["ada"])
    assert len(server.pulls) == 1


def test_one_that_is_held_back_is_pushed_and_not_opened(server: FakeForge, forge: Forge) -> None:
    pushed = []

    def push() -> bool:
        pushed.append("skillopt/rows")
        return True

    held = Newcomers(held_reason="waits: 1 pull requests are open, and `most_open` is 1")
    done = post_offer(forge, offer("rows: proven", proven=True), push, held)
    assert (done.action, done.is_open, done.notes, pushed) == ("", False, (held.held_reason,), ["skillopt/rows"])
    assert not server.pulls


def test_a_name_that_the_forge_does_not_take_keeps_no_other_from_its_place(server: FakeForge, forge: Forge) -> None:
    number = forge.create("skillopt/rows", "main", "Title", "Body").number
    notes = introduce(forge, number, Newcomers(("skills",), ("nobody",), ("eve",)), draft=False)
    assert [("collaborators" in note) for note in notes] == [True]
    assert (server.pulls[number]["labels"], server.pulls[number]["assignees"]) == (["skills"], ["eve"])


def test_a_limit_counts_what_is_opened_and_closed() -> None:
    limit, settings = OpenLimit(2, 1), NightlySettings(labels=("skills",))
    assert limit.newcomers(settings) == Newcomers(("skills",))
    limit.count("opened")
    assert limit.newcomers(settings).held_reason == "waits: 2 pull requests are open, and `most_open` is 2"
    limit.count("closed")
    limit.count("updated")
    assert not limit.newcomers(settings).held_reason
    assert not OpenLimit(0, 99).newcomers(settings).held_reason
