"""Follow the symbolic links of a git tree, as a work tree does, inside the repository only."""

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Mapping
from typing import Final

from skillopt.skills.folder import is_left_out

__all__ = ["LINK", "follow_links"]

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
