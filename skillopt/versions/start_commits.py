"""The commit that training starts from where the default branch moved on: a merge of its tip into the skill's branch.

Such a branch merges back without a conflict and without a force-push: outside of the skill it has the default branch's
tree, and what it adds is based on the newest text there.
"""

from dataclasses import dataclass
from typing import Final

from skillopt.errors import RepositoryError
from skillopt.skills.folder import SKILL_FILE, is_shipped
from skillopt.tasks import File
from skillopt.versions.git_process import disabled_hooks, run_git, try_git
from skillopt.versions.merging import Conflict, default_tip, find_conflicts
from skillopt.versions.repository import NewVersion, Repository

__all__ = ["StartPlace", "start_conflicts", "write_start"]

_ON_TOP: Final = 1000
"""Commits of people on top of the newest version that are looked at."""


@dataclass(frozen=True, slots=True)
class StartPlace:
    """A skill's branch, and the default branch beside it."""

    repository: Repository
    skill: str
    path: str
    tip: str
    onto: str

    @property
    def merged(self) -> str:
        """The commit to merge; empty where there is none."""
        return self.onto or default_tip(self.repository)

    @property
    def by_people(self) -> bool:
        """Whether people have changed the skill on top of its newest version."""
        newest = next(iter(self.repository.versions(self.skill, self.tip)), None)
        if newest is None or newest.sha == self.tip:
            return False
        above = run_git(
            self.repository.root, "rev-list", "--first-parent", f"--max-count={_ON_TOP}", self.tip, f"^{newest.sha}"
        )
        return bool(above.split()) and self.files(self.tip) != self.files(newest.sha)

    def files(self, commit: str) -> tuple[File, ...]:
        """Read the files of the skill that ship, as a commit or a tree has them."""
        found = self.repository.read_folder(commit, self.path)
        return tuple(file for file in found if is_shipped(file.path))


def start_conflicts(place: StartPlace) -> tuple[Conflict, ...]:
    """Find the sentences that people changed on the skill's branch, and others differently on the default branch."""
    return find_conflicts(place.repository, place.tip, place.merged, place.path) if place.by_people else ()


def write_start(place: StartPlace, at: str, *, anew: bool = False) -> str:
    """Merge the default branch into the skill's branch, and give the commit that training starts from.

    Its text is the default branch's, or, where people have changed the skill's branch, what both sides make of it.
    Where there is nothing to merge, nothing is written.
    """
    onto = place.merged
    theirs = place.files(onto) if onto else ()
    has_skill = any(file.path == SKILL_FILE for file in theirs)
    if not has_skill or place.repository.contains(place.tip, onto):
        return place.tip
    keep = place.by_people and not anew
    new = NewVersion(
        skill=place.skill,
        path=place.path,
        files=place.files(_merged_tree(place)) if keep else theirs,
        subject=f"{place.skill}: the text that training starts from",
        body="The default branch's text, with what people changed here." if keep else "The default branch's text.",
        trailers=(("Skill", place.skill),),
        at=at,
        parent=place.tip,
        expected_tip=place.tip,
        merges=onto,
    )
    return place.repository.commit_version(new)


def _merged_tree(place: StartPlace) -> str:
    root = place.repository.root
    status, out, problem = try_git(
        root, ["merge-tree", "--write-tree", "--name-only", place.tip, place.merged], env=disabled_hooks(root)
    )
    tree = out.decode("utf-8", "replace").split("\n", 1)[0].strip()
    if status == 1 and not find_conflicts(place.repository, place.tip, place.merged, place.path):
        return tree  # what conflicts lies outside of the skill, and there the default branch's holds
    if status:
        why = problem.strip() or "both sides changed the same lines"
        message = f"git could not merge {place.merged[:10]} into skillopt/{place.skill}: {why}"
        raise RepositoryError(f"{message}; merge it by hand there, or begin anew from the default branch")
    return tree
