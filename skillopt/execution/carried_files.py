"""Carry what a rollout left in its workspace from the machine that ran it to the one that scores it.

Carried are new and changed files, folders, and links that stay inside; what the task placed and nobody touched is
placed there anyway.
"""

import io
import os
import shutil
import tarfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.errors import InfrastructureError
from skillopt.sandbox.workspace import changed_files, workspace_size
from skillopt.tasks import File

__all__ = ["CarriedFiles", "pack_changes", "unpack_changes"]

_MOST_BYTES: Final = 256_000_000


@dataclass(frozen=True, slots=True)
class CarriedFiles:
    """What differs between a workspace and the files that were placed in it."""

    archive: bytes
    gone: tuple[str, ...] = ()


def pack_changes(workspace: str, placed: Sequence[File]) -> CarriedFiles:
    """Pack what was written or deleted in a workspace since the files were placed."""
    size = workspace_size(workspace)
    if size > _MOST_BYTES + sum(len(file.content) for file in placed):
        raise InfrastructureError(
            f"expected a rollout that leaves at most {_MOST_BYTES // 1_000_000} MB in its workspace, which is what a "
            f'node sends back, found {size // 1_000_000} MB; run this suite with run_on = "threads"'
        )
    changed = set(changed_files(workspace, placed))
    same = {file.path for file in placed} - changed
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        _add_folder(archive, workspace, "", same)
    return CarriedFiles(packed.getvalue(), tuple(file.path for file in placed if file.path in changed))


def unpack_changes(carried: CarriedFiles, workspace: str) -> None:
    """Make a workspace that holds the placed files look like the one that was packed.

    Nothing is written outside of it: links that lead out, devices and pipes are left out.
    """
    for path in carried.gone:
        with suppress(FileNotFoundError):
            Path(workspace, path).unlink()
    with tarfile.open(fileobj=io.BytesIO(carried.archive)) as archive:
        archive.extractall(workspace, filter=_inside)  # noqa: S202 - the filter keeps all inside


def _add_folder(archive: tarfile.TarFile, workspace: str, folder: str, left_out: set[str]) -> None:
    """Add what a folder holds, folders before what they hold; what cannot be read is left out."""
    try:
        entries = sorted(os.scandir(Path(workspace, folder)), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        name = f"{folder}/{entry.name}" if folder else entry.name
        if name in left_out:
            continue
        with suppress(OSError):
            archive.add(entry.path, name, recursive=False)
        if entry.is_dir(follow_symlinks=False):
            _add_folder(archive, workspace, name, left_out)


def _inside(member: tarfile.TarInfo, workspace: str) -> tarfile.TarInfo | None:
    place = Path(workspace, member.name)
    with suppress(tarfile.FilterError, OSError):
        safe = tarfile.data_filter(member, workspace)
        if not member.isdir() and place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)  # a folder of a placed file, in whose place the target put something else
        return safe
    return None
