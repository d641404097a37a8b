"""Each event as one line for whoever follows a run.

No word of `val` or `test` is in a line, because agents that propose edits may follow too. What comes of one reflection
is numbered by it, as the ids of its edits are; a step can have several.
"""

from collections import Counter
from collections.abc import Sequence
from functools import singledispatch

from skillopt.gate.grade_words import grade_words
from skillopt.gate.headline import VAL, compared_words, passed_words, tally_words
from skillopt.loop.events import (
    BaselineMeasured,
    CapsRaised,
    DraftChanged,
    DraftGraded,
    EditRefused,
    EditScreened,
    EditsGrounded,
    EditUnreadable,
    EpochEnded,
    Event,
    FailuresNamed,
    GateDecided,
    HeldOutTestMeasured,
    PatchesCompared,
    PatchTested,
    PromptSkipped,
    ReleaseCheckWithheld,
    RunStarted,
    SiblingMeasured,
    StepFailed,
    TasksSetAside,
    TrainMeasured,
    VerifierSuspected,
    VersionAccepted,
)
from skillopt.loop.gained import gained_on_test
from skillopt.loop.siblings import sibling_words
from skillopt.safety.plurals import count_noun

__all__ = ["describe", "outcome_words"]

_MOST_NAMES = 6
_LONGEST_REASON = 200


@singledispatch
def describe(event: Event) -> str:  # noqa: ARG001 - most events are too small to tell
    """Say an event in one line; empty for those too small to tell."""
    return ""


@describe.register
def _(event: RunStarted) -> str:
    most = f": at most {count_noun(event.steps, 'step')}" if event.steps else ""
    return f"{event.skill} on suite {event.suite}{most}"


@describe.register
def _(event: CapsRaised) -> str:
    caps = {"rollouts": event.max_rollouts, "calls": event.max_calls, "tokens": event.max_tokens}
    words = [f"{cap:,} {name}" for name, cap in caps.items() if cap]
    words += [f"${event.max_usd:g}"] if event.max_usd else []
    return f"goes on under higher caps: {', '.join(words) or 'none'}"


@describe.register
def _(event: BaselineMeasured) -> str:
    noise = f"; measured twice it differs by {event.noise:.3f} (standard error)" if event.noise is not None else ""
    least = "no gain" if event.least_gain is None else f"{event.least_gain:.0%} more tasks passed"
    return f"baseline: {tally_words(event.tally, VAL)}{noise}; the least gain that a gate can prove: {least}"


@describe.register
def _(event: TrainMeasured) -> str:
    passed = passed_words(event.tally.passed * event.tally.measured, event.tally.measured)
    return f"step {event.step}: {passed} train tasks pass"


@describe.register
def _(event: FailuresNamed) -> str:
    counts = Counter(kind for _, kind in event.tasks).most_common()
    return (
        f"reflection {event.step}: failures: {', '.join(f'{count} {kind}' for kind, count in counts)}" if counts else ""
    )


@describe.register
def _(event: VerifierSuspected) -> str:
    then = "set aside for this run" if event.set_aside else "still trained on"
    return f"step {event.step}: check the verifier of task {event.task}, {then}: {event.reason} ({event.by})"


@describe.register
def _(event: EditsGrounded) -> str:
    return f"reflection {event.step}: {count_noun(len(event.numbers), 'edit')} proposed"


@describe.register
def _(event: PatchesCompared) -> str:
    names = ", ".join(name for name, _ in sorted(event.advantages, key=lambda pair: -pair[1]))
    patches = count_noun(len(event.advantages), "patch", "patches")
    return f"reflection {event.step}: {patches} compared, best first: {names}"


@describe.register
def _(event: PromptSkipped) -> str:
    tasks = f"{count_noun(len(event.tasks), 'task')} ({_names(event.tasks)})"
    return f"reflection {event.step}: no proposal for {tasks}: {_cut(event.reason)}"


@describe.register
def _(event: EditUnreadable) -> str:
    return f"reflection {event.step}: left out a part of a reply: {_cut(event.reason)}: {_cut(event.text)}"


@describe.register
def _(event: EditRefused) -> str:
    return f"step {event.step}: left out {event.edit.id}, {_cut(event.edit.summary)}: {_cut(event.reason)}"


@describe.register
def _(event: PatchTested) -> str:
    moved = f"{len(event.passed)} pass, {len(event.moved)} pass or fail otherwise"
    moved += f" ({_names(event.moved)})" if event.moved else ""
    tried = f"{count_noun(len(event.edits), 'edit')} together on {count_noun(len(event.tasks), 'failing task')}"
    return f"step {event.step}: tried {tried}: {moved}"


@describe.register
def _(event: EditScreened) -> str:
    scores = ""
    if event.before is not None:
        with_it = "" if event.after is None else f", {event.after:.2f} with it"
        scores = f" (score {event.before:.2f} without it{with_it})"
    edit = f"{event.edit.id}, {_cut(event.edit.summary)}"
    return f"step {event.step}: {'kept' if event.kept else 'dropped'} {edit}: {event.reason}{scores}"


@describe.register
def _(event: DraftChanged) -> str:
    if not event.changes:
        return f"step {event.step}: no edit waits any more"
    return f"step {event.step}: {count_noun(len(event.changes), 'edit')} in the draft"


@describe.register
def _(event: TasksSetAside) -> str:
    return f"set aside, because they failed under every patch: {_names(event.tasks)}" if event.tasks else ""


@describe.register
def _(event: GateDecided) -> str:
    what = count_noun(len(event.changes), "edit") if event.changes else event.kind
    verdict = event.verdict
    place = f"step {event.step}: " if event.step else ""
    counts = f"{verdict.wins} better / {verdict.ties} equal / {verdict.losses} worse"
    words = compared_words(verdict, "" if event.judged else VAL)
    return f"{place}{what}: {outcome_words(event)}: {words}, {counts}: {_cut(verdict.reason)}"


@describe.register
def _(event: VersionAccepted) -> str:
    grade = "" if event.grading is None else f", {grade_words(event.grading)}"
    return f"step {event.step}: version {event.number} committed{grade}"


@describe.register
def _(event: DraftGraded) -> str:
    return f"the draft, {count_noun(len(event.changes), 'edit')}, is {grade_words(event.grading)}"


@describe.register
def _(event: SiblingMeasured) -> str:
    return f"step {event.step}: {sibling_words(event)}"


@describe.register
def _(event: StepFailed) -> str:
    return f"step {event.step}: {event.stage}: {event.reason}"


@describe.register
def _(event: EpochEnded) -> str:
    return f"epoch {event.epoch} over: {event.accepted} accepted"


@describe.register
def _(event: HeldOutTestMeasured) -> str:
    return f"held-out test, look {event.look}: {gained_on_test(event).words}, {event.verdict.outcome.value}"


@describe.register
def _(event: ReleaseCheckWithheld) -> str:
    return f"held-out test withheld: {event.reason}"


def outcome_words(event: GateDecided) -> str:
    """Outcome of a gate in a word or two; a change by people passes, is refused, or the gate cannot tell."""
    if event.kind != "change":
        return event.verdict.outcome.value
    return {True: "passed", False: "refused", None: "cannot tell"}[event.passed]


def _names(tasks: Sequence[str]) -> str:
    """List the first tasks by id."""
    return ", ".join(tasks[:_MOST_NAMES]) + (", …" if len(tasks) > _MOST_NAMES else "")


def _cut(reason: str) -> str:
    """Return a reason on one line: one that quotes edits can be as long as they are."""
    line = " ".join(reason.split())
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]} …"
