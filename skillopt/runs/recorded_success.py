"""What earlier runs recorded of a suite's tasks and of an optimizer model, as a forecast can use it."""

import json
from collections.abc import Mapping
from typing import Final, Literal, get_args

from skillopt.loop.events import EditScreened, PatchTested, decode_event
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.tasks import Suite

__all__ = ["Part", "recorded_edits", "recorded_rates", "training_runs_of"]

Part = Literal["target", "optimizer", "judge"]
"""What a driver does in a training, in the order in which a run's configuration lists them."""

_PARTS: Final[tuple[Part, ...]] = get_args(Part)

_READ = frozenset({EditScreened.__name__, PatchTested.__name__})


def recorded_rates(ledger: Ledger, skill_digest: str, identity: str, suite: Suite) -> Mapping[str, tuple[int, int]]:
    """Return by task id how many recorded runs of a skill passed, of how many; tasks never run are left out."""
    names = {task.id for _, task in suite.splits}
    found: dict[str, tuple[int, int]] = {}
    for row in ledger.results([skill_digest], identity):
        if row.task in names:
            passed, runs = found.get(row.task, (0, 0))
            found[row.task] = (passed + row.passed, runs + 1)
    return found


def training_runs_of(ledger: Ledger, part: Part, identity: str) -> list[RunRecord]:
    """List the training runs in which a driver had a part, newest first."""
    place = 1 + _PARTS.index(part)  # before the drivers come the settings
    return [
        run
        for run in ledger.runs()
        if run.kind == "training" and json.loads(run.config)[place : place + 1] == [identity]
    ]


def recorded_edits(ledger: Ledger, model_identity: str) -> tuple[int, int]:
    """Count the edits of an optimizer model that lasted in training, and those that were tested."""
    lasted = tested = 0
    for run in training_runs_of(ledger, "optimizer", model_identity):
        kept, seen = set[str](), set[str]()
        for row in ledger.events(run.id):
            event = decode_event(row.kind, row.payload) if row.kind in _READ else None
            match event:
                case PatchTested():
                    seen |= {edit.id for edit in event.edits}
                case EditScreened():
                    (kept.add if event.kept else kept.discard)(event.edit.id)
                case _:
                    pass
        lasted, tested = lasted + len(kept & seen), tested + len(seen)
    return lasted, tested
