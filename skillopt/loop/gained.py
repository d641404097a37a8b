"""What a run gained by its events: tasks passed by the text it began with and by the newest version.

The same tasks on both sides: the held-out test where it was scored, else the gate's tasks that both were run on.
"""

from collections import Counter
from collections.abc import Iterable

from skillopt.gate.headline import VAL, Headline, headline_of_verdict, headline_of_versions
from skillopt.loop.events import (
    DraftGraded,
    EditRefused,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    RunEnded,
    RunStarted,
    StepFailed,
    TasksSetAside,
    TrainMeasured,
    VersionAccepted,
    newest_draft,
)
from skillopt.safety.plurals import count_noun


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
        return tests[-1].headline
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


def why_nothing(events: Iterable[Event]) -> str:
    """Return why a run accepted nothing, by how far its edits came; empty where something was accepted."""
    happened = list(events)
    if any(isinstance(event, VersionAccepted) for event in happened):
        return ""
    gates = [event for event in happened if isinstance(event, GateDecided)]
    draft = newest_draft(happened)
    if draft is not None and all(gate.text != draft.text for gate in gates):
        capped = any(isinstance(event, RunEnded) and event.capped for event in happened[-1:])
        edits = count_noun(len(draft.changes), "edit")
        return f"the draft of {edits} was not gated{': the cap left no rollouts for it' if capped else ''}"
    if gates:
        held = {event.stage: event.reason for event in happened if isinstance(event, StepFailed)}
        stage = "gate" if gates[-1].verdict.accepted else ""
        if reason := held.get("further harness") or held.get(stage):
            return reason
        found, verdict = gained_by_gate(gates[-1]), gates[-1].verdict
        return f"the gate did not accept the draft: {found.words if found else verdict.reason}"
    trained = [event.tally for event in happened if isinstance(event, TrainMeasured)]
    if trained and all(tally.passed == 1.0 for tally in trained):
        return "every train task passes already; add tasks that fail"
    left = [str(event) for event in happened if isinstance(event, TasksSetAside)]
    refused = Counter(event.reason for event in happened if isinstance(event, EditRefused)).most_common(1)
    return (left or [f"all edits were refused, most often because {one}" for one, _ in refused] or ["no edit helped"])[
        -1
    ]
