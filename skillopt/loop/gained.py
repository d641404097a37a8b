"""What a run gained by its events: tasks passed by the text it began with and by the newest version.

The same tasks on both sides: the held-out test where it was scored, else the gate's tasks that both were run on.
"""

from collections.abc import Iterable

from skillopt.figures import HELD_OUT, VAL, Headline, headline_of_verdict, headline_of_versions
from skillopt.loop.events import (
    DraftGraded,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    RunStarted,
    VersionAccepted,
    newest_draft,
)


def gained_by_run(events: Iterable[Event]) -> Headline | None:
    """Compare the text that a run began with and its newest version; None where none was accepted.

    A change by people, which has no versions, is compared with the text before it.
    """
    happened = list(events)
    begun = max((at for at, event in enumerate(happened) if isinstance(event, RunStarted)), default=0)
    tests = [event for event in happened[begun:] if isinstance(event, HeldOutTestMeasured)]
    gates = [event for event in happened[begun:] if isinstance(event, GateDecided)]
    verdicts = [event.verdict for event in happened[begun:] if isinstance(event, VersionAccepted)]
    if tests:
        return headline_of_verdict(tests[-1].verdict, HELD_OUT)
    if verdicts:
        return headline_of_versions(verdicts, "" if gates and gates[-1].folded else VAL)
    return gained_by_gate(gates[-1]) if gates and gates[-1].kind == "change" else None


def gained_by_gate(event: GateDecided) -> Headline | None:
    """Compare candidate and incumbent of a gate, as far as they were measured."""
    return headline_of_verdict(event.verdict, "" if event.folded else VAL)


def gained_by_draft(events: Iterable[Event]) -> Headline | None:
    """Compare what waits at the end with the incumbent; None where nothing waits, or it was not measured."""
    events = list(events)
    draft = newest_draft(events)
    if not isinstance(draft, DraftGraded):
        return None
    gates = [event for event in events if isinstance(event, GateDecided) and event.text == draft.text]
    return gained_by_gate(gates[-1]) if gates else None
