"""Descriptions of a skill that has another name now: their branch goes on under the new one."""

from dataclasses import dataclass

from skillopt.errors import RepositoryError
from skillopt.skills.folder import SKILL_FILE
from skillopt.triggers.version import (
    described_files,
    description_before,
    description_line,
    description_of,
    expect_free_branch,
    trigger_branch,
)
from skillopt.versions.commit_kind import RENAMED_DESCRIPTION, RENAMED_FROM
from skillopt.versions.draft_branch import DESCRIPTION_BRANCHES
from skillopt.versions.repository import RENAMED_PATH, NewVersion, Repository
from skillopt.versions.revisions import find_skill_folder

__all__ = ["RenamedDescriptions"]


@dataclass(frozen=True, slots=True)
class RenamedDescriptions:
    """The descriptions of a skill that was renamed.

    Args:
        repository: Where.
        old: What the skill was called.
        new: What it is called.
        path: Its folder now, in the repository.
    """

    repository: Repository
    old: str
    new: str
    path: str

    @property
    def tip(self) -> str | None:
        """Give the newest commit under the old name, None for none."""
        return self.repository.ref_tip(f"{DESCRIPTION_BRANCHES}{self.old}")

    @property
    def moved(self) -> str | None:
        """Give the newest commit under the new name, None for none."""
        return self.repository.ref_tip(f"{DESCRIPTION_BRANCHES}{self.new}")

    @property
    def is_other(self) -> bool:
        """Tell whether the new name has descriptions that are not those of the old one."""
        moved, tip = self.moved, self.tip
        return moved is not None and tip is not None and not self.repository.contains(moved, tip)

    def check(self) -> None:
        """Refuse what cannot be moved, before anything is.

        Raises:
            VersionConflictError: People have committed on the branch, or it is checked out.
        """
        if self.tip is not None:
            expect_free_branch(self.repository, self.old)

    def move(self, at: str) -> str:
        """Move the branch; an earlier call that ended half-way is gone on with.

        Args:
            at: Time of the commit, ISO 8601.

        Returns:
            The new branch, empty where there is none.

        Raises:
            RepositoryError: Git cannot move it.
        """
        tip, branch = self.tip, trigger_branch(self.new)
        if tip is not None:
            problem = ""
            if self.moved is None:
                commit = self.repository.write_commit(self._renaming(tip, at))
                problem = self.repository.move_branch(f"{DESCRIPTION_BRANCHES}{self.new}", None, commit)
            if problem := problem or self.repository.move_branch(f"{DESCRIPTION_BRANCHES}{self.old}", tip, None):
                raise RepositoryError(f"{problem}; mend that and run this again")
        return branch if self.moved else ""

    def _renaming(self, tip: str, at: str) -> NewVersion:
        """Make the commit under the new name: what is checked out with the newest description, where that has it."""
        repository, head = self.repository, self.repository.head() or ""
        before = find_skill_folder(repository, tip, self.old) or self.path
        files = repository.read_folder(head, self.path) if head else ()
        here = any(file.path == SKILL_FILE for file in files)
        if here:
            newest, there = description_of(repository, tip, before), description_of(repository, head, self.path)
            began = {description_before(repository, one, before) for one in description_line(repository, self.old)}
            files = described_files(files, newest if there in began else there)
        return NewVersion(
            skill=self.new,
            path=self.path,
            files=files if here else repository.read_folder(tip, before),
            subject=f"{self.new}: the skill that was called {self.old}",
            body="Only its name and folder are new.",
            trailers=(
                ("Skill", self.new),
                ("Kind", RENAMED_DESCRIPTION),
                (RENAMED_FROM, self.old),
                (RENAMED_PATH, before),
            ),
            at=at,
            parent=tip,
            expected_tip=None,
            moved_from="" if here or before in (self.path, ".") else before,
            merges=head if here and not repository.contains(tip, head) else "",
        )
