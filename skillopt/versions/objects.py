"""Read git objects and folders of many commits with few processes, follow symbolic links in a tree, write blobs."""

import os
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Final

from skillopt.errors import RepositoryError
from skillopt.skills.folder import is_left_out
from skillopt.versions.git_process import run_git

__all__ = [
    "LINK",
    "FolderAt",
    "follow_links",
    "list_folders",
    "read_found",
    "read_objects",
    "size_objects",
    "write_blobs",
]


def read_objects(root: Path, shas: Sequence[str]) -> list[bytes]:
    """Return the content of objects."""
    contents = []
    for sha, content in zip(shas, read_found(root, shas), strict=True):
        if content is None:
            message = f"object {sha} is missing from {root}; fetch the full history"
            raise RepositoryError(message)
        contents.append(content)
    return contents


def read_found(root: Path, names: Sequence[str], kind: str = "") -> list[bytes | None]:
    """Return the content of objects, None for one that is not there."""
    if not names:
        return []
    asked = os.fsencode("\n".join("" if "\n" in name else name for name in names) + "\n")
    out = BytesIO(run_git(root, "cat-file", "--batch", stdin=asked))
    contents: list[bytes | None] = []
    for _ in names:
        head = out.readline().rsplit(b" ", 2)
        if len(head) != 3 or not head[2].strip().isdigit():  # noqa: PLR2004 - object, type, size
            contents.append(None)
            continue
        content = out.read(int(head[2]))
        contents.append(content if kind in ("", head[1].decode()) else None)
        out.readline()
    return contents


def size_objects(root: Path, shas: Sequence[str]) -> list[int]:
    """Return the sizes of objects, in bytes; one that is missing here has none."""
    asked = "".join(f"{sha}\n" for sha in shas).encode()
    rows = [row.split() for row in run_git(root, "cat-file", "--batch-check", stdin=asked).splitlines()]
    return [int(row[2]) for row in rows if len(row) == 3]  # noqa: PLR2004 - object, type, size


def write_blobs(root: Path, contents: Sequence[bytes], folder: Path) -> list[str]:
    """Write contents as they are, by way of files in a private folder, and give their names."""
    places = [folder / f"blob-{number}" for number in range(len(contents))]
    for place, content in zip(places, contents, strict=True):
        place.write_bytes(content)
    listed = os.fsencode("".join(f"{place}\n" for place in places))
    return run_git(root, "hash-object", "-w", "--no-filters", "--stdin-paths", stdin=listed).decode().split()


LINK: Final = "120000"
"""Mode of a symbolic link."""

_MOST_HOPS: Final = 40
"""Links that are followed for one path, as Linux does."""

_MOST_FILES: Final = 100_000


def follow_links(files: Collection[str], links: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return each file that a folder has when links are followed, and the regular file that it is.

    A link that leads out of the repository, to nothing, to what tools keep for themselves or to a folder around it is
    left out.
    """
    tree = _Tree(files, links)
    start = "" if folder == "." else folder
    found: dict[str, str] = {}
    waiting: deque[tuple[str, str, tuple[str, ...]]] = deque([("", start, (start,))])
    while waiting and len(found) < _MOST_FILES:
        prefix, place, around = waiting.popleft()
        for path in tree.below(place):
            shown = prefix + path[len(place) + 1 if place else 0 :]
            real = tree.resolve(path) if path in links else path
            if real is None:
                continue
            if real in tree.files:
                found[shown] = real
            elif tree.below(real) and not _is_around(real, path, around):
                waiting.append((f"{shown}/", real, (*around, real)))
    return found


def _is_around(folder: str, link: str, around: tuple[str, ...]) -> bool:
    """Return whether a link leads to a folder that it lies in."""
    return folder in around or not folder or link.startswith(f"{folder}/")


class _Tree:
    """Paths of a tree, and what is below a folder."""

    def __init__(self, files: Collection[str], links: Mapping[str, str]) -> None:
        self.files = frozenset(files)
        self._links = links
        self._paths = sorted({*files, *links})

    def below(self, folder: str) -> list[str]:
        """List the files and links below a folder, at any depth."""
        if not folder:
            return self._paths
        first, last = (bisect_left(self._paths, f"{folder}{sign}") for sign in "/0")  # 0 follows / in ASCII
        return self._paths[first:last]

    def resolve(self, path: str) -> str | None:
        """Return the regular file or folder that a path leads to, None for none."""
        parts, done, hops = deque(path.split("/")), list[str](), 0
        while parts:
            part = parts.popleft()
            if part in ("", "."):
                continue
            if part == "..":
                if not done:
                    return None
                done.pop()
                continue
            target = self._links.get("/".join([*done, part]))
            if target is None:
                done.append(part)
                continue
            hops += 1
            if hops > _MOST_HOPS or target.startswith("/"):
                return None
            parts.extendleft(reversed(target.split("/")))
        real = "/".join(done)
        return None if is_left_out(real) else real


_TREE = "40000"


@dataclass(frozen=True, slots=True)
class FolderAt:
    """A folder as a commit has it; POSIX, `.` for the root."""

    commit: str
    path: str


@dataclass(slots=True)
class _Listing:
    """What was found below a folder; links are for others to follow."""

    files: dict[str, str] = field(default_factory=dict)
    linked: bool = False


def list_folders(root: Path, places: Sequence[FolderAt], wanted: Callable[[str], bool]) -> list[dict[str, str] | None]:
    """Return the objects of the files below folders, by their paths there."""
    listings = [_Listing(linked="\n" in place.path) for place in places]
    waiting = [(at, "", _name(place)) for at, place in enumerate(places) if not listings[at].linked]
    while waiting:
        names = list(dict.fromkeys(name for _, _, name in waiting))
        trees = dict(zip(names, read_found(root, names, "tree"), strict=True))
        width = len(places[0].commit) // 2
        level, waiting = waiting, []
        for at, prefix, name in level:
            for mode, entry, sha in _entries(trees[name] or b"", width):
                path = prefix + entry
                if not wanted(path):
                    continue
                if mode == _TREE:
                    waiting.append((at, f"{path}/", sha))
                elif mode == LINK:
                    listings[at].linked = True
                elif mode.startswith("100"):
                    listings[at].files[path] = sha
    return [None if listing.linked else listing.files for listing in listings]


def _name(place: FolderAt) -> str:
    return f"{place.commit}^{{tree}}" if place.path == "." else f"{place.commit}:{place.path}"


def _entries(tree: bytes, width: int) -> Iterable[tuple[str, str, str]]:
    """Read a tree object: mode, name and object of each entry."""
    at = 0
    while at < len(tree):
        space, end = tree.index(b" ", at), tree.index(b"\0", at)
        mode, name = tree[at:space].decode(), tree[space + 1 : end].decode("utf-8", "surrogateescape")
        at = end + 1 + width
        yield mode, name, tree[end + 1 : at].hex()
