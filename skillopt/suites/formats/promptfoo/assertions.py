"""Assertions of promptfoo as checks: texts, patterns, JSON, criteria for a judge."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Final

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.suites.checks import TaskCheck, criterion, pattern_check, text_check
from skillopt.suites.foreign_files import ForeignEntry, read_entry

__all__ = ["Assertion", "AssertionReader"]

_LIMITS: Final = frozenset({"cost", "latency", "perplexity", "perplexity-score"})
"""What they limit is the provider's, not the result's."""

_MOST: Final = 100
"""Assertions of one test: templates that name others twice each would double without end."""

_SET: Final = "assert-set"
_CONTAINS: Final = frozenset({"contains", "contains-any", "contains-all"})
_JUDGED: Final = frozenset({"llm-rubric", "g-eval", "model-graded-closedqa", "factuality", "model-graded-factuality"})
_SCRIPTS: Final = frozenset({"javascript", "python", "ruby", "webhook"})
_FILE: Final = "file://"
_CODE: Final = (".js", ".cjs", ".mjs", ".ts", ".py", ".rb")
_JSON_READS: Final = (
    "import json, sys\n"
    "try:\n"
    "    json.load(open('answer.txt', encoding='utf-8-sig'))\n"
    "except ValueError as error:\n"
    "    sys.exit(f'answer: expected JSON, found: {error}')\n"
)


class Assertion(ForeignEntry):
    """One assertion of a test."""

    type: Annotated[str, Field(min_length=1)]
    value: object = None
    weight: float = 1.0
    metric: str | None = None
    threshold: float | None = None
    asserts: Annotated[tuple[object, ...], Field(alias="assert")] = ()
    transform: object = None


@dataclass(frozen=True, slots=True)
class AssertionReader:
    """Turns assertions into checks."""

    fill: Callable[[str], str]
    read: Callable[[str], str]
    templates: Mapping[str, object]

    def checks(self, values: Sequence[object]) -> list[TaskCheck]:
        """Return the checks of a test."""
        entries = list(islice(self._entries(values, frozenset()), _MOST + 1))
        if len(entries) > _MOST:
            raise SuiteError(f"expected at most {_MOST} assertions in a test, found more; write fewer")
        return [check for entry in entries if entry.type != _SET for check in self._checks(entry)]

    def _entries(self, values: Sequence[object], inside: frozenset[str]) -> Iterator[Assertion]:
        """Yield the assertions that decide, each set before its own, so that the caller can stop at a number."""
        for value in values:
            name = _reference(value)
            if name in inside:
                raise SuiteError(f"expected assertion templates that end, found {name!r} inside itself; write it out")
            entry = read_entry(Assertion, value if name is None else self._template(name))
            # An assertion of weight 0 is shown and never decides.
            if entry.type.removeprefix("not-") in _LIMITS or entry.weight <= 0:
                continue
            yield entry
            if entry.type == _SET:
                if entry.threshold is not None:
                    raise SuiteError("expected an assert-set without a threshold, found one; write its assertions out")
                yield from self._entries(entry.asserts, inside if name is None else inside | {name})

    def _template(self, name: str) -> object:
        if name not in self.templates:
            raise SuiteError(f"expected an assertion template, found none named {name!r}; add it")
        return self.templates[name]

    def _checks(self, entry: Assertion) -> list[TaskCheck]:
        kind = entry.type.removeprefix("not-")
        if entry.transform is not None:
            raise SuiteError(f"expected {entry.type} without a transform, which is a script, found one; remove it")
        checks = self._made(entry, kind, absent=entry.type != kind)
        name = (entry.metric or "").replace("\n", " ")[:100]
        return [replace(check, name=name, weight=entry.weight / len(checks)) for check in checks]

    def _made(self, entry: Assertion, kind: str, *, absent: bool) -> list[TaskCheck]:
        if kind in _JUDGED:
            return [self._criterion(entry, kind, absent=absent)]
        if "contains" in kind and kind.removeprefix("i") in _CONTAINS:
            return self._contains(entry, kind, absent=absent)
        match kind:
            case "equals":
                return [_equals(self._value(entry), absent=absent)]
            case "starts-with":
                return [pattern_check(r"\A" + re.escape(self._text(entry)), absent=absent)]
            case "regex":
                return [pattern_check(self._text(entry), absent=absent)]
            case "is-json" if entry.value is None and not absent:
                return [TaskCheck("command", {"argv": ["python", "-I", "-c", _JSON_READS], "answer": "answer.txt"})]
            case _:
                why = "runs a script of the suite" if kind in _SCRIPTS else "has no counterpart here"
                raise SuiteError(
                    f"the assertion {entry.type!r} {why}; write it as contains, regex, llm-rubric, or a `command`"
                )

    def _contains(self, entry: Assertion, kind: str, *, absent: bool) -> list[TaskCheck]:
        ignore_case = kind.startswith("i")
        if not kind.endswith("-all"):
            texts = self._texts(entry) if kind.endswith("-any") else [self._text(entry)]
            return [text_check(texts, ignore_case=ignore_case, absent=absent)]
        if not absent:
            return [text_check(text, ignore_case=ignore_case) for text in self._texts(entry)]
        together = r"\A" + "".join(f"(?=.*{re.escape(text)})" for text in self._texts(entry))
        return [pattern_check(together, "is" if ignore_case else "s", absent=True)]

    def _criterion(self, entry: Assertion, kind: str, *, absent: bool) -> TaskCheck:
        texts = self._texts(entry) if isinstance(entry.value, list) else [self._text(entry)]
        if "factuality" in kind:
            return criterion("The answer agrees with the facts of the reference.", texts[0])
        text = "\n".join(texts)
        return criterion(f"It is not the case that the following holds: {text}" if absent else text)

    def _value(self, entry: Assertion) -> object:
        value = entry.value
        if value is None:
            raise SuiteError(f"expected a value for {entry.type}, found none; add one")
        if not isinstance(value, str):
            return value
        text = self.fill(value)
        if not text.startswith(_FILE):
            return text
        if text.partition(":")[2].endswith(_CODE) or ":" in text.removeprefix(_FILE):
            raise SuiteError(f"expected a value or a file of text, found the script {text!r}; write the value out")
        return self.fill(self.read(text.removeprefix(_FILE)))

    def _text(self, entry: Assertion) -> str:
        value = self._value(entry)
        if isinstance(value, dict | list):
            raise SuiteError(f"expected text for {entry.type}, found {value!r:.80}; correct it")
        text = value if isinstance(value, str) else json.dumps(value)
        if not text:
            raise SuiteError(f"expected text for {entry.type}, found none; add it")
        return text

    def _texts(self, entry: Assertion) -> list[str]:
        value = self._value(entry)
        several = value.split(",") if isinstance(value, str) else value
        if not isinstance(several, list) or not several:
            raise SuiteError(f"expected a list of texts for {entry.type}, found {value!r:.80}; correct it")
        return [self.fill(each.strip()) if isinstance(each, str) else json.dumps(each) for each in several]


def _reference(value: object) -> str | None:
    """Return the name of the template that stands in place of an assertion."""
    name = value.get("$ref") if isinstance(value, dict) else None
    return name.rpartition("/")[2] if isinstance(name, str) else None


def _equals(value: object, *, absent: bool) -> TaskCheck:
    if not isinstance(value, str):
        if absent:
            raise SuiteError("expected text for not-equals, found a structure; correct it")
        return TaskCheck("json", {"value": value})
    if absent:
        return pattern_check(rf"\A{re.escape(value)}\Z", absent=True)
    return TaskCheck("exact", {"value": value, "strip": False})
