"""Edit the MCP servers of a `.mcp.json` as text: our server put in, and taken out again to the byte.

Everything else in the file stays as its author wrote it. How the entry is laid out shows what was there before, so
that nothing has to be remembered to undo it:

    no file               a whole file
    no member             `{}` gets one line, `{…}` gets `mcpServers` as its first member
    `mcpServers`          `{}` gets one padded line, `{…}` gets the entry as its first member
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final

from skillopt.errors import SettingsError, UsageError
from skillopt.project import Project

__all__ = ["ClaudeServers"]

_SERVERS: Final = "mcpServers"
_NAME: Final = "skillopt"
_ENTRY: Final[dict[str, object]] = {
    "type": "stdio",
    "command": "skillopt-mcp",
    "args": [],
    "alwaysLoad": True,  # or the client hides the tools behind a search
    "timeout": 600_000,  # milliseconds; its own limit is a day
}
_ONE_LINE: Final = f'"{_NAME}": {json.dumps(_ENTRY)}'
_LINES: Final = f'"{_NAME}": {json.dumps(_ENTRY, indent=2)}'.replace("\n", "\n    ")
_WITH_SERVERS: Final = f'\n  "{_SERVERS}": {{\n    {_LINES}\n  }}'
_WHOLE: Final = f"{{{_WITH_SERVERS}\n}}\n"
_IN_ROOT: Final = (f'"{_SERVERS}": {{{_ONE_LINE}}}', f"{_WITH_SERVERS},")
_IN_SERVERS: Final = (f" {_ONE_LINE} ", f"\n    {_LINES},")
"""What goes behind the opening brace: of an empty object, and of one with members."""

_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of a JSON object: its name, where it starts and ends, and where its value starts."""

    name: str
    start: int
    value: int
    end: int


@dataclass(frozen=True)
class ClaudeServers:
    """The text of a `.mcp.json`.

    Args:
        text: What is in the file; None when there is none.
        source: Its path, for messages.
    """

    SHOWN: ClassVar[str] = f'"{_NAME}": {json.dumps(_ENTRY, indent=2)}'
    """The entry, for people."""

    text: str | None
    source: str

    @staticmethod
    def find(folder: Path) -> Path:
        """Give the path of the project's `.mcp.json`, behind the links that lead to it.

        Raises:
            UsageError: It is a link out of the project.
        """
        root = Project.find(folder).root.resolve()
        path = (root / ".mcp.json").resolve()
        if not path.is_relative_to(root):
            message = f"expected {root / '.mcp.json'} in the project, found a link to {path}; make it a file"
            raise UsageError(message)
        return path

    def entry(self) -> object:
        """Give what is registered under our name, None for nothing.

        Raises:
            SettingsError: The text is not what the client reads.
        """
        if self._servers is None or self.text is None:
            return None
        servers = json.loads(self.text[self._servers.value : self._servers.end])
        return servers.get(_NAME)

    @property
    def ours(self) -> bool:
        """Tell whether the entry is the one that `added` writes."""
        return self.entry() == _ENTRY

    @property
    def outdated(self) -> bool:
        """Tell whether the entry is what an older version wrote; all wrote the same."""
        return False

    @property
    def approval_line(self) -> int:
        """Give the line that lets a tool spend without a question: none, for this file cannot allow tools."""
        return 0

    def mended(self) -> str:
        """Give the text as it is."""
        return self.text or ""

    def added(self) -> str:
        """Give the text with our entry, which it must not have yet."""
        if self.text is None:
            return _WHOLE
        at, blocks = (self._root, _IN_ROOT) if self._servers is None else (self._servers.value, _IN_SERVERS)
        block = blocks[1 if any(_members(self.text, at)) else 0]
        newline = "\r\n" if "\r\n" in self.text else "\n"
        return f"{self.text[: at + 1]}{block.replace(chr(10), newline)}{self.text[at + 1 :]}"

    def removed(self) -> str | None:
        """Give the text without our entry, which it must have; None when no file is left."""
        text, servers = self.text, self._servers
        if text is None or servers is None or text == _WHOLE:
            return None
        for before in self._before(text, servers):
            with suppress(SettingsError):  # it was laid out alike by somebody else, and is not JSON now
                if ClaudeServers(before, self.source).added() == text:
                    return before
        return _without(text, servers.value, _NAME)

    def _before(self, text: str, servers: _Member) -> Iterator[str]:
        """Give what the text may have been before our entry."""
        for at, blocks in ((self._root + 1, _IN_ROOT), (servers.value + 1, _IN_SERVERS)):
            for block in blocks:
                for piece in (block, block.replace("\n", "\r\n")):
                    if text.startswith(piece, at):
                        yield text[:at] + text[at + len(piece) :]

    @cached_property
    def _root(self) -> int:
        """Find the brace that opens the document."""
        text = self.text or ""
        try:
            loaded = json.loads(text)
        except json.JSONDecodeError as error:
            message = f"{self.source}:{error.lineno}: expected JSON, found {error.msg} in column {error.colno}; mend it"
            raise SettingsError(message) from error
        if not isinstance(loaded, dict):
            raise SettingsError(f"{self.source}:1: expected a JSON object, found {type(loaded).__name__}; mend it")
        return _after_space(text, 0)

    @cached_property
    def _servers(self) -> _Member | None:
        """Find the servers; of members with the same name the last counts."""
        if self.text is None:
            return None
        named = [member for member in _members(self.text, self._root) if member.name == _SERVERS]
        if not named:
            return None
        if self.text[named[-1].value] != "{":
            line = self.text.count("\n", 0, named[-1].start) + 1
            raise SettingsError(f"{self.source}:{line}: expected {_SERVERS!r} to be an object, found another; mend it")
        return named[-1]


def _members(text: str, brace: int) -> Iterator[_Member]:
    """Give the members of the object that opens there; the text is known to be JSON."""
    decoder = json.JSONDecoder()
    start = _after_space(text, brace + 1)
    while text[start] != "}":
        name, end = decoder.raw_decode(text, start)
        value = _after_space(text, _after_space(text, end) + 1)
        _, end = decoder.raw_decode(text, value)
        yield _Member(name, start, value, end)
        start = _after_space(text, end)
        if text[start] == ",":
            start = _after_space(text, start + 1)


def _without(text: str, brace: int, name: str) -> str:
    """Take every member of that name out of an object, with the comma that is one too many."""
    while True:
        members = list(_members(text, brace))
        index = next((index for index, member in enumerate(members) if member.name == name), None)
        if index is None:
            return text
        start, end = members[index].start, members[index].end
        if index + 1 < len(members):
            end = members[index + 1].start
        elif index:
            start = members[index - 1].end
        else:
            start, end = brace + 1, _after_space(text, end)
        text = text[:start] + text[end:]


def _after_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position
