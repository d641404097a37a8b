"""The view of a run as JSON, every field under its own name (listed in docs/reports.md).

`format` rises when a field changes its meaning.
"""

import json
from dataclasses import asdict

from skillopt.reports.view import RunView
from skillopt.rollouts import readable
from skillopt.safety.escaping import escape_json

__all__ = ["render_json"]


def render_json(view: RunView) -> str:
    """Return the whole view as JSON, with what follows from it: each cell's state and each gain."""
    fields = asdict(view)
    fields["verdict"] = view.verdict
    fields["headline"] = None if view.headline is None else asdict(view.headline) | {"words": view.headline.words}
    for name, asked in (("rollouts", view.rollouts), ("calls", view.calls)):
        fields[name]["replayed"] = asked.replayed
    for row, shown in zip(view.heat, fields["heat"], strict=True):
        for cell, written in zip(row.cells, shown["cells"], strict=True):
            written["state"] = cell.state
    for gate, shown in zip(view.gates, fields["gates"], strict=True):
        chosen = gate.version is not None
        shown["verdict"] |= {"gain": gate.verdict.gain, "expected": gate.verdict.expected if chosen else None}
    if view.test is not None:
        fields["test"]["verdict"] |= {"gain": view.test.verdict.gain, "expected": None}
    return escape_json(readable(json.dumps(fields, ensure_ascii=False, indent=2)))
