"""Merge texts and branches without a work tree, name conflicts, and write the commit that training starts from."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from skillopt.errors import RepositoryError
from skillopt.skills.folder import is_shipped
from skillopt.skills.trained_files import SkillPlace
from skillopt.tasks import File
from skillopt.versions.branches import snapshot_of
from skillopt.versions.commit_message import single_line
from skillopt.versions.git_process import disabled_hooks, translate_write_errors, try_git
from skillopt.versions.objects import read_found
from skillopt.versions.repository import NewVersion, Repository


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines that two branches changed in different ways."""

    path: str
    ours: str
    theirs: str


def default_tip(repository: Repository) -> str:
    """Return newest commit of the default branch as this clone knows it: the remote's, else ours; empty for none."""
    return repository.ref_tip("refs/remotes/origin/HEAD") or snapshot_of(repository).default


def fork_of(repository: Repository, tip: str, onto: str = "") -> str:
    """Return the newest commit that a branch has in common with the default branch; empty for none."""
    default = onto or default_tip(repository)
    found = try_git(repository.root, ["merge-base", default, tip])[1].decode().split() if default else []
    return found[0] if found else ""


def merge_texts(base: str, ours: str, theirs: str) -> str | None:
    """Merge what two sides made of a text, line by line; None where they changed the same lines."""
    if ours in (base, theirs):
        return theirs
    with translate_write_errors(), tempfile.TemporaryDirectory(prefix="skillopt-merge-") as folder:
        names = ("ours", "base", "theirs")
        for name, content in zip(names, (ours, base, theirs), strict=True):
            (Path(folder) / name).write_bytes(content.encode("utf-8", "replace"))
        status, merged, _ = try_git(Path(folder), ["merge-file", "-p", *names])
    return merged.decode("utf-8", "replace") if status == 0 else None


def merge_commits(repository: Repository, ours: str, theirs: str, folder: str) -> tuple[str, tuple[Conflict, ...]]:
    """Merge two commits to a tree, with what conflicts in the folder of a skill; elsewhere, the second one's holds."""
    root = repository.root
    asked = ["-c", "merge.conflictStyle=merge", "merge-tree", "--write-tree", "-z", "--name-only", ours, theirs]
    status, out, problem = try_git(root, asked, env=disabled_hooks(root))
    if status > 1:
        message = f"git could not merge {ours[:10]} and {theirs[:10]}: {single_line(problem)}"
        raise RepositoryError(f"{message}; in a shallow clone, run `git fetch --unshallow`")
    tree, *names = out.decode("utf-8", "surrogateescape").partition("\0\0")[0].split("\0")
    found: list[Conflict] = []
    for name in dict.fromkeys(filter(SkillPlace.parse(folder).holds, names if status else ())):
        merged, *sides = read_found(root, [f"{side}:{name}" for side in (tree, ours, theirs)])
        if any(b"\0" in (content or b"") for content in sides):
            found.append(Conflict(name, "(a binary file)", "(another binary file)"))
        elif conflicts := _conflicts(name, merged or b""):
            found += conflicts
        else:  # one side deleted it
            one, other = ((content or b"").decode("utf-8", "replace").rstrip("\n") for content in sides)
            found.append(Conflict(name, one, other))
    return tree, tuple(found)


def _conflicts(path: str, merged: bytes) -> tuple[Conflict, ...]:
    found: list[Conflict] = []
    sides: tuple[list[str], list[str]] = ([], [])
    at = -1
    for line in merged.decode("utf-8", "replace").splitlines():
        if line.startswith("<<<<<<< "):
            sides, at = ([], []), 0
        elif line == "=======" and at == 0:
            at = 1
        elif line.startswith(">>>>>>> ") and at == 1:
            found.append(Conflict(path, "\n".join(sides[0]), "\n".join(sides[1])))
            at = -1
        elif at >= 0:
            sides[at].append(line)
    return tuple(found)


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
        return newest is not None and self.files(self.tip) != self.files(newest.sha)

    def files(self, commit: str) -> tuple[File, ...]:
        """Read the files of the skill that ship, as a commit or a tree has them."""
        found = self.repository.read_folder(commit, self.path)
        return tuple(file for file in found if is_shipped(file.path))


def start_conflicts(place: StartPlace) -> tuple[Conflict, ...]:
    """Find the sentences that people changed on the skill's branch, and others differently on the default branch."""
    return merge_commits(place.repository, place.tip, place.merged, place.path)[1] if place.by_people else ()


def write_start(place: StartPlace, at: str) -> str:
    """Merge the default branch into the skill's branch where it moved on, and return the commit to train from."""
    onto = place.merged
    theirs = place.files(onto) if onto else ()
    has_skill = SkillPlace.parse(place.path).has_text(file.path for file in theirs)
    if not has_skill or place.repository.contains(place.tip, onto):
        return place.tip
    files, keep = theirs, place.by_people
    if keep:
        tree, conflicts = merge_commits(place.repository, place.tip, onto, place.path)
        if conflicts:
            raise RepositoryError(
                f"expected {onto[:10]} and skillopt/{place.skill} to merge, found {len(conflicts)} places where both "
                "changed the same lines; merge it by hand there"
            )
        files = place.files(tree)
    new = NewVersion(
        skill=place.skill,
        path=place.path,
        files=files,
        subject=f"{place.skill}: the text that training starts from",
        body="The default branch's text, with what people changed here." if keep else "The default branch's text.",
        trailers=(("Skill", place.skill),),
        at=at,
        parent=place.tip,
        expected_tip=place.tip,
        merges=onto,
    )
    return place.repository.commit_version(new)
