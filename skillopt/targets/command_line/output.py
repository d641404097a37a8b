"""Read what an agent printed by the rules of its table: messages, tool calls, consumption, failures, how it ended."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from pydantic import JsonValue

from skillopt.agent_table import AgentTable, Condition, Place
from skillopt.errors import FailureKind
from skillopt.rollouts import Message, Status, ToolCall, Usage
from skillopt.targets.stream import (
    MOST_TOKENS_COUNTED,
    MOST_USD_COUNTED,
    ClientRun,
    ClientStream,
    Ending,
    as_text,
    failed_run,
    failure_kind_of_status,
    failure_kind_of_words,
    shorten_call,
    shorten_reason,
)

_FAILED: Final = "[failed] "


@dataclass(slots=True)
class _Turn:
    text: str = ""
    calls: dict[str, ToolCall] = field(default_factory=dict)


@dataclass(frozen=True)
class TableOutput(ClientStream):
    """What an agent printed in one run."""

    table: AgentTable
    stdout: str

    @cached_property
    def _objects(self) -> tuple[JsonValue, ...]:
        if self.table.answer is None:
            return ()
        printed = self.stdout
        lines = (line for line in printed.splitlines() if line.lstrip().startswith("{"))
        found = _parsed(printed) or tuple(each for line in lines for each in _parsed(line))
        found = found or _parsed(printed[max(printed.find("{"), 0) :])
        return found or _parsed(printed[printed.find("\n{") + 1 :])

    @cached_property
    def _turns(self) -> tuple[_Turn, ...]:
        if self.table.answer is None:
            return (_Turn(self.stdout.strip()),) if self.stdout.strip() else ()
        turns = [_Turn()]
        for number, found in enumerate(self._objects):
            self._add(turns, found, number)
        return tuple(turn for turn in turns if turn.text.strip() or turn.calls)

    def _add(self, turns: list[_Turn], found: JsonValue, number: int) -> None:
        answer, tool, result = self.table.answer, self.table.tool, self.table.result
        if answer is not None and _holds(found, answer.when):
            text = _text_at(found, answer.text)
            if answer.joined and not turns[-1].calls:
                turns[-1].text += text
            elif text.strip():
                turns.append(_Turn(text))
        if tool is not None and _holds(found, tool.when):
            call = ToolCall(
                _text_at(found, tool.name), _text_at(found, tool.input), _result(found, tool.result, tool.failed)
            )
            turns[-1].calls[_text_at(found, tool.id) if tool.id else str(number)] = call
        if result is not None and _holds(found, result.when):
            wanted = _text_at(found, result.id)
            calls = next((turn.calls for turn in reversed(turns) if wanted in turn.calls), {})
            if wanted in calls:
                calls[wanted] = replace(calls[wanted], result=_result(found, result.text, result.failed))

    @property
    def answer(self) -> str:
        """The last thing that the model said."""
        return next((turn.text.strip() for turn in reversed(self._turns) if turn.text.strip()), "")

    def messages(self) -> Iterator[Message]:
        """Yield the model's turns, each with the tool calls that followed it."""
        for turn in self._turns:
            yield Message("assistant", turn.text.strip(), tuple(map(shorten_call, turn.calls.values())))

    @property
    def usage(self) -> Usage:
        """What the agent counted, else the calls that it must have made; what is not told has no price."""
        rule, turns = self.table.usage, len(self._turns)
        counted = [found for found in self._objects if rule is not None and _holds(found, rule.when)]
        if rule is None or not counted:
            return Usage(max(turns, 1), usd=None)
        input_tokens = sum(_tokens(found, rule.input) for found in counted)
        output_tokens = sum(_tokens(found, rule.output) for found in counted)
        numbers = [_value_at(found, rule.usd) for found in counted] if rule.usd else []
        told = [float(one) for one in numbers if isinstance(one, int | float) and 0 <= one <= MOST_USD_COUNTED]
        # No price where one is missing or makes no sense, or all are 0, as of a model without known price.
        usd = sum(told) if len(told) == len(counted) and sum(told) > 0 else None
        return Usage(max(turns, 1), input_tokens, output_tokens, usd)

    @property
    def cached_tokens(self) -> int:
        """How many of the tokens read came from the provider's cache."""
        rule = self.table.usage
        return sum(_tokens(found, rule.cached) for found in self._objects if rule and _holds(found, rule.when))

    def loads(self, skill: str) -> bool | None:
        """Tell whether the model loaded a skill by a tool or read its document; None where the output does not tell."""
        if self.table.tool is None:
            return None
        named = re.compile(rf"(?<![\w.-]){re.escape(skill)}(?![\w.-])")
        calls = (call for turn in self._turns for call in turn.calls.values())
        return any(
            named.search(call.arguments) and ("SKILL.md" in call.arguments or "skill" in call.name.lower())
            for call in calls
            if not call.result.startswith(_FAILED)
        )

    def judge(self, run: ClientRun, *, changed: bool) -> Ending:
        """Judge how the run ended."""
        if run.interrupted:
            return run.without_result(answered=bool(self._turns) or changed, failing=self._failing)
        if run.exit_status in self.table.limit_statuses:
            words = shorten_reason(self._failing[1] if self._failing else run.stderr) or "it does not say why"
            return Ending(Status.LIMIT, f"limit: {run.client} ended with status {run.exit_status}: {words}")
        if self._failing is not None:
            return failed_run(*self._failing)
        if run.exit_status != 0:
            return run.without_result(answered=bool(self._turns), failing=None)
        return Ending(Status.OK) if self._turns else self._nothing()

    def _nothing(self) -> Ending:
        if self.table.answer is None or not self.stdout.strip():
            return failed_run(FailureKind.EMPTY, "the agent printed nothing")
        if not self._objects:
            found = f"{self.stdout.strip()[:80]!r}"
            return failed_run(FailureKind.MALFORMED, f"expected JSON, found {found}; correct answer in its table")
        kinds = f"{len(self._objects)} JSON objects in which neither answer nor tool of its table finds anything"
        return failed_run(FailureKind.EMPTY, f"expected an answer, found {kinds}")

    @cached_property
    def _failing(self) -> tuple[FailureKind, str] | None:
        rule, answer, tool = self.table.error, self.table.answer, self.table.tool
        if rule is None:
            return None
        for found in reversed(self._objects):
            if _holds(found, rule.when) and (words := _text_at(found, rule.text)):
                status = _text_at(found, rule.status) if rule.status else ""
                is_http = re.fullmatch("[0-9]{3}", status) is not None
                kind = failure_kind_of_status(int(status), words) if is_http else failure_kind_of_words(words)
                return kind, words
            if (answer and _holds(found, answer.when)) or (tool and _holds(found, tool.when)):
                return None
        return None


def _result(found: JsonValue, places: tuple[Place, ...], failed: Condition) -> str:
    text = next((told for place in places if (told := _text_at(found, place))), "")
    return f"{_FAILED}{text}" if failed and _holds(found, failed) else text


def _tokens(found: JsonValue, places: tuple[Place, ...]) -> int:
    numbers = [_value_at(found, place) for place in places]
    return sum(int(one) for one in numbers if isinstance(one, int | float) and 0 <= one <= MOST_TOKENS_COUNTED)


def _parsed(text: str) -> tuple[JsonValue, ...]:
    try:
        return (json.loads(text),)
    except (ValueError, RecursionError):
        return ()


def _holds(found: JsonValue, condition: Condition) -> bool:
    values = ((_value_at(found, place), wanted) for place, wanted in condition.items())
    return all(
        value is wanted if isinstance(wanted, bool) else value is not None and as_text(value) == wanted
        for value, wanted in values
    )


def _value_at(found: JsonValue, place: Place) -> JsonValue:
    for part in place.split("."):
        if isinstance(found, Mapping):
            found = found.get(part)
        elif isinstance(found, list) and re.fullmatch("[0-9]{1,9}", part) and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return found


def _text_at(found: JsonValue, place: Place) -> str:
    value = _value_at(found, place)
    return "" if value is None else as_text(value)
