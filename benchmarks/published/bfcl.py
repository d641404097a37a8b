"""BFCL v4, single turn, calls in Python: the Berkeley Function Calling Leaderboard, whose wheel holds its questions.

Left out: Java and JavaScript (their answers are in another syntax), relevance (no expected call), several turns, memory
and web search (they need a simulated environment).
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.published.benchmark import Benchmark, Item, Reading
from benchmarks.published.bfcl_rules import calls_are_right, read_calls
from benchmarks.published.sources import source_of
from skillopt.tasks import Split, digest_of

__all__ = ["BFCL", "score_calls"]

_CATEGORIES: Final = (
    *("simple_python", "multiple", "parallel", "parallel_multiple"),
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
)
_DATA: Final = "bfcl_eval/data"
_SPLITS: Final = (Split.TRAIN, Split.TRAIN, Split.VAL, Split.TEST)
_TASK: Final = """\
Choose the function calls that do what the user asks for. Use only the functions listed here, by their exact names and
parameters.

Functions:
{functions}

{said}

Answer with the calls alone, as one Python list with every argument named, and nothing else:
[first.function(a=1, b="text"), second_function(c=[1, 2])]"""
_OTHER: Final = "X1"
_STEP: Final = 1017
"""Far enough from a number that the result is no other allowed value."""


def score_calls(answer: str, expected: str) -> float:
    """Pass the expected calls, by the rules of the published checker."""
    given: dict[str, Any] = json.loads(expected)
    calls = read_calls(answer)
    return float(calls is not None and calls_are_right(given["kind"], given["functions"], calls, given["answers"]))


def _read(folder: Path) -> Reading:
    return Reading(tuple(item for category in _CATEGORIES for item in _items(folder / _DATA, category)))


def _items(folder: Path, category: str) -> Iterator[Item]:
    name = f"BFCL_v4_{category}.json"
    questions, answers = (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in (folder / name, folder / "possible_answer" / name)
    )
    for question, answer in zip(questions, answers, strict=True):
        said = "\n\n".join(f"{turn['role'].capitalize()}: {turn['content']}" for turn in question["question"][0])
        functions = "\n".join(json.dumps(one, ensure_ascii=False) for one in question["function"])
        wanted = answer["ground_truth"]
        expected = {
            "kind": category,
            "functions": [_signature(one) for one in question["function"]],
            "answers": wanted,
        }
        split = _SPLITS[int(digest_of(question["id"])[:8], 16) % len(_SPLITS)]
        text = json.dumps(expected, ensure_ascii=False)
        # A few tasks allow a parameter that the function has not, or ask for an empty text.
        golds = (_written(wanted), _written(wanted, optional=False), _written(wanted, optional=False, empty=True))
        gold = next((one for one in golds if score_calls(_text(one), text)), _written(wanted))
        prompt = _TASK.format(functions=functions, said=said)
        yield Item(question["id"], split, prompt, text, _text(gold), _text(_changed(gold)), _text(gold), category)


def _signature(function: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what the checker reads: the name, the type of each parameter with that of its elements, what is required."""
    parameters = function["parameters"]
    types = {name: (one["type"], one.get("items", {}).get("type")) for name, one in parameters["properties"].items()}
    return {"name": function["name"], "types": types, "required": parameters["required"]}


_Calls = list[tuple[str, dict[str, Any]]]
_Allowed = Mapping[str, Mapping[str, list[Any]]]


def _written(answers: list[_Allowed], *, optional: bool = True, empty: bool = False) -> _Calls:
    """Take the first allowed value of each parameter; in objects each key has a list of allowed values of its own."""
    calls = []
    for answer in answers:
        name, allowed = next(iter(answer.items()))
        arguments = {}
        for key, values in allowed.items():
            some = [one for one in values if one != ""]
            if some and (optional or "" not in values):
                arguments[key] = _settled(some[0])
            elif empty and not some:
                arguments[key] = ""
        calls.append((name, arguments))
    return calls


def _changed(calls: _Calls) -> _Calls:
    """Change the first argument of the first call."""
    (name, arguments), *others = calls
    first = next(iter(arguments), "")
    return [(name, {**arguments, first: _other(arguments[first])} if first else {_OTHER: _OTHER}), *others]


def _text(calls: _Calls) -> str:
    written = (f"{name}({', '.join(f'{key}={value!r}' for key, value in own.items())})" for name, own in calls)
    return f"[{', '.join(written)}]"


def _settled(value: Any) -> Any:  # noqa: ANN401 - JSON values
    if isinstance(value, dict):
        found = {key: next((one for one in own if one != ""), "") for key, own in value.items()}
        return {key: one for key, one in found.items() if one != ""}
    if isinstance(value, list):
        return [_settled(one) for one in value]
    return value


def _other(value: object) -> object:
    match value:
        case bool():
            return None
        case int() | float():
            return value + _STEP
        case str():
            return value + _OTHER
        case list():
            return [*value, _OTHER]
        case dict():
            return {**value, _OTHER: _OTHER}
        case _:
            return _OTHER


BFCL: Final = Benchmark(source_of("bfcl"), _read, score_calls)
