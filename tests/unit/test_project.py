"""Finding a project, its configuration and the skill a command is about."""

import os
from pathlib import Path

import pytest

from skillopt.errors import RepositoryError, SettingsError, UsageError
from skillopt.project import Project, Selection


def test_outside_a_repository_the_folder_with_the_configuration_is_the_root(tmp_path: Path) -> None:
    (tmp_path / "skillopt.toml").write_text("seed = 3\n")
    (tmp_path / "deep").mkdir()
    project = Project.find(tmp_path / "deep")
    assert project.root == tmp_path
    with pytest.raises(RepositoryError, match="git init"):
        project.repository()


@pytest.mark.parametrize("name", ["rows", "skills/rows", "skills/rows/SKILL.md", None])
def test_a_skill_is_named_by_configuration_or_folder_or_is_the_only_one(folder: Path, name: str | None) -> None:
    selection = Selection(name, folder=folder)
    target = selection.project().target(selection)
    assert (target.name, target.folder) == ("rows", folder / "skills" / "rows")
    assert target.suite_path == folder / "suites" / "rows.jsonl"


def test_a_table_of_a_skill_wins_but_over_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "skillopt.toml").write_text('workers = 1\nseed = 1\n[skills.rows]\npath = "skills/rows"\nworkers = 2\n')
    selection = Selection("rows", folder=folder)
    assert selection.project().target(selection).settings.workers == 2
    monkeypatch.setitem(os.environ, "SKILLOPT_WORKERS", "3")
    settings = selection.project().target(selection).settings
    assert (settings.workers, settings.seed) == (3, 1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("seed = ", "skillopt.toml: expected TOML, found: "),
        ("skills = 3", r"expected \[skills.NAME\] tables"),
        ("sede = 3", "skillopt.toml: unknown setting 'sede'; did you mean 'seed'?"),
        ("[skills.rows]\nepoch = 3", r"skillopt.toml \[skills.rows\]: unknown setting 'epoch'"),
    ],
)
def test_a_mistake_in_the_file_names_the_file(folder: Path, text: str, problem: str) -> None:
    (folder / "skillopt.toml").write_text(text)
    selection = Selection("skills/rows" if "[skills" not in text else "rows", folder=folder)
    with pytest.raises(SettingsError, match=problem):
        selection.project().target(selection)


def test_files_that_git_ignores_are_not_part_of_a_skill(folder: Path) -> None:
    (folder / ".gitignore").write_text(".env\n")
    (folder / "skills" / "rows" / ".env").write_text("TOKEN=secret\n")
    (folder / "skills" / "rows" / "names é.txt").write_text("Ann\n")
    selection = Selection("rows", folder=folder)
    files = selection.project().target(selection).skill().files
    assert [file.path for file in files] == ["names é.txt"]


def add_skills(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).mkdir(parents=True, exist_ok=True)
        (folder / path / "SKILL.md").write_text(f"---\nname: {Path(path).name}\ndescription: x\n---\nx\n")


def found(folder: Path) -> list[tuple[str, str, str]]:
    return [(skill.name, skill.path, skill.suite) for skill in Project.find(folder).discover()]


def test_every_skill_that_git_does_not_ignore_is_found_with_its_tasks(folder: Path) -> None:
    layouts = (".", ".claude/skills/a", ".agents/skills/b", ".github/skills/c", "plugins/p/skills/group/d", "deep/e")
    add_skills(folder, *layouts, "node_modules/f", "private/g", "my_rows")
    (folder / "SKILL.md").write_text("---\nname: whole-repository\n---\n")
    (folder / ".gitignore").write_text("private/\n")
    (folder / "suites" / "my_rows").mkdir()

    assert found(folder) == [
        *(("whole-repository", ".", ""), ("b", ".agents/skills/b", ""), ("a", ".claude/skills/a", "")),
        *(("c", ".github/skills/c", ""), ("e", "deep/e", ""), ("my-rows", "my_rows", "suites/my_rows")),
        *(("d", "plugins/p/skills/group/d", ""), ("rows", "skills/rows", "suites/rows.jsonl")),
    ]


def test_a_skill_that_is_a_link_to_another_one_is_that_one(folder: Path) -> None:
    (folder / ".gemini" / "skills" / "alias").mkdir(parents=True)
    (folder / ".gemini" / "skills" / "alias" / "SKILL.md").symlink_to("../../../skills/rows/SKILL.md")
    (folder / ".claude").mkdir()
    (folder / ".claude" / "skills").symlink_to("../skills")

    assert [path for _, path, _ in found(folder)] == ["skills/rows"]
    selection = Selection(".gemini/skills/alias", folder=folder)
    assert selection.project().target(selection).folder == folder / "skills" / "rows"


def test_a_folder_name_that_occurs_twice_asks_which_and_each_has_a_branch_of_its_own(folder: Path) -> None:
    add_skills(folder, "plugins/a/skills/x", "plugins/b/skills/x")
    selection = Selection("x", folder=folder)

    with pytest.raises(UsageError, match="2 in folders named 'x'"):
        selection.project().target(selection)
    for name in ("b-x", "plugins/b/skills/x"):
        selection = Selection(name, folder=folder)
        target = selection.project().target(selection)
        assert (target.name, target.skill().name) == ("b-x", "b-x")


@pytest.mark.parametrize("key", ["path", "suite"])
@pytest.mark.parametrize("place", ["../x", "skills/../../x", "/etc"])
def test_a_project_names_no_skill_and_no_suite_outside_of_itself(tmp_path: Path, key: str, place: str) -> None:
    (tmp_path / "skillopt.toml").write_text(f"[skills.rows]\n{key} = {place!r}\n", encoding="utf-8")

    with pytest.raises(SettingsError, match=f"{key}: expected a path"):
        Project.read(tmp_path)


def test_settings_with_line_ends_of_windows_are_read(tmp_path: Path) -> None:
    (tmp_path / "skillopt.toml").write_bytes(b'harness = "demo"\r\n\r\n[skills.rows]\r\npath = "skills/rows"\r\n')
    project = Project.read(tmp_path)
    assert project.values == {"harness": "demo"}
    assert set(project.entries) == {"rows"}
