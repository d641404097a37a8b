"""Real repositories with a skill in them, and a version to commit there."""

from dataclasses import replace
from pathlib import Path

from skillopt.tasks import File
from skillopt.versions.commit_message import Version
from skillopt.versions.repository import NewVersion, Repository
from tests.fakes.projects import git

FOLDER = "skills/rows"
TEXT = b"---\nname: rows\ndescription: Rows.\n---\n# Rows\n\n- Trim.\n"
NEW_VERSION = NewVersion(
    skill="rows",
    path=FOLDER,
    files=(File("SKILL.md", TEXT + b"- Sort.\n"),),
    subject="rows: add a rule",
    body="Add:\n\n    - Sort.\n\nRows came in any order.",
    trailers=(("Skill", "rows"), ("Val-After", "0.9000")),
    at="2026-01-02T03:04:05+00:00",
    parent="",
    expected_tip=None,
)


def make_repository(folder: Path, *options: str) -> Path:
    """Make a repository with a skill and other files, committed."""
    (folder / FOLDER / "evals").mkdir(parents=True)
    (folder / FOLDER / "SKILL.md").write_bytes(TEXT)
    (folder / FOLDER / "run.sh").write_bytes(b"#!/bin/sh\n")
    (folder / FOLDER / "run.sh").chmod(0o755)
    (folder / FOLDER / "evals" / "evals.json").write_bytes(b"{}\n")
    (folder / "README").write_bytes(b"Other things.\n")
    git(folder, "init", "--quiet", "--initial-branch=main", *options)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Begin")
    return folder


def make_offered(folder: Path) -> Path:
    """Make a repository with the branches of two skills."""
    made = make_repository(folder)
    for branch in ("skillopt/rows", "skillopt/dates"):
        git(made, "checkout", "--quiet", "-b", branch, "main")
        git(made, "commit", "--quiet", "--allow-empty", "-m", branch)
    return made


def commit(folder: Path, **changes: object) -> str:
    """Commit the draft on HEAD, keeping all files the skill has there."""
    repository = Repository.find(folder)
    parent = repository.head() or ""
    kept = {file.path: file for file in (repository.read_folder(parent, FOLDER) if parent else ())}
    kept |= {file.path: file for file in NEW_VERSION.files}
    draft = replace(NEW_VERSION, parent=parent, files=tuple(kept.values()))
    return repository.commit_version(replace(draft, **changes))  # type: ignore[arg-type]  # the tests name its fields


def by_hand(folder: Path, branch: str, old: str, new: str) -> str:
    """Replace text of the skill on a branch, as a person does, and commit it."""
    git(folder, "switch", "--quiet", branch)
    place = folder / FOLDER / "SKILL.md"
    place.write_text(place.read_text().replace(old, new))
    git(folder, "commit", "--quiet", "-am", "By hand")
    git(folder, "switch", "--quiet", "main")
    return git(folder, "rev-parse", branch)


def text_of(folder: Path, commit: str) -> str:
    """Return SKILL.md as a commit has it."""
    return git(folder, "show", f"{commit}:{FOLDER}/SKILL.md") + "\n"


def newest(folder: Path) -> Version:
    """Read the newest version back."""
    return Repository.find(folder).versions("rows")[0]
