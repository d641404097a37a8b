"""A past session of a person with a coding agent, cut down to what a task can be made of, in bounded memory."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Final

__all__ = ["PastSession", "PastTurn", "SessionDraft", "SessionKind"]

_MOST_TURNS: Final = 400
_MOST_PATHS: Final = 60
_MOST_FAILURES: Final = 20
_LONGEST_TEXT: Final = 20_000
_LONGEST_FAILURE: Final = 400
_LONGEST_ARGUMENTS: Final = 20_000
_LONGEST_NAME: Final = 200
_SKILL_FILE: Final = re.compile(r"([\w.-]{1,64})[/\\]{1,2}SKILL\.md\b")
_WORD: Final = re.compile(r"[\w.@+/-]{3,400}")
_HAS_END: Final = re.compile(r"\w\.[A-Za-z]\w{0,9}")
_OWN_TOOL: Final = re.compile(r"skillopt", re.IGNORECASE)


class SessionKind(StrEnum):
    """Who was there: only what a person said to an agent can become a task."""

    PERSON = "of people"
    HEADLESS = "headless"
    SUBAGENT = "of sub-agents"


@dataclass(frozen=True, slots=True)
class PastTurn:
    """What a person said, and what the agent did until they spoke again."""

    text: str
    skills: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    interrupted: bool = False
    own: bool = False


@dataclass(frozen=True, slots=True)
class PastSession:
    """A session."""

    client: str
    id: str
    kind: SessionKind
    cwd: str
    started: str
    branch: str
    commit: str
    turns: tuple[PastTurn, ...]


@dataclass(slots=True)
class _TurnDraft:
    text: str
    skills: dict[str, None] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    paths: dict[str, None] = field(default_factory=dict)
    interrupted: bool = False
    own: bool = False
    worked: bool = False


@dataclass(slots=True)
class SessionDraft:
    """Collects a session line by line; what it keeps is bounded, however long the session is."""

    client: str
    kind: SessionKind = SessionKind.PERSON
    id: str = ""
    cwd: str = ""
    started: str = ""
    branch: str = ""
    commit: str = ""
    _turns: list[_TurnDraft] = field(default_factory=list)

    def note(self, **found: str) -> None:
        """Take the first that is said of id, cwd, started, branch or commit."""
        for name, value in found.items():
            if value and not getattr(self, name):
                setattr(self, name, value[: _LONGEST_NAME * 5])

    def say(self, text: str, skills: tuple[str, ...] = ()) -> None:
        """Begin a turn; the same words again, as some clients write them twice, begin none."""
        text = text.strip()[:_LONGEST_TEXT]
        last = self._turns[-1] if self._turns else None
        if last is not None and not last.worked and last.text == text:
            return
        if text and len(self._turns) < _MOST_TURNS:
            self._turns.append(_TurnDraft(text, dict.fromkeys(skills), paths=dict.fromkeys(_paths(text))))

    def use_tool(self, name: str, arguments: str, skill: str = "") -> None:
        """Note a call of a tool: the skill it loads, and the paths that it is given."""
        if not self._turns:
            return
        turn, arguments = self._turns[-1], arguments[:_LONGEST_ARGUMENTS]
        turn.worked = True
        turn.own = turn.own or bool(_OWN_TOOL.search(name))
        loaded = [skill] if skill else _SKILL_FILE.findall(arguments) if "SKILL.md" in arguments else []
        turn.skills |= dict.fromkeys(one[:_LONGEST_NAME] for one in loaded)
        if len(turn.paths) < _MOST_PATHS:
            turn.paths |= dict.fromkeys(_paths(arguments)[: _MOST_PATHS - len(turn.paths)])

    def answer(self) -> None:
        """Note that the agent said something."""
        if self._turns:
            self._turns[-1].worked = True

    def fail(self, text: str) -> None:
        """Note how a tool or a command failed."""
        if self._turns and len(self._turns[-1].failures) < _MOST_FAILURES and (line := _failure_line(text)):
            self._turns[-1].failures.append(line)

    def interrupt(self) -> None:
        """Note that the person stopped the agent."""
        if self._turns:
            self._turns[-1].interrupted = True

    def finish(self) -> PastSession:
        """Return the session."""
        turns = tuple(
            PastTurn(one.text, tuple(one.skills), tuple(one.failures), tuple(one.paths), one.interrupted, one.own)
            for one in self._turns
        )
        return PastSession(self.client, self.id, self.kind, self.cwd, self.started, self.branch, self.commit, turns)


def _paths(text: str) -> list[str]:
    words = (match[0].rstrip(".") for match in _WORD.finditer(text))
    return list(islice((word for word in words if "/" in word or _HAS_END.search(word)), _MOST_PATHS))


_ERROR: Final = re.compile(r"error|exception|failed|not found|no such|denied|cannot|fatal|panic", re.IGNORECASE)


def _failure_line(text: str) -> str:
    r"""Return the line of an output that says what went wrong: the last that names an error, else the last.

    >>> _failure_line("Traceback (most recent call last):\n  File ...\nKeyError: 'name'\nexit 1")
    "KeyError: 'name'"
    """
    lines = [line.strip() for line in text[-_LONGEST_ARGUMENTS:].splitlines() if line.strip()]
    named = [line for line in lines if _ERROR.search(line) and not line.startswith("Traceback")]
    return (named or lines or [""])[-1][:_LONGEST_FAILURE]
