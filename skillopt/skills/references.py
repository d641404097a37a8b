"""Which files of a large skill folder ship: those that SKILL.md names, and those that these name in turn."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["FileLimits", "select_referred"]

_WORD: Final = re.compile(r"[^\s\"'`<>()\[\]{}|,;*=]+")
_END: Final = ".:!?"
_READ: Final = (".md", ".markdown", ".txt")
"""Files whose text can name others."""

_LONGEST_TEXT: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Most files, and most bytes of them together."""

    files: int
    size: int


def select_referred(
    start: str, sizes: Mapping[str, int], text_of: Callable[[str], str], limits: FileLimits
) -> frozenset[str]:
    """Select the files that a text names by their paths, directly or through Markdown files that it names.

    A path counts from the folder of the file that names it, or from the skill's folder. Where a folder is named (a word
    with a slash), its files come after those that are named themselves. A file that is over what is left of the limits
    is passed over.
    """
    selected: set[str] = set()
    folders: list[str] = []
    left = limits.size
    waiting = [start]
    inside = _by_folder(sizes)
    while waiting:
        path = waiting.pop(0)
        if path in selected or (path != start and (sizes[path] > left or len(selected) >= limits.files)):
            continue
        selected.add(path)
        left -= sizes[path]
        if path == start or (path.endswith(_READ) and sizes[path] <= _LONGEST_TEXT):
            named = list(_named(text_of(path), path.rpartition("/")[0]))
            waiting += [place for place, _ in named if place in sizes]
            folders += [place for place, has_slash in named if has_slash and place in inside]
        while not waiting and folders:
            waiting = [name for name in inside.pop(folders.pop(0), []) if name not in selected]
    return frozenset(selected)


def _by_folder(sizes: Mapping[str, int]) -> dict[str, list[str]]:
    """List the files below each folder, sorted."""
    found: dict[str, list[str]] = {}
    for path in sorted(sizes):
        for at, sign in enumerate(path):
            if sign == "/":
                found.setdefault(path[:at], []).append(path)
    return found


def _named(text: str, folder: str) -> Iterator[tuple[str, bool]]:
    """Yield what could be paths in a text, from its folder and from the skill's, and whether a slash was written."""
    for word in dict.fromkeys(match[0] for match in _WORD.finditer(text)):
        path = word.partition("#")[0].replace("%20", " ").rstrip(_END)
        for base in dict.fromkeys((folder, "")):
            if plain := _plain(f"{base}/{path}"):
                yield plain, "/" in word


def _plain(path: str) -> str:
    """Resolve `.` and `..`; empty for what leads out of the skill."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and not parts:
            return ""
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
