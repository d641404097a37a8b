"""Branches of skills to and from a real bare repository."""

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.errors import RemoteError, UsageError, VersionConflictError
from skillopt.tasks import File
from skillopt.versions.branches import VERSION_BRANCHES, DraftBranch, people_commits
from skillopt.versions.remotes import Remote, RemoteLogin
from skillopt.versions.repository import Repository
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, NEW_VERSION, commit, make_repository

REF = "refs/heads/skillopt/rows"
TOKEN = "ghp_" + "a1" * 18


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Make a bare repository with a skill on its default branch."""
    made = make_repository(tmp_path / "made")
    git(tmp_path, "clone", "--quiet", "--bare", str(made), "bare.git")
    return tmp_path / "bare.git"


@pytest.fixture
def folder(tmp_path: Path, bare: Path) -> Path:
    return clone(tmp_path / "clone", bare)


def clone(folder: Path, bare: Path, *options: str) -> Path:
    git(bare, "clone", "--quiet", *options, bare.as_uri(), str(folder))
    return folder


def remote(folder: Path, login: RemoteLogin | None = None) -> Remote:
    found = Remote.find(Repository.find(folder), "origin", login)
    assert found is not None
    return found


def add_version(folder: Path, text: bytes = b"2") -> str:
    """Commit one more version on the skill's branch."""
    tip = Repository.find(folder).branch_tip("rows")
    files = (File("SKILL.md", NEW_VERSION.files[0].content + text),)
    return commit(folder, files=files, subject=f"rows: {text!r}", expected_tip=tip, **({"parent": tip} if tip else {}))


def add_by_hand(folder: Path, branch: str = "skillopt/rows") -> str:
    """Commit and push a change of a person's on a branch."""
    git(folder, "fetch", "--quiet", "origin", branch)
    git(folder, "checkout", "--quiet", "--detach", "FETCH_HEAD")
    (folder / FOLDER / "SKILL.md").write_text("---\nname: rows\ndescription: Rows.\n---\nBy hand.\n")
    git(folder, "commit", "--quiet", "-am", "By hand")
    git(folder, "push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
    return git(folder, "rev-parse", "HEAD")


def test_commits_of_people_on_the_branch_are_kept_and_built_on(tmp_path: Path, bare: Path, folder: Path) -> None:
    add_version(folder)
    there = remote(folder)
    there.push("rows", there.fetch_tips())
    theirs = add_by_hand(clone(tmp_path / "person", bare))
    tips = there.fetch_tips()
    there.fast_forward("rows", tips.of(VERSION_BRANCHES, "rows"))
    assert Repository.find(folder).branch_tip("rows") == theirs
    assert people_commits(there.repository, "rows", theirs, "--not", tips.default) == [theirs]
    add_version(folder, b"3")
    assert there.push("rows", tips)
    assert theirs in git(bare, "rev-list", REF).split()


def test_a_rewritten_branch_is_followed_where_all_here_was_pushed(tmp_path: Path, bare: Path, folder: Path) -> None:
    add_version(folder)
    there = remote(folder)
    there.push("rows", there.fetch_tips())
    person = clone(tmp_path / "person", bare)
    git(person, "checkout", "--quiet", "-b", "mine", "origin/skillopt/rows")

    def rewrite(subject: str) -> str:
        git(person, "commit", "--quiet", "--amend", "--allow-empty", "-m", subject)
        git(person, "push", "--quiet", "--force", "origin", "HEAD:skillopt/rows")
        tip = there.fetch_tips().of(VERSION_BRANCHES, "rows")
        there.fast_forward("rows", tip)
        return tip

    for subject in ("Once", "Twice"):
        assert rewrite(subject) == Repository.find(folder).branch_tip("rows")
    ours = add_version(folder, b"3")
    with pytest.raises(VersionConflictError, match="has diverged"):
        rewrite("Once more")
    assert Repository.find(folder).branch_tip("rows") == ours


def test_branches_that_went_two_ways_are_both_left_alone(tmp_path: Path, bare: Path, folder: Path) -> None:
    other = clone(tmp_path / "other", bare)
    theirs, there = add_version(other, b"other"), remote(other)
    there.push("rows", there.fetch_tips())
    ours = add_version(folder)
    with pytest.raises(VersionConflictError, match=f"diverged: {ours[:10]} here, {theirs[:10]}") as told:
        remote(folder).fast_forward("rows", remote(folder).fetch_tips().of(VERSION_BRANCHES, "rows"))
    assert (git(folder, "rev-parse", REF), git(bare, "rev-parse", REF)) == (ours, theirs)
    for command in re.findall(r"`git ([^`]+)`", str(told.value)):
        git(folder, *command.split())
    remote(folder).fast_forward("rows", remote(folder).fetch_tips().of(VERSION_BRANCHES, "rows"))
    assert git(folder, "rev-parse", REF) == theirs


@pytest.mark.parametrize("url", ["ext::sh -c true", "http://example.com/a.git", "git://example.com/a", "-x", "fd::7"])
def test_an_address_that_could_start_a_program_or_show_a_token_is_refused(folder: Path, url: str) -> None:
    git(folder, "config", "remote.origin.url", url)
    with pytest.raises(UsageError, match="git remote set-url origin"):
        remote(folder)


_PROGRAMS = (
    *("remote.origin.uploadpack", "remote.origin.receivepack", "remote.{url}.uploadpack", "remote.{url}.receivepack"),
    *("core.sshCommand", "core.gitProxy", "core.askPass", "core.fsmonitor", "core.alternateRefsCommand"),
    *("credential.helper", "remote.origin.vcs", "hook.my.command", "gpg.program"),
)


def test_nothing_that_an_untrusted_repository_configures_is_run(tmp_path: Path, folder: Path) -> None:
    marker, program = tmp_path / "marker", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{marker}'\nexit 1\n")
    program.chmod(0o755)
    add_version(folder)
    for name in ("pre-push", "reference-transaction", "post-update", "pre-auto-gc"):
        hook = folder / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\n{program}\n")
        hook.chmod(0o755)
    url = git(folder, "config", "remote.origin.url")
    for name in _PROGRAMS:
        git(folder, "config", name.format(url=url), str(program))
    git(folder, "config", "push.gpgSign", "true")
    git(folder, "config", "push.recurseSubmodules", "only")
    git(folder, "config", "hook.my.event", "pre-push")
    there = remote(folder)
    assert there.push("rows", there.fetch_tips())
    assert not marker.exists()


class TestTokens:
    @pytest.fixture
    def log(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Log every argument that a program is started with, and what git finds in its environment."""
        log, tools = tmp_path / "log", tmp_path / "tools"
        tools.mkdir()
        for name in ("env", "git"):
            script = tools / name
            saved = f"env >> '{log}.variables'; " if name == "git" else ""
            script.write_text(f"#!/bin/sh\nprintf '%s ' \"$@\" >> '{log}'; {saved}exec '{shutil.which(name)}' \"$@\"\n")
            script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
        return log

    def test_a_token_reaches_git_and_is_in_no_argument_and_no_message(self, folder: Path, log: Path) -> None:
        git(folder, "config", "remote.origin.url", "https://127.0.0.1:9/a/b.git")
        login = RemoteLogin("https://127.0.0.1:9/", TOKEN)
        with pytest.raises(RemoteError) as told:
            remote(folder, login).fetch_tips()
        variables = Path(f"{log}.variables").read_text()
        assert "http.https://127.0.0.1:9/.extraHeader" in variables
        assert "Authorization: Basic eC1hY2Nlc3MtdG9rZW46" in variables
        shown = log.read_text() + str(told.value) + repr(login)
        assert "ls-remote" in shown
        assert TOKEN not in shown
        assert "Authorization" not in shown

    @pytest.mark.parametrize(
        "key", ["http.https://127.0.0.1:9/.proxy", "http.sslVerify", "url.https://evil.example/.insteadOf"]
    )
    def test_a_token_goes_nowhere_where_a_detour_is_configured(self, folder: Path, log: Path, key: str) -> None:
        git(folder, "config", "remote.origin.url", "https://127.0.0.1:9/a/b.git")
        git(folder, "config", key, "https://127.0.0.1:9/")
        with pytest.raises(RemoteError, match="expected no detour"):
            remote(folder, RemoteLogin("https://127.0.0.1:9/", TOKEN)).fetch_tips()
        assert "Authorization" not in Path(f"{log}.variables").read_text()


def draft_branch(folder: Path) -> DraftBranch:
    return DraftBranch(Repository.find(folder), "rows", FOLDER)


def add_draft(folder: Path, content: bytes = b"1") -> str:
    parent = git(folder, "rev-parse", "main")
    trailers = (("Skill", "rows"), ("Grade", "likely better"))
    new = replace(NEW_VERSION, files=(File("SKILL.md", content),), trailers=trailers, parent=parent)
    return draft_branch(folder).publish(new)


def test_what_people_pushed_on_the_draft_is_kept(tmp_path: Path, bare: Path, folder: Path) -> None:
    add_draft(folder)
    remote(folder).push_draft(draft_branch(folder), remote(folder).fetch_tips())
    person = clone(tmp_path / "person", bare)
    git(person, "switch", "--quiet", "skillopt-draft/rows")
    git(person, "commit", "--quiet", "--allow-empty", "-m", "Mine")
    git(person, "push", "--quiet", "origin", "skillopt-draft/rows")
    kept = git(bare, "rev-parse", "skillopt-draft/rows")
    add_draft(folder, b"2")
    with pytest.raises(VersionConflictError, match="has commits of people"):
        remote(folder).push_draft(draft_branch(folder), remote(folder).fetch_tips())
    assert git(bare, "rev-parse", "skillopt-draft/rows") == kept
