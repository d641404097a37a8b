"""Read and write a skill folder: which files belong to a skill, and reading them safely.

No symbolic links, no special files, within limits that hosts share. Executable bits and empty folders are not part of
a skill.
"""

import json
import os
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from unicodedata import category

from skillopt.errors import SkillError
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import File

__all__ = [
    "MAX_FILES",
    "MAX_SKILL_BYTES",
    "SKILL_FILE",
    "decode_skill",
    "encode_skill",
    "files_of",
    "find_skill_folders",
    "is_left_out",
    "is_shipped",
    "read_skill",
    "skill_from_files",
]

SKILL_FILE = "SKILL.md"

MAX_SKILL_BYTES = 16 * 1024 * 1024
"""Most bytes that the files of a skill have together."""

MAX_FILES = 512
"""Most files that a skill has, SKILL.md included."""

_NOT_SHIPPED = "evals"
_LEFT_OUT = frozenset(
    (
        *(".git", ".hg", ".svn", ".jj", ".skillopt", ".venv", "node_modules", ".DS_Store", "Thumbs.db"),
        *("__pycache__", ".cache", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints"),
    )
)
_LEFT_OUT_SUFFIXES = (".pyc", ".pyo", ".swp", "~")
_DEEPEST = 12
_MOST_FOLDERS = 20_000
"""Folders that are looked into where no git says what belongs to a project."""


def is_left_out(path: str) -> bool:
    """Tell whether a path lies in a folder that tools keep for themselves, such as `.git` or `node_modules`."""
    return not _LEFT_OUT.isdisjoint(PurePosixPath(path).parts)


def find_skill_folders(root: Path) -> list[str]:
    """List the folders below a root that hold a SKILL.md, sorted, where no git lists them; links are not followed."""
    found: list[str] = []
    for number, (folder, folders, names) in enumerate(os.walk(root)):
        path = Path(folder).relative_to(root)
        deep = len(path.parts) >= _DEEPEST or number >= _MOST_FOLDERS
        folders[:] = [] if deep else sorted(name for name in folders if name not in _LEFT_OUT)
        if SKILL_FILE in names:
            found.append(path.as_posix())
    return sorted(found)


def is_shipped(path: str) -> bool:
    """Tell whether a path inside a skill folder is part of the skill.

    >>> [is_shipped(path) for path in ("scripts/run.py", "evals/evals.json", "scripts/__pycache__/run.pyc")]
    [True, False, False]

    Args:
        path: A relative POSIX path of a file or folder.
    """
    parts = PurePosixPath(path).parts
    if parts[:1] == (_NOT_SHIPPED,):
        return False
    return not _LEFT_OUT.intersection(parts) and not path.endswith(_LEFT_OUT_SUFFIXES)


def read_skill(folder: Path) -> Skill:
    """Read a skill folder.

    Args:
        folder: The folder that holds SKILL.md; it may itself be reached by a symbolic link.

    Returns:
        The skill, named after the folder.

    Raises:
        SkillError: The folder or its SKILL.md is missing or cannot be read, it holds a symbolic link
            or a special file, or it is over a limit.
    """
    root = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would lose the name of a linked folder
    if not root.is_dir():
        found = f"a file; give the folder {str(root.parent)!r}" if root.exists() else "nothing there; check the path"
        raise SkillError(f"expected a skill folder at {str(folder)!r}, found {found}")
    _require_skill_file(root)
    files: list[File] = []
    left = MAX_SKILL_BYTES
    for path in _walk(root):
        if len(files) == MAX_FILES:
            raise SkillError(
                f"{root}: expected at most {MAX_FILES} files, found more; move what is not part of the skill out"
            )
        content = _read(root / path, left)
        left -= len(content)
        files.append(File(path, content))
    return skill_from_files(root.name, tuple(files))


def skill_from_files(name: str, files: tuple[File, ...]) -> Skill:
    """Make a skill of its files, as they come from a folder or a git version.

    Args:
        name: The folder's name.
        files: All files, SKILL.md included; what does not ship is left out.

    Raises:
        SkillError: SKILL.md is missing, a path is not relative and plain, or occurs twice.
    """
    shipped: dict[str, File] = {}
    for file in files:
        if file.path != PurePosixPath(file.path).as_posix() or file.path.startswith("/") or _leaves(file.path):
            raise SkillError(f"skill {name!r}: expected a plain relative path, found {file.path!r}; rename the file")
        if file.path in shipped:
            raise SkillError(f"skill {name!r}: expected each path once, found {file.path!r} twice; remove one")
        if is_shipped(file.path):
            shipped[file.path] = file
    document = shipped.pop(SKILL_FILE, None)
    if document is None:
        raise SkillError(_missing(f"skill {name!r}", shipped))
    rest = tuple(shipped[path] for path in sorted(shipped))
    return Skill(name, SkillDocument.parse(document.content), rest)


def files_of(skill: Skill) -> tuple[File, ...]:
    """List all files of a skill, SKILL.md among them, sorted by path; undoes `skill_from_files`."""
    document = File(SKILL_FILE, skill.document.render())
    return tuple(sorted((document, *skill.files), key=lambda file: file.path))


def encode_skill(skill: Skill) -> bytes:
    """Write a skill's files down as bytes, the same for the same skill; its name is not among them."""
    rows = [(file.path, b64encode(file.content).decode("ascii")) for file in files_of(skill)]
    return json.dumps(rows, separators=(",", ":")).encode("utf-8")


def decode_skill(name: str, encoded: bytes) -> Skill:
    """Read back what `encode_skill` wrote.

    Raises:
        SkillError: The bytes are not an encoded skill.
    """
    try:
        files = tuple(File(str(path), b64decode(content, validate=True)) for path, content in json.loads(encoded))
    except (TypeError, ValueError) as error:
        raise SkillError(
            f"skill {name!r}: expected a recorded skill, found {encoded[:40]!r}; start a new run"
        ) from error
    return skill_from_files(name, files)


def _require_skill_file(root: Path) -> None:
    """Look before reading the rest, so that a wrong folder is not read whole."""
    try:
        names = [entry.name for entry in root.iterdir()]
    except OSError as error:
        raise _unreadable(root, error) from error
    if SKILL_FILE not in names:
        raise SkillError(_missing(str(root), names))


def _missing(place: str, names: Iterable[str]) -> str:
    """Say that there is no SKILL.md, and name the file that was perhaps meant."""
    near = next((name for name in sorted(names) if name.lower() == SKILL_FILE.lower()), None)
    remedy = f"found {near!r}; rename it" if near else "found none; create it, or give the folder that holds it"
    return f"{place}: expected a file {SKILL_FILE!r}, {remedy}"


def _walk(root: Path) -> Iterator[str]:
    """Yield the relative paths of all files that ship, in no order that matters."""
    folders = [""]
    while folders:
        prefix = folders.pop()
        try:
            entries = sorted(os.scandir(root / prefix), key=lambda entry: entry.name)
        except OSError as error:
            raise _unreadable(root / prefix, error) from error
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if not is_shipped(path):
                continue
            if entry.is_symlink():
                raise SkillError(f"{root / path}: expected a file, found a symbolic link; put a copy in its place")
            if any(category(character).startswith("C") for character in entry.name):
                raise SkillError(f"{root}: expected file names in UTF-8 that can be printed, found {path!r}; rename it")
            if entry.is_dir(follow_symlinks=False):
                folders.append(f"{path}/")
            else:
                yield path


def _read(path: Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes; what it was when listed is not relied on."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:  # noqa: PTH123 - a descriptor, opened so that links are not followed
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise SkillError(f"{path}: expected a regular file, found a device, pipe or socket; remove it")
            content = stream.read(limit + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    if len(content) > limit:
        raise SkillError(
            f"{path}: expected at most {MAX_SKILL_BYTES} bytes in the whole folder, found more; move large files out"
        )
    return content


def _unreadable(path: Path, error: OSError) -> SkillError:
    return SkillError(
        f"{path}: expected to read it, found: {error.strerror or error}; check that it exists and its permissions"
    )


def _leaves(path: str) -> bool:
    """Tell whether a path could name something outside its folder."""
    return path in ("", ".") or ".." in PurePosixPath(path).parts or "\x00" in path
