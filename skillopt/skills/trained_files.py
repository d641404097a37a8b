"""Files that are trained as one document: which they are, and how they are joined into one text and split again.

A line `=== file PATH ===` begins each file but SKILL.md, which comes first; `split_text(join_files(files))` gives back
every byte. A skill of which SKILL.md alone is trained has no such line.
"""

import ast
import json
import re
import tomllib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

__all__ = ["BEGINS_FILE", "FIRST_FILE", "PLAIN_PATH", "FilePart", "SkillPlace", "is_markdown", "join_files"]
__all__ += ["parse_problem", "split_text"]

FIRST_FILE: Final = "SKILL.md"

BEGINS_FILE: Final = re.compile(r"^=== file [^\r\n]+ ===\r?$", re.MULTILINE)
"""A line that begins a file in the joined text, and may therefore stand in no file."""

_BEGINS: Final = re.compile(r"(?:\A|\n)=== file (?P<path>[^\r\n]+) ===\n")
PLAIN_PATH: Final = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[\w.@+-][\w.@+ -]*(?:/[\w.@+-][\w.@+ -]*)*")


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
        return " and ".join(self.trained) if self.free else self.folder

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
        top, _, rest = path.partition("/")
        if self.free or path == FIRST_FILE:
            return not self.free or path in self.trained
        named = rest and f"{top}/" in self.trained and PLAIN_PATH.fullmatch(path)
        return bool(named) and (top != "references" or is_markdown(path))

    def has_text(self, paths: Iterable[str]) -> bool:
        """Return whether paths in its folder are those of a whole skill or document."""
        return any(path == FIRST_FILE or (self.free and path in self.trained) for path in paths)


def is_markdown(path: str) -> bool:
    """Return whether a file is Markdown by its name; every other one counts as a script."""
    return path.lower().endswith((".md", ".markdown"))


def join_files(files: Iterable[tuple[str, str]], trained: Sequence[str] = ()) -> str:
    """Join the texts of files by path: SKILL.md first, or the files of a free document as they are listed."""
    order = {path: at for at, path in enumerate((FIRST_FILE, *trained))}
    listed = sorted(files, key=lambda file: (order.get(file[0], len(order)), file[0]))
    return "\n".join(text if path == FIRST_FILE else f"=== file {path} ===\n{text}" for path, text in listed)


@lru_cache(maxsize=256)
def split_text(text: str) -> tuple[FilePart, ...]:
    """Split a joined text into its files; undoes `join_files`."""
    marks = list(_BEGINS.finditer(text))
    ends = [*(mark.start() for mark in marks), len(text)]
    first = () if marks and marks[0][0][0] == "=" else (FilePart(FIRST_FILE, 0, text[: ends[0]]),)
    rest = zip(marks, ends[1:], strict=True)
    return (*first, *(FilePart(mark["path"], mark.end(), text[mark.end() : end]) for mark, end in rest))


def parse_problem(path: str, text: str) -> str:
    """Say why a file could not be used as it stands, empty where it could; shell scripts are read by their shells."""
    kind = path.rpartition(".")[2].lower()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            match kind:
                case "py":
                    ast.parse(text)
                case "json":
                    json.loads(text)
                case "toml":
                    tomllib.loads(text)
                case "yaml" | "yml":
                    list(YAML(typ="safe", pure=True).parse(text))
                case _:
                    pass
    except (SyntaxError, ValueError, RecursionError, MemoryError, YAMLError) as error:
        found = " ".join(str(error).replace("<unknown>, ", "").split())[:200]
        return f"expected a file that can be read as {kind.upper()}, found: {found}"
    return "" if text.strip() else "expected text, found an empty file; delete the file instead"
