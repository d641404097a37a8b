"""Read the sessions that Claude Code keeps below `~/.claude/projects`, one file of JSON lines each."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import JsonValue, ValidationError

from skillopt.contrib.history.past_session import INTERRUPTED, LineTally, PastSession, SessionKind, spoken_words
from skillopt.targets.stream import StreamEvent, text_of_parts

_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9]")
_COMPARED: Final = 150
"""Characters of a folder's name that are compared; the client cuts long names."""

_COMMAND: Final = re.compile(r"<command-name>\s*/?([\w:.-]{1,100})\s*</command-name>")
_ARGUMENTS: Final = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)


class _Said(StreamEvent):
    content: JsonValue = None


class _Line(StreamEvent):
    type: str = ""
    message: _Said | None = None
    isSidechain: bool = False  # noqa: N815 - the client's own name
    isMeta: bool = False  # noqa: N815 - the same
    isCompactSummary: bool = False  # noqa: N815 - the same
    entrypoint: str = ""
    promptSource: str = ""  # noqa: N815 - the same
    cwd: str = ""
    gitBranch: str = ""  # noqa: N815 - the same
    sessionId: str = ""  # noqa: N815 - the same
    timestamp: str = ""


class ClaudeSessions:
    """Reads the sessions of Claude Code."""

    client = "claude-code"

    def __init__(self, environment: Mapping[str, str], home: Path) -> None:
        self.folder = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"

    def may_hold(self, path: Path, roots: tuple[str, ...]) -> bool:
        """Tell by its folder's name whether a log may be of one of some folders, so that others need not be read."""
        try:
            name = path.relative_to(self.folder).parts[0][:_COMPARED]
        except ValueError:
            return True
        return any(name.startswith(_NOT_PLAIN.sub("-", root)[:_COMPARED]) for root in roots)

    def read(self, lines: Iterator[str], tally: LineTally, wanted: Callable[[str, SessionKind], bool]) -> PastSession:
        """Read a session; one that is not wanted is read no further."""
        session, sidechain = PastSession(self.client), False
        for text in lines:
            try:
                line = _Line.model_validate_json(text)
            except ValidationError:
                tally.broken += 1
                continue
            session.note(id=line.sessionId, cwd=line.cwd, started=line.timestamp, branch=line.gitBranch)
            if "sdk" in (line.entrypoint[:3], line.promptSource):
                session.kind = SessionKind.HEADLESS
            if line.cwd and not wanted(session.cwd, session.kind):
                break
            sidechain = sidechain or line.isSidechain
            if not (line.isSidechain or line.isMeta or line.isCompactSummary):
                _take(session, line)
        if sidechain and not session.turns:
            session.kind = SessionKind.SUBAGENT
        return session


def _take(session: PastSession, line: _Line) -> None:
    content = line.message.content if line.message is not None else None
    blocks: JsonValue = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks if isinstance(blocks, list) else ():
        if not isinstance(block, dict):
            continue
        match (line.type, block):
            case ("user", {"type": "text", "text": str(text)}):
                _hear(session, text)
            case ("user", {"type": "tool_result", "is_error": True}):
                session.fail(text_of_parts(block.get("content")))
            case ("assistant", {"type": "tool_use", "name": str(name), "input": dict(given)}):
                skill = given.get("skill", given.get("command")) if name == "Skill" else ""
                loaded = skill.lstrip("/") if isinstance(skill, str) else ""
                session.use_tool(name, json.dumps(given, ensure_ascii=False), loaded)
            case ("assistant", {"type": "text"}):
                session.answer()


def _hear(session: PastSession, text: str) -> None:
    """Take what stands where the person's words do; much of it is the client's own."""
    if INTERRUPTED in text:
        session.interrupt()
    called = _COMMAND.search(text)
    given = _ARGUMENTS.search(text)
    words = spoken_words(text)
    if called is not None:
        words = "\n".join(filter(None, ((given[1].strip() if given else ""), words)))
        session.say(words or f"/{called[1]}", (called[1],))
    else:
        session.say(words)
