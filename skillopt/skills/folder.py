"""Read and write a skill folder: which files belong to a skill, and reading them safely.

Symbolic links are followed inside the repository only. A folder over the limits that hosts share is refused. Executable
bits and empty folders are not part of a skill.
"""

import json
import os
import stat
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from shlex import quote
from unicodedata import category

from skillopt.errors import SkillError
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.trained_files import FIRST_FILE, SkillPlace, join_files
from skillopt.tasks import File

SKILL_FILE = FIRST_FILE

MAX_SKILL_BYTES = 16 * 1024 * 1024
"""Most bytes that the files of a skill have together."""

MAX_FILES = 512
"""Most files that a skill has, SKILL.md included."""

_NOT_SHIPPED = frozenset({"evals", "graders"})
_TASK_FILES = frozenset(
    f"{folder}{name}"
    for folder in ("", "tests/")
    for name in (
        *("evals.json", "test-prompts.json", "triggers.json", "trigger-evals.json", "trigger-eval.json"),
        *("trigger_evals.json", "trigger_eval.json", "trigger-queries.json", "trigger_queries.json"),
        *("eval_queries.json", "eval-queries.json", "routing-eval.jsonl"),
        *("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json", "eval.yaml", "eval.yml"),
        *("tests.csv", "tests.json", "tests.jsonl", "tests.yaml", "tests.yml"),
    )
)
"""Files of tasks outside of `evals/`: an agent that could read them would know the answers."""

_TEST_MATERIAL = frozenset({"evals", "tests", "fixtures"})
_TASK_SUFFIXES = (".eval.yaml", ".eval.yml")
_LEFT_OUT = frozenset(
    (
        *(".git", ".hg", ".svn", ".jj", ".skillopt", ".venv", "node_modules", ".DS_Store", "Thumbs.db"),
        *("__pycache__", ".cache", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints"),
    )
)
_LEFT_OUT_SUFFIXES = (".pyc", ".pyo", ".swp", "~")
_TRAINED = "//"
"""In an encoded skill it comes before the names of what is trained beside SKILL.md."""

_MOST_LISTED = 100_000
"""Files of a skill folder that are looked at."""


def is_left_out(path: str) -> bool:
    """Return whether a path lies in a folder that tools keep for themselves, such as `.git` or `node_modules`."""
    return not _LEFT_OUT.isdisjoint(PurePosixPath(path).parts)


def is_fixture(folder: str) -> bool:
    """Return whether a folder with a SKILL.md is test material: it lies in one for evals, tests or fixtures.

    >>> [is_fixture(path) for path in ("skills/x/evals/samples/bad", "tests/fixtures/good", "skills/tests")]
    [True, True, False]
    """
    return not _TEST_MATERIAL.isdisjoint(PurePosixPath(folder).parts[:-1])


def find_skill_folders(root: Path) -> list[str]:
    """List the folders below a root that hold a SKILL.md, sorted, where no git lists them; links are not followed."""
    found: list[str] = []
    for folder, folders, names in islice(os.walk(root), 20_000):  # where no git says what belongs to a project
        path = Path(folder).relative_to(root)
        deep = len(path.parts) >= 12  # noqa: PLR2004 - a bound for trees that lead in circles
        folders[:] = [] if deep else sorted(name for name in folders if name not in _LEFT_OUT)
        if SKILL_FILE in names:
            found.append(path.as_posix())
    return sorted(found)


def is_shipped(path: str) -> bool:
    """Return whether a path inside a skill folder is part of the skill.

    >>> [is_shipped(path) for path in ("scripts/run.py", "evals/evals.json", "graders/check.sh", "tests.csv")]
    [True, False, False, False]
    """
    parts = PurePosixPath(path).parts
    if not _NOT_SHIPPED.isdisjoint(parts[:1]) or path in _TASK_FILES or path.endswith(_TASK_SUFFIXES):
        return False
    return not _LEFT_OUT.intersection(parts) and not path.endswith(_LEFT_OUT_SUFFIXES)


def read_skill(
    folder: Path,
    within: Path | None = None,
    private: Callable[[Sequence[Path]], Collection[Path]] | None = None,
    trained: Sequence[str] = (),
) -> Skill:
    """Read a skill folder, of which more than SKILL.md may be trained, or the files of a free document."""
    files: list[File] = []
    if SkillPlace(".", tuple(trained)).free:
        for path in trained:
            place = folder / path
            if not place.resolve().is_relative_to(folder.resolve()) or place.is_symlink():
                raise SkillError(f"{place}: expected a file of its own, found a link; list the file that it leads to")
            files.append(File(path, _read(place, MAX_SKILL_BYTES)))
        return skill_from_files(folder.name, tuple(files), trained)
    root = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would lose the name of a linked folder
    if not root.is_dir():
        found = f"a file; give the folder {str(root.parent)!r}" if root.exists() else "nothing there; check the path"
        raise SkillError(f"expected a skill folder at {str(folder)!r}, found {found}")
    try:
        names = [entry.name for entry in root.iterdir()]
    except OSError as error:
        raise _unreadable(root, error) from error
    if SKILL_FILE not in names:  # so that a wrong folder is not read whole
        raise SkillError(_missing(str(root), names))
    walk = _Walk(root, (within or root).resolve())
    listed = list(walk.files())
    hidden = private([place for one in listed for place in (one.place, *one.links)]) if private else ()
    own = (one for one in listed if one.path == SKILL_FILE or {one.place, *one.links}.isdisjoint(hidden))
    places = {one.path: one.place for one in own}
    if SKILL_FILE not in places:
        raise SkillError(f"{root}: {'; '.join(walk.left_out) or f'expected a file {SKILL_FILE!r}, found a folder'}")
    try:
        _check_sizes(str(root), [place.stat().st_size for place in places.values()])
    except OSError as error:
        raise _unreadable(root, error) from error
    left = MAX_SKILL_BYTES
    for path in sorted(places):
        files.append(File(path, _read(places[path], left)))
        left -= len(files[-1].content)
    return replace(skill_from_files(root.name, tuple(files), trained), left_out=tuple(walk.left_out))


def read_document(folder: Path, within: Path) -> SkillDocument:
    """Read the SKILL.md of a folder alone, as `read_skill` does."""
    place = folder / SKILL_FILE
    real = Path(os.path.realpath(place))
    if not real.is_relative_to(within.resolve()):
        raise SkillError(f"{place}: expected a file inside {within}, found a link out of it; put a copy in its place")
    return SkillDocument.parse(_read(real, MAX_SKILL_BYTES))


def follow_links(path: str, link_at: Callable[[str], str | None]) -> str | None:
    """Return where a path inside a repository leads, None for out of it; a circle of links leads to one of them.

    Work trees and commits are read by the same steps: git itself finds nothing behind a link such as `./notes.md`.
    """
    ahead, done, left = path.split("/"), list[str](), 40  # links, as many as Linux follows
    while ahead:
        part, *ahead = ahead
        if part == ".." and not done:
            return None
        if part == "..":
            done.pop()
        elif part not in ("", "."):
            done.append(part)
            target = link_at("/".join(done)) if left else None
            if target is not None and target.startswith("/"):
                return None
            if target is not None:
                del done[-1]
                ahead, left = [*target.split("/"), *ahead], left - 1
    return "/".join(done)


def find_shared_file(path: Path, links: int) -> str:
    """Return why a file is not read that has another name elsewhere, where its content need not be meant for others."""
    if links <= 1 or any(path.is_relative_to(prefix) for prefix in (sys.prefix, sys.base_prefix)):
        return ""
    name = quote(path.name)
    return (
        f"expected a file of its own, found {str(path)!r} to be one of {links} hard links; put a copy in its place: "
        f"`cp {name} {name}.copy && mv {name}.copy {name}`"
    )


def skill_at_place(name: str, files: tuple[File, ...], path: str, *, missing_ok: bool = False) -> Skill:
    """Make a skill of the files at a place in a repository; with `missing_ok`, one that is not there is empty."""
    place = SkillPlace.parse(path)
    if missing_ok and not place.has_text(file.path for file in files):
        return Skill(name, SkillDocument("", place.trained))
    return skill_from_files(name, files, place.trained)


def skill_from_files(name: str, files: tuple[File, ...], trained: Sequence[str] = ()) -> Skill:
    """Make a skill of its files, as they come from a folder or a git version, or a free document."""
    known: dict[str, File] = {}
    for file in files:
        path = PurePosixPath(file.path)
        leaves = file.path in ("", ".") or ".." in path.parts or "\x00" in file.path
        if leaves or file.path != path.as_posix() or file.path.startswith("/"):
            raise SkillError(f"skill {name!r}: expected a plain relative path, found {file.path!r}; rename the file")
        if file.path in known:
            raise SkillError(f"skill {name!r}: expected each path once, found {file.path!r} twice; remove one")
        known[file.path] = file
    place = SkillPlace(".", tuple(trained))
    shipped = sorted((one for path, one in known.items() if place.free or is_shipped(path)), key=lambda file: file.path)
    _check_sizes(f"skill {name!r}", [len(file.content) for file in shipped])
    own = [file for file in shipped if place.trains(file.path)]
    if not place.free and SKILL_FILE not in known:
        raise SkillError(_missing(f"skill {name!r}", [file.path for file in shipped]))
    texts = ((file.path, file.content.decode("utf-8", "surrogateescape")) for file in own)
    rest = tuple(file for file in shipped if file not in own)
    return Skill(name, SkillDocument(join_files(texts, trained), place.trained), rest)


def _check_sizes(place: str, sizes: Collection[int]) -> None:
    if len(sizes) > MAX_FILES or sum(sizes) > MAX_SKILL_BYTES:
        raise SkillError(
            f"{place}: expected at most {MAX_FILES} files of {MAX_SKILL_BYTES:,} bytes in a skill, found {len(sizes)} "
            f"of {sum(sizes):,}; move what it does not need out of its folder"
        )


def encode_skill(skill: Skill) -> bytes:
    """Write a skill's files down as bytes, the same for the same skill; its name is not among them."""
    rows = [(file.path, b64encode(file.content).decode("ascii")) for file in skill.shipped]
    rows += [(path, "") for path in (_TRAINED, *skill.document.trained) if skill.document.trained]
    return json.dumps(rows, separators=(",", ":")).encode("utf-8")


def decode_skill(name: str, encoded: bytes) -> Skill:
    """Read back what `encode_skill` wrote."""
    try:
        rows = json.loads(encoded)
        names = [path for path, _ in rows]
        end = names.index(_TRAINED) if _TRAINED in names else len(names)
        files = tuple(File(str(path), b64decode(content, validate=True)) for path, content in rows[:end])
    except (TypeError, ValueError) as error:
        raise SkillError(
            f"skill {name!r}: expected a recorded skill, found {encoded[:40]!r}; start a new run"
        ) from error
    return skill_from_files(name, files, tuple(names[end + 1 :]))


def _missing(place: str, names: Iterable[str]) -> str:
    near = next((name for name in sorted(names) if name.lower() == SKILL_FILE.lower()), None)
    remedy = f"found {near!r}; rename it" if near else "found none; create it, or give the folder that holds it"
    return f"{place}: expected a file {SKILL_FILE!r}, {remedy}"


@dataclass(frozen=True, slots=True)
class _Listed:
    path: str
    place: Path
    links: tuple[Path, ...] = ()


@dataclass(slots=True)
class _Walk:
    """Lists the files of a skill folder, following links that stay inside."""

    root: Path
    within: Path
    left_out: list[str] = field(default_factory=list)

    def files(self) -> Iterator[_Listed]:
        """Yield the files that ship, in no order that matters."""
        folders: list[tuple[_Listed, tuple[Path, ...]]] = [(_Listed("", self.root), (self.root.resolve(),))]
        count = 0
        while folders:
            folder, around = folders.pop()
            for entry in self._entries(folder.place):
                listed = _Listed(f"{folder.path}{entry.name}", Path(entry.path), folder.links)
                if not is_shipped(listed.path):
                    continue
                if entry.is_symlink():
                    real = self._followed(listed, around)
                    if real is None:
                        continue
                    listed = _Listed(listed.path, real, (*folder.links, listed.place))
                if listed.place.is_dir():
                    chain = (*around, listed.place) if entry.is_symlink() else around
                    folders.append((replace(listed, path=f"{listed.path}/"), chain))
                    continue
                count += 1
                if count > _MOST_LISTED:
                    raise SkillError(f"{self.root}: expected at most {_MOST_LISTED} files, found more; move them out")
                yield listed

    def _entries(self, place: Path) -> list[os.DirEntry[str]]:
        try:
            entries = sorted(os.scandir(place), key=lambda entry: entry.name)
        except OSError as error:
            raise _unreadable(place, error) from error
        for entry in entries:
            if any(category(character).startswith("C") for character in entry.name) and is_shipped(entry.name):
                message = f"expected file names in UTF-8 that can be printed, found {entry.name!r}; rename it"
                raise SkillError(f"{place}: {message}")
        return entries

    def _followed(self, listed: _Listed, around: tuple[Path, ...]) -> Path | None:
        """Return where a link leads, None for what is left out: outside, not there, or in a circle."""
        link = listed.place
        found = follow_links((link.parent.resolve() / link.name).relative_to(self.within).as_posix(), self._link_at)
        real = self.within / (found or "")
        if found is None or is_left_out(found):
            why = f"leads out of {self.within}; put a copy in its place"
        elif not real.exists():
            why = "leads to nothing; correct or remove it"
        elif real.is_dir() and (real in around or link.parent.resolve().is_relative_to(real)):
            why = "leads to a folder around it; remove it"
        else:
            return real
        self.left_out.append(f"{listed.path} is left out: the symbolic link {why}")
        return None

    def _link_at(self, path: str) -> str | None:
        place = self.within / path
        return str(place.readlink()) if place.is_symlink() else None


def _read(path: Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes; what it was when listed is not relied on."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:  # noqa: PTH123 - a descriptor, opened so that links are not followed
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise SkillError(f"{path}: expected a regular file, found a device, pipe or socket; remove it")
            if problem := find_shared_file(path, status.st_nlink):
                raise SkillError(problem)
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
