"""Read the arguments of a tool call strictly, and say in one plain sentence what is wrong with them.

A guessed limit such as `max_cost_usd` must not pass in silence: a job would start without one.
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from skillopt.errors import UsageError

__all__ = ["read_arguments", "strict_schema"]

_MOST_TOLD: Final = 3
_SHOWN: Final = 60
_LIKE: Final = 0.5
"""Share of equal letters from which on a name is taken for a slip of another."""

_EXPECTED: Final = ("Input should be ", "String should ", "List should ", "Tuple should ", "Value error, expected ")
_KINDS: Final = {
    "string_type": "a text",
    "list_type": "a list",
    "tuple_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dict_type": "an object",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a number",
}


class _Untitled(GenerateJsonSchema):
    """Leaves out titles, which say what the names say and are paid for in every session."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - the base's signature
        return False


def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments, which takes no other ones."""
    schema = model.model_json_schema(by_alias=True, schema_generator=_Untitled)
    schema.pop("title", None)
    return {**schema, "additionalProperties": False}


def read_arguments(
    tool: str, model: type[BaseModel], schema: Mapping[str, Any], given: Mapping[str, object]
) -> BaseModel:
    """Read the arguments of a call."""
    wrong = [_unknown(name, "", schema["properties"]) for name in given if name not in schema["properties"]]
    read = None
    try:
        read = model.model_validate({name: given[name] for name in given if name in schema["properties"]})
    except ValidationError as error:
        wrong += [_said(one, schema) for one in error.errors(include_url=False)]
    if read is not None and not wrong:
        return read
    more = f"; {len(wrong) - _MOST_TOLD} more are wrong" if len(wrong) > _MOST_TOLD else ""
    raise UsageError(f"{tool} did nothing: {'; '.join(wrong[:_MOST_TOLD])}{more}")


def _said(error: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return what is wrong with one argument."""
    *before, last = place = error["loc"]
    names = _properties(schema, before)
    if error["type"] == "extra_forbidden":
        return _unknown(str(last), _place(before), names)
    if error["type"] == "missing":
        about = str(names.get(str(last), {}).get("description", "")).rstrip(".")
        return f"expected {_place(place)}{f' ({about})' if about else ''}, found none"
    step = "; leave it out for no cap beside the project's" if error["type"] == "greater_than" else ""
    return f"expected {_place(place)} {_expected(error)}, found {_found(error['input'])}{step}"


def _expected(error: Mapping[str, Any]) -> str:
    if error["type"] in _KINDS:
        return f"to be {_KINDS[error['type']]}"
    message = str(error["msg"]).partition(" after validation")[0]
    for beginning in _EXPECTED:
        if message.startswith(beginning):
            rest = message.removeprefix(beginning)
            return f"to {rest}" if rest.startswith("have ") else f"to be {rest}"
    return f"to be another ({message})"


def _unknown(name: str, place: str, known: Mapping[str, object]) -> str:
    inside = f" in {place}" if place else ""
    near = get_close_matches(name, known, n=1, cutoff=_LIKE)
    names = f"did you mean {near[0]!r}?" if near else f"its arguments are {_listed(known)}"
    return f"there is no argument {_found(name)}{inside}, {names}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _properties(schema: Mapping[str, Any], place: Sequence[str | int]) -> Mapping[str, Any]:
    """Return what an object takes that lies inside the arguments."""
    here: Mapping[str, Any] = schema
    for part in place:
        inner = here.get("items", {}) if isinstance(part, int) else here.get("properties", {}).get(part, {})
        here = schema.get("$defs", {}).get(str(inner.get("$ref", "")).rpartition("/")[2], inner)
    found: Mapping[str, Any] = here.get("properties", {})
    return found


def _place(place: Sequence[str | int]) -> str:
    """Name an argument, parts of lists counted from 1: `edits 2: op`.

    >>> _place(("edits", 0, "op"))
    "'op' of edits 1"
    """
    words: list[str] = []
    for part in place:
        if isinstance(part, int) and words:
            words[-1] += f" {part + 1}"
        else:
            words.append(str(part))
    inner, *outer = reversed(words or [""])
    return " of ".join([repr(inner) if not any(map(str.isdigit, inner)) else inner, *outer])


def _found(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
