"""Merge requests and notes on a project of GitLab, over HTTP on loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.errors import (
    ForgeAccessError,
    ForgeDownError,
    ForgeError,
    ForgeLimitError,
    ForgeMissingError,
    ForgeRefusedError,
    UsageError,
)
from skillopt.nightly.forges import ForgeAccount, find_account, load_forge
from skillopt.nightly.gitlab import GitLabForge
from skillopt.protocols import Forge
from skillopt.settings import NightlySettings
from tests.contracts.forge_contract import ForgeContract
from tests.fakes.fake_gitlab import FakeGitLab, fake_gitlab
from tests.fakes.projects import git
from tests.fakes.repositories import make_offered
from tools.fake_providers.loopback import Answer, as_json

TOKEN = "glpat-" + "e5" * 10


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FakeGitLab]:
    with fake_gitlab(make_offered(tmp_path / "repository")) as forge:
        yield forge


def gitlab(url: str, seconds: int = 30) -> GitLabForge:
    return GitLabForge(ForgeAccount(url, "https://gitlab.com/", TOKEN), "acme/tools/skills", seconds)


@pytest.fixture
def forge(server: FakeGitLab) -> Forge:
    return gitlab(server.url)


class TestGitLabForge(ForgeContract):
    @pytest.fixture
    def forge(self, server: FakeGitLab) -> Forge:
        self.server = server
        return gitlab(server.url)

    def remarks(self, forge: Forge, number: int) -> list[str]:  # noqa: ARG002 - the server knows
        return self.server.said(number)


def test_comments_on_lines_are_read_newest_first_with_their_answers_and_files_as_they_were(
    server: FakeGitLab, forge: Forge
) -> None:
    commit = git(server.repository, "rev-parse", "main")
    for branch in ("skillopt/rows", "skillopt/dates"):
        number = forge.create(branch, "main", "Title", "Body").number
        server.review(number, "ada", "README.md", 3, f"Say {number}", commit)
    asked, writes = gitlab(server.url), server.writes
    rows = asked.review_comments(3_000)
    assert [(one["body"], bool(one["in_reply_to_id"])) for one in rows] == [
        ("Say 2", False),
        ("Done", True),
        ("Say 1", False),
        ("Done", True),
    ]
    assert rows[0]["html_url"] == "https://gitlab.com/acme/tools/skills/-/merge_requests/2#note_3"
    assert [one["body"] for one in asked.review_comments(1)] == ["Say 2"]
    assert asked.pull_request(2).title == "Title"
    (name, *_) = git(server.repository, "ls-files").splitlines()
    assert asked.file_at(commit, name) == git(server.repository, "show", f"{commit}:{name}") + "\n"
    assert asked.file_at(commit, "gone") is None
    assert server.writes == writes


def test_a_token_that_may_open_no_merge_requests_is_found_out_before(server: FakeGitLab, forge: Forge) -> None:
    assert forge.facts().may_open
    server.project = {"archived": True}
    assert "the project is archived" in forge.facts().reason
    server.project, server.level = {}, 20
    facts = forge.facts()
    assert (facts.default_branch, facts.public, facts.login, facts.may_open) == ("main", False, "project_7_bot", False)
    assert "access level in acme/tools/skills is 20; it needs 30 (Developer)" in facts.reason
    server.project = {"visibility": "public"}
    assert forge.facts().public
    assert not server.writes


def test_a_note_says_who_wrote_it_and_whether_they_may_write_and_what_gitlab_notes_itself_is_left_out(
    server: FakeGitLab, forge: Forge
) -> None:
    number = forge.create("skillopt/rows", "main", "Title", "Body").number
    server.say(number, "ada", "added 1 commit", system=True)
    for author in ("ada", "eve", "mo", "stranger", "ada", ""):
        server.say(number, author, "/skillopt drop 1")
    server.say(number, "eve", "<!-- skillopt: news -->\nAll is well")
    forge.comment(number, "news", "text")
    said = forge.comments(number)
    assert server.said(number)[-2:] == ["<!-- skillopt: news -->\nAll is well", "<!-- skillopt: news -->\ntext"]
    assert [one.author for one in said] == ["ada", "eve", "mo", "stranger", "ada", "", "eve"]
    assert [one.author for one in said if one.may_write] == ["ada", "mo", "ada"]
    assert (said[0].body, said[0].at) == ("/skillopt drop 1", "2026-01-02T03:04:02+00:00")
    assert said[0].url == f"https://gitlab.com/acme/tools/skills/-/merge_requests/{number}#note_2"


def test_merged_closed_and_open_are_told_apart_and_those_of_forks_are_left_out(
    server: FakeGitLab, forge: Forge
) -> None:
    numbers = []
    for state in ("merged", "closed", "locked"):
        numbers.append(forge.create("skillopt/rows", "main", "Title", "Body").number)
        server.merge_requests[numbers[-1]]["state"] = state
    found = forge.pull_requests("skillopt/rows")
    assert [(one.number, one.state) for one in found] == [
        (numbers[2], "open"),
        (numbers[1], "closed"),
        (numbers[0], "merged"),
    ]
    server.merge_requests[numbers[1]]["source_project_id"] = 8
    assert len(forge.pull_requests("skillopt/rows")) == 2


def test_reviewers_are_added_to_those_who_are_there(server: FakeGitLab, forge: Forge) -> None:
    number = forge.create("skillopt/rows", "main", "Title", "Body").number
    forge.label(number, [], ["ada"])
    forge.label(number, [], ["mo"])
    shown = server.merge_requests[number]
    assert [one["username"] for one in shown["reviewers"]] == ["ada", "mo"]
    with pytest.raises(ForgeRefusedError, match=r"expected a user 'nobody'.*correct `reviewers`"):
        forge.label(number, [], ["nobody"])


@pytest.mark.parametrize(
    ("answer", "kind", "words", "wait"),
    [
        (as_json(401, {"message": "401 Unauthorized"}), ForgeAccessError, "GITLAB_TOKEN is wrong or has expired", None),
        (as_json(403, {"error": "insufficient_scope"}), ForgeAccessError, "the scope `api` and the role Dev", None),
        (as_json(404, {"message": "404 Project Not Found"}), ForgeMissingError, "that the token may see", None),
        (as_json(400, {"message": {"title": ["is too long"]}}), ForgeRefusedError, "is too long", None),
        (as_json(429, {"message": "Too Many"}, {"Retry-After": "90"}), ForgeLimitError, "HTTP 429: Too Many", 90.0),
        (Answer(502, b"<html><h1>Bad gateway</h1></html>", "text/html"), ForgeDownError, "HTTP 502", None),
        (Answer(200, b"<html>", "text/html"), ForgeDownError, "expected an answer of its API", None),
        (Answer(503, b"", hang_up=True), ForgeDownError, "cannot reach GitLab to read the project of acme", None),
    ],
)
def test_each_failure_says_what_to_do(
    server: FakeGitLab, answer: Answer, kind: type[ForgeError], words: str, wait: float | None
) -> None:
    server.fault = lambda _: answer
    with pytest.raises(kind, match=words) as told:
        gitlab(server.url, seconds=1).facts()
    assert type(told.value) is kind
    assert told.value.retry_after == wait
    assert TOKEN not in str(told.value)
    assert "\n" not in str(told.value)


class TestAccount:
    @pytest.fixture(autouse=True)
    def environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("CI_API_V4_URL", "CI_PROJECT_PATH", "CI_JOB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("GITHUB_TOKEN", "of another forge")
        monkeypatch.setenv("GITLAB_TOKEN", TOKEN)

    def test_a_pipeline_names_api_and_project_and_groups_may_stand_in_groups(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        settings = NightlySettings(forge="gitlab")
        account = find_account(settings)
        assert account is not None
        assert (account.api, account.web) == ("https://gitlab.com/api/v4", "https://gitlab.com/")
        monkeypatch.setenv("CI_API_V4_URL", "https://git.example.com/api/v4")
        account = find_account(settings)
        assert account is not None
        assert (account.api, account.web, account.token) == (
            "https://git.example.com/api/v4",
            "https://git.example.com/",
            TOKEN,
        )
        with pytest.raises(UsageError, match="set CI_PROJECT_PATH"):
            load_forge(settings, "/srv/skills.git", tmp_path)
        monkeypatch.setenv("CI_PROJECT_PATH", "acme/skills")
        assert isinstance(load_forge(settings, "/srv/skills.git", tmp_path), GitLabForge)

    def test_the_token_of_a_job_is_not_enough_and_the_message_says_so(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.delenv("GITLAB_TOKEN")
        monkeypatch.setenv("CI_JOB_TOKEN", "x")
        with pytest.raises(UsageError, match="found CI_JOB_TOKEN only, which may open no merge requests"):
            load_forge(NightlySettings(forge="gitlab"), "https://gitlab.com/acme/skills", tmp_path)
