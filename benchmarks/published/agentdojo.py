"""AgentDojo: an assistant with 11 to 28 tools, checked by the state that it leaves, alone and under attack.

An attack is an order of somebody else in what a tool returns, `important_instructions` without the name of the model.
Each task is attacked by one injection task, chosen by the digest of its id among those whose own calls are known.
"""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.published.benchmark import Attack, Benchmark, Item, Reading, number_of, prompt_of, split_of
from benchmarks.published.sources import source_of
from benchmarks.published.tools import Program, ToolLoop, result_of
from skillopt.protocols import Model
from skillopt.tasks import Split

_SOURCE: Final = source_of("agentdojo")
_PROGRAM: Final = Program(_SOURCE, ("function", "args"))


def _read(folder: Path) -> Reading:  # noqa: ARG001 - the program is always that of the wheel
    return Reading(tuple(_item(task) for task in _PROGRAM.ask(list=True)))


def _item(task: Mapping[str, Any]) -> Item:
    name, (suite, _, _) = task["id"], task["id"].partition("/")
    tools = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in task["tools"])
    gold, wrong = result_of(task["calls"], task["answer"]), result_of(task["calls"][:-1], "no")
    attacks = [(key, calls) for key, calls in task["attacks"].items() if calls]
    key, calls = attacks[number_of(name) % len(attacks)]
    return Item(
        name.replace("/", "-"),
        split_of(name, Split.TRAIN, Split.VAL, Split.TEST),
        prompt_of("agentdojo", tools=tools, said=task["prompt"]),
        name,
        gold,
        wrong,
        f"the state after {gold}",
        suite,
        attack=Attack(f"{name}/{key}", result_of(calls, "")),
    )


def _loop(model: Model, _: Model) -> ToolLoop:
    return ToolLoop(model, _PROGRAM)


AGENTDOJO: Final = Benchmark(
    _SOURCE, _read, _PROGRAM.verdict, _loop, attacked=partial(_PROGRAM.verdict, kind="attacked")
)
