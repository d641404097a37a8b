"""Versions in git: real repositories of every shape, none of which may notice more than a new branch."""

import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.errors import RepositoryError, UsageError, VersionConflictError
from skillopt.tasks import File
from skillopt.versions.commit_message import Version
from skillopt.versions.repository import Repository
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, NEW_VERSION, TEXT, commit, make_repository, newest

# A name that is not Unicode, where the file system allows one.
_NOT_UNICODE = () if sys.platform == "darwin" else ("\udcff\udcfe",)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository")


class TestShapesOfRepositories:
    def test_a_version_is_one_commit_on_its_own_branch(self, folder: Path) -> None:
        sha = commit(folder)
        assert (
            git(folder, "rev-parse", "skillopt/rows", "skillopt/rows^") == f"{sha}\n{git(folder, 'rev-parse', 'main')}"
        )
        assert git(folder, "diff", "--stat=200", "main", "skillopt/rows").startswith("skills/rows/SKILL.md | 1 +")
        assert git(folder, "fsck", "--strict") == ""

    def test_a_bare_repository_gets_versions(self, tmp_path: Path, folder: Path) -> None:
        bare = tmp_path / "bare.git"
        git(folder, "clone", "--quiet", "--bare", ".", str(bare))
        commit(bare)
        assert Repository.find(bare / "objects").root == bare
        assert git(bare, "show", f"skillopt/rows:{FOLDER}/SKILL.md").endswith("- Sort.")

    def test_a_linked_worktree_shares_the_branch_and_stays_as_it_is(self, tmp_path: Path, folder: Path) -> None:
        linked = tmp_path / "linked"
        git(folder, "worktree", "add", "--quiet", "-b", "other", str(linked))
        (linked / "README").write_text("Changed.\n")
        sha = commit(linked)
        assert git(folder, "rev-parse", "skillopt/rows") == sha
        assert git(linked, "status", "--porcelain") == "M README"
        assert git(linked, "rev-parse", "--abbrev-ref", "HEAD") == "other"

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

    @pytest.mark.parametrize("setting", ["core.splitIndex", "core.untrackedCache", "index.sparse"])
    def test_no_index_setting_leaves_a_trace(self, folder: Path, setting: str) -> None:
        git(folder, "config", setting, "true")
        before = sorted(path.name for path in (folder / ".git").iterdir())
        commit(folder)
        assert sorted(path.name for path in (folder / ".git").iterdir()) == before

    def test_a_sparse_checkout_loses_no_file(self, folder: Path) -> None:
        git(folder, "sparse-checkout", "set", "--cone", "--sparse-index", "skills/other")
        commit(folder)
        assert git(folder, "diff", "--name-status", "main", "skillopt/rows") == f"M\t{FOLDER}/SKILL.md"

    def test_a_repository_without_a_commit_gets_a_first_one(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "--quiet")
        sha = commit(tmp_path)
        assert git(tmp_path, "rev-list", "skillopt/rows") == sha
        assert git(tmp_path, "ls-tree", "-r", "--name-only", sha) == f"{FOLDER}/SKILL.md"
        assert Repository.find(tmp_path).head() is None

    def test_sha_256_repositories_work_alike(self, tmp_path: Path) -> None:
        folder = make_repository(tmp_path / "wide", "--object-format=sha256")
        first = commit(folder)
        second = commit(folder, parent=first, expected_tip=first, files=(File("SKILL.md", b"3"),), subject="rows: next")
        assert len(second) == 64
        assert [version.sha for version in Repository.find(folder).versions("rows")] == [second, first]

    def test_a_shallow_clone_is_enough(self, tmp_path: Path, folder: Path) -> None:
        git(folder, "commit", "--quiet", "--allow-empty", "-m", "More")
        git(tmp_path, "clone", "--quiet", "--depth=1", folder.as_uri(), "shallow")
        commit(tmp_path / "shallow")
        assert newest(tmp_path / "shallow").subject == "rows: add a rule"

    def test_any_folder_of_the_work_tree_leads_to_its_root(self, folder: Path) -> None:
        repository = Repository.find(folder / FOLDER / "evals")
        assert repository.root == folder
        assert repository.relative(folder / FOLDER) == FOLDER
        with pytest.raises(RepositoryError, match="outside"):
            repository.relative(folder.parent)

    @pytest.mark.parametrize(
        "name", ["with space", "zeile\nzwei", "naïve-名前", "-x", "--upload-pack=sh", *_NOT_UNICODE]
    )
    def test_a_repository_may_be_called_anything(self, tmp_path: Path, name: str) -> None:
        folder = make_repository(tmp_path / name)
        commit(folder)
        assert Repository.find(folder / "skills").root == folder
        assert newest(folder).trailers == NEW_VERSION.trailers

    @pytest.mark.parametrize("name", ["-x", "--help", ":(top)", "*", "naïve 名前", 'quo"te', "back\\slash", "tab\tbed"])
    def test_a_folder_above_the_skill_may_be_called_anything(self, folder: Path, name: str) -> None:
        path = f"{name}/rows"
        sha = commit(folder, path=path, files=(File("SKILL.md", b"1"), File("références/naïve 名.md", b"2")))
        files = Repository.find(folder).read_folder(sha, path)
        assert files == (File("SKILL.md", b"1"), File("références/naïve 名.md", b"2"))
        assert git(folder, "diff", "--diff-filter=DM", "--name-only", "main", sha) == ""

    def test_a_skill_at_the_root_of_the_repository(self, tmp_path: Path) -> None:
        (tmp_path / "SKILL.md").write_bytes(TEXT)
        (tmp_path / "evals").mkdir()
        (tmp_path / "evals" / "evals.json").write_bytes(b"{}")
        git(tmp_path, "init", "--quiet")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "--quiet", "-m", "Begin")
        repository = Repository.find(tmp_path)
        sha = commit(tmp_path, path=repository.relative(tmp_path))
        assert repository.read_folder(sha, ".") == (NEW_VERSION.files[0], File("evals/evals.json", b"{}"))


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

    def test_a_file_that_the_skill_no_longer_has_goes(self, folder: Path) -> None:
        sha = commit(folder, files=NEW_VERSION.files)
        paths = [file.path for file in Repository.find(folder).read_folder(sha, FOLDER)]
        assert paths == ["SKILL.md", "evals/evals.json"]

    def test_a_file_may_become_a_folder_and_back(self, folder: Path) -> None:
        first = commit(folder, files=(File("SKILL.md", b"1"), File("notes", b"2")))
        again = {"parent": first, "expected_tip": first, "subject": "rows: two"}
        second = commit(folder, files=(File("SKILL.md", b"1"), File("notes/a", b"3")), **again)
        again = {"parent": second, "expected_tip": second, "subject": "rows: three"}
        third = commit(folder, files=(File("SKILL.md", b"1"), File("notes", b"2")), **again)
        assert git(folder, "diff", "--name-only", first, third) == ""
        assert git(folder, "diff", "--name-only", first, second) == f"{FOLDER}/notes\n{FOLDER}/notes/a"

    def test_bytes_are_kept_whatever_attributes_say(self, folder: Path) -> None:
        (folder / ".gitattributes").write_text("* text eol=crlf ident\n")
        git(folder, "config", "core.autocrlf", "true")
        content = b"a\r\nb\n$Id$\x00\xff"
        sha = commit(folder, files=(File("SKILL.md", content),))
        assert File("SKILL.md", content) in Repository.find(folder).read_folder(sha, FOLDER)

    def test_links_are_not_read_as_files(self, folder: Path) -> None:
        (folder / FOLDER / "secret").symlink_to("/etc/passwd")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", "Link")
        repository = Repository.find(folder)
        assert "secret" not in {file.path for file in repository.read_folder(repository.resolve("HEAD"), FOLDER)}

    def test_a_folder_that_is_not_there_has_no_files(self, folder: Path) -> None:
        repository = Repository.find(folder)
        assert repository.read_folder(repository.resolve("main"), "skills/row") == ()


class TestTheBranch:
    def test_the_same_draft_gives_the_same_commit_and_moves_nothing(self, folder: Path) -> None:
        first = commit(folder)
        second = commit(folder, parent=first, expected_tip=first, subject="rows: next", files=(File("SKILL.md", b"2"),))
        assert commit(folder) == first
        assert git(folder, "rev-parse", "skillopt/rows") == second

    def test_the_same_draft_gives_the_same_commit_in_another_clone(self, tmp_path: Path, folder: Path) -> None:
        git(tmp_path, "clone", "--quiet", str(folder), "clone")
        assert commit(tmp_path / "clone") == commit(folder)

    def test_a_deleted_branch_is_made_again(self, folder: Path) -> None:
        first = commit(folder)
        git(folder, "update-ref", "-d", "refs/heads/skillopt/rows")
        assert Repository.find(folder).versions("rows") == ()
        assert commit(folder) == first == git(folder, "rev-parse", "skillopt/rows")

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

    def test_a_branch_that_was_deleted_meanwhile_is_not_made_again(self, folder: Path) -> None:
        with pytest.raises(VersionConflictError, match="found it at no commit"):
            commit(folder, expected_tip=git(folder, "rev-parse", "main"))
        assert Repository.find(folder).branch_tip("rows") is None

    def test_a_branch_that_is_checked_out_is_not_moved_under_its_work_tree(self, tmp_path: Path, folder: Path) -> None:
        first = commit(folder)
        git(folder, "worktree", "add", "--quiet", str(tmp_path / "reading"), "skillopt/rows")
        with pytest.raises(VersionConflictError, match=r"checked out in .*reading"):
            commit(folder, parent=first, expected_tip=first, subject="rows: next")
        assert git(tmp_path / "reading", "status", "--porcelain") == ""
        assert commit(folder) == first

    def test_a_branch_in_the_way_is_named_and_not_called_a_conflict(self, folder: Path) -> None:
        git(folder, "branch", "skillopt")
        with pytest.raises(RepositoryError, match=r"could not move skillopt/rows.*refs/heads/skillopt'") as caught:
            commit(folder)
        assert not isinstance(caught.value, VersionConflictError)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("name", ["", "-d", "a..b", "Rows", "rows/x", "rows\n", "@{-1}", "--stdin", "ro ws"])
    def test_a_name_that_no_branch_can_have_is_refused(self, folder: Path, name: str) -> None:
        with pytest.raises(UsageError, match="skill name"):
            commit(folder, skill=name)
        assert git(folder, "branch", "--format=%(refname:short)") == "main"


class TestVersionsOfUsers:
    @pytest.mark.parametrize("text", ["main", "HEAD", "skillopt/rows^", "v1", "main~0"])
    def test_what_names_a_commit_is_resolved(self, folder: Path, text: str) -> None:
        commit(folder)
        git(folder, "tag", "-a", "v1", "-m", "One", "main")
        assert Repository.find(folder).resolve(text) == git(folder, "rev-parse", "main")

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
            sha, parent, NEW_VERSION.subject, NEW_VERSION.body, NEW_VERSION.at, NEW_VERSION.trailers, ""
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

    def test_any_unicode_is_kept_and_nothing_that_steers_a_terminal(self, folder: Path) -> None:
        git(folder, "config", "i18n.commitEncoding", "latin1")
        git(folder, "config", "i18n.logOutputEncoding", "latin1")
        commit(folder, subject="rows: naïve\u202e 名前 \x1b[31mred\x9b0m", body="Größe 😀 \x07\ud800")
        assert newest(folder).subject == "rows: naïve 名前 [31mred 0m"
        assert newest(folder).body == "Größe 😀"

    def test_versions_end_where_other_commits_begin(self, folder: Path) -> None:
        first = commit(folder)
        second = commit(folder, parent=first, expected_tip=first, subject="rows: next")
        assert [version.sha for version in Repository.find(folder).versions("rows")] == [second, first]
        assert Repository.find(folder).versions("other") == ()

    def test_a_commit_that_people_put_on_top_hides_no_version(self, folder: Path) -> None:
        first = commit(folder)
        git(folder, "switch", "--quiet", "skillopt/rows")
        git(folder, "commit", "--quiet", "--allow-empty", "-m", "By hand")
        git(folder, "switch", "--quiet", "main")
        assert [version.sha for version in Repository.find(folder).versions("rows")] == [first]

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


def test_the_tips_are_those_of_branches_that_skills_can_have(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    version = commit(folder)
    git(folder, "branch", "skillopt/Not_A_Skill")
    git(folder, "branch", "skillopt/nested/rows")
    git(folder, "tag", "skillopt/tagged")

    assert Repository.find(folder).tips() == {"rows": version}
