"""Add lines to skillopt.toml and keep every line that is there."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from skillopt.errors import SettingsError, UsageError

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_FIRST_TABLE: Final = re.compile(r"^(?:[ \t]*#.*\n)*[ \t]*\[", re.MULTILINE)
"""The header of a table, and the comments above that belong to it."""


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


def add_to_config(text: str, path: Path, skills: Mapping[str, Sequence[str]], top: Sequence[str] = ()) -> str:
    """Add lines to the text of a skillopt.toml: to skills, below their headers or in tables at the end, and on top."""
    added = text
    if top:
        found = _FIRST_TABLE.search(text)
        at = found.start() if found else len(text)
        added = _with_lines(text[:at], top) + ("\n" if found else "") + text[at:]
    for name, own in skills.items():
        found = re.search(rf"^[ \t]*{re.escape(skill_header(name))}[^\n]*\n?", added, re.MULTILINE)
        at = found.end() if found else len(added)
        added = _with_lines(added[:at], own if found else ("", skill_header(name), *own)) + added[at:]
    try:
        before = tomllib.loads(text)
    except ValueError as error:
        raise SettingsError(f"{path}: expected TOML, found: {error}; correct the line") from error
    try:
        as_wanted = _holds(tomllib.loads(added), before)
    except ValueError:
        as_wanted = False
    if not as_wanted:
        tables = (line for name, own in skills.items() for line in ("", skill_header(name), *own))
        wanted = "\n".join(("", *top, *tables))
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


def _with_lines(text: str, lines: Sequence[str]) -> str:
    end = "" if not text or text.endswith("\n") else "\n"
    return text + end + "".join(f"{line}\n" for line in lines)


def _holds(after: object, before: object) -> bool:
    """Return whether a value has all that another one says, in tables of tables too."""
    if isinstance(before, dict) and isinstance(after, dict):
        return all(name in after and _holds(after[name], value) for name, value in before.items())
    return after == before
