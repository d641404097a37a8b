"""Names that belong to a task's verifier: its files, and the modules and files that its programs load by name."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from skillopt.review.actions import text_of
from skillopt.tasks import File, Task, VerifierSpec

__all__ = ["VerifierNames", "is_named", "reference_text"]

_CODE: Final = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".bash", ".mk", ".rb", ".pl", ".go", ".rs", ".java")
_LOADABLE: Final = (*_CODE, ".so", ".pyc", ".node")
_LOADS: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"(?:^|;)[ \t]*from[ \t]+([\w.]+)[ \t]+import\b",
        r"(?:^|[;'\"])[ \t]*import[ \t]+([\w., \t]+)",
        r"""\b(?:require\(|import\(|from)\s*["']([\w./-]+)["']""",
        r"(?:^|[;&|'\"])[ \t]*(?:source|\.)[ \t]+([\w./-]+)",
        r"^[ \t]*-?include[ \t]+([\w./-]+)",
    )
)
_AT_START: Final = frozenset({"sitecustomize", "usercustomize", "encodings", "runpy", "codecs"})
_WORD: Final = re.compile(r"\w")
_NAMES: Final = frozenset({"file", "answer", "expected", "collect", "argv", "timeout", "sheet", "tool", "kind"})
"""Options that name files and programs, or set limits: no reference answers."""


@dataclass(frozen=True, slots=True)
class VerifierNames:
    """Names of a verifier that are not the task's own."""

    files: tuple[str, ...]
    loaded: frozenset[str]
    folders: frozenset[str] = frozenset({""})

    @classmethod
    def of(cls, task: Task) -> "VerifierNames":
        """Read them from a task."""
        spec = task.verifier
        own = {file.path.rpartition("/")[2] for file in task.files} | set(_outputs(spec))
        files = [file.path.rpartition("/")[2] for file in spec.files]
        loaded = {_stem(name) for text in _programs(spec) for name in _loads(text)}
        loaded |= {_stem(name) for name in files}
        if spec.kind == "command" or any(part.kind == "command" for part in spec.parts):
            loaded |= _AT_START
        # A verifier that loads the task's own code judges what the target was to change there.
        theirs = {_stem(part) for file in task.files if file.path.endswith(_CODE) for part in file.path.split("/")}
        folders = frozenset({"", *(file.path.rpartition("/")[0] for file in spec.files)})
        return cls(tuple(dict.fromkeys(name for name in files if name not in own)), frozenset(loaded - theirs), folders)

    def loaded_at(self, path: str) -> str:
        """Return the name by which the verifier would load a file at a path; empty where it would not."""
        if not path.endswith(_LOADABLE):
            return ""
        parts = [part for part in path.removeprefix("./").split("/") if part not in ("", "__pycache__", "node_modules")]
        beside = parts[-1:] if "/".join(parts[:-1]) in self.folders else []
        return next((name for name in map(_stem, [*parts[:1], *beside]) if name in self.loaded), "")


def is_named(name: str, text: str) -> bool:
    """Return whether a text has a name as a word of its own."""
    start = text.find(name)
    while start >= 0:
        before, after = text[max(0, start - 1) : start], text[start + len(name) : start + len(name) + 1]
        if not _WORD.match(before) and not _WORD.match(after):
            return True
        start = text.find(name, start + 1)
    return False


def reference_text(spec: VerifierSpec) -> str:
    """Return what a result is compared with, as far as the verifier holds it as data."""
    data = tuple(file for file in spec.files if not file.path.endswith(_CODE) and "akefile" not in file.path)
    said = [leaf for part in spec.parts for leaf in _answers(json.loads(part.options))]
    return "\n".join([text_of(data), *said])


def _answers(options: dict[str, object]) -> Iterator[str]:
    for name, value in options.items():
        if name not in _NAMES and isinstance(value, str | int | float) and not isinstance(value, bool):
            yield str(value)


def _outputs(spec: VerifierSpec) -> Iterator[str]:
    """Return the names of files that the target is to write."""
    for part in spec.parts:
        options = json.loads(part.options)
        for named in (options.get("file"), options.get("answer"), *(options.get("collect") or ())):
            if isinstance(named, str):
                yield named.rpartition("/")[2]


def _programs(spec: VerifierSpec) -> Iterator[str]:
    yield from (text_of((file,)) for file in spec.files if _is_program(file))
    for part in spec.parts:
        argv = json.loads(part.options).get("argv") or ()
        yield from map(str, argv)
        if "-m" in argv:
            yield from (f"import {word}" for word in argv[argv.index("-m") + 1 :] if not str(word).startswith("-"))


def _is_program(file: File) -> bool:
    return file.path.endswith(_CODE) or "akefile" in file.path


def _loads(text: str) -> Iterator[str]:
    for pattern in _LOADS:
        for found in pattern.findall(text):
            for name in found.split(","):
                words = name.split()
                if words:
                    yield words[0].split(".")[0] if "/" not in words[0] and not words[0].endswith(_CODE) else words[0]


def _stem(name: str) -> str:
    return name.rpartition("/")[2].split(".")[0] or name
