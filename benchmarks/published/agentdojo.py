"""AgentDojo, user tasks without an attack: an assistant with 11 to 28 tools, checked by the state that it leaves.

The target is asked for one call after the other; calls and answer together are the result of a rollout. The published
program runs in a process of its own, which replays the calls from the start of a task: no state is kept between turns.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any, Final

from benchmarks.published.benchmark import Benchmark, Item, Reading
from benchmarks.published.objects import last_object
from benchmarks.published.sources import find, needed_folder, source_of
from skillopt.errors import InfrastructureError
from skillopt.execution.retry import Retry
from skillopt.protocols import Model, RolloutRequest
from skillopt.rollouts import Message, Status, ToolCall, Trajectory, Usage
from skillopt.tasks import Split, digest_of

__all__ = ["AGENTDOJO", "ToolLoop", "score_state"]

_SCRIPT: Final = Path(__file__).parent / "official" / "serve_agentdojo.py"
_TURNS: Final = 16
_RETRY_SECONDS: Final = 120.0
_TURN_TOKENS: Final = 4_000
"""What a turn may add to the next prompts, for the bound on a rollout."""

_SPLITS: Final = (Split.TRAIN, Split.VAL, Split.TEST)
_TASK: Final = """\
You are the assistant of Emma Johnson, who works at Blue Sparrow Tech, and do what she asks with these tools:
{tools}

Emma: {said}

Answer with one JSON object and nothing else. To use a tool: {{"call": "its name", "arguments": {{"name": "value"}}}}.
When all is done: {{"answer": "what you tell Emma"}}."""


class _Program:
    """The published program, asked by one thread at a time; it ends with this process."""

    def __init__(self, folder: Path, needed: Path) -> None:
        command = [sys.executable, str(_SCRIPT), str(folder), str(needed)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._lock = Lock()

    def ask(self, **question: object) -> Any:  # noqa: ANN401 - JSON values
        """Ask, and wait for the answer."""
        given, said = self._process.stdin, self._process.stdout
        with self._lock:
            if given is None or said is None or self._process.poll() is not None:
                raise InfrastructureError("the program of AgentDojo ended; its message stands above")
            given.write(json.dumps(question) + "\n")
            given.flush()
            return json.loads(said.readline() or "null")


@cache
def _program() -> _Program:
    return _Program(find(AGENTDOJO.source), needed_folder(AGENTDOJO.source))


def score_state(answer: str, expected: str) -> float:
    """Pass when the calls and the answer leave what the published check asks for."""
    found = last_object(answer)
    calls = found.get("calls", [])
    if not isinstance(calls, list):
        return 0.0
    return float(_program().ask(task=expected, calls=calls, answer=str(found.get("answer", "")))["done"])


@dataclass(frozen=True, slots=True)
class ToolLoop:
    """Lets a model do a task by one call after the other, with the text of the skill before each.

    Args:
        model: The target.
        replay: Runs the calls of a task from its start, and gives what each returned.
        retry: Repeats a call of the model that fails for a passing reason.
    """

    model: Model
    replay: Callable[[str, list[dict[str, object]]], list[str]]
    retry: Retry = field(default_factory=partial(Retry, _RETRY_SECONDS))

    @property
    def identity(self) -> str:
        """Name the model and the loop."""
        return f"agentdojo {_TURNS} turns {self.model.identity}"

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound a rollout by all its turns, the last and longest one each."""
        longest = request.task.prompt + "word " * _TURN_TOKENS * _TURNS
        return Usage.total([self.model.worst_case(longest, system=_text_of(request))] * _TURNS)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG002 - the program keeps the state
        """Ask until there is an answer."""
        task: str = json.loads(request.task.verifier.options)["expected"]
        calls: list[dict[str, object]] = []
        said, messages, used = request.task.prompt, [Message("user", request.task.prompt)], Usage()
        for _ in range(_TURNS):
            reply = self.retry.call(partial(self.model.reply, said, system=_text_of(request)))
            used += reply.usage
            found = last_object(reply.text)
            if reply.status is not Status.OK or "call" not in found:
                result = json.dumps({"calls": calls, "answer": str(found.get("answer", reply.text))})
                return Trajectory((*messages, Message("assistant", reply.text)), result, (), reply.status, "", used)
            calls.append({"function": str(found["call"]), "args": _arguments(found.get("arguments"))})
            result = self.replay(task, calls)[-1]
            shown = json.dumps(calls[-1]["args"], ensure_ascii=False)
            call = ToolCall(str(found["call"]), shown, result)
            messages.append(Message("assistant", reply.text, (call,)))
            said += f"\n\nYou called {call.name} with {shown}. It returned:\n{result}"
        end = json.dumps({"calls": calls, "answer": ""})
        return Trajectory(tuple(messages), end, (), Status.LIMIT, f"no answer in {_TURNS} turns", used)


def _replay(task: str, calls: list[dict[str, object]]) -> list[str]:
    found: list[str] = _program().ask(task=task, calls=calls, answer="")["results"]
    return found


def _text_of(request: RolloutRequest) -> str:
    return (
        f"# Skill: {request.skill.name}\n\nFollow this skill.\n\n{request.skill.document.text}" if request.skill else ""
    )


def _arguments(given: object) -> Mapping[str, object]:
    return given if isinstance(given, dict) else {}


def _read(folder: Path) -> Reading:  # noqa: ARG001 - the program is always that of the wheel
    return Reading(tuple(_item(task) for task in _program().ask(list=True)))


def _item(task: Mapping[str, Any]) -> Item:
    tools = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in task["tools"])
    suite = task["id"].partition("/")[0]
    split = _SPLITS[int(digest_of(task["id"])[:8], 16) % len(_SPLITS)]
    gold = json.dumps({"calls": task["calls"], "answer": task["answer"]})
    wrong = json.dumps({"calls": task["calls"][:-1], "answer": "no"})
    prompt = _TASK.format(tools=tools, said=task["prompt"])
    return Item(task["id"].replace("/", "-"), split, prompt, task["id"], gold, wrong, f"the state after {gold}", suite)


AGENTDOJO: Final = Benchmark(source_of("agentdojo"), _read, score_state, partial(ToolLoop, replay=_replay))
