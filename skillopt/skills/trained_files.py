"""Files that are trained as one document: which they are, and how they are joined into one text and split again.

A line `=== file PATH ===` begins each file but SKILL.md, which comes first; `split_text(join_files(files))` gives back
every byte. A skill of which SKILL.md alone is trained has no such line.
"""

import ast
import json
import re
import tomllib
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from skillopt.errors import SkillError

FIRST_FILE: Final = "SKILL.md"

BEGINS_FILE: Final = re.compile(r"^=== file [^\r\n]+ ===\r?$", re.MULTILINE)
"""A line that begins a file in the joined text, and may therefore stand in no file."""

_BEGINS: Final = re.compile(r"(?:\A|\n)=== file (?P<path>[^\r\n]+) ===\n")
_PATH: Final = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[\w.@+-][\w.@+ -]*(?:/[\w.@+-][\w.@+ -]*)*")


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file in a joined text: its path, where its content starts there, and the content."""

    path: str
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class SkillPlace:
    """Where the files of a skill lie in a repository, and what is trained beside SKILL.md.

    Entries of `trained` that end in a slash are folders of a skill, others the files of a free document, which has no
    SKILL.md and nothing else in its folder. As text it is the folder, then each entry after two slashes.
    """

    folder: str
    trained: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "SkillPlace":
        """Read a place from its text."""
        folder, *trained = re.split("//(?!/)", text)
        return cls(folder, tuple(trained))

    def __str__(self) -> str:
        """Write it as text."""
        return "//".join((self.folder, *self.trained))

    @property
    def words(self) -> str:
        """Name it in a sentence."""
        return " and ".join(self.paths)

    @property
    def paths(self) -> tuple[str, ...]:
        """List what it is in the repository: its folder, or its files."""
        return self.trained if self.free else (self.folder,)

    @property
    def named(self) -> tuple[str, ...]:
        """List the files and folders that training may change, in the order of its text."""
        return self.trained if self.free else (FIRST_FILE, *self.trained)

    @property
    def free(self) -> bool:
        """Whether it is a free document."""
        return bool(self.trained) and not self.trained[0].endswith("/")

    @property
    def prefix(self) -> str:
        """What the paths of its files begin with in the repository."""
        return "" if self.folder == "." else f"{self.folder}/"

    def holds(self, path: str) -> bool:
        """Return whether a path of the repository belongs to it."""
        return path in self.trained if self.free else path.startswith(self.prefix)

    def trains(self, path: str) -> bool:
        """Return whether training may change or make the file at a path in its folder; of `references/` only Markdown.

        >>> place = SkillPlace("skills/rows", ("references/",))
        >>> [place.trains(path) for path in ("SKILL.md", "references/a/b.md", "references/b.png", "scripts/c.md")]
        [True, True, False, False]
        """
        if self.free or path == FIRST_FILE:
            return path in self.named
        folder = f"{path.partition('/')[0]}/"
        named = folder in self.trained and folder != path and _PATH.fullmatch(path) is not None
        return named and not (folder == "references/" and is_script(path))

    def has_text(self, paths: Iterable[str]) -> bool:
        """Return whether paths in its folder are those of a whole skill or document."""
        return any(path in self.named for path in paths)


def is_script(path: str) -> bool:
    """Return whether a file is no Markdown, by its name."""
    return not path.lower().endswith((".md", ".markdown"))


def join_files(files: Iterable[tuple[str, str]], trained: Sequence[str] = ()) -> str:
    """Join the texts of files by path: SKILL.md first, or the files of a free document as they are listed."""
    order = {path: at for at, path in enumerate((FIRST_FILE, *trained))}
    listed = sorted(files, key=lambda file: (order.get(file[0], len(order)), file[0]))
    for path, text in listed if trained else ():
        if found := BEGINS_FILE.search(text):
            line = text.count("\n", 0, found.start()) + 1
            raise SkillError(f"{path}:{line}: expected no line {found[0]!r}, which begins a file; change the line")
    return "\n".join(text if path == FIRST_FILE else f"=== file {path} ===\n{text}" for path, text in listed)


@lru_cache(maxsize=256)
def split_text(text: str) -> tuple[FilePart, ...]:
    """Split a joined text into its files; undoes `join_files`."""
    marks = list(_BEGINS.finditer(text))
    ends = [*(mark.start() for mark in marks), len(text)]
    first = () if marks and marks[0][0][0] == "=" else (FilePart(FIRST_FILE, 0, text[: ends[0]]),)
    rest = zip(marks, ends[1:], strict=True)
    return (*first, *(FilePart(mark["path"], mark.end(), text[mark.end() : end]) for mark, end in rest))


_READERS: Final[dict[str, Callable[[str], object]]] = {
    **dict.fromkeys(("yaml", "yml"), lambda text: list(YAML(typ="safe", pure=True).parse(text))),
    "py": ast.parse,
    "json": json.loads,
    "toml": tomllib.loads,
}


def parse_file(path: str, text: str) -> str:
    """Say why a file could not be used as it stands, empty where it could; shell scripts are read by their shells."""
    kind = path.rpartition(".")[2].lower() if text.strip() else ""
    if BEGINS_FILE.search(text):
        return "expected no line '=== file PATH ===', which begins a file; name the file of an edit instead"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _READERS.get(kind, str)(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, YAMLError) as error:
        found = " ".join(str(error).replace("<unknown>, ", "").split())[:200]
        return f"expected a file that can be read as {kind.upper()}, found: {found}"
    return ""
