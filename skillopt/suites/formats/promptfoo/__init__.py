"""Read configurations of promptfoo: every prompt with every test; providers are passed over.

Assertions that run a script, and prompts that a script makes, cannot be run.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.skills.folder import SKILL_FILE
from skillopt.suites.checks import verifier_of
from skillopt.suites.foreign_files import Folder, ForeignEntry, read_entry, repository_of, task_id
from skillopt.suites.formats.promptfoo.assertions import AssertionReader
from skillopt.suites.formats.promptfoo.templates import each_choice, fill_prompt, fill_template
from skillopt.suites.reading import Collection, Reading, Trigger
from skillopt.suites.sources import Source, error_at, read_json, read_json_lines, read_yaml
from skillopt.tasks import Task

__all__ = ["PromptfooTest", "read_promptfoo"]

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
