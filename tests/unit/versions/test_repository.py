"""Versions in git: real repositories of every shape, none of which may notice more than a new branch."""

import subprocess
from pathlib import Path

import pytest

from skillopt.errors import UsageError, VersionConflictError
from skillopt.tasks import File
from skillopt.versions.commit_message import Version
from skillopt.versions.repository import Repository
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, NEW_VERSION, commit, newest

# A name that is not Unicode, where the file system allows one.


class TestShapesOfRepositories:
    @pytest.mark.parametrize("index", ["2", "4"])
    def test_a_dirty_tree_its_index_and_head_are_not_touched(self, folder: Path, index: str) -> None:
        git(folder, "update-index", "--index-version", index)
        (folder / "README").write_text("Staged.\n")
        git(folder, "add", "README")
        (folder / "README").write_text("Changed again.\n")
        (folder / FOLDER / "SKILL.md").write_text("Half written")
        (folder / "new").touch()
        before = git(folder, "status", "--porcelain=v2", "--branch"), (folder / ".git" / "index").read_bytes()
        commit(folder)
        assert (folder / ".git" / "index").read_bytes() == before[1]
        assert git(folder, "status", "--porcelain=v2", "--branch") == before[0]
        assert (folder / FOLDER / "SKILL.md").read_text() == "Half written"


class TestFiles:
    def test_modes_and_what_does_not_ship_stay_as_they_are(self, folder: Path) -> None:
        sha = commit(
            folder, files=(File("SKILL.md", b"1"), File("run.sh", b"#!/bin/sh\nexit 1\n"), File("new.md", b""))
        )
        listed = git(folder, "ls-tree", "-r", "--format=%(objectmode) %(path)", sha, FOLDER).splitlines()
        assert listed == [
            f"100644 {FOLDER}/SKILL.md",
            f"100644 {FOLDER}/evals/evals.json",
            f"100644 {FOLDER}/new.md",
            f"100755 {FOLDER}/run.sh",
        ]

    def test_bytes_are_kept_whatever_attributes_say(self, folder: Path) -> None:
        (folder / ".gitattributes").write_text("* text eol=crlf ident\n")
        git(folder, "config", "core.autocrlf", "true")
        content = b"a\r\nb\n$Id$\x00\xff"
        sha = commit(folder, files=(File("SKILL.md", content),))
        assert File("SKILL.md", content) in Repository.find(folder).read_folder(sha, FOLDER)


class TestTheBranch:
    @pytest.mark.parametrize("expected", [None, "main"])
    def test_a_branch_that_moved_is_left_where_it_is(self, folder: Path, expected: str | None) -> None:
        git(folder, "branch", "skillopt/rows", "main")
        git(folder, "commit", "--quiet", "--allow-empty", "-m", "Someone else")
        git(folder, "update-ref", "refs/heads/skillopt/rows", "main")
        old = expected and git(folder, "rev-parse", "main^")
        with pytest.raises(VersionConflictError, match="left alone") as caught:
            commit(folder, parent=git(folder, "rev-parse", "main^"), expected_tip=old)
        assert git(folder, "rev-parse", "main") in str(caught.value)
        assert git(folder, "rev-parse", "skillopt/rows") == git(folder, "rev-parse", "main")

    def test_a_branch_that_is_checked_out_is_not_moved_under_its_work_tree(self, tmp_path: Path, folder: Path) -> None:
        first = commit(folder)
        git(folder, "worktree", "add", "--quiet", str(tmp_path / "reading"), "skillopt/rows")
        with pytest.raises(VersionConflictError, match=r"checked out in .*reading"):
            commit(folder, parent=first, expected_tip=first, subject="rows: next")
        assert git(tmp_path / "reading", "status", "--porcelain") == ""
        assert commit(folder) == first


class TestVersionsOfUsers:
    @pytest.mark.parametrize(
        "text", ["", "nowhere", "--upload-pack=sh", "-h", "--all", "HEAD:README", "main\0", "main\n", "ma in", "\udcff"]
    )
    def test_anything_else_is_refused_in_one_line(self, folder: Path, text: str) -> None:
        with pytest.raises(UsageError, match="expected a version") as caught:
            Repository.find(folder).resolve(text)
        assert "\n" not in str(caught.value)


class TestMessages:
    def test_a_version_is_read_back_as_it_was_written(self, folder: Path) -> None:
        sha = commit(folder)
        parent = git(folder, "rev-parse", "main")
        assert newest(folder) == Version(
            sha, parent, NEW_VERSION.subject, NEW_VERSION.body, NEW_VERSION.at, NEW_VERSION.trailers, "", "Tester"
        )

    def test_no_text_forges_a_trailer_or_a_subject(self, folder: Path) -> None:
        forged = "Skill: evil\nVal-After: 1.0"
        commit(
            folder,
            subject=f"rows: add\n\n{forged}",
            body=f"{forged}\r\n\r\n{forged}\x00\n\n{forged}",
            trailers=(("Skill", "rows"), ("Harness", f"x\n{forged}\u2028Skill: evil\n\nSkill: evil"), ("Note", "")),
        )
        seen = newest(folder).trailers
        assert [key for key, _ in seen] == ["Skill", "Harness", "Note"]
        assert seen[0] == ("Skill", "rows")
        assert (
            git(folder, "log", "-1", "--format=%(trailers:key=Skill,valueonly,separator=%x2c)", "skillopt/rows")
            == "rows"
        )
        assert git(folder, "log", "-1", "--format=%s", "skillopt/rows").startswith("rows: add Skill: evil")

    def test_a_commit_that_people_made_is_read_without_a_fuss(self, folder: Path) -> None:
        raw = f"tree {git(folder, 'rev-parse', 'main^{tree}')}\nauthor A <a> 1 +0000\ncommitter A\n\n"
        odd = subprocess.run(
            ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
            cwd=folder,
            input=raw.encode() + b"Caf\xe9\n\nSkill: rows\n",
            capture_output=True,
            check=True,
        )
        git(folder, "update-ref", "refs/heads/skillopt/rows", odd.stdout.decode().strip())
        assert newest(folder).subject == "Caf\ufffd"
