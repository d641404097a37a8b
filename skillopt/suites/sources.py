"""Reading JSON, JSON lines and YAML with the line of every value, so that a mistake in a suite names its place."""

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.errors import SuiteError
from skillopt.skills.plain_yaml import MAX_YAML_DEPTH, PlainYamlError, ValuePath, read_plain_yaml

_TOKEN: Final = re.compile(r'\n|[\[\]{}:,]|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s\[\]{}:,"]+')
"""The tokens of JSON; a string is one of them, so what stands in it is never taken for another."""


@dataclass(frozen=True, slots=True)
class Source:
    """A value that was read from a file."""

    path: Path
    value: object
    lines: Mapping[ValuePath, int]

    def line_of(self, place: Sequence[str | int]) -> int:
        """Return the line of a value, or of the closest one around it; unknown steps are passed over."""
        known: ValuePath = ()
        for step in place:
            if (*known, step) in self.lines:
                known = (*known, step)
        return self.lines.get(known, 1)


def error_at(path: Path, line: int, problem: str) -> SuiteError:
    """Make an error that starts with file and line."""
    return SuiteError(f"{path}:{line}: {problem}")


def read_json(path: Path) -> Source:
    """Read one JSON value."""
    text = _read_text(path)
    return Source(path, _parse_json(path, 1, text, ("expected JSON", "file")), _lines_of_json(text))


def _parse_json(path: Path, line: int, text: str, words: tuple[str, str]) -> object:
    expected, whole = words
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        problem = f"{expected}, found: {error.msg} at column {error.colno}; correct the line"
        raise error_at(path, line + error.lineno - 1, problem) from error
    except (ValueError, RecursionError) as error:
        raise error_at(path, line, f"{expected}, found: {error}; correct the {whole}") from error


def _lines_of_json(text: str) -> dict[ValuePath, int]:
    """Find the line of every key and list item in text that is known to be JSON; what is nested deep is left out."""
    lines: dict[ValuePath, int] = {}
    open_: list[str | int | None] = []  # the current key or index of each object and list around; None before a key
    line = 1
    for sign in _TOKEN.findall(text):
        if sign == "\n":
            line += 1
            continue
        if sign in "]}":
            open_.pop()
            continue
        if sign == ",":
            open_[-1] = open_[-1] + 1 if isinstance(open_[-1], int) else None
            continue
        if open_ and open_[-1] is None:
            open_[-1] = str(json.loads(sign))
        if sign != ":" and len(open_) <= MAX_YAML_DEPTH:
            lines.setdefault(tuple(step for step in open_ if step is not None), line)
        if sign in "[{":
            open_.append(0 if sign == "[" else None)
    return lines


def read_json_lines(path: Path) -> Iterator[Source]:
    """Read one JSON value per line; blank lines are passed over."""
    for line, text in numbered_lines(path):
        yield read_json_line(path, line, text)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers from 1."""
    yield from ((line, text) for line, text in enumerate(_read_text(path).split("\n"), 1) if text.strip())


def read_json_line(path: Path, line: int, text: str) -> Source:
    """Read the JSON value of one line."""
    return Source(path, _parse_json(path, line, text, ("expected one JSON object on the line", "line")), {(): line})


def read_yaml(path: Path) -> Source:
    """Read one YAML document of plain values; dates stay the text they are."""
    return parse_yaml(path, _read_text(path))


def parse_yaml(path: Path, text: str) -> Source:
    """Read one YAML document of plain values from a text."""
    ends = [at for at, sign in enumerate(text) if sign == "\n"]

    def line_of(offset: int) -> int:
        return bisect_left(ends, offset) + 1

    try:
        value, lines = read_plain_yaml(text, line_of)
    except PlainYamlError as error:
        raise error_at(path, line_of(error.offset), str(error)) from error
    return Source(path, value, lines)


def _read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise error_at(path, 1, f"expected a readable file, found: {error.strerror}; correct the path") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise error_at(path, line, f"expected UTF-8, found {error.reason}; save the file as UTF-8") from error


def _unique(pairs: "list[tuple[str, object]]") -> dict[str, object]:
    """Refuse a key that occurs twice, because one of its values would be lost silently."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} twice")
    return found


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name}, which JSON has no number for")
