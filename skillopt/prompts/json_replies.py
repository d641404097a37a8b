"""Find the JSON object in a model's reply, with prose, thinking, code fences and small slips around and in it."""

import json
import re
from collections.abc import Iterator
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from skillopt.errors import ReplyError, describe_mistake

_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_STRING_OR_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_MOST_TRIES: Final = 5_000
"""Braces at which an object is looked for: no reply has more, and a hostile one takes no longer."""

_ENFORCED = frozenset({"type", "items", "enum", "$ref"})

M = TypeVar("M", bound=BaseModel)


def schema_of(shape: type[BaseModel]) -> str:
    """Write the schema of a reply in the subset that providers enforce, keys in the order that a model writes them."""
    return json.dumps(_strict(shape.model_json_schema()))


def _strict(part: object) -> object:
    if isinstance(part, list):
        return [_strict(item) for item in part]
    if not isinstance(part, dict):
        return part
    kept = {name: _strict(value) for name, value in part.items() if name in _ENFORCED}
    for name in ("properties", "$defs"):
        if name in part:
            kept[name] = {inner: _strict(value) for inner, value in part[name].items()}
    if "properties" in kept:
        kept |= {"required": list(part["properties"]), "additionalProperties": False}
    return kept


def read_object(reply: str, shape: type[M], key: str) -> M:
    """Read the JSON object of a reply that has a key."""
    try:
        return shape.model_validate(find_object(reply, key))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the object"
        raise ReplyError(f"{place}: {describe_mistake(first)}") from error


def find_object(reply: str, key: str, part: str = "") -> dict[str, object]:
    """Return the last JSON object of a reply that has a key.

    Line ends inside strings and commas before a closing bracket are let pass. Of a reply that breaks off, or whose
    outer object is missing, the parts that can be read are given as a list under the key.
    """
    seen: list[dict[str, object]] = []
    for text in (_THINKING.sub(" ", reply), reply):
        for readable in (text, _STRING_OR_COMMA.sub(r"\1", text)):
            found = list(_objects(readable))
            whole = [value for value in found if key in value]
            if whole:
                return whole[-1]
            seen = found or seen
    parts = [value for value in seen if part and part in value]
    if parts:
        return {key: parts}
    raise ReplyError(_problem(reply, key, seen))


def _objects(text: str) -> Iterator[dict[str, object]]:
    """Yield the outermost objects that can be decoded, in order."""
    decoder = json.JSONDecoder(strict=False)
    at = -1
    for _ in range(_MOST_TRIES):
        at = text.find("{", at + 1)
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        yield value
        at = end - 1


def _problem(reply: str, key: str, seen: list[dict[str, object]]) -> str:
    """Return what stood there instead."""
    if seen:
        return f"expected a JSON object with the key {key!r}, found one with {sorted(map(str, seen[-1]))[:10]}"
    start = reply.find("{")
    if start < 0:
        return f"expected a JSON object, found {reply[:80]!r}"
    try:
        json.loads(reply[start:], strict=False)
    except (ValueError, RecursionError) as error:
        return f"expected a JSON object, found invalid JSON: {error}"
    return f"expected a JSON object with the key {key!r}, found {reply[:80]!r}"
