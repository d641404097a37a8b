"""Cut a session into requests, each with what the person said against its result, and count repeated failures."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from skillopt.contrib.history.past_session import PastSession, PastTurn

_LEAST_WORDS: Final = 4  # fewer only go on with what was said before
_LONGEST: Final = 6_000  # characters; what is longer is a document that was pasted
_LONGEST_CORRECTION: Final = 1_500  # characters; what is longer asks for something new
_OFTEN: Final = 3
"""Sessions in which a failure is seen before it is a repeated one."""

_AGAINST: Final = re.compile(
    r"^\W{0,3}(?:no\b(?! problem| worries|w\b)|nope\b|wrong\b|not (?:quite|what|like|that|right)\b|undo\b|revert\b"
    r"|roll(?: it)? back\b|stop\b|wait\b|don'?t\b|do not\b|again\b|still\b"
    r"|(?:that|this|it)(?:'s| is| was| does| did|s)? ?(?:not|n'?t|wrong|broken)\b"
    r"|you (?:forgot|missed|didn'?t|did not|broke|should(?:n'?t)?(?: have)?|were supposed|removed|deleted|ignored)\b"
    r"|why did you\b|i (?:said|asked|told|meant|wanted)\b|(?:please )?(?:redo|try again|put (?:it|that) back)\b"
    r"|actually\b|instead\b|nein\b|falsch\b|nicht\b|non\b|faux\b|nee\b|不对|不是|错了|違う)"
    r"|\b(?:not what i (?:asked|wanted|meant)|as i said|like i said|(?:undo|revert) (?:that|this|it|your)"
    r"|(?:still|again) (?:fails?|failing|broken|wrong|not)|(?:doesn'?t|does not|didn'?t) work|should have been"
    r"|you forgot|use .{1,60} instead)\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W_]+")
_NUMBER: Final = re.compile(r"0x[0-9a-fA-F]+|\d+")
_QUOTED: Final = re.compile(r"'[^']{30,400}'|\"[^\"]{30,400}\"|(?:/[\w.@-]+)+")


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asked for, and how it went."""

    session: str
    text: str
    skills: tuple[str, ...]
    corrections: tuple[str, ...]
    failures: tuple[str, ...]
    paths: tuple[str, ...]
    started: str
    branch: str
    commit: str
    cwd: str
    after: int = 0


def is_correction(text: str) -> bool:
    """Return whether words are against what was done before, rather than a new request.

    >>> [is_correction(text) for text in ("No, use tabs.", "Now add a test for it.", "It still fails on Windows")]
    [True, False, True]
    """
    return len(text) <= _LONGEST_CORRECTION and _AGAINST.search(text) is not None


def session_requests(session: PastSession) -> tuple[Request, ...]:
    """Return the requests of a session; what was said against a result belongs to the request before."""
    found, loaded, stopped = list[Request](), dict[str, None](), False
    for turn in session.turns:
        skills = tuple(dict.fromkeys((*turn.skills, *reversed(loaded))))
        loaded |= dict.fromkeys(turn.skills)
        if turn.own:
            stopped = False
            continue
        if found and (stopped or is_correction(turn.text)):
            found[-1] = _corrected(found[-1], turn)
        elif _is_request(turn.text):
            found.append(replace(_request(session, turn, skills), after=len(found)))
        stopped = turn.interrupted
    return tuple(found)


def repeated_failures(requests: Sequence[Request]) -> dict[str, int]:
    """Count failures that many sessions share, by their keys, most frequent first."""
    seen = Counter(key for _, key in {(one.session, failure_key(line)) for one in requests for line in one.failures})
    return {failure: times for failure, times in seen.most_common() if times >= _OFTEN}


def _is_request(text: str) -> bool:
    return len(text) <= _LONGEST and len(_WORD.findall(text)) >= _LEAST_WORDS and not text.startswith("/")


def _request(session: PastSession, turn: PastTurn, skills: tuple[str, ...]) -> Request:
    return Request(
        session=f"{session.client} {session.id}",
        text=turn.text,
        skills=skills,
        corrections=(),
        failures=tuple(dict.fromkeys(turn.failures)),
        paths=turn.paths,
        started=session.started,
        branch=session.branch,
        commit=session.commit,
        cwd=session.cwd,
    )


def _corrected(request: Request, turn: PastTurn) -> Request:
    return replace(
        request,
        skills=tuple(dict.fromkeys((*request.skills, *turn.skills))),
        corrections=(*request.corrections, turn.text),
        failures=tuple(dict.fromkeys((*request.failures, *turn.failures))),
        paths=tuple(dict.fromkeys((*request.paths, *turn.paths))),
    )


def failure_key(failure: str) -> str:
    """Write a failure so that the same one in another session is the same text."""
    return " ".join(_NUMBER.sub("0", _QUOTED.sub("…", failure)).split())
