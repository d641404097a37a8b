"""Read folders of many commits with few git processes, one for each level of folders."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.versions.links import LINK
from skillopt.versions.objects import read_found

__all__ = ["FolderAt", "list_folders"]

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
