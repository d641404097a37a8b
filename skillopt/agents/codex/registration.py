"""Edit the MCP servers of Codex's `config.toml` as text: our server put in, and taken out again to the byte.

The table goes to the end after a line break and nothing else is written, so whatever stands before it keeps its
comments and layout.
"""

import os
import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final

from skillopt.errors import SettingsError

__all__ = ["CodexServers"]

_SERVERS: Final = "mcp_servers"
_NAME: Final = "skillopt"
# Codex gives a server HOME, PATH, LANG and TERM, and what env_vars names. No approval mode: tools that only read run
# without a question because they say so, and nobody but the user allows those that spend.
# Spelled as `codex mcp add` spells all tables when it writes one, so that it stays as it is.
_TABLE: Final = """\
[mcp_servers.skillopt]
command = "skillopt-mcp"
env_vars = ["ANTHROPIC_API_KEY", "CODEX_HOME", "OPENAI_API_KEY"]
startup_timeout_sec = 30.0
tool_timeout_sec = 600.0
"""
_APPROVING: Final = f'{_TABLE}default_tools_approval_mode = "approve"\n'
"""What version 0.1.0 wrote: every tool was allowed, those that spend, too."""

_YES: Final = "approve"
_SPENDING: Final = frozenset({"start_job", "propose_edits"})
"""The tools that spend."""

_ENTRY: Final[dict[str, object]] = tomllib.loads(_TABLE)[_SERVERS][_NAME]
_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_OTHERWISE = re.compile(rf"^[ \t]*(?:\[\[)?[ \t]*[\"']?{_SERVERS}", re.MULTILINE)
_HEADER = re.compile(rf"^[ \t]*\[?.*{_NAME}", re.MULTILINE)


@dataclass(frozen=True)
class CodexServers:
    """The text of a `config.toml`.

    Args:
        text: What is in the file; None when there is none.
        source: Its path, for messages.
    """

    SHOWN: ClassVar[str] = _TABLE
    """The table, for people."""

    text: str | None
    source: str

    @staticmethod
    def find(folder: Path) -> Path:  # noqa: ARG004 - one in the folder would count only once it is trusted
        """Give the path of the user's `config.toml`, behind the links that lead to it."""
        return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex", "config.toml").resolve()

    def entry(self) -> object:
        """Give what is registered under our name, None for nothing.

        Raises:
            SettingsError: The text is not what the client reads.
        """
        return self._servers.get(_NAME)

    @property
    def ours(self) -> bool:
        """Tell whether the entry is the one that `added` writes."""
        return self.entry() == _ENTRY

    @property
    def outdated(self) -> bool:
        """Tell whether the entry is what an older version wrote."""
        return self.entry() == {**_ENTRY, "default_tools_approval_mode": "approve"}

    @property
    def approval_line(self) -> int:
        """Give the first line that lets a tool spend without a question, from 1; 0 for none."""
        allowed = self._allowed
        if not allowed:
            return 0
        lines = (self.text or "").splitlines(keepends=True)
        for number, line in enumerate(lines, 1):
            if "approval_mode" not in line:
                continue
            without = CodexServers("".join(other for at, other in enumerate(lines, 1) if at != number), self.source)
            with suppress(SettingsError):
                if without._allowed != allowed:
                    return number
        return self._line_of(_HEADER)

    @property
    def _allowed(self) -> frozenset[str]:
        """Name what runs without a question and spends: tools, or all of them."""
        entry = self.entry()
        if not isinstance(entry, dict):
            return frozenset()
        tools = entry.get("tools")
        modes = {name: tools[name] for name in _SPENDING & tools.keys()} if isinstance(tools, dict) else {}
        allowed = {name for name, mode in modes.items() if isinstance(mode, dict) and mode.get("approval_mode") == _YES}
        return frozenset({*allowed, *(("all",) if entry.get("default_tools_approval_mode") == _YES else ())})

    def mended(self) -> str:
        """Give the text with our table in place of what an older version wrote.

        Raises:
            SettingsError: The table is not written as that version wrote it.
        """
        text = self.text or ""
        for end in ("\n", ""):  # Codex takes the last line break away
            old, new = (
                self._written(table).removesuffix(self._written("\n") * (not end)) for table in (_APPROVING, _TABLE)
            )
            found = CodexServers(text.replace(old, new, 1), self.source)
            with suppress(SettingsError):
                if found.ours and found.text is not None:
                    return found.text
        message = "expected no default_tools_approval_mode, which lets tools spend without a question; take it out"
        raise SettingsError(f"{self.source}:{self._line_of(_HEADER)}: {message}")

    def added(self) -> str:
        """Give the text with our table, which it must not have yet.

        Raises:
            SettingsError: The servers are written in a way that takes no further table.
        """
        if self.text is None:
            return _TABLE
        added = CodexServers(self.text + self._written(f"\n{_TABLE}"), self.source)
        with suppress(SettingsError):
            if added.ours and added.text is not None:
                return added.text
        message = f"expected {_SERVERS} as tables, found it written otherwise; write [{_SERVERS}.NAME] tables"
        raise SettingsError(f"{self.source}:{self._line_of(_OTHERWISE)}: {message}")

    def removed(self) -> str | None:
        """Give the text without our table, which it must have; None when no file is left.

        Raises:
            SettingsError: The table is not written as `added` wrote it.
        """
        if self.outdated:
            return CodexServers(self.mended(), self.source).removed()
        text = self.text
        if text is None or text == _TABLE:
            return None
        table, newline = self._written(_TABLE), self._written("\n")
        pieces = [(newline + table, ""), (newline + table, newline)]
        if text.startswith(table):
            pieces.append((table, ""))
        if not text.endswith("\n"):  # Codex takes the last line break away
            pieces.append((newline + table.removesuffix(newline), ""))
        for piece, left in pieces:
            before = text.replace(piece, left, 1)
            if self._only_lacks_ours(before):
                return before
        message = f"expected [{_SERVERS}.{_NAME}] as init wrote it, found other text; run `codex mcp remove {_NAME}`"
        raise SettingsError(f"{self.source}:{self._line_of(_HEADER)}: {message}")

    def _only_lacks_ours(self, text: str) -> bool:
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            return False
        servers = {name: value for name, value in self._servers.items() if name != _NAME}
        return {_SERVERS: {}, **found} == {**self._loaded, _SERVERS: servers}

    def _written(self, text: str) -> str:
        """Write a text with the line ends of the file."""
        return text.replace("\n", "\r\n") if "\r\n" in (self.text or "") else text

    def _line_of(self, pattern: re.Pattern[str]) -> int:
        text = self.text or ""
        found = pattern.search(text)
        return text.count("\n", 0, found.start()) + 1 if found else 1

    @cached_property
    def _servers(self) -> dict[str, object]:
        servers = self._loaded.get(_SERVERS)
        return servers if isinstance(servers, dict) else {}

    @cached_property
    def _loaded(self) -> dict[str, object]:
        try:
            return tomllib.loads(self.text or "")
        except tomllib.TOMLDecodeError as error:
            found = _LINE.search(str(error))
            line = int(found[1]) if found else (self.text or "").count("\n") + 1
            message = f"{self.source}:{line}: expected TOML, found {_LINE.sub('', str(error)).strip()}; mend it"
            raise SettingsError(message) from error
