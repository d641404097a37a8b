"""The draft's branch: replaced by each run, never over what a person committed."""

from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.errors import VersionConflictError
from skillopt.tasks import File
from skillopt.versions.branches import DraftBranch
from skillopt.versions.repository import Repository
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, NEW_VERSION, TEXT

_DRAFT = replace(NEW_VERSION, trailers=(("Skill", "rows"), ("Grade", "likely better")))


def branch_of(folder: Path) -> DraftBranch:
    return DraftBranch(Repository.find(folder), "rows", FOLDER)


def publish(folder: Path, rule: bytes = b"- Sort.\n") -> str:
    branch = branch_of(folder)
    kept = [file for file in branch.repository.read_folder("main", FOLDER) if file.path != "SKILL.md"]
    files = (*kept, File("SKILL.md", TEXT + rule))
    return branch.publish(replace(_DRAFT, parent=git(folder, "rev-parse", "main"), files=files))


@pytest.mark.parametrize("edited", ["on top", "amended", "beside the skill"])
def test_what_a_person_committed_there_stays(folder: Path, edited: str) -> None:
    publish(folder)
    git(folder, "switch", "--quiet", "skillopt-draft/rows")
    file = folder / ("README" if edited == "beside the skill" else f"{FOLDER}/SKILL.md")
    file.write_text("By hand.\n")
    git(folder, "commit", "--quiet", "-a", *(["-m", "Mine"] if edited == "on top" else ["--amend", "--no-edit"]))
    git(folder, "switch", "--quiet", "main")
    kept = git(folder, "rev-parse", "skillopt-draft/rows")
    for change in (lambda: publish(folder, b"- Other.\n"), branch_of(folder).remove):
        with pytest.raises(VersionConflictError, match="git branch -m"):
            change()
    assert git(folder, "rev-parse", "skillopt-draft/rows") == kept
