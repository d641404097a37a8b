"""Read and write git objects, many with one process."""

import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from skillopt.errors import RepositoryError
from skillopt.versions.git_process import run_git

__all__ = ["read_objects", "size_objects", "write_blobs"]


def read_objects(root: Path, shas: Sequence[str]) -> list[bytes]:
    """Give the content of objects.

    Raises:
        RepositoryError: One is missing.
    """
    if not shas:
        return []
    out = BytesIO(run_git(root, "cat-file", "--batch", stdin="".join(f"{sha}\n" for sha in shas).encode()))
    contents = []
    for sha in shas:
        header = out.readline().split()
        if len(header) != 3:  # noqa: PLR2004 - object, type, size
            message = f"object {sha} is missing from {root}; fetch the full history"
            raise RepositoryError(message)
        contents.append(out.read(int(header[2])))
        out.readline()
    return contents


def size_objects(root: Path, shas: Sequence[str]) -> list[int]:
    """Give the sizes of objects, in bytes; one that is missing here has none."""
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
