"""Compare two git revisions without writing: skill folders that differ or were renamed, and files of a revision."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Final

from skillopt.errors import RepositoryError, UsageError
from skillopt.skills.discovery import name_skills
from skillopt.skills.folder import SKILL_FILE, is_shipped
from skillopt.tasks import File
from skillopt.versions.commit_message import ACCEPTED
from skillopt.versions.git_process import run_git, try_git
from skillopt.versions.history import DEEPEN, is_shallow
from skillopt.versions.objects import read_objects, size_objects
from skillopt.versions.repository import Repository

_ROOT = "."
VERSION_NUMBER = re.compile(r"v?(\d{1,3})")
_NAME = re.compile(r"\w[\w./-]*")


@dataclass(frozen=True, slots=True)
class FolderChange:
    """A skill folder that differs between two revisions."""

    before: str | None
    after: str | None
    files: tuple[str, ...]


def find_commit(repository: Repository, text: str) -> str:
    """Resolve the name of a revision to a commit."""
    try:
        return repository.resolve(text)
    except UsageError as error:
        branch = text.removeprefix("refs/remotes/").removeprefix("origin/")
        fetch = f"git fetch origin {branch}" if _NAME.fullmatch(branch) else "git fetch"
        remedy = DEEPEN if is_shallow(repository) else f"run `{fetch}`, or correct the name"
        if ".." in text:  # git allows it in no name
            remedy = "a range is two revisions here: BASE HEAD"
        raise UsageError(f"expected a revision (a commit, branch or tag), found {text!r}; {remedy}") from error


def find_version(repository: Repository, skill: str, text: str) -> str:
    """Resolve a version to a commit: a git name, or the number under which the newest run accepted it, 0 its start."""
    number = VERSION_NUMBER.fullmatch(text)
    if number is None or repository.ref_tip(text):
        return repository.resolve(text)
    accepted = [version for version in repository.versions(skill) if version.trailer(ACCEPTED)]
    own = [one for one in reversed(accepted) if one.trailer("Skillopt-Run") == accepted[0].trailer("Skillopt-Run")]
    texts = [own[0].parent, *(version.sha for version in own)] if own else []
    if int(number[1]) >= len(texts) or not texts[int(number[1])]:
        raise UsageError(
            f"expected a version of {skill}, one of {len(own)}, found {text!r}; see `skillopt log {skill}`"
        )
    return texts[int(number[1])]


def merge_base(repository: Repository, base: str, head: str) -> str:
    """Find the merge base of two commits, which a pull request is compared with."""
    status, out, _ = try_git(repository.root, ["merge-base", base, head])
    if status == 0:
        return out.decode().split()[0]
    found = f"expected a commit that {base[:10]} and {head[:10]} have in common, found none"
    if is_shallow(repository):
        raise RepositoryError(f"{found} in this shallow clone; {DEEPEN}, or pass --direct to compare with BASE itself")
    raise RepositoryError(f"{found}; pass --direct to compare with BASE itself")


def changed_folders(repository: Repository, before: str, after: str) -> tuple[FolderChange, ...]:
    """List the skill folders that differ between two commits, by where they are; git says which were renamed."""
    old, new = (_folders(repository.tree(commit, "")) for commit in (before, after))
    gone, come = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    renamed: dict[str, str] = {}
    if gone and come:
        paths = [SKILL_FILE if folder == _ROOT else f"{folder}/{SKILL_FILE}" for folder in (*gone, *come)]
        asked = ["-r", "-z", "--name-status", "--diff-filter=R", "--find-renames", "--no-ext-diff", "--no-textconv"]
        listed = os.fsdecode(run_git(repository.root, "diff-tree", *asked, before, after, "--", *paths))
        folders = [PurePosixPath(path).parent.as_posix() for path in listed.split("\0")]
        renamed = dict(zip(folders[1::3], folders[2::3], strict=False))
    return _paired(old, new, renamed)


def worktree_folders(repository: Repository) -> tuple[str, ...]:
    """List the folders of the work tree that hold a SKILL.md which git does not ignore."""
    listed = run_git(repository.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    paths = os.fsdecode(listed).split("\0")
    found = {path.rpartition("/")[0] or _ROOT for path in paths if path.rpartition("/")[2] == SKILL_FILE}
    root = repository.root
    return tuple(sorted(folder for folder in found if os.path.isfile(f"{root}/{folder}/{SKILL_FILE}")))  # noqa: PTH113 - of thousands, fast


def find_skill_folder(repository: Repository, commit: str, name: str) -> str | None:
    """Find the folder of a skill in a commit by the skill's name, else the folder's; None for none, or several."""
    texts = [PurePosixPath(path) for _, _, path in repository.tree(commit, "") if path.endswith(SKILL_FILE)]
    folders = [path.parent.as_posix() for path in texts if path.name == SKILL_FILE]
    named = [folder for folder, known in name_skills(folders, name).items() if known == name]
    found = named or [folder for folder in folders if PurePosixPath(folder).name == name]
    return found[0] if len(found) == 1 else None


def write_files(files: Iterable[File], folder: Path) -> None:
    """Write files of a revision into a folder."""
    for file in files:
        parts = PurePosixPath(file.path).parts
        if not parts or ".." in parts or parts[0] == "/":
            raise RepositoryError(f"expected a plain path in the revision, found {file.path!r}; do not use it")
        place = folder / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)


_Contents = Mapping[str, Mapping[str, bytes]]


def _folders(rows: Sequence[tuple[str, str, str]]) -> dict[str, dict[str, bytes]]:
    """Return the files of each skill folder of a tree, by path, each with its object id."""
    regular = [(path, sha.encode()) for mode, sha, path in rows if mode.startswith("100")]
    texts = (path for path, _ in regular if path.rpartition("/")[2] == SKILL_FILE)
    found: dict[str, dict[str, bytes]] = {path.rpartition("/")[0] or _ROOT: {} for path in texts}
    for path, sha in regular:
        below = ((path[:at], path[at + 1 :]) for at, sign in enumerate(path) if sign == "/")
        for folder, inside in ((_ROOT, path), *below):
            if folder in found and is_shipped(inside):
                found[folder][inside] = sha
    return found


def _paired(old: _Contents, new: _Contents, renamed: Mapping[str, str]) -> tuple[FolderChange, ...]:
    """Pair old and new folders; one that is the same in both is left out."""
    sources = {after: before for before, after in renamed.items()}
    changes = []
    for folder in sorted(new):
        source = sources.get(folder, folder if folder in old else None)
        here, there = old.get(source, {}) if source else {}, new[folder]
        files = tuple(sorted(path for path in here.keys() | there.keys() if here.get(path) != there.get(path)))
        if files or source != folder:
            changes.append(FolderChange(source, folder, files))
    gone = sorted(old.keys() - new.keys() - renamed.keys())
    return (*changes, *(FolderChange(folder, None, tuple(sorted(old[folder]))) for folder in gone))


_LARGEST: Final = 64_000  # bytes of one file of a harvested task: larger ones are data, and no prompt holds them
_LARGEST_TOGETHER: Final = 200_000  # bytes of all of them
_MOST: Final = 20  # files


def commit_at(repository: Repository, time: str, branch: str = "", commit: str = "") -> str:
    """Return the commit that was checked out at a time, as well as it is known; empty for none."""
    if commit and commit.isalnum() and (found := repository.ref_tip(commit)):
        return found
    try:
        seconds = int(datetime.fromisoformat(time).timestamp())
    except (ValueError, OverflowError):
        return ""
    named = branch if branch.isprintable() and not branch.startswith("-") else ""
    tip = (repository.ref_tip(f"refs/heads/{named}") if named else None) or repository.head()
    if tip is None:
        return ""
    return run_git(repository.root, "rev-list", "-1", f"--before={seconds}", "--end-of-options", tip).decode().strip()


def files_at(repository: Repository, commit: str, paths: Iterable[str], left_out: Iterable[str]) -> tuple[File, ...]:
    """Read text files as a commit has them; what is not there, is no text or is large is left out."""
    there = {name: sha for mode, sha, name in repository.tree(commit, "") if mode.startswith("100")}
    closed = tuple(f"{folder.rstrip('/')}/" for folder in left_out if folder not in {"", "."})
    names = [name for name in dict.fromkeys(paths) if name in there and not name.startswith(closed)]
    sizes = size_objects(repository.root, [there[name] for name in names]) if names else []
    chosen, total = list[str](), 0
    for name, size in zip(names, sizes, strict=False):
        if size <= _LARGEST and total + size <= _LARGEST_TOGETHER and len(chosen) < _MOST:
            chosen.append(name)
            total += size
    contents = read_objects(repository.root, [there[name] for name in chosen])
    return tuple(File(name, content) for name, content in zip(chosen, contents, strict=True) if _is_text(content))


def worktree_roots(repository: Repository) -> tuple[str, ...]:
    """List the folders in which the repository is checked out."""
    status, out, _ = try_git(repository.root, ["worktree", "list", "--porcelain"])
    rows = os.fsdecode(out).splitlines() if status == 0 else []
    return tuple(dict.fromkeys((str(repository.root), *(row[9:] for row in rows if row.startswith("worktree ")))))


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False
