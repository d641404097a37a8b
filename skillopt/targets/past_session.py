"""A past session of a person with a coding agent, cut down to what a task can be made of, in bounded memory."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Final

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


@dataclass(slots=True)
class PastTurn:
    """What a person said, and what the agent did until they spoke again."""

    text: str
    skills: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    interrupted: bool = False
    own: bool = False
    worked: bool = field(default=False, compare=False)


@dataclass(slots=True)
class PastSession:
    """A session, collected line by line; what it keeps is bounded, however long the session is."""

    client: str
    id: str = ""
    kind: SessionKind = SessionKind.PERSON
    cwd: str = ""
    started: str = ""
    branch: str = ""
    commit: str = ""
    turns: tuple[PastTurn, ...] = ()

    def note(self, **found: str) -> None:
        """Take the first that is said of id, cwd, started, branch or commit."""
        for name, value in found.items():
            if value and not getattr(self, name):
                setattr(self, name, value[: _LONGEST_NAME * 5])

    def say(self, text: str, skills: tuple[str, ...] = ()) -> None:
        """Begin a turn; the same words again, as some clients write them twice, begin none."""
        text = text.strip()[:_LONGEST_TEXT]
        last = self.turns[-1] if self.turns else None
        if last is not None and not last.worked and last.text == text:
            return
        if text and len(self.turns) < _MOST_TURNS:
            self.turns = (*self.turns, PastTurn(text, _once(skills), paths=_once(_paths(text))))

    def use_tool(self, name: str, arguments: str, skill: str = "") -> None:
        """Note a call of a tool: the skill it loads, and the paths that it is given."""
        if not self.turns:
            return
        turn, arguments = self.turns[-1], arguments[:_LONGEST_ARGUMENTS]
        turn.worked = True
        turn.own = turn.own or bool(_OWN_TOOL.search(name))
        loaded = [skill] if skill else _SKILL_FILE.findall(arguments) if "SKILL.md" in arguments else []
        turn.skills = _once((*turn.skills, *(one[:_LONGEST_NAME] for one in loaded)))
        turn.paths = _once((*turn.paths, *_paths(arguments)))[:_MOST_PATHS]

    def answer(self) -> None:
        """Note that the agent said something."""
        if self.turns:
            self.turns[-1].worked = True

    def fail(self, text: str) -> None:
        """Note how a tool or a command failed."""
        if self.turns and len(self.turns[-1].failures) < _MOST_FAILURES and (line := _failure_line(text)):
            self.turns[-1].failures = (*self.turns[-1].failures, line)

    def interrupt(self) -> None:
        """Note that the person stopped the agent."""
        if self.turns:
            self.turns[-1].interrupted = True


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


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
