"""Read the merged changes of a branch: one commit each of its first-parent line, newest first, with what it changed."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from skillopt.errors import SuiteError, UsageError
from skillopt.tasks import File, Tree
from skillopt.versions.commit_message import single_line
from skillopt.versions.git_process import run_git, try_git
from skillopt.versions.objects import read_objects, size_objects
from skillopt.versions.repository import Repository

_PAGE: Final = 500  # changes that git lists at once: whoever needs few waits for few
_MARK, _FIELD = "\x01", "\x02"
_FORMAT: Final = _MARK + _FIELD.join(("%H", "%P", "%cI", "%an%n%ae%n%cn%n%ce", "%B")) + _FIELD
_LARGEST_TREE: Final = 20_000_000  # bytes, and files below, that one task may copy into each workspace
_MOST_FILES: Final = 5_000  # as above
_OF_AGENTS: Final = frozenset({".claude", ".codex", ".mcp.json", ".claude.json", ".gitconfig"})
"""What agents take settings and hooks from; no task begins with it."""

DEEPEN: Final = (
    "this clone has only a part of the history: run `git fetch --unshallow` (actions/checkout: fetch-depth: 0)"
)


@dataclass(frozen=True, slots=True)
class ChangedPath:
    """A file that a change added (`A`), modified (`M`), deleted (`D`) or renamed (`R`)."""

    status: str
    path: str
    old: str


@dataclass(frozen=True, slots=True)
class MergedChange:
    """A commit as the difference to its first parent; `side` is the other parent of a merge, `at` is ISO 8601."""

    commit: str
    before: str
    side: str
    at: str
    people: tuple[tuple[str, str], ...]
    message: str
    paths: tuple[ChangedPath, ...]


def merged_changes(repository: Repository, wanted: str, most: int) -> Iterator[MergedChange]:
    """Yield the changes of a revision or a range, newest first, at most so many; read a page at a time."""
    for skip in range(0, most, _PAGE):
        count = min(_PAGE, most - skip)
        asked = ["log", "--first-parent", "--diff-merges=first-parent", "--find-renames", "--name-status", "-z"]
        asked += [f"--format={_FORMAT}", f"--skip={skip}", f"--max-count={count}", "--end-of-options", wanted, "--"]
        status, out, problem = try_git(repository.root, asked)
        if status:
            advice = DEEPEN if is_shallow(repository) else "name a branch, or a range such as v1.0..main"
            raise UsageError(f"expected commits, found {wanted!r} ({single_line(problem)}); {advice}")
        parts = os.fsdecode(out).split(_MARK)[1:]
        found = [_change(part) for part in parts if part.count(_FIELD) >= _FORMAT.count(_FIELD)]
        yield from found
        if len(parts) < count:
            return


def is_shallow(repository: Repository) -> bool:
    """Whether a clone has only a part of the history."""
    return try_git(repository.root, ["rev-parse", "--is-shallow-repository"])[1].strip() == b"true"


def _change(text: str) -> MergedChange:
    commit, parents, at, people, message, rest = text.split(_FIELD, 5)
    before, side, *_ = (*parents.split(), "", "")
    names = people.split("\n")
    pairs = dict.fromkeys(zip(names[::2], names[1::2], strict=False))
    return MergedChange(
        commit, before, side, at, people=tuple(pairs), message=message.strip(), paths=tuple(_paths(rest))
    )


def _paths(text: str) -> Iterator[ChangedPath]:
    words = iter(text.strip("\0\n").split("\0"))
    for status in words:
        if status := status.strip():
            old = next(words, "")
            yield ChangedPath(status[0], next(words, "") if status[0] in "RC" else old, old)


def merged_messages(repository: Repository, change: MergedChange) -> tuple[str, ...]:
    """Return the messages of the commits that a merge brought, oldest first; none for another commit."""
    if not change.side:
        return ()
    # A task is made of the first sentences.
    asked = ["log", "--no-merges", "--reverse", "--format=%B%x00", "--max-count=20"]
    out = run_git(repository.root, *asked, change.side, f"^{change.before}", "--")
    return tuple(text.strip() for text in out.decode("utf-8", "replace").split("\0") if text.strip())


def patch_of(repository: Repository, change: MergedChange) -> str:
    """Return the difference that a change makes, without lines around it."""
    asked = ["diff-tree", "-p", "-U0", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color"]
    return run_git(repository.root, *asked, change.before, change.commit).decode("utf-8", "replace")


def read_tree(folder: Path, commit: str, without: Sequence[str] = (), only: Sequence[str] = ()) -> Tree:
    """Read the files of a commit, but for some, or only some; never links, submodules and settings of agents."""
    return Tree(commit, tuple(without), _tree_files(str(folder), commit, tuple(without), tuple(only)))


@lru_cache(maxsize=256)
def _tree_files(folder: str, commit: str, without: tuple[str, ...], only: tuple[str, ...]) -> tuple[File, ...]:
    repository = Repository.find(Path(folder))
    if not repository.ref_tip(commit):
        advice = DEEPEN if is_shallow(repository) else "run `git fetch`, or remove the task"
        raise SuiteError(f"expected commit {commit[:12]!r} in {repository.root}, found none; {advice}")
    rows = repository.tree(commit, "")
    found = {
        path: sha
        for mode, sha, path in rows
        if mode.startswith("100") and not _left_out(path, without) and (not only or path in only)
    }
    sizes = size_objects(repository.root, list(found.values())) if found else []
    if len(found) > _MOST_FILES or sum(sizes) > _LARGEST_TREE:
        raise SuiteError(
            f"expected at most {_MOST_FILES:,} files and {_LARGEST_TREE:,} bytes in commit {commit[:12]}, found "
            f"{len(found):,} and {sum(sizes):,}; leave folders out"
        )
    known = _known_blobs(folder)
    missing = list({sha for sha in found.values() if sha not in known})
    known |= zip(missing, read_objects(repository.root, missing), strict=True)
    return tuple(File(path, known[sha]) for path, sha in found.items())


@lru_cache(maxsize=8)
def _known_blobs(_: str) -> dict[str, bytes]:
    """Return what was read of a repository: commits share most of their files."""
    return {}


def _left_out(path: str, without: Sequence[str]) -> bool:
    parts = path.split("/")
    return (
        not _OF_AGENTS.isdisjoint(part.casefold() for part in parts)
        or "\\" in path
        or any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in without)
    )
