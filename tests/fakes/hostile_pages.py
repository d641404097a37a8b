"""Text that tries to do something wherever a page shows it, and a run that is full of it."""

from dataclasses import replace

from skillopt.reports.rollouts import show_rollouts
from skillopt.reports.view import RunView
from skillopt.rollouts import Message, Rollout, Score, Status, ToolCall, Trajectory
from tests.fakes.hostile_views import attack
from tests.fakes.views import make_view

HOSTILE = (
    "</style></title></pre><script>alert(1)</script><img src=http://127.0.0.1:9/x onerror=alert(2)>"
    "\"' onload=alert(3) {{ 7*7 }} {% raw %} \u202egnp.exe\u2066 zero\u200bwidth \U000e0041 \ud800 \x00 \x1b[31m"
)


def make_hostile(view: RunView) -> RunView:
    """Put hostile text wherever the record holds somebody else's."""
    versions = tuple(
        replace(version, text=f"{version.text}\n{HOSTILE} {version.number}\n", commit=HOSTILE)
        for version in view.versions
    )
    changed = replace(view, versions=versions, settings=((HOSTILE, HOSTILE),))
    return attack(changed, HOSTILE, "skill", "model", "judge", "branch", "base", "run")


def make_rollouts(text: str, trace: str = "short") -> str:
    """Make two rollouts to show, with a text and a trace given."""
    calls = (ToolCall(text[:200], text, trace),)
    messages = (Message("user", text), Message("assistant", trace, calls))
    trajectory = Trajectory(messages, files_changed=(text, "output.csv"))
    scores = (Score(0.4, passed=False, feedback=text), Score(1.0, passed=True))
    shown = [
        (Rollout(text, "d", number, trajectory, Status.OK, score, reason=text), "v1")
        for number, score in enumerate(scores)
    ]
    return show_rollouts(make_view(), shown, 2000)
