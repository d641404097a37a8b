"""Versions and texts of skills as git has them, of one skill or of many with few git processes for all together."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from skillopt.errors import SkilloptError
from skillopt.project import Target
from skillopt.runs.plan import read_version
from skillopt.skills.document import Skill
from skillopt.skills.folder import SKILL_FILE, is_shipped, read_skill, skill_from_files
from skillopt.tasks import File
from skillopt.versions.commit_message import Version
from skillopt.versions.objects import FolderAt, list_folders, read_objects
from skillopt.versions.repository import SKILL_NAME, Repository, read_histories

__all__ = ["DefaultBranch", "KnownTexts", "read_many_texts", "read_texts"]

_TOGETHER: Final = 100
"""Skills whose texts are in memory at a time."""


@dataclass(frozen=True, slots=True)
class DefaultBranch:
    """The default branch: its name, and the commit it is at; empty where there is no remote."""

    name: str
    commit: str


@dataclass(frozen=True, slots=True)
class KnownTexts:
    """A skill's versions, and the digests of its texts."""

    repository: Repository
    target: Target
    branch: str
    versions: tuple[Version, ...]
    here: str
    tip: str
    known: frozenset[str]
    default: str


def read_texts(repository: Repository, target: Target, default_branch: DefaultBranch) -> KnownTexts:
    """Read what git knows of a skill."""
    branch = repository.branch_tip(target.name) or ""
    versions = repository.versions(target.name, branch) if branch else ()
    commits = _commits(branch, versions)
    path = repository.relative(target.folder)
    (read,) = _read_places(repository, [(target, path, commits)])
    here = target.skill().digest
    default = _on_default(repository, target, path, default_branch)
    return KnownTexts(repository, target, branch, versions, here, *_of_branch(read), default)


def read_many_texts(
    repository: Repository, targets: Sequence[Target], default_branch: DefaultBranch
) -> dict[str, KnownTexts]:
    """Read what git knows of many skills, by name; what cannot be read like this is left out."""
    try:
        tips = repository.tips()
        times = Counter(one.name for one in targets)  # two tables of skillopt.toml may name one folder
        plain = [one for one in targets if times[one.name] == 1 and SKILL_NAME.fullmatch(one.name)]
        histories = read_histories(repository.root, {one.name: tips[one.name] for one in plain if one.name in tips})
    except SkilloptError:
        return {}
    found: dict[str, KnownTexts] = {}
    for start in range(0, len(plain), _TOGETHER):
        part = plain[start : start + _TOGETHER]
        try:
            here = _skills_here(repository, part)
            found |= _read_part(
                repository, [one for one in part if one.name in here], here, (tips, histories), default_branch.commit
            )
        except SkilloptError:  # of one of them; each says so itself when it is read alone
            continue
    return found


def _read_part(
    repository: Repository,
    targets: Sequence[Target],
    here: Mapping[str, str],
    branches: tuple[Mapping[str, str], Mapping[str, tuple[Version, ...]]],
    default: str,
) -> dict[str, KnownTexts]:
    tips, histories = branches
    asked = []
    for target in targets:
        commits = _commits(tips.get(target.name, ""), histories.get(target.name, ()))
        asked.append((target, repository.relative(target.folder), [*commits, *([default] if default else [])]))
    found = {}
    for (target, path, _), read in zip(asked, _read_places(repository, asked, default), strict=True):
        there = read.pop() if default else ""
        if there is None:
            there = _on_default(repository, target, path, DefaultBranch("", default))
        name, tip = target.name, tips.get(target.name, "")
        versions = histories.get(name, ())
        found[name] = KnownTexts(repository, target, tip, versions, here[name], *_of_branch(read), there)
    return found


def _of_branch(read: Sequence[str | None]) -> tuple[str, frozenset[str]]:
    """Return the digest of the newest text of a branch, and all of them."""
    known = [digest for digest in read if digest is not None]
    return (known[0] if known else ""), frozenset(known)


def _commits(branch: str, versions: Sequence[Version]) -> list[str]:
    """List the commits with every text that a branch had, from its tip to the one that training began with."""
    parents = [version.parent for version in versions[-1:] if version.parent]
    parents += [version.merged for version in versions if version.merged]
    return list(dict.fromkeys([*filter(None, [branch]), *(one.sha for one in versions), *parents]))


def _read_places(
    repository: Repository, asked: Sequence[tuple[Target, str, Sequence[str]]], default: str = ""
) -> list[list[str | None]]:
    """Return the digest of each skill at each of its commits, of all together with a few git processes."""
    places = [FolderAt(commit, path) for _, path, commits in asked for commit in commits]
    listed = list_folders(repository.root, places, is_shipped)
    objects = list(dict.fromkeys(sha for files in listed for sha in (files or {}).values()))
    contents = dict(zip(objects, read_objects(repository.root, objects), strict=True))
    rows, found = iter(listed), list[list[str | None]]()
    for target, path, commits in asked:
        digests: list[str | None] = []
        for number, (commit, files) in enumerate(zip(commits, rows, strict=False), 1):
            if files and SKILL_FILE in files:
                read = tuple(File(name, contents[sha]) for name, sha in sorted(files.items()))
                digests.append(skill_from_files(target.name, read).digest)
            elif default and number == len(commits):
                digests.append(None)
            else:  # its folder has links, had another name, or was not there
                digests.append(read_version(repository, target.name, commit, path, missing_ok=True).digest)
        found.append(digests)
    return found


def _on_default(repository: Repository, target: Target, path: str, default_branch: DefaultBranch) -> str:
    """Return the digest of the skill on the default branch, empty where it is not there."""
    if not default_branch.commit:
        return ""
    if not any(file.path == SKILL_FILE for file in repository.read_folder(default_branch.commit, path)):
        return ""
    return read_version(repository, target.name, default_branch.commit, path).digest


def _skills_here(repository: Repository, targets: Sequence[Target]) -> dict[str, str]:
    """Return digests of the skills in the work tree, by name; without those that lie in a repository of their own."""
    seen: dict[str, tuple[Path, ...]] = {}
    skills: dict[str, Skill] = {}
    for target in targets:
        if any((folder / ".git").exists() for folder in _below(target.folder, repository.root)):
            continue

        def note(places: Sequence[Path], name: str = target.name) -> Collection[Path]:
            seen[name] = tuple(places)
            return ()

        try:
            skills[target.name] = replace(read_skill(target.folder, repository.root, note), name=target.name)
        except SkilloptError:
            continue
    ignored = repository.ignored(list(dict.fromkeys(place for places in seen.values() for place in places)))
    return {name: skill.digest for name, skill in skills.items() if ignored.isdisjoint(seen[name])}


def _below(folder: Path, root: Path) -> Iterator[Path]:
    """Yield a folder and those around it, up to the repository's, which is left out."""
    top = root.resolve()
    for place in (folder, *folder.parents):
        if place == top:
            return
        yield place
