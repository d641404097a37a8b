"""A run as Markdown: the verdicts, the versions with their edits, what was refused.

Owns the words and the escaping: text from models and tasks is shown as code, so that it cannot
forge markup. Does not own what is recorded (ledger).
"""

import re
from collections.abc import Iterable, Sequence

from skillopt.edits import Change
from skillopt.events import (
    BaselineMeasured,
    EditRefused,
    EditScreened,
    Event,
    GateDecided,
    RunEnded,
    SealedTestMeasured,
    StepFailed,
    VerifierSuspected,
    VersionAccepted,
)
from skillopt.gate import Tally, Verdict

__all__ = ["code", "render_report"]


def code(text: str) -> str:
    """Show untrusted text as inline code that it cannot leave.

    >>> print(code("a `b` <c>"))
    ``a `b` <c>``
    """
    flat = " ".join(text.split())
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"


def render_report(skill: str, run: str, events: Sequence[Event]) -> str:
    """Render a run.

    Args:
        skill: Name of the skill.
        run: Id of the run.
        events: Its events in order.
    """
    parts = [f"# {skill}: run {run}", _headline(events), *_baseline(events), "## Versions", *_versions(events)]
    parts += ["## Every gate", _gates(events), *_suspects(events), "## Not kept", *_refusals(events)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _headline(events: Iterable[Event]) -> str:
    lines = []
    for event in events:
        if isinstance(event, SealedTestMeasured):
            lines.append(f"Sealed test: {_scores(event.before)} → {_scores(event.after)}; {_verdict(event.verdict)}.")
        if isinstance(event, RunEnded):
            lines.append(
                f"{event.accepted} versions accepted; {event.rollouts} rollouts and {event.calls} optimizer calls; "
                f"ended: {event.reason}."
            )
    return "\n\n".join(lines) or "The run is not over."


def _baseline(events: Iterable[Event]) -> list[str]:
    for event in events:
        if isinstance(event, BaselineMeasured):
            noise = "" if event.noise is None else f"; two measurements of one skill differ by ± {event.noise:.3f} (SE)"
            return [f"Validation before training: {_scores(event.tally)}{noise}."]
    return []


def _versions(events: Iterable[Event]) -> list[str]:
    parts = []
    for event in events:
        if isinstance(event, VersionAccepted):
            parts.append(f"### Version {event.number}, step {event.step} ({event.kind})\n\n{_verdict(event.verdict)}.")
            parts += [_change(change) for change in event.changes]
    return parts or ["None was accepted."]


def _change(change: Change) -> str:
    tasks = f" (tasks {', '.join(map(code, change.edit.tasks))})" if change.edit.tasks else ""
    reason = code(change.edit.rationale) if change.edit.rationale else "no reason given"
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", change.diff)), 3)
    return f"- {reason}{tasks}, about {change.tokens} tokens\n\n{fence}diff\n{change.diff}\n{fence}"


def _gates(events: Iterable[Event]) -> str:
    rows = ["| step | candidate | verdict | before | after | better / equal / worse | confidence |", "|" + "---|" * 7]
    for event in events:
        if isinstance(event, GateDecided):
            verdict = event.verdict
            kind = f"{len(event.changes)} edits" if event.changes else event.kind
            rows.append(
                f"| {event.step} | {kind} | {verdict.outcome.value} | {verdict.before:.3f} | {verdict.after:.3f} "
                f"| {verdict.wins} / {verdict.ties} / {verdict.losses} | {verdict.confidence:.2f} |"
            )
    return "\n".join(rows)


def _suspects(events: Iterable[Event]) -> list[str]:
    lines = [
        f"- step {event.step}: {code(event.task)}, {'set aside' if event.set_aside else 'still trained on'}: "
        f"{code(event.reason)} ({event.by})"
        for event in events
        if isinstance(event, VerifierSuspected)
    ]
    return ["## Tasks whose verifier to check", "\n".join(lines)] if lines else []


def _refusals(events: Iterable[Event]) -> list[str]:
    lines = []
    for event in events:
        if isinstance(event, EditRefused) or (isinstance(event, EditScreened) and not event.kept):
            lines.append(f"- step {event.step}: {code(event.edit.summary)}: {code(event.reason)}")
        elif isinstance(event, StepFailed):
            lines.append(f"- step {event.step}: {event.stage}: {code(event.reason)}")
    return ["\n".join(lines) or "Every proposed edit reached the gate."]


def _scores(tally: Tally) -> str:
    missing = f", {tally.missing} not measured" if tally.missing else ""
    return f"score {tally.score:.3f}, {tally.passed:.0%} of {tally.measured} tasks passed{missing}"


def _verdict(verdict: Verdict) -> str:
    broken = f"; no longer passing: {', '.join(map(code, verdict.broken))}" if verdict.broken else ""
    return (
        f"{verdict.outcome.value}: {verdict.before:.3f} → {verdict.after:.3f} ({verdict.gain:+.3f}), "
        f"{verdict.wins} better, {verdict.ties} equal, {verdict.losses} worse, "
        f"confidence {verdict.confidence:.3f}{broken}"
    )
