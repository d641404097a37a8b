"""Skill folders read whole and safely."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SkillError
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import (
    MAX_FILES,
    decode_skill,
    encode_skill,
    is_shipped,
    read_skill,
    skill_from_files,
)
from skillopt.tasks import File


def make(root: Path, files: dict[str, bytes]) -> Path:
    folder = root / "tidy"
    for path, content in {"SKILL.md": b"---\nname: tidy\n---\n", **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def test_a_folder_is_read_with_every_byte_and_its_files_in_order(tmp_path: Path) -> None:
    folder = make(tmp_path, {"scripts/b.py": b"\xff\x00", "scripts/a.py": b"", "A.txt": b"1", "scripts-x": b"2"})
    (folder / "empty").mkdir()

    skill = read_skill(folder)

    assert (skill.name, skill.document.text) == ("tidy", "---\nname: tidy\n---\n")
    assert skill.files == (
        File("A.txt", b"1"),
        File("scripts-x", b"2"),
        File("scripts/a.py", b""),
        File("scripts/b.py", b"\xff\x00"),
    )


def test_evals_version_control_and_caches_are_left_out(tmp_path: Path) -> None:
    left_out = ("evals/evals.json", ".git/config", "scripts/__pycache__/a.pyc", ".skillopt/ledger", ".DS_Store", "x~")
    folder = make(tmp_path, dict.fromkeys((*left_out, "scripts/evals/kept.txt"), b"x"))
    (folder / ".venv").symlink_to(tmp_path)

    assert [file.path for file in read_skill(folder).files] == ["scripts/evals/kept.txt"]
    assert not any(is_shipped(path) for path in left_out)


def test_links_inside_are_followed_and_files_and_folders_behind_them_ship(tmp_path: Path) -> None:
    folder = make(tmp_path / "skills", {"AGENTS.md": b"read", "evals/private.md": b"x"})
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "a.md").write_bytes(b"a")
    (folder / "CLAUDE.md").symlink_to("AGENTS.md")
    (folder / "refs").symlink_to("../../common")

    skill = read_skill(folder, tmp_path)

    assert [(file.path, file.content) for file in skill.files] == [
        ("AGENTS.md", b"read"),
        ("CLAUDE.md", b"read"),
        ("refs/a.md", b"a"),
    ]
    assert skill.left_out == ()


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("/etc/passwd", "leads out of"),
        ("../../outside", "leads out of"),
        ("nowhere", "leads to nothing"),
        (".", "leads to a folder around it"),
    ],
)
def test_a_link_that_leads_out_nowhere_or_around_is_left_out(tmp_path: Path, target: str, why: str) -> None:
    repository = tmp_path / "repository"
    folder = make(repository, {"kept.md": b"x"})
    (tmp_path / "outside").write_text("secret")
    (folder / "notes.md").symlink_to(target)

    skill = read_skill(folder, repository)

    assert [file.path for file in skill.files] == ["kept.md"]
    assert [why in reason for reason in skill.left_out] == [True]


@pytest.mark.parametrize("name", ["SKILL.md", "data/keys.txt"])
def test_a_hard_link_is_refused_and_the_copy_that_the_message_asks_for_is_read(tmp_path: Path, name: str) -> None:
    folder = make(tmp_path, {"data/1": b""})
    private = tmp_path / "private.txt"
    private.write_text("---\nname: tidy\n---\nsecret\n")
    (folder / name).unlink(missing_ok=True)
    os.link(private, folder / name)

    with pytest.raises(SkillError, match="2 hard links") as refused:
        read_skill(folder)
    assert "secret" not in str(refused.value)

    subprocess.run(["sh", "-c", str(refused.value).split("`")[1]], cwd=(folder / name).parent, check=True)
    assert any(b"secret" in file.content for file in read_skill(folder).shipped)


def test_a_folder_with_too_many_files_is_refused(tmp_path: Path) -> None:
    folder = make(tmp_path, {f"data/{number}": b"" for number in range(MAX_FILES)})

    with pytest.raises(SkillError, match=rf"most {MAX_FILES} .*{MAX_FILES + 1}"):
        read_skill(folder)
    (folder / "data" / "0").unlink()
    assert len(read_skill(folder).shipped) == MAX_FILES


@given(
    st.binary(), st.dictionaries(st.from_regex(r"[a-z]{1,3}(/[a-z]{1,3})?", fullmatch=True), st.binary(), max_size=4)
)
def test_a_skill_survives_the_way_through_its_files(source: bytes, files: dict[str, bytes]) -> None:
    skill = Skill("x", SkillDocument.parse(source), tuple(File(path, files[path]) for path in sorted(files)))

    assert skill_from_files("x", skill.shipped) == skill
    assert decode_skill("x", encode_skill(skill)) == skill
    assert skill_from_files("x", tuple(reversed(skill.shipped))).digest == skill.digest


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../b", "a//b", "./a", "", ".", "a\x00b"])
def test_paths_that_could_leave_the_folder_are_refused(path: str) -> None:
    with pytest.raises(SkillError, match="expected a plain relative"):
        skill_from_files("x", (File("SKILL.md", b""), File(path, b"")))
