"""Title and text of a run's pull request, which is also its sticky comment; parts are shortened until it fits.

What a reviewer needs first comes first.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final

from skillopt.gate.headline import compared_words
from skillopt.reports.edit_tables import edits_not_taken, taken_edits
from skillopt.reports.escape_markdown import comment_marker, inline_code
from skillopt.reports.gate_words import change_outcome, is_change
from skillopt.reports.length_limits import LengthLimits
from skillopt.reports.sections import (
    cost,
    draft,
    flips,
    gates,
    guarantee,
    headline,
    held_out_test,
    judged_on,
    noise_line,
    not_learned,
    not_shown,
    reproduce,
    size_change,
)
from skillopt.reports.suspicious_rollouts import suspicious_rollouts
from skillopt.reports.view import RunView

__all__ = ["LIMIT", "length", "pull_request_body", "pull_request_title", "run_details"]

LIMIT: Final = 65_536
"""Most characters of a pull request's text.

GitHub counts code points there (measured in dead-claudia/github-limits#13; a comment may have four times as many
bytes), JavaScript clients count UTF-16 units. We count the latter, which are never fewer.
"""

_LENGTH_LIMITS: Final = (
    LengthLimits(refused=200),
    LengthLimits(refused=40),
    LengthLimits(refused=40, text=300),
    LengthLimits(refused=0, text=300),
    LengthLimits(refused=0, text=120, names=50, gates=50),
    LengthLimits(refused=0, text=60, names=10, name=60, gates=20, edits=60),
    LengthLimits(refused=0, text=40, names=3, name=30, gates=10, edits=15),
)
"""What is given up first stands first."""


def pull_request_title(view: RunView) -> str:
    """Return the title: the skill and what was gained, nothing that a model wrote."""
    name = re.sub(r"[^a-z0-9-]", "", view.skill)
    if is_change(view):
        return f"{name}: change {change_outcome(view)}"
    untested = "" if view.test is not None else ", not tested"
    if view.headline is not None:
        return f"{name}: {view.headline.passed}{untested}"
    taken = [gate.verdict for gate in view.gates if gate.version is not None]
    if taken:
        return f"{name}: val {compared_words(taken[-1], metric=view.metric)}{untested}"
    return f"{name}: no version was accepted"


def pull_request_body(view: RunView, limit: int = LIMIT) -> str:
    """Write the text of a pull request; where it is too long it is shortened part by part, and says so."""
    for text in _shorter_and_shorter(view):
        if length(text) <= limit:
            return text
    raise ValueError(f"expected a limit that leaves space for the verdict, found {limit}")


def length(text: str) -> int:
    """Count a text in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _shorter_and_shorter(view: RunView) -> Iterator[str]:
    yield _body(view, LengthLimits(), "")
    for limits in _LENGTH_LIMITS:
        cuts = [
            f"texts after {limits.text} characters" if limits.text < LengthLimits().text else "",
            f"lists of tasks after {limits.names}" if limits.names < LengthLimits().names else "",
            f"edits that were not taken {f'after {limits.refused}' if limits.refused else 'altogether'}",
        ]
        whole = (
            f"Shortened for length, cut {', '.join(filter(None, cuts))}; `skillopt report {view.run}` has all of it."
        )
        yield _body(view, limits, whole)
    rest = f"Everything else was left out for length; `skillopt report {view.run}` has all of it."
    head = [headline(view), view.caution]
    yield _joined([comment_marker(view.skill), _title(view), *head, noise_line(view), guarantee(view), rest])
    yield _joined([comment_marker(view.skill), *head, rest])


def _body(view: RunView, limits: LengthLimits, shortened: str) -> str:
    return _joined(
        [
            comment_marker(view.skill),
            _title(view),
            headline(view),
            view.caution,
            size_change(view),
            noise_line(view),
            shortened,
            "" if is_change(view) else _sections([("Edits", lambda: taken_edits(view, limits))]),
            run_details(view, limits),
        ]
    )


def run_details(view: RunView, limits: LengthLimits) -> str:
    """Write what a run's record tells beside its headline and the edits that were taken."""
    return _sections(
        [
            ("Waiting", lambda: draft(view)),
            ("Suspicious rollouts", lambda: suspicious_rollouts(view, limits.gates)),
            ("Tasks that changed sides", lambda: flips(view, limits)),
            ("Held-out test", lambda: held_out_test(view)),
            (f"Gates on {judged_on(view)}", lambda: _gates(view, limits)),
            ("Not learned", lambda: not_learned(view, limits)),
            ("Cost", lambda: cost(view)),
            ("Not taken", lambda: edits_not_taken(view, limits)),
            ("Reproduce and roll back", lambda: reproduce(view)),
            ("What the numbers do not show", lambda: not_shown(view)),
        ]
    )


def _sections(parts: Sequence[tuple[str, Callable[[], str]]]) -> str:
    found = [(title, part()) for title, part in parts]
    return "\n\n".join(chain.from_iterable((f"### {title}", text) for title, text in found if text))


def _gates(view: RunView, limits: LengthLimits) -> str:
    """Show the gates, and their error probability where the release check does not state it."""
    return gates(view, limits) + (f"\n\n{guarantee(view)}" if view.test is None and view.gates else "")


def _title(view: RunView) -> str:
    started = f", {view.started[:10]}" if view.started else ""
    return f"## {inline_code(view.skill)}: {inline_code(view.kind)} run {inline_code(view.run)}{started}"


def _joined(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
