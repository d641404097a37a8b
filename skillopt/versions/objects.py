"""Read git objects and folders of commits with `git cat-file --batch`, and write blobs."""

import os
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Final

from skillopt.errors import RepositoryError
from skillopt.skills.folder import follow_links
from skillopt.versions.git_process import run_git

LINK: Final = "120000"

_TREE: Final = "40000"

_Object = tuple[str, str, bytes | None]
"""Name, type and content; the first two are empty where there is none."""


def read_objects(root: Path, shas: Sequence[str]) -> list[bytes]:
    """Return the content of objects."""
    contents = []
    for sha, content in zip(shas, read_found(root, shas), strict=True):
        if content is None:
            raise RepositoryError(f"object {sha} is missing from {root}; fetch the full history")
        contents.append(content)
    return contents


def read_found(root: Path, names: Sequence[str]) -> list[bytes | None]:
    """Return the content of objects, None for one that is not there."""
    return [content for _, _, content in _read(root, names)]


def _read(root: Path, names: Sequence[str]) -> Iterator[_Object]:
    """Yield name, type and content of objects; a link in `commit:path` is followed as far as it leads inside."""
    if not names:
        return
    asked = os.fsencode("\n".join("" if "\n" in name else name for name in names) + "\n")
    out = BytesIO(run_git(root, "cat-file", "--batch", "--follow-symlinks", stdin=asked))
    for _ in names:
        match out.readline().rstrip().rsplit(b" ", 2):
            case [sha, kind, size] if size.isdigit():
                yield sha.decode(), kind.decode(), out.read(int(size) + 1)[:-1]
            case [_, size] if size.isdigit():  # of a link that leads to no object of the commit: where it leads
                out.read(int(size) + 1)
                yield "", "", None
            case _:
                yield "", "", None


def list_folders(root: Path, places: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Return the objects of the files below folders of commits, `.` for the root, by their paths there.

    Links inside the repository are followed.
    """
    found: list[dict[str, str]] = [{} for _ in places]
    objects: dict[str, _Object] = {}
    needed = {f"{commit}:" for commit, _ in places}
    waiting = list[tuple[int, str, str, tuple[str, ...]]]()
    for at, (commit, path) in enumerate(places):
        folders = (PurePosixPath(path), *PurePosixPath(path).parents)
        name, *outer = (f"{commit}:{'' if one == PurePosixPath() else one.as_posix()}" for one in folders)
        waiting.append((at, "", name, tuple(outer)))
    for _ in range(40):  # levels of folders, links to folders included
        asked = dict.fromkeys(name for _, _, inner, around in waiting for name in (inner, *around))
        new = [name for name in asked if name not in objects]
        objects |= zip(new, _read(root, new), strict=True)
        if lost := next((name for name in new if name in needed and not objects[name][1]), ""):
            raise RepositoryError(f"folder {lost!r} is missing from {root}; fetch the full history")
        level = [
            (at, shown, _followed(root, objects, name) if shown else name, above) for at, shown, name, above in waiting
        ]
        waiting = []
        for at, shown, name, around in level:
            sha, kind, content = objects[name]
            if kind == "blob" and shown:
                found[at][shown] = sha
            if kind != "tree" or content is None or sha in {objects[one][0] for one in around}:
                continue
            start = f"{shown}/" if shown else ""
            for mode, entry, inner in _entries(content, len(sha) // 2):
                below = f"{name}{'' if name[-1] == ':' else '/'}{entry}"
                if mode in (_TREE, LINK):
                    waiting.append((at, start + entry, below, (*around, name)))
                    needed |= {below} if mode == _TREE else set()
                elif mode.startswith("100"):
                    found[at][start + entry] = inner
    return found


def _followed(root: Path, objects: dict[str, _Object], name: str) -> str:
    """Return where a link of a commit leads that git does not follow, and learn what is there; else the name."""
    if objects[name][1]:
        return name
    commit, _, path = name.partition(":")

    def link_at(place: str) -> str | None:
        mode, _, sha, *_ = (
            run_git(root, "ls-tree", "--full-tree", commit, "--", place).decode("utf-8", "replace").split() or ("",) * 3
        )
        return os.fsdecode(read_objects(root, [sha])[0]) if mode == LINK else None

    found = follow_links(path, link_at)
    if found is None:
        return name
    objects |= zip([f"{commit}:{found}"], _read(root, [f"{commit}:{found}"]), strict=True)
    return f"{commit}:{found}"


def _entries(tree: bytes, width: int) -> Iterator[tuple[str, str, str]]:
    at = 0
    while at < len(tree):
        space, end = tree.index(b" ", at), tree.index(b"\0", at)
        mode, name = tree[at:space].decode(), tree[space + 1 : end].decode("utf-8", "surrogateescape")
        at = end + 1 + width
        yield mode, name, tree[end + 1 : at].hex()


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
