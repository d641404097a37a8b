"""Prompts of promptfoo: text with `{{ variable }}`, filled from the variables of a test."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Final

from skillopt.errors import SuiteError

__all__ = ["each_choice", "fill_prompt", "fill_template"]

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
    text = _value(place["name"], variables)
    return json.dumps(text, ensure_ascii=False) if place["dump"] else text


def _value(name: str, variables: Mapping[str, object]) -> str:
    first, *steps = name.split(".")
    found = variables.get(first)
    for step in steps:
        found = found.get(step) if isinstance(found, dict) else None
    if found is None:
        return ""
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
