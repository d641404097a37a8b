"""What a run gained by its events: tasks passed by the text it began with and by the newest version.

The same tasks on both sides: the held-out test where it was scored, else the gate's tasks that both were run on.
"""

from collections.abc import Iterable

from skillopt.gate.headline import (
    HELD_OUT,
    VAL,
    Headline,
    headline_of_tallies,
    headline_of_verdict,
    headline_of_versions,
)
from skillopt.loop.events import (
    DraftGraded,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    RunStarted,
    VersionAccepted,
    newest_draft,
)

__all__ = ["gained_by_draft", "gained_by_gate", "gained_by_run", "gained_on_test"]


def gained_by_run(events: Iterable[Event]) -> Headline | None:
    """Compare the text that a run began with and its newest version; None where none was accepted.

    A change by people, which has no versions, is compared with the text before it.
    """
    test, gate, accepted = None, None, list[VersionAccepted]()
    for event in events:
        match event:
            case RunStarted():
                test, gate, accepted = None, None, []
            case HeldOutTestMeasured():
                test = event
            case GateDecided():
                gate = event
            case VersionAccepted():
                accepted.append(event)
            case _:
                pass
    if test is not None:
        return gained_on_test(test)
    if not accepted:
        return gained_by_gate(gate) if gate is not None and gate.kind == "change" else None
    place = "" if gate is not None and gate.judged else VAL
    return headline_of_versions([event.verdict for event in accepted], place)


def gained_on_test(event: HeldOutTestMeasured) -> Headline:
    """Compare the two that the held-out test was scored for."""
    return headline_of_verdict(event.verdict, HELD_OUT) or headline_of_tallies(event.before, event.after, HELD_OUT)


def gained_by_gate(event: GateDecided) -> Headline | None:
    """Compare candidate and incumbent of a gate; None where it was recorded by version 0.1."""
    return headline_of_verdict(event.verdict, "" if event.judged else VAL)


def gained_by_draft(events: Iterable[Event]) -> Headline | None:
    """Compare what waits at the end with the incumbent; None where nothing waits, or it was not measured."""
    events = list(events)
    draft = newest_draft(events)
    if not isinstance(draft, DraftGraded):
        return None
    gates = [event for event in events if isinstance(event, GateDecided) and event.text == draft.text]
    return gained_by_gate(gates[-1]) if gates else None
