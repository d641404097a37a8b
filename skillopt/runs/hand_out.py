"""Hand-off of a run, round by round: what is open, what can be asked ahead, and how many rounds are still to come."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from skillopt.agents.handoff_folder import HandoffFolder
from skillopt.errors import AnswersPendingError
from skillopt.execution.recording import Recording
from skillopt.loop.events import Event
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Reply, Rollout
from skillopt.runs.lookahead import look_ahead
from skillopt.runs.plan import Start
from skillopt.settings import Settings
from skillopt.storage.keys import reply_key
from skillopt.storage.ledger import Ledger

__all__ = ["Handoff", "HandoffSession", "is_handed_off", "load_session", "save_session"]

_NAME: Final = "handoff"
_SESSION: Final = "session.json"
_SOME: Final = 2
"""Rounds that count as one batch each before it is known how many batches a round answers."""


@dataclass(frozen=True, slots=True)
class HandoffSession:
    """What goes on between two commands of a hand-off.

    Args:
        skill: Name of the skill.
        flags: Settings of the command that began it.
        suite: The suite that it named; empty for the configured one.
        start: Which text it said to begin with.
        round: Rounds handed out so far.
        rounds: About how many there will be in all; 0 while nobody can say.
        handed: Ids of all that was handed out.
    """

    skill: str
    flags: Mapping[str, str | int | float | bool | list[str]] = field(default_factory=dict)
    suite: str = ""
    start: Start = "auto"
    round: int = 0
    rounds: int = 0
    handed: tuple[str, ...] = ()


def is_handed_off(settings: Settings) -> bool:
    """Say whether anything of a run is answered by hand."""
    return _NAME in {settings.harness, settings.model, settings.judge}


def load_session(folder: Path) -> HandoffSession | None:
    """Read the session of a hand-off folder; None where there is none."""
    try:
        return TypeAdapter(HandoffSession).validate_json((folder / _SESSION).read_bytes())
    except (OSError, ValidationError):
        return None


def save_session(folder: Path, session: HandoffSession | None) -> None:
    """Write the session of a hand-off folder; None ends it."""
    if session is None:
        (folder / _SESSION).unlink(missing_ok=True)
        return
    folder.mkdir(parents=True, exist_ok=True)
    staged = folder / f"{_SESSION}.new"
    staged.write_text(json.dumps(asdict(session), default=str), encoding="utf-8")
    staged.replace(folder / _SESSION)


class Handoff:
    """One command's part of a hand-off.

    Args:
        folder: Of the project.
        session: What goes on between commands.
    """

    def __init__(self, folder: Path, session: HandoffSession) -> None:
        self._handed = HandoffFolder(folder)
        before = load_session(folder)
        same = before is not None and before.skill == session.skill
        self._session = (
            replace(session, round=before.round, rounds=before.rounds, handed=before.handed)
            if same and before
            else session
        )
        self._left = self._handed.begin()

    def pause(
        self, recording: Recording, ledger: Ledger, train: Callable[[Runner], Iterable[Event]]
    ) -> AnswersPendingError:
        """Hand out what is asked now and what most likely comes next; say so in the words of an error.

        Args:
            recording: The run that waits.
            ledger: Where its answers are recorded.
            train: Begins its loop with a runner.
        """
        session = self._session
        if not self._handed.keep(self._left):
            recorded = _Recorded(recording, ledger)
            ahead = look_ahead(train, recorded, f"{recording.record.id}/{session.round}")
            _ask(recording, ahead.rollouts, ahead.prompts)
            number = session.round + 1
            share = (number + _SOME) / (ahead.answered + 1 + _SOME)
            session = replace(session, round=number, rounds=session.round + max(1, round(share * ahead.batches)))
        items = self._handed.open_items()
        session = replace(session, handed=tuple(sorted({*session.handed, *(item.id for item in items)})))
        self._end(session)
        where = self._handed.path
        words = (
            f"round {session.round} of about {session.rounds}: {len(items)} pieces of work are handed off and not done"
        )
        ledger.end_run(recording.record.id, "stopped", words)
        return AnswersPendingError(
            f"{words}; do what {where / 'manifest.json'} lists and run the same command again, "
            "or use `skillopt handoff`"
        )

    def finish(self) -> None:
        """End the session of a run that is over."""
        self._handed.drop(self._session.handed)
        self._end(None)

    def _end(self, session: HandoffSession | None) -> None:
        self._handed.clean()
        save_session(self._handed.path, session)


def _ask(recording: Recording, rollouts: Iterable[RolloutRequest], prompts: Iterable[tuple[str, str]]) -> None:
    """Ask ahead what is answered by hand; an answer that is there already is recorded."""
    settings, runner = recording.settings, recording.runner
    if settings.harness == _NAME:
        with suppress(AnswersPendingError):
            runner.rollouts(list(rollouts))
    if settings.model == _NAME:
        for prompt, schema in prompts:
            with suppress(AnswersPendingError):
                runner.replies([prompt], schema)


class _Recorded:
    """The recorded answers of a run, each read once."""

    def __init__(self, recording: Recording, ledger: Ledger) -> None:
        self._recording, self._ledger = recording, ledger
        self._rollouts: dict[str, Rollout | None] = {}
        self._replies: dict[str, Reply | None] = {}

    def rollout(self, request: RolloutRequest) -> Rollout | None:
        """Give the recorded rollout of a request."""
        key = self._recording.drivers.key_of(request)
        if key not in self._rollouts:
            found = self._ledger.rollouts([key]) or self._ledger.failures(self._recording.record.id, [key])
            self._rollouts[key] = found.get(key)
        return self._rollouts[key]

    def reply(self, prompt: str) -> Reply | None:
        """Give the recorded reply to a prompt."""
        model = self._recording.drivers.model
        key = reply_key(model.identity if model else "", prompt)
        if key not in self._replies:
            self._replies[key] = self._ledger.replies([key]).get(key)
        return self._replies[key]
