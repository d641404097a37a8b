"""Let a model do a task with tools that a published program has, and score the state that it leaves.

The target is asked for one call after the other; calls and answer together are the result of a rollout. The program
runs in a process of its own, which replays the calls from the start of a task: no state is kept between turns.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final

from benchmarks.published.objects import last_object
from benchmarks.published.sources import Source, find, needed_folder
from skillopt.errors import InfrastructureError
from skillopt.execution.retry import Retry
from skillopt.protocols import Model, RolloutRequest
from skillopt.rollouts import Message, Status, ToolCall, Trajectory, Usage

_SCRIPT: Final = Path(__file__).parent / "official" / "serve.py"
_RETRY_SECONDS: Final = 120.0
_TURN_TOKENS: Final = 4_000
"""What a turn may add to the next prompts, for the bound on a rollout."""

_ENDS: Final = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
"""What a simulated customer says when a conversation is over."""


class Program:
    """A published program, started when it is first asked, by one thread at a time; it ends with this process.

    `keys` are what it calls the name and the arguments of a call.
    """

    def __init__(self, source: Source, keys: tuple[str, str] = ("name", "arguments")) -> None:
        self._source, self._keys, self._lock = source, keys, Lock()
        self._process: subprocess.Popen[str] | None = None
        self.folder: Path | None = None

    def ask(self, **question: object) -> Any:  # noqa: ANN401 - JSON values
        """Ask, and wait for the answer."""
        with self._lock:
            if self._process is None:
                folder = find(self._source, self.folder)
                command = [sys.executable, str(_SCRIPT), self._source.name, str(folder)]
                command += [str(needed_folder(self._source))] if self._source.needs else []
                self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            given, said = self._process.stdin, self._process.stdout
            if given is None or said is None or self._process.poll() is not None:
                raise InfrastructureError(f"the program of {self._source.name} ended; its message stands above")
            given.write(json.dumps(question) + "\n")
            given.flush()
            return json.loads(said.readline() or "null")

    def score(self, answer: str, expected: str) -> float:
        """Return the published score of an answer by itself."""
        return float(self.ask(task=expected, answer=answer)["done"])

    def verdict(self, answer: str, task: str, kind: str = "done") -> float:
        """Return what the published check says of calls and an answer."""
        found = last_object(answer)
        calls = found.get("calls", [])
        if not isinstance(calls, list):
            return 0.0
        return float(self.ask(task=task, calls=calls, answer=str(found.get("answer", ""))).get(kind, False))

    def replay(self, task: str, calls: Sequence[tuple[str, object]]) -> str:
        """Run the calls of a task from its start, and return what the last one returned."""
        found: list[str] = self.ask(task=task, calls=self.named(calls), answer="")["results"]
        return found[-1]

    def named(self, calls: Sequence[tuple[str, object]]) -> list[dict[str, object]]:
        """Write calls as the program takes them."""
        return [dict(zip(self._keys, call, strict=True)) for call in calls]


def result_of(calls: Sequence[object], answer: str) -> str:
    """Write calls, as the program takes them, and an answer."""
    return json.dumps({"calls": calls, "answer": answer}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Customer:
    """A model that plays the customer of a task; `scenario` says what it is told, by the name of the task."""

    model: Model
    scenario: Callable[[str], str]

    def reply(self, task: str, talk: str, retry: Retry) -> tuple[str, Usage]:
        """Say the next thing; nothing when the conversation is over."""
        prompt = f"The conversation so far:\n\n{talk}\n\nWrite your next message as the customer, and nothing else."
        found = retry.call(partial(self.model.reply, prompt, system=self.scenario(task)))
        return "" if any(word in found.text for word in _ENDS) else found.text.strip(), found.usage


@dataclass(frozen=True, slots=True)
class ToolLoop:
    """Lets a model do a task by one call after the other, with the text of the skill before each."""

    model: Model
    program: Program
    turns: int = 16
    customer: Customer | None = None
    retry: Retry = field(default_factory=partial(Retry, _RETRY_SECONDS))

    @property
    def identity(self) -> str:
        """Name the models and the loop."""
        beside = f" customer {self.customer.model.identity}" if self.customer else ""
        return f"tools {self.turns} turns {self.model.identity}{beside}"

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound a rollout by all its turns, the last and longest one each."""
        longest = request.task.prompt + "word " * _TURN_TOKENS * self.turns
        models = [self.model, *([self.customer.model] if self.customer else [])]
        return Usage.total([one.worst_case(longest, system=_text_of(request)) for one in models] * self.turns)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG002 - the program keeps the state
        """Ask until there is an answer, or until the customer has no more to say."""
        task: str = json.loads(request.task.verifier.options)["expected"]
        calls, told, talk = list[tuple[str, object]](), list[str](), "Agent: Hi! How can I help you today?"
        said, messages, used = request.task.prompt, [Message("user", request.task.prompt)], Usage()
        if self.customer:
            first, used = self.customer.reply(task, talk, self.retry)
            talk += f"\n\nCustomer: {first}"
            said += f"\n\n{talk}"
        for _ in range(self.turns):
            reply = self.retry.call(partial(self.model.reply, said, system=_text_of(request)))
            used += reply.usage
            found = last_object(reply.text)
            if reply.status is Status.OK and "call" in found:
                given = found.get("arguments")
                calls.append((str(found["call"]), given if isinstance(given, dict) else {}))
                shown = json.dumps(calls[-1][1], ensure_ascii=False)
                call = ToolCall(calls[-1][0], shown, self.program.replay(task, calls))
                messages.append(Message("assistant", reply.text, (call,)))
                said += f"\n\nYou called {call.name} with {shown}. It returned:\n{call.result}"
                continue
            messages.append(Message("assistant", reply.text))
            told.append(str(found.get("answer", reply.text)))
            talk += f"\n\nAgent: {told[-1]}"
            more = ""
            if self.customer and reply.status is Status.OK:
                more, usage = self.customer.reply(task, talk, self.retry)
                used += usage
            if not more:
                result = result_of(self.program.named(calls), "\n".join(told))
                return Trajectory(tuple(messages), result, (), reply.status, "", used)
            talk += f"\n\nCustomer: {more}"
            messages.append(Message("user", more))
            said += f"\n\nYou said: {told[-1]}\n\nCustomer: {more}"
        end = result_of(self.program.named(calls), "")
        return Trajectory(tuple(messages), end, (), Status.LIMIT, f"no answer in {self.turns} turns", used)


def _text_of(request: RolloutRequest) -> str:
    return (
        f"# Skill: {request.skill.name}\n\nFollow this skill.\n\n{request.skill.document.text}" if request.skill else ""
    )
