"""Add lines to skillopt.toml and keep every line that is there."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from skillopt.errors import SettingsError, UsageError

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_FIRST_TABLE: Final = re.compile(r"^(?:[ \t]*#.*\n)*[ \t]*\[", re.MULTILINE)
"""The header of a table, and the comments above that belong to it."""


@dataclass(frozen=True, slots=True)
class ConfigLines:
    """What to add to skillopt.toml."""

    top: tuple[str, ...] = ()
    skills: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    comment: tuple[str, ...] = ()


def quote_toml(text: str) -> str:
    r"""Write a text as a TOML string.

    >>> print(quote_toml('C:\\x "y"'))
    "C:\\x \"y\""
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def skill_header(name: str) -> str:
    """Return the header of a skill's table.

    >>> skill_header("my.skill")
    '[skills."my.skill"]'
    """
    return f"[skills.{name if _BARE.fullmatch(name) else quote_toml(name)}]"


def add_to_config(text: str, lines: ConfigLines, path: Path) -> str:
    """Add lines to the text of a skillopt.toml."""
    added = _append_tables(_insert_top(text, lines.top), lines)
    try:
        before = tomllib.loads(text)
    except ValueError as error:
        raise SettingsError(f"{path}: expected TOML, found: {error}; correct the line") from error
    try:
        as_wanted = _holds(tomllib.loads(added), before)
    except ValueError:
        as_wanted = False
    if not as_wanted:
        wanted = "\n".join(("", *lines.top, *_tables(lines.skills)))
        raise SettingsError(f"{path}: expected a file to which lines can be added, found another form; add:{wanted}")
    return added


def put_file(path: Path, text: str) -> None:
    """Write a file aside and put it in place, its folder made where it is missing."""
    real = path.resolve()
    aside = real.with_name(f"{real.name}.new")
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(text, encoding="utf-8", newline="")
        aside.replace(real)
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}; make the folder writable or run this elsewhere"
        raise UsageError(message) from error


def _insert_top(text: str, top: tuple[str, ...]) -> str:
    """Put settings for all skills before the first table and the comments that belong to it."""
    found = _FIRST_TABLE.search(text) if top else None
    head, tail = (text[: found.start()], text[found.start() :]) if found else (text, "")
    return (
        head + ("\n" if top and head and not head.endswith("\n") else "") + _block(top) + ("\n" if tail else "") + tail
    )


def _append_tables(text: str, lines: ConfigLines) -> str:
    """Add lines below the header of their skill, or a table at the end."""
    new: dict[str, tuple[str, ...]] = {}
    for name, own in lines.skills.items():
        header = re.compile(rf"^[ \t]*{re.escape(skill_header(name))}[^\n]*\n?", re.MULTILINE)
        found = header.search(text)
        if found is None:
            new[name] = own
            continue
        end = "" if found[0].endswith("\n") else "\n"
        text = text[: found.end()] + end + _block(own) + text[found.end() :]
    parts = [*_tables(new), *(("", *lines.comment) if lines.comment else ())]
    start = "" if not text or text.endswith("\n") else "\n"
    return text + start + _block(parts)


def _block(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _tables(skills: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [line for name, own in skills.items() for line in ("", skill_header(name), *own)]


def _holds(after: object, before: object) -> bool:
    """Return whether a value has all that another one says, in tables of tables too."""
    if isinstance(before, dict) and isinstance(after, dict):
        return all(name in after and _holds(after[name], value) for name, value in before.items())
    return after == before
