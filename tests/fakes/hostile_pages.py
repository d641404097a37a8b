"""Text that tries to do something wherever it is shown, and a run that is full of it."""

from dataclasses import replace

from skillopt.loop.events import PromptSkipped
from skillopt.reports.view import RunView

__all__ = ["HOSTILE", "make_hostile"]

HOSTILE = (
    "</style></title></pre><script>alert(1)</script><img src=http://127.0.0.1:9/x onerror=alert(2)>"
    "\"' onload=alert(3) {{ 7*7 }} {% raw %} \u202egnp.exe\u2066 zero\u200bwidth \U000e0041 \ud800 \x00 \x1b[31m"
)


def make_hostile(view: RunView) -> RunView:
    """Put hostile text wherever the record holds somebody else's."""
    edits = tuple(
        replace(
            edit,
            before=edit.before and HOSTILE,
            after=HOSTILE,
            rationale=HOSTILE,
            reason=HOSTILE,
            section=HOSTILE,
            tasks=(HOSTILE,),
        )
        for edit in view.edits
    )
    versions = tuple(
        replace(version, text=f"{version.text}\n{HOSTILE} {version.number}\n", commit=HOSTILE)
        for version in view.versions
    )
    verdict = replace(view.gates[0].verdict, reason=HOSTILE, broken=(HOSTILE,))
    gates = tuple(replace(gate, verdict=verdict) for gate in view.gates)
    heat = tuple(replace(row, task=HOSTILE) for row in view.heat)
    steps = tuple(replace(step, failure=HOSTILE) for step in view.steps)
    named = dict.fromkeys(("skill", "reason", "suite", "target", "model", "judge", "branch", "base", "run"), HOSTILE)
    changed = replace(
        view, edits=edits, versions=versions, gates=gates, heat=heat, steps=steps, settings=((HOSTILE, HOSTILE),)
    )
    changed = replace(changed, set_aside=(HOSTILE,), skipped=(PromptSkipped(1, HOSTILE, (HOSTILE,)),))
    return replace(changed, **named)  # type: ignore[arg-type]  # all are texts
