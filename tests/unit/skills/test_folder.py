"""Skill folders read whole and safely."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SkillError
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import (
    MAX_FILES,
    MAX_SKILL_BYTES,
    decode_skill,
    encode_skill,
    files_of,
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


def test_a_relative_or_linked_folder_keeps_the_name_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path, {})
    (tmp_path / "alias").symlink_to(folder)
    monkeypatch.chdir(folder)

    assert read_skill(Path()).name == "tidy"
    assert read_skill(tmp_path / "alias").name == "alias"


@pytest.mark.parametrize("target", ["SKILL.md", "/etc/passwd", "nowhere", "."])
def test_symbolic_links_inside_are_refused(tmp_path: Path, target: str) -> None:
    folder = make(tmp_path, {})
    (folder / "notes.md").symlink_to(target)

    with pytest.raises(SkillError, match=r"notes\.md: .* symbolic link; put a copy"):
        read_skill(folder)


def test_a_linked_skill_file_is_refused(tmp_path: Path) -> None:
    folder = make(tmp_path, {})
    (folder / "SKILL.md").rename(tmp_path / "real.md")
    (folder / "SKILL.md").symlink_to(tmp_path / "real.md")

    with pytest.raises(SkillError, match="symbolic link"):
        read_skill(folder)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    folder = make(tmp_path, {})
    os.mkfifo(folder / "pipe")

    with pytest.raises(SkillError, match="pipe: expected a regular file"):
        read_skill(folder)


@pytest.mark.parametrize("name", [b"bad\xff", b"line\nbreak", b"hidden\xe2\x80\x8b"])
def test_names_that_cannot_be_shown_are_refused(tmp_path: Path, name: bytes) -> None:
    folder = make(tmp_path, {})
    try:
        Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).touch()  # noqa: PTH118 - a name of bytes
    except OSError:
        pytest.skip("this file system refuses the name by itself")

    with pytest.raises(SkillError, match="expected file names in UTF-8"):
        read_skill(folder)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "nothing there; check the path"),
        ("tidy/SKILL.md", "found a file; give the folder"),
        (".", r"expected a file 'SKILL\.md', found none; create it"),
    ],
)
def test_a_path_that_is_no_skill_folder_is_refused_with_the_next_step(tmp_path: Path, path: str, message: str) -> None:
    make(tmp_path, {})

    with pytest.raises(SkillError, match=message):
        read_skill(tmp_path / path)


def test_a_skill_file_in_other_case_is_named(tmp_path: Path) -> None:
    folder = make(tmp_path, {})
    (folder / "SKILL.md").rename(folder / "skill.md")

    with pytest.raises(SkillError, match=r"expected a file 'SKILL\.md', found 'skill\.md'; rename it"):
        read_skill(folder)


def test_a_skill_file_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tidy" / "SKILL.md").mkdir(parents=True)

    with pytest.raises(SkillError, match=r"expected a file 'SKILL\.md'"):
        read_skill(tmp_path / "tidy")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("path", ["SKILL.md", "scripts", "."])
def test_what_cannot_be_read_is_refused_with_the_next_step(tmp_path: Path, path: str) -> None:
    folder = make(tmp_path, {"scripts/a": b""})
    (folder / path).chmod(0)
    try:
        with pytest.raises(SkillError, match="Permission denied; check that it exists and its permissions"):
            read_skill(folder)
    finally:
        (folder / path).chmod(0o700)


def test_a_folder_over_its_limits_is_refused(tmp_path: Path) -> None:
    large = make(tmp_path / "large", {"a": b"x" * (MAX_SKILL_BYTES // 2), "b": b"x" * (MAX_SKILL_BYTES // 2)})
    many = make(tmp_path / "many", {f"{number}": b"" for number in range(MAX_FILES)})

    with pytest.raises(SkillError, match=f"at most {MAX_SKILL_BYTES} bytes"):
        read_skill(large)
    with pytest.raises(SkillError, match=f"at most {MAX_FILES} files"):
        read_skill(many)
    (many / "0").unlink()
    assert len(files_of(read_skill(many))) == MAX_FILES


@given(
    st.binary(),
    st.dictionaries(st.from_regex(r"[a-z]{1,3}(/[a-z]{1,3})?", fullmatch=True), st.binary(), max_size=4),
)
def test_a_skill_survives_the_way_through_its_files(source: bytes, files: dict[str, bytes]) -> None:
    skill = Skill("x", SkillDocument.parse(source), tuple(File(path, files[path]) for path in sorted(files)))

    assert skill_from_files("x", files_of(skill)) == skill
    assert decode_skill("x", encode_skill(skill)) == skill
    assert skill_from_files("x", tuple(reversed(files_of(skill)))).digest == skill.digest


@pytest.mark.parametrize("encoded", [b"", b"\xff", b"{}", b"[1]", b'[["SKILL.md",5]]', b'[["SKILL.md","%"]]', b"[]"])
def test_a_record_that_is_no_skill_is_refused(encoded: bytes) -> None:
    with pytest.raises(SkillError, match=r"skill 'x': expected a (recorded skill|file 'SKILL\.md')"):
        decode_skill("x", encoded)


def test_files_that_do_not_ship_are_dropped_from_a_version_too() -> None:
    files = (File("evals/a.json", b""), File("SKILL.md", b"x"), File("a/__pycache__/b", b""))

    assert skill_from_files("x", files) == Skill("x", SkillDocument("x"))


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../b", "a//b", "./a", "", ".", "a\x00b"])
def test_paths_that_could_leave_the_folder_are_refused(path: str) -> None:
    with pytest.raises(SkillError, match="expected a plain relative path"):
        skill_from_files("x", (File("SKILL.md", b""), File(path, b"")))


def test_a_version_without_its_skill_file_or_with_a_path_twice_is_refused() -> None:
    with pytest.raises(SkillError, match=r"skill 'x': expected a file 'SKILL\.md', found none"):
        skill_from_files("x", (File("a", b""),))
    with pytest.raises(SkillError, match="'a' twice"):
        skill_from_files("x", (File("SKILL.md", b""), File("a", b""), File("a", b"")))
