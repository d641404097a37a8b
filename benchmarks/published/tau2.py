"""τ²-bench, retail and airline: a clerk with tools and a policy, and a customer that a second model plays.

Left out: tasks of which a model judges a part, and those that doing nothing passes. Half of the published train tasks,
by the digest of the id, are val.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.published.benchmark import Benchmark, Item, LeftOut, Reading, prompt_of, split_of
from benchmarks.published.sources import source_of
from benchmarks.published.tools import Customer, Program, ToolLoop, result_of
from skillopt.protocols import Model
from skillopt.tasks import Split

_SOURCE: Final = source_of("tau2")
_PROGRAM: Final = Program(_SOURCE)
_TURNS: Final = 40
_GUIDELINES: Final = "data/tau2/user_simulator/simulation_guidelines.md"
_SCENARIOS: Final[dict[str, str]] = {}
"""What the customer of each task is told, once the tasks have been read."""


def _read(folder: Path) -> Reading:
    _PROGRAM.folder = folder
    guidelines = (folder / _GUIDELINES).read_text(encoding="utf-8")
    tasks = _PROGRAM.ask(list=True)
    _SCENARIOS.update({task["id"]: f"{guidelines}\n\n{task['scenario']}" for task in tasks})
    return Reading(
        tuple(_item(task) for task in tasks if not task["problem"]),
        tuple(LeftOut(task["id"], task["problem"]) for task in tasks if task["problem"]),
    )


def _item(task: Mapping[str, Any]) -> Item:
    name, calls, last = task["id"], task["calls"], (task["writes"] or [None])[-1]
    tools = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in task["tools"])
    gold = result_of(calls, task["answer"])
    wrong = result_of([one for at, one in enumerate(calls) if at != last], "" if last is None else task["answer"])
    return Item(
        name.replace("/", "-"),
        Split.TEST if task["split"] == "test" else split_of(name, Split.TRAIN, Split.VAL),
        prompt_of("tau2", policy=task["prompt"], tools=tools, name=name),
        name,
        gold,
        wrong,
        f"the state after {gold}",
        name.partition("/")[0],
    )


def _loop(model: Model, customer: Model) -> ToolLoop:
    return ToolLoop(model, _PROGRAM, _TURNS, Customer(customer, _SCENARIOS.__getitem__))


TAU2: Final = Benchmark(_SOURCE, _read, _PROGRAM.verdict, _loop, customer=True)
