"""Which forge a project has, and the drivers of GitHub and of a folder under one contract."""

import sys
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
    SettingsError,
    UsageError,
)
from skillopt.nightly.folder_forge import FolderForge
from skillopt.nightly.forges import ForgeAccount, find_account, load_forge
from skillopt.nightly.github import GitHubForge
from skillopt.protocols import Forge
from skillopt.settings import NightlySettings
from tests.contracts.forge_contract import ForgeContract
from tests.fakes.fake_forge import FAULTS, FakeForge, fake_forge
from tests.fakes.repositories import make_offered

TOKEN = "ghp_" + "b2" * 18
URL = "https://github.com/acme/skills.git"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GH_TOKEN", "GITHUB_API_URL", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)


@pytest.mark.parametrize("api", ["http://github.example.com/api/v3", "github.example.com", "ftp://127.0.0.1"])
def test_a_token_is_sent_over_https_only(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", api)
    with pytest.raises(SettingsError, match="expected an address"):
        find_account()


def test_what_is_missing_is_named_and_no_forge_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(load_forge(NightlySettings(), URL, tmp_path), FolderForge)
    with pytest.raises(SettingsError, match="did you mean 'github'"):
        load_forge(NightlySettings(forge="gihub"), URL, tmp_path)
    with pytest.raises(UsageError, match="found '/srv/skills'; set GITHUB_REPOSITORY"):
        load_forge(NightlySettings(forge="github"), "/srv/skills", tmp_path)
    monkeypatch.delenv("GITHUB_TOKEN")
    with pytest.raises(UsageError, match="GH_TOKEN or GITHUB_TOKEN, found"):
        load_forge(NightlySettings(forge="github"), URL, tmp_path)


def test_a_forge_whose_package_is_missing_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "skillopt.nightly.github", raising=False)
    monkeypatch.setitem(sys.modules, "github", None)  # as where it is not installed
    with pytest.raises(UsageError, match=r"\[github\]"):
        load_forge(NightlySettings(forge="github"), URL, tmp_path)


class TestFolderForge(ForgeContract):
    @pytest.fixture
    def forge(self, tmp_path: Path) -> Forge:
        return FolderForge(tmp_path / "pull-requests")

    def remarks(self, forge: Forge, number: int) -> list[str]:
        assert isinstance(forge, FolderForge)
        ((url,),) = ([one.url for one in forge.pull_requests("skillopt/rows") if one.number == number],)
        return (forge.folder.parent.parent / url).read_text(encoding="utf-8").strip().split("\n\n---\n\n")[1:]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FakeForge]:
    with fake_forge(make_offered(tmp_path / "repository")) as forge:
        yield forge


def github(url: str, seconds: int = 30) -> GitHubForge:
    return GitHubForge(ForgeAccount(url, "https://github.com/", TOKEN), "acme/skills", seconds, pause=0.0)


@pytest.fixture
def forge(server: FakeForge) -> Forge:
    return github(server.url)


class TestGitHubForge(ForgeContract):
    @pytest.fixture
    def forge(self, server: FakeForge) -> Forge:
        self.server = server
        return github(server.url)

    def remarks(self, forge: Forge, number: int) -> list[str]:  # noqa: ARG002 - the server knows
        return self.server.said(number)


@pytest.mark.parametrize(
    ("fault", "kind", "words", "wait"),
    [
        ("401", ForgeAccessError, "GH_TOKEN or GITHUB_TOKEN is wrong or has expired", None),
        ("403 permission", ForgeAccessError, "it needs `pull_requests=write`; in a workflow", None),
        ("403 actions", ForgeAccessError, "Allow GitHub Actions to create and approve pull requests", None),
        ("403 secondary limit", ForgeLimitError, "secondary rate limit.*run this again later", 3.0),
        ("404", ForgeMissingError, "that the token may see the repository", None),
        ("422", ForgeRefusedError, "Validation Failed; head invalid", None),
        ("429", ForgeLimitError, "Too many requests", 2.0),
        ("502", ForgeDownError, "HTTP 502", None),
        ("not json", ForgeDownError, "expected an answer of its API", None),
        ("hangs up", ForgeDownError, "cannot reach GitHub to list the pull requests of acme/skills", None),
    ],
)
def test_each_failure_is_told(
    server: FakeForge, fault: str, kind: type[ForgeError], words: str, wait: float | None
) -> None:
    server.fault = lambda _: FAULTS[fault]
    with pytest.raises(kind, match=words) as told:
        github(server.url, seconds=1).pull_requests("skillopt/rows")
    assert type(told.value) is kind
    assert told.value.retry_after == wait
    assert TOKEN not in str(told.value)
    assert "\n" not in str(told.value)


def test_where_a_repository_has_no_drafts_the_title_says_that_it_is_one(server: FakeForge) -> None:
    server.has_drafts = False
    forge = github(server.url)
    opened = forge.create("skillopt/rows", "main", "rows: unproven", "Body", draft=True)
    assert (opened.title, opened.draft) == ("rows: unproven", True)
    titles = [server.pulls[opened.number]["title"]]
    for draft in (None, False, None, True):
        forge.update(opened.number, "rows", "Body", draft=draft)
        titles.append(server.pulls[opened.number]["title"])
    assert titles == ["Draft: rows: unproven", "Draft: rows", "rows", "rows", "Draft: rows"]


def test_a_comment_says_who_wrote_it_and_whether_they_may_write(server: FakeForge, forge: Forge) -> None:
    number = forge.create("skillopt/rows", "main", "Title", "Body").number
    server.permissions |= {"mo": "maintain", "sue": "admin"}
    authors = ("ada", "eve", "mo", "sue", "stranger", "ada", "")
    for author in authors:
        server.say(number, author, "/skillopt drop 1")
    said = forge.comments(number)
    assert [one.author for one in said] == list(authors)
    assert [one.author for one in said if one.may_write] == ["ada", "mo", "sue", "ada"]
    assert (said[0].body, said[0].at) == ("/skillopt drop 1", "2026-01-02T03:04:01+00:00")
    assert said[0].url.endswith(f"/pull/{number}#issuecomment-1")
    assert server.server is not None
    asked = [one.path for one in server.server.requests if "collaborators" in one.path]
    assert len(asked) == len(set(asked))


def test_what_others_write_under_its_mark_is_theirs_and_stays(server: FakeForge, forge: Forge) -> None:
    number = forge.create("skillopt/rows", "main", "Title", "Body").number
    forged = "<!-- skillopt: news -->\nAll is well"
    server.say(number, "eve", forged)
    forge.comment(number, "news", "text")
    forge.comment(number, "news", "more")
    assert server.said(number) == [forged, "<!-- skillopt: news -->\nmore"]
    assert [one.author for one in forge.comments(number)] == ["eve"]


def test_a_pull_request_from_another_repository_with_a_branch_of_our_name_is_not_ours(server: FakeForge) -> None:
    forge = github(server.url)
    theirs = forge.create("skillopt/rows", "main", "Theirs", "Body")
    server.pulls[theirs.number]["home"] = "acme/fork"
    assert forge.pull_requests("skillopt/rows") == ()
    server.pulls[theirs.number]["home"] = server.name
    assert [one.number for one in forge.pull_requests("skillopt/rows")] == [theirs.number]
