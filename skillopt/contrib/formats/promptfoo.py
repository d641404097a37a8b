"""Read configurations of promptfoo: every prompt with every test; what runs a script is left out."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.skills.folder import SKILL_FILE
from skillopt.suites.checks import TaskCheck, criterion, pattern_check, text_check, tool_check, verifier_of
from skillopt.suites.foreign_files import Folder, ForeignEntry, read_entry, repository_of, task_id
from skillopt.suites.reading import (
    Collection,
    Reading,
    Source,
    Trigger,
    error_at,
    read_json,
    read_json_lines,
    read_yaml,
)
from skillopt.tasks import Task

_FILE: Final = "file://"
_KNOWN: Final = frozenset({"prompts", "tests", "providers", "targets", "scenarios"})
_CHANGES: Final = frozenset(
    {"transform", "transformVars", "postprocess", "prefix", "suffix", "disableVarExpansion", "disableDefaultAsserts"}
)
"""Options that change a test; most others are its provider's."""

_SCRIPT_ENDINGS: Final = (".js", ".cjs", ".mjs", ".ts", ".py", ".rb")
_PROMPT_FILE: Final = re.compile(r"[\w./-]+\.(?:txt|md|json)")
_PROMPT_ENDINGS: Final = (".txt", ".md", ".json", ".yaml", ".yml")
_TYPED: Final = re.compile(r"(?P<type>(?:not-)?[a-z][a-z-]+)(?:\([\d.]+\))?:\s*(?P<value>.*)", re.DOTALL)
_MOST_CHOICES: Final = 200
"""Combinations of the variables of one test: nobody who writes a few lists means more rollouts than that."""


class PromptfooTest(ForeignEntry):
    """One test, or the defaults of all."""

    harmless = frozenset({"provider", "providers"})
    description: str | None = None
    vars: dict[str, object] | None = None
    asserts: Annotated[tuple[object, ...] | None, Field(alias="assert")] = None
    threshold: Annotated[float | None, Field(ge=0, le=1)] = None
    metadata: dict[str, object] | None = None
    options: dict[str, object] | None = None


class Assertion(ForeignEntry):
    """One assertion of a test."""

    type: Annotated[str, Field(min_length=1)]
    value: object = None
    weight: float = 1.0
    metric: str | None = None
    transform: object = None

    @property
    def kind(self) -> str:
        """Its type, of what must hold or must not."""
        return self.type.removeprefix("not-")


def read_promptfoo(path: Path) -> Reading:
    """Read a configuration."""
    source = read_json(path) if path.suffix == ".json" else read_yaml(path)
    config = source.value
    if not isinstance(config, dict) or not _KNOWN & set(config):
        raise error_at(path, 1, "expected `prompts` and `tests`, found neither; name a configuration of promptfoo")
    return _Reader(source, config, Folder(repository_of(path.parent), path.parent), Collection(path)).read()


@dataclass(frozen=True, slots=True)
class _Reader:
    source: Source
    config: Mapping[str, object]
    folder: Folder
    found: Collection

    def read(self) -> Reading:
        name = str(self.config.get("description") or self.source.path.parent.resolve().name)
        try:
            default = read_entry(PromptfooTest, self._default())
        except SuiteError as error:
            self.found.skip("defaultTest", self.source.line_of(("defaultTest",)), str(error))
            return self.found.reading("promptfoo", name)
        if self.config.get("extensions"):
            reason = "expected tests that no script changes, found extensions; remove them, or write the tests out"
            self.found.skip("extensions", self.source.line_of(("extensions",)), reason)
            return self.found.reading("promptfoo", name)
        prompts = dict(self._prompts())
        for test, number, line in self._tests() if prompts else ():
            try:
                self._add(read_entry(PromptfooTest, test), default, prompts, line)
            except SuiteError as error:
                said = test.get("description") if isinstance(test, dict) else None
                self.found.skip(str(said or f"test {number + 1}"), line, str(error))
        if "scenarios" in self.config:
            line = self.source.line_of(("scenarios",))
            self.found.skip("scenarios", line, "expected `tests`, found scenarios; write them as tests")
        return self.found.reading("promptfoo", name)

    def _default(self) -> object:
        value = self.config.get("defaultTest") or {}
        if not isinstance(value, str):
            return value
        place = self.folder.place(value.removeprefix(_FILE))
        return (read_json if place.suffix == ".json" else read_yaml)(place).value

    def _prompts(self) -> Iterator[tuple[str, str]]:
        values = self.config.get("prompts", ["{{prompt}}"])
        for at, value in enumerate(values if isinstance(values, list) else [values]):
            name, text = str(at + 1), value
            if isinstance(value, dict):
                name = str(value.get("label") or value.get("id") or name)
                text = value.get("raw") or value.get("id")
            try:
                yield task_id(name.removeprefix(_FILE), str(at + 1)), self._prompt(text)
            except SuiteError as error:
                self.found.skip(f"prompt {name}", self.source.line_of(("prompts", at)), str(error))

    def _prompt(self, value: object) -> str:
        if not isinstance(value, str):
            raise SuiteError(f"expected a prompt as text or as file://…, found {value!r:.80}; write it as text")
        if not value.startswith(_FILE) and not _PROMPT_FILE.fullmatch(value):
            return value
        name = value.removeprefix(_FILE)
        if Path(name).suffix not in _PROMPT_ENDINGS or "*" in name:
            raise SuiteError(f"expected a prompt as text, found {value!r}, which is made by a script; write it as text")
        return self.folder.text(name)

    def _tests(self) -> Iterator[tuple[object, int, int]]:
        values = self.config.get("tests")
        for at, value in enumerate(values if isinstance(values, list) else [values] if values else []):
            line = self.source.line_of(("tests", at))
            if not isinstance(value, str):
                yield value, at, line
                continue
            name = value.removeprefix(_FILE)
            try:
                places = self.folder.glob(name) if "*" in name else [self.folder.place(name)]
                tests = [test for place in places for test in _tests_of(place, self.folder)]
            except SuiteError as error:
                self.found.skip(value, line, str(error))
                continue
            yield from ((test, number, line) for number, test in enumerate(tests))

    def _add(self, test: PromptfooTest, default: PromptfooTest, prompts: Mapping[str, str], line: int) -> None:
        if "conversationId" in (test.metadata or {}):
            raise SuiteError(
                "expected a test that stands alone, found a turn of a conversation; write it as one prompt"
            )
        changed = _CHANGES & {**(default.options or {}), **(test.options or {})}.keys()
        if changed:
            raise SuiteError(f"expected a test without a {min(changed)}, found one; remove it, or write the result out")
        threshold = default.threshold if test.threshold is None else test.threshold
        for at, variables in enumerate(_each_choice({**(default.vars or {}), **(test.vars or {})})):
            given = self._given(variables)
            checks = _Checks(given, self.folder)
            asserts = [read_entry(Assertion, value) for value in (*(default.asserts or ()), *(test.asserts or ()))]
            about_loading = [each for each in asserts if each.kind == "skill-used"]
            unseen = [
                each for each in asserts if each.kind.startswith(("trajectory:", "trace-")) and each.kind != _USED
            ]
            scoring = [each for each in asserts if each not in (*about_loading, *unseen)]
            made = [check for each in scoring for check in checks.of(each)]
            parts = [task_id(test.description or "", f"test-{line}"), *([str(at + 1)] if at else [])]
            if made:
                for each in unseen:
                    self.found.skip(f"{'-'.join(parts)}, {each.type}", line, _NOT_RECORDED)
            elif unseen:
                raise SuiteError(f"{unseen[0].type}: {_NOT_RECORDED}")
            spec = verifier_of(made, threshold or None) if made or not about_loading else None
            for name, prompt in prompts.items():
                text = fill_prompt(prompt, given).strip()
                if not text:
                    raise SuiteError("expected a prompt, found none; give the test the variables that prompts name")
                self.found.triggers += [
                    Trigger(text, *rest) for each in about_loading for rest in self._loading(each, line)
                ]
                if spec is not None:
                    self.found.add(Task("-".join([*parts, *([name] if len(prompts) > 1 else [])]), text, spec), line)

    def _loading(self, entry: Assertion, line: int) -> Iterator[tuple[bool, int, tuple[str, ...]]]:
        """Read whether which skill should be loaded; without a skill of its own, a file is about any."""
        value = entry.value.get("name") if isinstance(entry.value, dict) else entry.value
        names = tuple(each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str))
        if not names:
            raise SuiteError(f"expected the name of a skill for {entry.type}, found {entry.value!r:.80}; name it")
        folder = self.source.path.absolute().parent
        own = next((each.name for each in (folder, folder.parent) if (each / SKILL_FILE).is_file()), "")
        is_own = not own or own in (name.rpartition(":")[2] for name in names)
        if entry.type == entry.kind:
            yield is_own, line, names
        elif is_own:
            yield False, line, ()

    def _given(self, variables: Mapping[str, object]) -> Mapping[str, object]:
        """Read the files that variables name; the skill itself comes from skillopt, not from the prompt."""
        given: dict[str, object] = {}
        for name, value in variables.items():
            if not isinstance(value, str) or not value.startswith(_FILE):
                given[name] = value
            elif Path(value).suffix in _SCRIPT_ENDINGS:
                raise SuiteError(f"expected a file of text for the variable {name!r}, found the script {value!r}")
            else:
                given[name] = "" if Path(value).name == SKILL_FILE else self.folder.text(value.removeprefix(_FILE))
        # A variable that is written out may have places for others.
        nested = {name: value for name, value in variables.items() if isinstance(value, str) and "{{" in value}
        return {**given, **{name: fill_template(value, given) for name, value in nested.items()}}


def _each_choice(variables: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yield the variables once for each combination of those that are lists of values."""
    lists = {name: value for name, value in variables.items() if isinstance(value, list) and value}
    for at, chosen in enumerate(product(*lists.values())):
        if at >= _MOST_CHOICES:
            raise SuiteError(
                f"expected at most {_MOST_CHOICES} combinations of variables, found more; write single tests"
            )
        yield {**variables, **dict(zip(lists, chosen, strict=True))}


def _tests_of(place: Path, folder: Folder) -> list[object]:
    folder.place(str(place))
    match place.suffix:
        case ".yaml" | ".yml" | ".json":
            value = (read_json if place.suffix == ".json" else read_yaml)(place).value
            return value if isinstance(value, list) else []
        case ".jsonl":
            return [source.value for source in read_json_lines(place)]
        case ".csv":
            try:
                return [_row_test(row) for row in csv.DictReader(io.StringIO(folder.text(str(place)), newline=None))]
            except csv.Error as error:
                raise SuiteError(f"expected tests as CSV, found: {error}; correct the file") from error
        case _:
            raise SuiteError(f"expected tests as YAML, JSON or CSV, found {place.name!r}; write them in one of these")


def _row_test(row: Mapping[str | None, str | None]) -> object:
    """Make a test of a row: columns are variables, `__expected` is what is asserted."""
    asserts = [_typed(text) for name, text in row.items() if name and name.startswith("__expected") and text]
    variables = {name: text or "" for name, text in row.items() if name and not name.startswith("__")}
    return {"description": row.get("__description"), "vars": variables, "assert": asserts}


def _typed(text: str) -> object:
    found = _TYPED.fullmatch(text)
    if found is None:
        return {"type": "equals", "value": text}
    short = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}
    return {"type": short.get(found["type"], found["type"]), "value": found["value"].strip()}


_USED: Final = "trajectory:tool-used"
_NOT_RECORDED: Final = "expected an assertion about the result or the tools used, found one about the run; remove it"
_LIMITS: Final = frozenset({"cost", "latency", "perplexity", "perplexity-score"})
"""What they limit is the provider's, not the result's."""

_CONTAINS: Final = frozenset({"contains", "contains-any", "contains-all"})
_JUDGED: Final = frozenset({"llm-rubric", "g-eval", "model-graded-closedqa", "factuality", "model-graded-factuality"})
_SCRIPTS: Final = frozenset({"javascript", "python", "ruby", "webhook"})
_JSON_READS: Final = (
    "import json, sys\n"
    "try:\n"
    "    json.load(open('answer.txt', encoding='utf-8-sig'))\n"
    "except ValueError as error:\n"
    "    sys.exit(f'answer: expected JSON, found: {error}')\n"
)


@dataclass(frozen=True, slots=True)
class _Checks:
    given: Mapping[str, object]
    folder: Folder

    def of(self, entry: Assertion) -> list[TaskCheck]:
        kind = entry.kind
        # An assertion of weight 0 is shown and never decides.
        if kind in _LIMITS or entry.weight <= 0:
            return []
        if entry.transform is not None:
            raise SuiteError(f"expected {entry.type} without a transform, which is a script, found one; remove it")
        absent = entry.type != kind
        checks = self._used(entry, absent=absent) if kind == _USED else self._made(entry, kind, absent=absent)
        name = (entry.metric or "").replace("\n", " ")[:100]
        return [replace(check, name=name, weight=entry.weight / len(checks)) for check in checks]

    def _made(self, entry: Assertion, kind: str, *, absent: bool) -> list[TaskCheck]:
        if kind in _JUDGED:
            return [self._criterion(entry, kind, absent=absent)]
        if kind.removeprefix("i") in _CONTAINS and not (absent and kind.endswith("-all")):
            several = [self._text(entry)] if kind.endswith("contains") else self._texts(entry)
            groups = [[text] for text in several] if kind.endswith("-all") else [several]
            return [text_check(group, ignore_case=kind.startswith("i"), absent=absent) for group in groups]
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

    def _used(self, entry: Assertion, *, absent: bool) -> list[TaskCheck]:
        if not isinstance(entry.value, dict):
            names = self._texts(entry) if isinstance(entry.value, list) else [self._text(entry)]
            return [tool_check({"tool": name}, most=0 if absent else None) for name in names]
        tool, least, most = (entry.value.get(key) for key in ("name", "min", "max"))
        tool = tool or entry.value.get("pattern")
        if not isinstance(tool, str) or not isinstance(least, int | None) or not isinstance(most, int | None):
            raise SuiteError(
                f"expected a name and whole numbers for {entry.type}, found {entry.value!r:.80}; correct it"
            )
        if absent:
            least, most = None, 0
        return [tool_check({"tool": tool}, 0 if least is None and most is not None else least, most)]

    def _criterion(self, entry: Assertion, kind: str, *, absent: bool) -> TaskCheck:
        texts = self._texts(entry) if isinstance(entry.value, list) else [self._text(entry)]
        if "factuality" in kind:
            return criterion("The answer agrees with the facts of the reference.", texts[0])
        text = "\n".join(texts)
        return criterion(f"It is not the case that the following holds: {text}" if absent else text)

    def _value(self, entry: Assertion) -> object:
        if entry.value is None:
            raise SuiteError(f"expected a value for {entry.type}, found none; add one")
        if not isinstance(entry.value, str):
            return entry.value
        text = fill_template(entry.value, self.given)
        if not text.startswith(_FILE):
            return text
        name = text.removeprefix(_FILE)
        if ":" in name or name.endswith(_SCRIPT_ENDINGS):
            raise SuiteError(f"expected a value or a file of text, found the script {text!r}; write the value out")
        return fill_template(self.folder.text(name), self.given)

    def _text(self, entry: Assertion) -> str:
        value = self._value(entry)
        if isinstance(value, dict | list) or value == "":
            raise SuiteError(f"expected text for {entry.type}, found {value!r:.80}; correct it")
        return value if isinstance(value, str) else json.dumps(value)

    def _texts(self, entry: Assertion) -> list[str]:
        value = self._value(entry)
        several = value.split(",") if isinstance(value, str) else value
        if not isinstance(several, list) or not several:
            raise SuiteError(f"expected a list of texts for {entry.type}, found {value!r:.80}; correct it")
        return [
            fill_template(each.strip(), self.given) if isinstance(each, str) else json.dumps(each) for each in several
        ]


def _equals(value: object, *, absent: bool) -> TaskCheck:
    if not isinstance(value, str):
        if absent:
            raise SuiteError("expected text for not-equals, found a structure; correct it")
        return TaskCheck("json", {"value": value})
    if absent:
        return pattern_check(rf"\A{re.escape(value)}\Z", absent=True)
    return TaskCheck("exact", {"value": value, "strip": False})


_PLACE: Final = re.compile(r"\{\{-?\s*(?P<name>[A-Za-z_][\w-]*(?:\.\w+)*)(?P<dump>\s*\|\s*dump)?\s*-?\}\}")
_ROLES: Final = frozenset({"system", "developer", "user"})
_LOGIC: Final = re.compile(r"\{%|\{\{")


def fill_template(template: str, variables: Mapping[str, object], *, in_json: bool = False) -> str:
    """Fill the places of a template; one without a variable stays empty, as promptfoo has it."""
    plain = _PLACE.sub("", template)
    found = _LOGIC.search(plain)
    if found is not None:
        shown = plain[found.start() :].split("\n")[0]
        raise SuiteError(
            f"expected only places such as {{{{name}}}} in a prompt, found {shown!r:.80}; write the text out"
        )

    def filled(place: "re.Match[str]") -> str:
        text = _value_of(place["name"], variables)
        quoted = json.dumps(text, ensure_ascii=False)
        return quoted if place["dump"] else quoted[1:-1] if in_json else text

    return _PLACE.sub(filled, template)


def fill_prompt(template: str, variables: Mapping[str, object]) -> str:
    """Fill a prompt; a chat of system and user messages becomes one text."""
    if template.lstrip().startswith("["):
        try:
            messages = json.loads(fill_template(template, variables, in_json=True))
        except (ValueError, RecursionError):
            messages = None
        if isinstance(messages, list):
            return "\n\n".join(_contents(messages))
    return fill_template(template, variables)


def _contents(messages: Sequence[object]) -> Iterator[str]:
    for one in messages:
        if not (isinstance(one, dict) and isinstance(one.get("content"), str) and one.get("role") in _ROLES):
            raise SuiteError(f"expected messages of system and user, found {one!r:.80}; write the prompt as text")
        if one["content"].strip():
            yield one["content"].strip()


def _value_of(name: str, variables: Mapping[str, object]) -> str:
    first, *steps = name.split(".")
    found = variables.get(first)
    for step in steps:
        found = found.get(step) if isinstance(found, dict) else None
    if found is None:
        return ""
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
