"""Read and write git objects, many with one process."""

import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from skillopt.errors import RepositoryError
from skillopt.versions.git_process import run_git

__all__ = ["read_found", "read_objects", "size_objects", "write_blobs"]


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
