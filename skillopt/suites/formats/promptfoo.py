"""Read configurations of promptfoo: every prompt with every test; providers are passed over.

Assertions that run a script, and prompts that a script makes, cannot be run.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.skills.folder import SKILL_FILE
from skillopt.suites.checks import TaskCheck, criterion, pattern_check, text_check, verifier_of
from skillopt.suites.foreign_files import Folder, ForeignEntry, read_entry, repository_of, task_id
from skillopt.suites.reading import Collection, Reading, Trigger
from skillopt.suites.sources import Source, error_at, read_json, read_json_lines, read_yaml
from skillopt.tasks import Task

__all__ = [
    "Assertion",
    "AssertionReader",
    "PromptfooTest",
    "each_choice",
    "fill_prompt",
    "fill_template",
    "read_promptfoo",
]

_FILE: Final = "file://"
_KNOWN: Final = frozenset({"prompts", "tests", "providers", "targets", "scenarios"})
_EXPECTED: Final = re.compile(r"__expected\d*")
_TYPED: Final = re.compile(r"(?P<type>(?:not-)?[a-z][a-z-]+)(?:\((?P<limit>[\d.]+)\))?:\s*(?P<value>.*)", re.DOTALL)


class PromptfooTest(ForeignEntry):
    """One test, or the defaults of all."""

    description: str | None = None
    vars: dict[str, object] | str | None = None
    asserts: Annotated[list[object] | None, Field(alias="assert")] = None
    threshold: Annotated[float | None, Field(ge=0, le=1)] = None
    metadata: dict[str, object] | None = None
    options: dict[str, object] | None = None


@dataclass(frozen=True, slots=True)
class _Prompt:
    name: str
    text: str


def read_promptfoo(path: Path) -> Reading:
    """Read a configuration."""
    source = read_json(path) if path.suffix == ".json" else read_yaml(path)
    config = source.value
    if not isinstance(config, dict) or not _KNOWN & set(config):
        raise error_at(path, 1, "expected `prompts` and `tests`, found neither; name a configuration of promptfoo")
    return _Reader(source, config, Folder(repository_of(path.parent), path.parent)).read()


@dataclass(frozen=True, slots=True)
class _Reader:
    source: Source
    config: Mapping[str, object]
    folder: Folder

    def read(self) -> Reading:
        found = Collection(self.source.path)
        name = str(self.config.get("description") or self.source.path.parent.resolve().name)
        default = self._default(found)
        prompts = list(self._prompts(found))
        if default is not None and prompts:
            for test, place, where in self._tests(found):
                try:
                    self._add(found, read_entry(PromptfooTest, test), default, prompts, where)
                except SuiteError as error:
                    found.skip(_name_of(test, place), where, str(error))
        if "scenarios" in self.config:
            found.skip("scenarios", self._line("scenarios"), "expected `tests`, found scenarios; write them as tests")
        return found.reading("promptfoo", name)

    def _line(self, *place: str | int) -> int:
        return self.source.line_of(place)

    def _default(self, found: Collection) -> PromptfooTest | None:
        try:
            value = self.config.get("defaultTest") or {}
            if isinstance(value, str):
                value = read_yaml(self.folder.place(value.removeprefix(_FILE))).value
            return read_entry(PromptfooTest, value)
        except SuiteError as error:
            found.skip("defaultTest", self._line("defaultTest"), str(error))
            return None

    def _prompts(self, found: Collection) -> Iterator[_Prompt]:
        """Yield the prompts as text."""
        values = self.config.get("prompts", ["{{prompt}}"])
        for at, value in enumerate([values] if isinstance(values, str | dict) else list(_items(values))):
            name = str(at + 1)
            if isinstance(value, dict):
                name = str(value.get("label") or value.get("id") or name)
                value = value.get("raw") or value.get("id")  # noqa: PLW2901 - the prompt in place of its entry
            try:
                yield _Prompt(task_id(name.removeprefix(_FILE), str(at + 1)), self._prompt(value))
            except SuiteError as error:
                found.skip(f"prompt {name}", self._line("prompts", at), str(error))

    def _prompt(self, value: object) -> str:
        if not isinstance(value, str):
            raise SuiteError(f"expected a prompt as text or as file://…, found {value!r:.80}; write it as text")
        name = value.removeprefix(_FILE)
        is_file = value.startswith(_FILE) or ("\n" not in value and re.fullmatch(r"[\w./-]+\.(txt|md|json)", value))
        if is_file and (Path(name).suffix not in (".txt", ".md", ".json", ".yaml", ".yml") or "*" in name):
            raise SuiteError(f"expected a prompt as text, found {value!r}, which is made by a script; write it as text")
        return self.folder.text(name) if is_file else value

    def _tests(self, found: Collection) -> Iterator[tuple[object, int, int]]:
        """Yield the tests, those in files too, with their number and a line of the configuration."""
        values = self.config.get("tests")
        several = [values] if isinstance(values, str) else list(_items(values))
        for at, value in enumerate(several):
            line = self._line("tests", at)
            if not isinstance(value, str):
                yield value, at, line
                continue
            try:
                yield from ((test, number, line) for number, test in enumerate(self._file_of_tests(value)))
            except SuiteError as error:
                found.skip(value, line, str(error))

    def _file_of_tests(self, value: str) -> list[object]:
        name = value.removeprefix(_FILE)
        places = self.folder.glob(name) if "*" in name else [self.folder.place(name)]
        return [test for place in places for test in _tests_of(place, self.folder)]

    def _add(
        self, found: Collection, test: PromptfooTest, default: PromptfooTest, prompts: Sequence[_Prompt], line: int
    ) -> None:
        if "conversationId" in (test.metadata or {}):
            raise SuiteError(
                "expected a test that stands alone, found a turn of a conversation; write it as one prompt"
            )
        base = {**self._vars(default), **self._vars(test)}
        asserts = [*(default.asserts or ()), *(test.asserts or ())]
        routed = _routed(test, asserts)
        if routed is not None:
            found.triggers.append(Trigger(fill_prompt(prompts[0].text, base).strip(), routed, line))
            return
        for at, variables in enumerate(each_choice(base)):
            given = self._given(variables)
            fill = partial(fill_template, variables=given)
            reader = AssertionReader(fill, self.folder.text, self._shared)
            threshold = default.threshold if test.threshold is None else test.threshold
            spec = verifier_of(reader.checks(asserts), threshold or None)
            name = task_id(test.description or "", f"test-{line}")
            for prompt in prompts:
                text = _around(test, default, fill_prompt(prompt.text, given)).strip()
                if not text:
                    raise SuiteError("expected a prompt, found none; give the test the variables that prompts name")
                parts = [name, *([str(at + 1)] if at else []), *([prompt.name] if len(prompts) > 1 else [])]
                found.add(Task("-".join(parts), text, spec), line)

    @property
    def _shared(self) -> Mapping[str, object]:
        found = self.config.get("assertionTemplates")
        return found if isinstance(found, dict) else {}

    def _vars(self, test: PromptfooTest) -> Mapping[str, object]:
        if not isinstance(test.vars, str):
            return test.vars or {}
        value = read_yaml(self.folder.place(test.vars.removeprefix(_FILE))).value
        if not isinstance(value, dict):
            raise SuiteError(f"expected variables in {test.vars!r}, found {value!r:.80}; correct the file")
        return value

    def _given(self, variables: Mapping[str, object]) -> Mapping[str, object]:
        """Read the files that variables name; the skill itself comes from skillopt, not from the prompt."""
        given: dict[str, object] = {}
        for name, value in variables.items():
            if not isinstance(value, str) or not value.startswith(_FILE):
                given[name] = value
            elif Path(value).name == SKILL_FILE:
                given[name] = ""
            elif Path(value).suffix in (".js", ".ts", ".mjs", ".cjs", ".py"):
                raise SuiteError(f"expected a file of text for the variable {name!r}, found the script {value!r}")
            else:
                given[name] = self.folder.text(value.removeprefix(_FILE))
        # A variable that is written out may have places for others.
        nested = {name: value for name, value in variables.items() if isinstance(value, str) and "{{" in value}
        return {**given, **{name: fill_template(value, given) for name, value in nested.items()}}


def _items(value: object) -> Iterator[object]:
    return iter(value if isinstance(value, list) else [])


def _name_of(test: object, at: int) -> str:
    name = test.get("description") if isinstance(test, dict) else None
    return str(name or f"test {at + 1}")


def _around(test: PromptfooTest, default: PromptfooTest, prompt: str) -> str:
    """Put prefix and suffix around a prompt."""
    options = {**(default.options or {}), **(test.options or {})}
    if options.get("transform") or options.get("postprocess"):
        raise SuiteError("expected a test without a transform, which is a script, found one; remove it")
    return f"{options.get('prefix') or ''}{prompt}{options.get('suffix') or ''}"


def _routed(test: PromptfooTest, asserts: Sequence[object]) -> bool | None:
    """Return whether a test that asks which skill is chosen wants its own; None for any other test."""
    skill = (test.metadata or {}).get("skill")
    if not isinstance(skill, str) or not asserts:
        return None
    kinds = [one.get("type") if isinstance(one, dict) else None for one in asserts]
    wanted = [one.get("value") for one in asserts if isinstance(one, dict)]
    return skill in wanted if all(kind == "equals" for kind in kinds) else None


def _tests_of(place: Path, folder: Folder) -> list[object]:
    """Read a file of tests: YAML, JSON, JSON lines or CSV."""
    folder.place(str(place))
    match place.suffix:
        case ".yaml" | ".yml":
            return list(_items(read_yaml(place).value))
        case ".json":
            return list(_items(read_json(place).value))
        case ".jsonl":
            return [source.value for source in read_json_lines(place)]
        case ".csv":
            return _rows(folder.text(str(place)))
        case _:
            raise SuiteError(f"expected tests as YAML, JSON or CSV, found {place.name!r}; write them in one of these")


def _rows(text: str) -> list[object]:
    """Read the tests of a table; its lines may end as on any system."""
    try:
        return [_row_test(row) for row in csv.DictReader(io.StringIO(text, newline=None))]
    except csv.Error as error:
        raise SuiteError(f"expected tests as CSV, found: {error}; correct the file") from error


def _row_test(row: Mapping[str | None, str | None]) -> object:
    """Make a test of a row: columns are variables, `__expected` is what is asserted."""
    asserts = [_typed(text) for name, text in row.items() if name and _EXPECTED.fullmatch(name) and text]
    variables = {name: text or "" for name, text in row.items() if name and not name.startswith("__")}
    return {"description": row.get("__description"), "vars": variables, "assert": asserts}


def _typed(text: str) -> object:
    found = _TYPED.fullmatch(text)
    if found is None:
        return {"type": "equals", "value": text}
    short = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}
    return {"type": short.get(found["type"], found["type"]), "value": found["value"].strip()}


_LIMITS: Final = frozenset({"cost", "latency", "perplexity", "perplexity-score"})
"""What they limit is the provider's, not the result's."""

_MOST: Final = 100
"""Assertions of one test: templates that name others twice each would double without end."""

_SET: Final = "assert-set"
_CONTAINS: Final = frozenset({"contains", "contains-any", "contains-all"})
_JUDGED: Final = frozenset({"llm-rubric", "g-eval", "model-graded-closedqa", "factuality", "model-graded-factuality"})
_SCRIPTS: Final = frozenset({"javascript", "python", "ruby", "webhook"})
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


_MOST_CHOICES: Final = 200
_PLACE: Final = re.compile(r"\{\{-?\s*(?P<name>[A-Za-z_][\w-]*(?:\.\w+)*)(?P<dump>\s*\|\s*dump)?\s*-?\}\}")
_ROLES: Final = frozenset({"system", "developer", "user"})
_LOGIC: Final = re.compile(r"\{%|\{\{")


def fill_template(template: str, variables: Mapping[str, object]) -> str:
    """Fill the places of a template; one without a variable stays empty, as promptfoo has it."""
    plain = _PLACE.sub("", template)
    found = _LOGIC.search(plain)
    if found is not None:
        shown = plain[found.start() :].split("\n")[0]
        raise SuiteError(
            f"expected only places such as {{{{name}}}} in a prompt, found {shown!r:.80}; write the text out"
        )
    return _PLACE.sub(lambda place: _filled(place, variables), template)


def fill_prompt(template: str, variables: Mapping[str, object]) -> str:
    """Fill a prompt; a chat of system and user messages becomes one text."""
    messages = _messages(template)
    if messages is not None:
        return "\n\n".join(text for each in messages if (text := fill_template(each, variables).strip()))
    text = fill_template(template, variables)
    messages = _messages(text)
    return text if messages is None else "\n\n".join(each for each in messages if each.strip())


def each_choice(variables: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yield the variables once for each combination of those that are lists of values."""
    lists = {name: value for name, value in variables.items() if isinstance(value, list) and value}
    number = 1
    for values in lists.values():
        number *= len(values)
    if number > _MOST_CHOICES:
        raise SuiteError(
            f"expected at most {_MOST_CHOICES} combinations of variables, found {number}; write single tests"
        )
    for chosen in product(*lists.values()):
        yield {**variables, **dict(zip(lists, chosen, strict=True))}


def _messages(text: str) -> list[str] | None:
    """Return the texts of a chat; None for what is none."""
    if not text.lstrip().startswith("["):
        return None
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(one, dict) and isinstance(one.get("content"), str) for one in messages):
        raise SuiteError("expected a prompt as text or as messages of text, found others; write it as text")
    roles = {str(one.get("role")) for one in messages}
    if not roles <= _ROLES:
        raise SuiteError(f"expected messages of system and user, found {', '.join(sorted(roles))}; write it as text")
    return [one["content"] for one in messages]


def _filled(place: "re.Match[str]", variables: Mapping[str, object]) -> str:
    text = _value_of(place["name"], variables)
    return json.dumps(text, ensure_ascii=False) if place["dump"] else text


def _value_of(name: str, variables: Mapping[str, object]) -> str:
    first, *steps = name.split(".")
    found = variables.get(first)
    for step in steps:
        found = found.get(step) if isinstance(found, dict) else None
    if found is None:
        return ""
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
