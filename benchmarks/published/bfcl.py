"""BFCL v4, single turn, calls in Python: the Berkeley Function Calling Leaderboard, whose wheel holds its questions.

Left out: Java and JavaScript (their answers are in another syntax), relevance (no expected call), several turns, memory
and web search (they need a simulated environment). The published program reads and checks the answers.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final

from benchmarks.published.benchmark import Benchmark, Item, Reading, prompt_of, split_of
from benchmarks.published.sources import find, source_of
from skillopt.errors import InfrastructureError
from skillopt.tasks import Split

_SOURCE: Final = source_of("bfcl")

_CATEGORIES: Final = (
    *("simple_python", "multiple", "parallel", "parallel_multiple"),
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
)
_SCRIPT: Final = Path(__file__).parent / "official" / "serve.py"
_DATA: Final = "bfcl_eval/data"
_OTHER: Final = "X1"
_STEP: Final = 1017
"""Far enough from a number that the result is no other allowed value."""


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
        expected = {"kind": category, "functions": question["function"], "answers": answer["ground_truth"]}
        gold = _written(answer["ground_truth"], {one["name"]: one["parameters"] for one in question["function"]})
        yield Item(
            question["id"],
            split_of(question["id"], Split.TRAIN, Split.TRAIN, Split.VAL, Split.TEST),
            prompt_of("bfcl", functions=functions, said=said),
            json.dumps(expected, ensure_ascii=False),
            _text(gold),
            _text(_changed(gold)),
            _text(gold),
            category,
        )


_Calls = list[tuple[str, dict[str, Any]]]
_Allowed = Mapping[str, Mapping[str, list[Any]]]


def _written(answers: Sequence[_Allowed], described: Mapping[str, Mapping[str, Any]]) -> _Calls:
    """Take the first allowed value of each parameter that the function has; an empty text where it is required."""
    calls = []
    for answer in answers:
        name, allowed = next(iter(answer.items()))
        known, required = described[name]["properties"], described[name]["required"]
        first = {key: next((one for one in allowed[key] if one != ""), "") for key in allowed if key in known}
        calls.append((name, {key: _settled(one) for key, one in first.items() if one != "" or key in required}))
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


class _Program:
    """The published program, started when it is first asked, by one thread at a time; it ends with this process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[str] | None = None

    def score(self, answer: str, expected: str) -> float:
        """Return the published score of an answer."""
        with self._lock:
            if self._process is None:
                command = [sys.executable, str(_SCRIPT), str(find(_SOURCE))]
                self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            given, said = self._process.stdin, self._process.stdout
            if given is None or said is None or self._process.poll() is not None:
                raise InfrastructureError(f"the program of {_SOURCE.name} ended; its message stands above")
            given.write(json.dumps([answer, expected]) + "\n")
            given.flush()
            return float(json.loads(said.readline() or "0"))


BFCL: Final = Benchmark(_SOURCE, _read, _Program().score)
