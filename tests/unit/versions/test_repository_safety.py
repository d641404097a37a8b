"""Versions in git, in surroundings that are odd or hostile."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.errors import RepositoryError
from skillopt.tasks import File
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import changed_folders, merge_base, worktree_folders
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, NEW_VERSION, commit, make_repository


class TestIdentity:
    def who(self, folder: Path) -> str:
        commit(folder)
        return git(folder, "log", "-1", "--format=%an <%ae> %cn <%ce>", "skillopt/rows")

    def test_configuration_and_environment_are_heeded(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("GIT_AUTHOR_NAME")
        git(folder, "config", "user.name", "Jürgen <J.>")
        assert Repository.find(folder).identity == "Jürgen <J <tester@example.com>"
        assert self.who(folder) == "Jürgen J <tester@example.com> Jürgen J <tester@example.com>"


class TestSurroundings:
    def test_variables_of_a_hook_lead_nowhere(
        self, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = make_repository(tmp_path / "other")
        for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"):
            monkeypatch.setenv(name, str(other / ".git"))
        monkeypatch.setenv("GIT_NAMESPACE", "elsewhere")
        monkeypatch.setenv("GIT_PREFIX", "skills/")
        sha = commit(folder)
        assert Repository.find(folder).root == folder
        for name in [name for name in os.environ if name.startswith("GIT_") and "CONFIG" not in name]:
            monkeypatch.delenv(name)
        assert git(folder, "rev-parse", "refs/heads/skillopt/rows") == sha
        assert git(other, "for-each-ref", "--format=%(refname)") == "refs/heads/main"

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
    def test_a_folder_of_someone_else_names_the_way_to_trust_it(self, folder: Path) -> None:
        for path in (folder, folder / ".git"):
            os.chown(path, 12345, 12345)
        with pytest.raises(RepositoryError, match=r"safe\.directory") as caught:
            Repository.find(folder)
        assert "\n" not in str(caught.value)


def _hooks(folder: Path, program: str) -> None:
    for name in (
        *("reference-transaction", "post-index-change", "pre-commit", "post-commit", "commit-msg"),
        "post-rewrite",
    ):
        hook = folder / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\n{program}\n")
        hook.chmod(0o755)


def _hooks_elsewhere(folder: Path, program: str) -> None:
    _hooks(folder, program)
    shutil.copytree(folder / ".git" / "hooks", folder / "hooks")
    git(folder, "config", "core.hooksPath", str(folder / "hooks"))


def _configured_hooks(folder: Path, program: str) -> None:
    for event in ("reference-transaction", "post-index-change", "pre-commit"):
        git(folder, "config", f"hook.my.{event}=x.event", event)
        git(folder, "config", f"hook.my.{event}=x.command", program)


def _settings(folder: Path, program: str) -> None:
    for name in _PROGRAMS:
        git(folder, "config", name, program)
    for name in ("log.showSignature", "commit.gpgSign", "tag.gpgSign", "push.gpgSign"):
        git(folder, "config", name, "true")


_PROGRAMS = (
    *("core.fsmonitor", "core.pager", "pager.log", "pager.config", "pager.rev-list", "pager.for-each-ref"),
    *("core.editor", "diff.external", "core.sshCommand", "core.askPass", "core.gitProxy", "core.alternateRefsCommand"),
    *("credential.helper", "interactive.diffFilter", "sequence.editor", "uploadpack.packObjectsHook"),
    *("gpg.program", "gpg.ssh.program", "gpg.x509.program"),
)


def _filters(folder: Path, program: str) -> None:
    for key in ("clean", "smudge", "process"):
        git(folder, "config", f"filter.evil.{key}", program)
    git(folder, "config", "filter.evil.required", "true")
    git(folder, "config", "diff.evil.textconv", program)
    git(folder, "config", "diff.evil.command", program)
    git(folder, "config", "merge.evil.driver", program)
    (folder / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil merge=evil\n")
    (folder / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")


def _lazy_fetch(folder: Path, program: str) -> None:
    sha = git(folder, "rev-parse", f"main:{FOLDER}/evals/evals.json")
    (folder / ".git" / "objects" / sha[:2] / sha[2:]).unlink()
    values = {
        "core.repositoryFormatVersion": "1",
        "core.sshCommand": program,
        "extensions.partialClone": "origin",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        "protocol.ssh.allow": "always",
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": program,
        "remote.origin.url": f"ext::{program}",
    }
    for name, value in values.items():
        git(folder, "config", name, value)


def _all_else(folder: Path, program: str) -> None:
    for arm in (_hooks_elsewhere, _configured_hooks, _settings, _filters):
        arm(folder, program)


@pytest.mark.parametrize("arm", [_hooks, _all_else, _lazy_fetch])
def test_nothing_that_an_untrusted_repository_configures_is_run(
    tmp_path: Path, folder: Path, arm: Callable[[Path, str], None]
) -> None:
    marker = tmp_path / "marker"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{marker}'\nexit 1\n")
    program.chmod(0o755)
    arm(folder, str(program))
    for alias in ("rev-parse", "config", "ls-tree", "read-tree", "update-ref", "commit-tree", "cat-file"):
        with (folder / ".git" / "config").open("a") as config:
            config.write(f'[alias]\n\t{alias} = "!{program}"\n')
    repository = Repository.find(folder)
    parent = repository.resolve("main")
    draft = replace(NEW_VERSION, parent=parent)
    with suppress(RepositoryError):  # where an object is missing
        repository.read_folder(parent, FOLDER)
    first = repository.commit_version(draft)
    repository.commit_version(replace(draft, parent=first, expected_tip=first, files=(File("SKILL.md", b"2"),)))
    assert len(repository.versions("rows")) == 2
    assert [change.files for change in changed_folders(repository, parent, first)] == [("SKILL.md", "run.sh")]
    assert worktree_folders(repository) == (FOLDER,)
    assert merge_base(repository, parent, first) == parent
    assert repository.identity
    assert not marker.exists()
