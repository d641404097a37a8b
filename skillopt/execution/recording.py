"""One run as it is recorded: its events in order, how it ended, and what it came to."""

import json
from collections.abc import Iterable, Sequence

from skillopt.errors import AnswersPendingError, InfrastructureError, UnreadRepliesError
from skillopt.execution.drivers import Drivers
from skillopt.execution.metering import OutOfBudget
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.loop.events import Event, RunEnded, VersionAccepted, encode_event
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.skills.folder import decode_skill, encode_skill
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.tasks import Suite, digest_of


class Recording:
    """Keeps what a run yields; whatever interrupts it leaves a run that the same call continues."""

    def __init__(
        self,
        ledger: Ledger,
        record: RunRecord,
        drivers: Drivers,
        settings: Settings,
        watch: RunObserver,
    ) -> None:
        self.skill = decode_skill(record.skill, record.start)
        self.record = record
        self.drivers = drivers
        self.settings = settings
        self.runner = RecordedRunner(ledger, record.id, drivers, watch)
        self._ledger = ledger
        self._watch = watch
        watch.begins(settings)

    def drive(self, events: Iterable[Event]) -> tuple[list[Event], RunEnded]:
        """Run to the end, recording each event before it is acted on."""
        happened: list[Event] = []
        ended: RunEnded | None = None
        self._watch.replays(len(self._ledger.events(self.record.id)))
        try:
            for event in events:
                self.runner.keep_failures()
                at = self._ledger.append_event(self.record.id, len(happened), *encode_event(event))
                self.recorded(event, at)
                self._watch.event(event)
                happened.append(event)
                ended = event if isinstance(event, RunEnded) else None
        except (KeyboardInterrupt, InfrastructureError) as error:
            stopped = isinstance(error, KeyboardInterrupt | OutOfBudget | AnswersPendingError)
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            self._ledger.end_run(self.record.id, "stopped" if stopped else "failed", reason)
            self.interrupted()
            if isinstance(error, UnreadRepliesError):
                self.runner.forget_replies(error.prompts)
            if not isinstance(error, OutOfBudget):
                raise
            return happened, RunEnded(reason, sum(isinstance(one, VersionAccepted) for one in happened), 0, 0)
        if ended is None:
            raise AssertionError("the run ended without saying so")
        self._ledger.end_run(self.record.id, "finished", ended.reason)
        self.runner.set_aside(ended.unread)
        return happened, ended

    def recorded(self, event: Event, at: str) -> None:
        """Act on an event that is recorded, before anybody hears of it; here nothing."""

    def interrupted(self) -> None:
        """Keep what a run that ended early has in hand; here nothing."""


def config_of(settings: Settings, identities: Sequence[str]) -> str:
    """Return all that can change a run but its text and suite, as canonical JSON."""
    return json.dumps([settings.identity, *identities])


def record_of(
    skill: Skill, suite: Suite, config: str, seed: int, *, path: str = "", start: tuple[str, str] = ("", "")
) -> RunRecord:
    """Describe a run, of which `start` is the commit and the refusals; where all is the same it is the same run."""
    base, refusals = start
    return RunRecord(
        id=digest_of(
            skill.name, skill.digest, *skill.document.trained, config, suite.digest, base, *filter(None, [refusals])
        )[:12],
        skill=skill.name,
        skill_path=path,
        config=config,
        config_digest=digest_of(config),
        suite_digest=suite.digest,
        start=encode_skill(skill),
        base=base,
        seed=seed,
        refusals=refusals,
    )
