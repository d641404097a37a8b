"""The view of a run as JSON: every field under its own name, `format` rising when one changes its meaning.

Owns the form. Does not own the fields (record; docs/reports.md lists them).
"""

import json
from dataclasses import asdict

from skillopt.reports.view import RunView
from skillopt.rollouts import readable

__all__ = ["render"]


def render(view: RunView) -> str:
    """Give the whole view as JSON, with what follows from it: each cell's state and each gain."""
    told = asdict(view)
    told["verdict"] = view.verdict
    for name, asked in (("rollouts", view.rollouts), ("calls", view.calls)):
        told[name]["replayed"] = asked.replayed
    for row, shown in zip(view.heat, told["heat"], strict=True):
        for cell, written in zip(row.cells, shown["cells"], strict=True):
            written["state"] = cell.state
    for gate, shown in zip(view.gates, told["gates"], strict=True):
        chosen = gate.version is not None
        shown["verdict"] |= {"gain": gate.verdict.gain, "expected": gate.verdict.expected if chosen else None}
    if view.test is not None:
        told["test"]["verdict"] |= {"gain": view.test.verdict.gain, "expected": None}
    return readable(json.dumps(told, ensure_ascii=False, indent=2))
