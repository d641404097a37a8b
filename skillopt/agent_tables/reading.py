"""Read the tables `[agents.NAME]` of skillopt.toml; what is wrong is told with its line and the nearest known name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError

from skillopt.agent_tables.shipped import SHIPPED
from skillopt.agent_tables.table import OF_VERSIONS, PLACEHOLDERS, AgentTable, unknown_placeholders
from skillopt.errors import SettingsError

__all__ = ["RESERVED", "read_agent_tables"]

RESERVED: Final = (
    *("claude-code", "codex", "chat", "handoff", "demo"),
    *("anthropic", "openai", "openai-compatible"),
)
"""Names that harnesses and models have that are built in."""

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MERGED: Final = ("environment", "files")
_WORDS: Final = {
    "tuple_type": 'expected a list, as in ["one", "two"]',
    "string_type": "expected a text in quotes",
    "int_type": "expected a whole number",
    "dict_type": 'expected a table, as in { NAME = "value" }',
    "model_type": 'expected a table, as in { text = "part.text" }',
}


def read_agent_tables(found: object, file: str, text: str) -> dict[str, AgentTable]:
    """Read the tables; one of a shipped agent has the fields that it does not name from there."""
    if not isinstance(found, Mapping) or not all(isinstance(table, Mapping) for table in found.values()):
        raise SettingsError(f"{file}:{_line(text, '', '')}: expected [agents.NAME] tables, found {found!r}")
    return {name: _Reading(file, text, name).read(table) for name, table in found.items()}


class _Reading:
    """One table being read."""

    def __init__(self, file: str, text: str, name: str) -> None:
        self._file, self._text, self._name = file, text, name

    def read(self, values: Mapping[str, object]) -> AgentTable:
        if self._name in RESERVED:
            raise self._problem("", "this name is built in; choose another one")
        if not _NAME.fullmatch(self._name):
            raise self._problem("", "expected a name of small letters, digits and hyphens; rename it")
        shipped = SHIPPED[self._name].model_dump(exclude_defaults=True) if self._name in SHIPPED else {}
        merged = {**shipped, **values}
        for key in _MERGED:
            own = values.get(key)
            if isinstance(own, Mapping):
                merged[key] = {**shipped.get(key, {}), **own}
        try:
            table = AgentTable.model_validate(merged)
        except ValidationError as error:
            raise self._invalid(error) from error
        for key, problem in _problems(table):
            raise self._problem(key, problem)
        return table

    def _invalid(self, error: ValidationError) -> SettingsError:
        # A field that is misspelt is missing, too; its own name tells more.
        first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
        place = [part for part in first["loc"] if isinstance(part, str) and part != "[key]"]
        key = place[0] if place else ""
        named = ".".join(place)
        if first["type"] == "extra_forbidden":
            known = _fields(AgentTable, place[:-1])
            near = get_close_matches(place[-1], known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}"
            return self._problem(key, f"unknown field {named!r}; {hint}")
        if first["type"] == "missing":
            return self._problem(key, f"expected {named}, found none; write it")
        told = _WORDS.get(first["type"], first["msg"].removeprefix("Value error, "))
        return self._problem(key, f"{named}: {told}, found {first['input']!r}")

    def _problem(self, key: str, told: str) -> SettingsError:
        return SettingsError(f"{self._file}:{_line(self._text, self._name, key)}: [agents.{self._name}] {told}")


def _problems(table: AgentTable) -> Iterator[tuple[str, str]]:
    """Yield what does not go together in a table: the field, and what is wrong."""
    yield from _placed_wrongly(table)
    yield from _output_problems(table)
    if table.needs_turns and not table.turns:
        yield "turns", "expected turns of at least 1, found 0; {turns} stands in its files or command"
    if table.turns and not table.needs_turns:
        yield "turns", "expected {turns} in its command, environment or files, by which it keeps to turns, found none"


def _placed_wrongly(table: AgentTable) -> Iterator[tuple[str, str]]:
    """Yield what stands in braces and is not filled in, or names a file outside of the project."""
    for field, unknown in unknown_placeholders(table):
        known = OF_VERSIONS if field == "version" else PLACEHOLDERS
        near = get_close_matches(unknown, known, n=1, cutoff=0.5)
        hint = f"did you mean '{{{near[0]}}}'?" if near else f"known: {', '.join(known)}"
        yield field, f"unknown placeholder '{{{unknown}}}'; {hint}"
    for field, word in table.project_words:
        if ".." in word.split("/"):
            yield field, f"expected a file of the project without '..', found {word!r}"


def _output_problems(table: AgentTable) -> Iterator[tuple[str, str]]:
    """Yield what does not go together in how its output is read."""
    if table.output != "text" and table.answer is None:
        where = 'say where the words of the model stand, as in answer = { text = "result" }'
        yield "output", f'expected answer for output = "{table.output}", found none; {where}'
    rules = [name for name in ("answer", "tool", "result", "usage", "error") if getattr(table, name) is not None]
    if table.output == "text" and rules:
        yield rules[0], f'expected output = "lines" or "json" beside {rules[0]}, found "text"; set output'
    if table.result is not None and (table.tool is None or table.tool.id is None):
        yield "result", "expected tool with an id beside result, by which they belong together; add it"


def _fields(model: type[BaseModel], place: Sequence[str]) -> list[str]:
    """List the names that are known at a place of a table."""
    for part in place:
        field = model.model_fields.get(part)
        models = [kind for kind in _kinds(field.annotation if field else None) if issubclass(kind, BaseModel)]
        if not models:
            return []
        model = models[0]
    return list(model.model_fields)


def _kinds(annotation: Any) -> list[type]:  # noqa: ANN401 - an annotation is anything
    kinds = [annotation, *get_args(annotation)]
    return [kind for kind in kinds if isinstance(kind, type)]


def _line(text: str, name: str, key: str) -> int:
    """Find the line of a field in a file, else that of its table, else the first that names agents; 1 for none."""
    lines = text.splitlines()
    head = re.compile(rf"\s*\[\s*agents\s*\.\s*[\"']?{re.escape(name)}[\"']?\s*[.\]]")
    begin = next((number for number, line in enumerate(lines) if head.match(line)), None)
    if begin is None:
        return next((number for number, line in enumerate(lines, 1) if "agents" in line), 1)
    if key:
        field = re.compile(rf"\s*(?:\[.*\.\s*)?[\"']?{re.escape(key)}[\"']?\s*[.=\]]")
        for number in range(begin, len(lines)):
            if number > begin and lines[number].lstrip().startswith("[") and not head.match(lines[number]):
                break
            if field.match(lines[number]):
                return number + 1
    return begin + 1
