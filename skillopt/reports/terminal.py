"""A run as lines for a terminal: progress, best score so far, funnel, verdicts with reasons, spending against caps.

Lines fit into a width. Texts from elsewhere cannot steer the terminal: hidden characters are shown as code points.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size

from skillopt.gate.grade_words import grade_words
from skillopt.gate.headline import compared_words, metric_label, tally_words
from skillopt.reports.run_report import gate_outcome, is_change
from skillopt.reports.view import DraftView, GateView, RunView
from skillopt.rollouts import Usage
from skillopt.safety.escaping import escape_hidden
from skillopt.safety.plurals import count_noun

__all__ = ["render_terminal"]

_BARS: Final = "▁▂▃▄▅▆▇█"
_LEAST: Final = 20
_LABEL: Final = 10
_GATES: Final = 5


def render_terminal(view: RunView, width: int = 80) -> str:
    """Draw the run as it is now."""
    width = max(width, _LEAST)
    lines = [
        *_head(view, width),
        *_score(view, width),
        *(() if is_change(view) else _edits(view, width)),
        *_gates(view, width),
        *_spend(view, width),
    ]
    return "\n".join(_cut(line, width) for line in lines)


def _head(view: RunView, width: int) -> Iterator[str]:
    done = max((step.number for step in view.steps), default=0)
    yield f"{view.skill} {view.run}"
    yield _row("state", f"{view.kind}, {view.state}")
    if view.caution:
        yield from _wrapped("caution", view.caution, width)
    if view.steps_planned:
        yield _row("progress", f"{_meter(done / view.steps_planned, width)} step {done} of {view.steps_planned}")
    elif done:
        yield _row("progress", f"step {done}")
    if view.reason:
        yield from _wrapped("ended", view.reason, width)


def _score(view: RunView, width: int) -> Iterator[str]:
    if view.baseline is not None:
        yield from _wrapped("baseline", f"val, {tally_words(view.baseline.tally)}", width)
    if view.headline is not None:
        yield from _wrapped("gained", view.headline.words, width)
    elif view.accepted:
        best = view.versions[-1]
        yield _row("best", f"val, {metric_label(view.metric)} {best.score or 0.0:.3f}, version {best.number}")
    if view.draft is not None:
        yield from _draft(view.draft, width)
    if len(view.curve) > 1:
        yield _row("so far", _curve([point.best for point in view.curve], width - _LABEL))
    if view.test is not None:
        yield from _wrapped("test", f"{view.test.verdict.outcome.value}, {view.test.verdict.reason}", width)
    elif view.test_withheld:
        yield from _wrapped("test", f"withheld: {view.test_withheld}", width)


def _draft(draft: DraftView, width: int) -> Iterator[str]:
    passed = f"{draft.headline.words}, " if draft.headline else ""
    yield from _wrapped("draft", f"{passed}{grade_words(draft.grading)}", width)
    for mark in draft.marks:
        yield from _wrapped("", f"a person must look at it first: {mark}", width)


def _edits(view: RunView, width: int) -> Iterator[str]:
    funnel = view.funnel
    stages = (
        ("proposed", funnel.proposed),
        ("tested", funnel.tested),
        ("kept", funnel.kept),
        ("at a gate", funnel.gated),
        ("accepted", funnel.accepted),
    )
    for number, (name, count) in enumerate(stages):
        share = count / funnel.proposed if funnel.proposed else 0.0
        yield _row("" if number else "edits", f"{count:>6,} {name:<12}{_bar(share, max(0, width - _LABEL - 20))}")


def _gates(view: RunView, width: int) -> Iterator[str]:
    for number, gate in enumerate(view.gates[-_GATES:]):
        yield from _wrapped("" if number else "gates", _gate(gate, view.metric), width)
    if view.gates:
        yield from _wrapped("", view.gates[-1].verdict.reason, width)
    if view.siblings:
        yield from _wrapped("siblings", view.siblings[-1], width)
    if view.set_aside:
        yield from _wrapped("set aside", f"failed under every patch: {', '.join(view.set_aside)}", width)
    if view.skipped:
        last = view.skipped[-1]
        yield from _wrapped(
            "skipped", f"{count_noun(len(view.skipped), 'prompt')} without an answer, the last: {last.reason}", width
        )
    failures = [step for step in view.steps if step.failure]
    if failures and view.state in ("running", "failed"):
        yield from _wrapped("last step", f"step {failures[-1].number}: {failures[-1].failure}", width)


def _gate(gate: GateView, metric: str) -> str:
    verdict = gate.verdict
    what = count_noun(len(gate.edits), "edit") if gate.edits else gate.kind
    return (
        f"{gate_outcome(gate)}: {what}{f', step {gate.step}' if gate.step else ''}: "
        f"{compared_words(verdict, metric=metric)}, {verdict.wins}/{verdict.ties}/{verdict.losses} better/equal/worse"
    )


def _spend(view: RunView, width: int) -> Iterator[str]:
    for number, (role, usage) in enumerate(view.spend.items()):
        yield from _wrapped("" if number else "spent", f"{role}: {_used(usage)}", width)
    spent, limits = Usage.total(view.spend.values()), view.limits
    rollouts, calls = (max(one.asked or 0, one.paid) for one in (view.rollouts, view.calls))
    caps: Sequence[tuple[str, float, float, str]] = (
        ("rollouts", rollouts, limits.rollouts, ",.0f"),
        ("calls", calls, limits.calls, ",.0f"),
        ("tokens", spent.input_tokens + spent.output_tokens, limits.tokens, ",.0f"),
        ("dollars", spent.usd or 0.0, limits.usd, ",.2f"),
    )
    for name, used, cap, shown in caps:
        if cap:
            yield _row(name, f"{_meter(used / cap, width)} {used:{shown}} of {cap:{shown}}")


def _used(usage: Usage) -> str:
    price = "price unknown" if usage.usd is None else f"${usage.usd:,.2f}"
    return f"{usage.calls:,} calls, {usage.input_tokens + usage.output_tokens:,} tokens, {price}"


def _row(label: str, text: str) -> str:
    return f"{label:<{_LABEL}}{text}"


def _wrapped(label: str, text: str, width: int) -> Iterator[str]:
    """Break a text at its blanks; a row for each line, three at most."""
    lines, line = [], ""
    for word in escape_hidden(text).split():
        if line and cell_len(f"{line} {word}") > width - _LABEL:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    lines = [*lines, line]
    if len(lines) > 3:  # noqa: PLR2004 - as the docstring says
        lines = [*lines[:2], f"{lines[2]} …"]
    yield from (_row("" if number else label, shown) for number, shown in enumerate(lines))


def _meter(share: float, width: int) -> str:
    return f"[{_bar(share, max(4, width // 4))}]"


def _bar(share: float, cells: int) -> str:
    full = round(max(0.0, min(1.0, share)) * cells)
    return "█" * full + "░" * (cells - full)


def _curve(scores: Sequence[float], cells: int) -> str:
    """Draw the newest scores that fit, from the least to the greatest."""
    shown = scores[-max(4, cells - 16) :]
    low, high = min(shown), max(shown)
    steps = (round((score - low) / (high - low) * (len(_BARS) - 1)) if high > low else 0 for score in shown)
    return f"{low:.3f} {''.join(_BARS[step] for step in steps)} {high:.3f}"


def _cut(line: str, width: int) -> str:
    """Keep a line within the width, counting wide characters twice; nothing in it steers the terminal."""
    flat = " ".join(_lines(escape_hidden(line)))
    return flat if cell_len(flat) <= width else f"{set_cell_size(flat, width - 1)}…"


def _lines(text: str) -> Iterable[str]:
    return text.replace("\t", " ").replace("\r", "\n").split("\n")
