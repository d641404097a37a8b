"""Hand branches of skills over in a git bundle, and check what a bundle holds before any of it is pushed.

Invariants, whatever a bundle holds:
1. Reading one moves no branch, starts no program, and brings nothing but objects into the repository.
2. A commit that changes anything outside of its skill's folder is found, but for what the default branch has there.
3. So is one that changes anything in it but the text of SKILL.md and of what else is trained, unless the remote's
   history had that before; on a branch of descriptions, anything but the description.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from skillopt.errors import InfrastructureError, VersionConflictError
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import SKILL_FILE, is_shipped
from skillopt.skills.trained_files import SkillPlace
from skillopt.versions.commit_message import single_line
from skillopt.versions.git_process import disabled_hooks, run_git, try_git
from skillopt.versions.objects import read_found, read_objects
from skillopt.versions.repository import Repository

_REF: Final = re.compile(r"refs/heads/(?:skillopt|skillopt-draft)/[a-z0-9]+(?:-[a-z0-9]+)*")
_MOST_COMMITS: Final = 2000  # of a branch that nobody pushed: each is read, at about 10 ms
_GONE: Final = "000000"
_REGULAR: Final = ("100644", "100755")
_LARGEST: Final = 500_000_000  # bytes: git takes minutes for more, and skills are text
_FETCH: Final = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--refmap=")


def write_bundle(repository: Repository, path: Path, branches: Mapping[str, str], known: Iterable[str]) -> bool:
    """Write the branches that hold something new to a bundle."""
    without = tuple(dict.fromkeys(sha for sha in known if sha))
    new = [
        name
        for name, tip in branches.items()
        if run_git(repository.root, "rev-list", "--max-count=1", tip, "--not", *without).strip()
    ]
    if new:
        run_git(repository.root, "bundle", "create", "--quiet", str(path.resolve()), *new, "--not", *without)
    return bool(new)


def read_bundle(repository: Repository, path: Path) -> dict[str, str]:
    """Bring what a bundle holds into a repository, and give its branches with their commits."""
    if not path.exists():
        return {}
    if not path.is_file():
        raise InfrastructureError(f"{path}: expected a git bundle, found a folder; nothing was pushed, train again")
    if path.stat().st_size > _LARGEST:
        raise InfrastructureError(f"{path}: expected at most {_LARGEST:,} bytes, found more; nothing was pushed")
    place = str(path.resolve())
    status, out, problem = try_git(repository.root, ["bundle", "list-heads", place])
    rows = [row.split(" ", 1) for row in os.fsdecode(out).splitlines()]
    if status:
        raise InfrastructureError(
            f"{path}: expected a git bundle, found something else ({single_line(problem)}); nothing was pushed"
        )
    strange = [name for _, name in rows if not _REF.fullmatch(name)]
    if strange:
        message = f"{path}: expected branches skillopt/* and skillopt-draft/* only, found {strange[0]!r}"
        raise InfrastructureError(f"{message}; nothing was pushed")
    env = {"GIT_ALLOW_PROTOCOL": "file", **disabled_hooks(repository.root)}
    names = [name for _, name in rows]
    strict = ["-c", "fetch.fsckObjects=true", "-c", "fetch.recurseSubmodules=false", "-c", "gc.auto=0"]
    status, _, problem = try_git(repository.root, [*strict, "fetch", *_FETCH, "--", place, *names], env=env)
    if status:
        message = (
            f"{path}: git could not read it ({single_line(problem)}); train from the remote's branches as they are"
        )
        raise InfrastructureError(f"{message} now, nothing was pushed")
    return {name: sha for sha, name in rows}


def check_commits(
    repository: Repository,
    branch: str,
    tip: str,
    path: str,
    known: Sequence[str],
    describes: Callable[[bytes, bytes], bool] | None = None,
) -> None:
    """Refuse a branch that changes anything but the text of its skill."""
    root, without = repository.root, [sha for sha in known if sha]
    arguments = ["rev-list", "--parents", f"--max-count={_MOST_COMMITS + 1}", tip, "--not", *without]
    listed = [row.split() for row in run_git(root, *arguments).decode().splitlines()]
    count = f"{len(listed)} commit{'' if len(listed) == 1 else 's'} that the remote does not have"
    if len(listed) > _MOST_COMMITS:
        message = f"{branch}: expected at most {_MOST_COMMITS:,} commits that the remote does not have, found more"
        raise VersionConflictError(f"{message}; it was not pushed. Train from the default branch")
    place = SkillPlace.parse(path)
    history = _read_history(root, place, without)
    for commit, *parents in listed:
        strange = _strays(repository, (commit, *parents), place, known[0])
        if strange:
            message = f"{branch} changes {strange[0]!r} in {commit[:10]}, outside of {place.words} ({count})"
            raise VersionConflictError(
                f"{message}; it was not pushed. Push what is not of the skill first, or train from the default branch"
            )
        if found := _unexpected(repository, (commit, *parents), place, history, describes):
            message = f"{branch}: {commit[:10]} changes {found} ({count}); it was not pushed"
            files = " and ".join(place.named)
            raise VersionConflictError(f"{message}. Training changes the text of {files} only; train again")


def _strays(repository: Repository, line: tuple[str, ...], place: SkillPlace, default: str) -> list[str]:
    """List what a commit changes outside of its skill; a merge has there what it has of the default branch."""
    commit, *parents = line
    before = parents[0] if parents else _empty_tree(repository.root)
    if len(parents) > 1:
        status, base, _ = try_git(repository.root, ["merge-base", default, commit])
        before = _empty_tree(repository.root) if status else base.decode().split()[0]
    changed = [name for _, _, name in _changed(repository, before, commit)]
    if place.folder == "." and not place.free:
        return [name for name in changed if not is_shipped(name) or name.startswith(".github/")]
    return [name for name in changed if not place.holds(name)]


_History = tuple[frozenset[tuple[str, str]], frozenset[str]]
"""What the remote's history ever had of a skill: each file's mode and object, and each frontmatter of SKILL.md."""


def _unexpected(
    repository: Repository,
    line: tuple[str, ...],
    place: SkillPlace,
    history: _History,
    describes: Callable[[bytes, bytes], bool] | None,
) -> str:
    """Return what a commit brings to its skill beyond text below the frontmatter and what was there before."""
    root, prefix, (commit, *parents), (files, frontmatters) = repository.root, place.prefix, line, history
    is_new = not frontmatters  # as one that is trained before anybody committed it
    sides = [*parents] or [_empty_tree(root)]
    if len(parents) > 1:
        # What git makes of a text that people changed on both sides is theirs.
        status, tree, _ = try_git(root, ["merge-tree", "--write-tree", *parents])
        sides += [tree.decode().split()[0]] if status == 0 else []
    first, *others = (_changed(repository, side, commit) for side in sides)
    new = set(first).intersection(*others)
    paths = {row: row[2].removeprefix(prefix) for row in new if row[0] in _REGULAR}
    beside = {row for row, inside in paths.items() if inside != SKILL_FILE and place.trains(inside)}
    for mode, sha, name in sorted(row for row in new - beside if place.holds(row[2]) and row[0] != _GONE):
        if name != f"{prefix}{SKILL_FILE}" or mode not in _REGULAR:
            if (mode, sha) not in files and not (mode in _REGULAR and is_new):
                return f"{name!r}"
            continue
        content, *before = read_found(root, [sha, *(f"{side}:{name}" for side in parents)])
        had = {_frontmatter(text) for text in before if text is not None}
        known = is_new or _frontmatter(content or b"") in had | frontmatters
        if not known and not (describes and any(describes(text or b"", content or b"") for text in before)):
            return f"the frontmatter of {name!r}"
    return ""


def _read_history(root: Path, place: SkillPlace, known: Sequence[str]) -> _History:
    asked = ["log", "--raw", "--no-abbrev", "--no-renames", "-m", "--root", "-z", "--format=", *known, "--"]
    asked += place.paths
    fields = run_git(root, *asked).decode("utf-8", "surrogateescape").split("\0")
    rows = ((meta.split(), name) for meta, name in pairwise(fields) if meta.lstrip().startswith(":"))
    found = {(meta[1], meta[3]): name for meta, name in rows if meta[1] != _GONE}
    texts = [sha for (mode, sha), name in found.items() if mode in _REGULAR and name.endswith(SKILL_FILE)]
    return frozenset(found), frozenset(map(_frontmatter, read_objects(root, texts)))


def _frontmatter(content: bytes) -> str:
    return "\n".join((SkillDocument(content.decode("utf-8", "replace")).frontmatter or "").splitlines())


def _changed(repository: Repository, before: str, commit: str) -> list[tuple[str, str, str]]:
    """List (mode, object, path) of the files in which a commit differs from another one; what is gone has no mode."""
    listed = run_git(repository.root, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, commit)
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    rows = zip(fields[::2], fields[1::2], strict=False)
    return [(meta.split()[1], meta.split()[3], name) for meta, name in rows]


def _empty_tree(root: Path) -> str:
    return run_git(root, "hash-object", "-t", "tree", "--stdin").decode().strip()
