"""Read the sessions that Codex keeps below `~/.codex/sessions`: a `session_meta`, and `response_item`s."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import JsonValue, ValidationError

from skillopt.contrib.history.past_session import LineTally, PastSession, SessionKind, spoken_words
from skillopt.targets.stream import StreamEvent

_FAILED: Final = re.compile(r'(?:exited with code|Exit code:|"exit_code": ?)\s?(?!0\b)-?\d')
_CALLED: Final = re.compile(r"(?<!\S)\$([a-z][\w:.-]{0,100})")
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})


class _Git(StreamEvent):
    commit_hash: str | None = None
    branch: str | None = None


class _Item(StreamEvent):
    type: str = ""
    id: str | None = None
    role: str = ""
    content: JsonValue = None
    name: str = ""
    namespace: str | None = None
    arguments: JsonValue = None
    input: JsonValue = None
    action: JsonValue = None
    output: JsonValue = None
    message: JsonValue = None
    cwd: str = ""
    originator: str = ""
    source: JsonValue = None
    git: _Git | None = None


class _Line(StreamEvent):
    type: str = ""
    timestamp: str | None = None
    payload: _Item | None = None


class CodexSessions:
    """Reads the sessions of Codex."""

    client = "codex"

    def __init__(self, environment: Mapping[str, str], home: Path) -> None:
        self.folder = Path(environment.get("CODEX_HOME") or home / ".codex") / "sessions"

    def may_hold(self, path: Path, roots: tuple[str, ...]) -> bool:
        """Return whether a log may be of one of some folders: its place says nothing about that."""
        del roots
        return path.name.startswith("rollout-") or self.folder not in path.parents

    def read(self, lines: Iterator[str], tally: LineTally, wanted: Callable[[str, SessionKind], bool]) -> PastSession:
        """Read a session; one that is not wanted is read no further."""
        session = PastSession(self.client)
        for text in lines:
            try:
                line = _Line.model_validate_json(text)
            except ValidationError:
                tally.broken += 1
                continue
            session.note(started=line.timestamp or "")
            if line.type == "session_meta" and line.payload is not None:
                meta, git = line.payload, line.payload.git or _Git()
                session.note(id=meta.id or "", cwd=meta.cwd, branch=git.branch or "", commit=git.commit_hash or "")
                if isinstance(meta.source, dict):
                    session.kind = SessionKind.SUBAGENT
                elif meta.originator in {"codex_exec", "codex_sdk_ts"} or meta.source in ("exec", "mcp"):
                    session.kind = SessionKind.HEADLESS
            elif line.type == "turn_context" and line.payload is not None:
                session.note(cwd=line.payload.cwd)
            else:
                _take(session, line)
            if session.cwd and not wanted(session.cwd, session.kind):
                break
        return session


def _take(session: PastSession, line: _Line) -> None:
    item = line.payload
    if item is None or line.type not in ("event_msg", "response_item"):
        return
    if line.type == "event_msg":
        if item.type == "user_message" and isinstance(item.message, str):
            _hear(session, item.message)
        elif item.type == "turn_aborted":
            session.interrupt()
    elif item.role == "assistant" and item.type in {"", "message"}:
        session.answer()
    elif item.role == "user" and item.type in {"", "message"}:
        for text in _texts(item.content):
            _hear(session, text)
    elif item.type in _CALLS:
        given = "\n".join(_texts(item.arguments) + _texts(item.input) + _texts(item.action))
        session.use_tool(f"{item.namespace or ''}{item.name or 'shell'}", given)
    elif item.type in _OUTPUTS and _FAILED.search(said := "\n".join(_texts(item.output))):
        session.fail(said.replace("\\n", "\n"))


def _hear(session: PastSession, text: str) -> None:
    words = spoken_words(text)
    session.say(words, tuple(_CALLED.findall(words)))


def _texts(value: JsonValue) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        shown = [f'"exit_code": {code}' for code in [value.get("exit_code")] if isinstance(code, int)]
        return [text for key, inner in value.items() if key != "type" for text in _texts(inner)] + shown
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    return []
