"""Answer sheet: all open items of a hand-off in one file to read, and one file, Markdown or JSON, to answer them in."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.agents.handoff_folder import HOW_TO_ANSWER, OpenItem
from skillopt.errors import UsageError

__all__ = ["Answers", "Missing", "read_answers", "render_answers", "render_items"]

_HEADING: Final = re.compile(r"^## (?P<id>(?:prompts|rollouts)/\w+)\b.*$", re.MULTILINE)
_FIRST_LINE: Final = "# Answers: write each one below its heading, and leave the headings as they are"


@dataclass(frozen=True, slots=True)
class Missing:
    """An item without an answer: its id, what it is about, and where in the file the answer belongs, 0 for nowhere."""

    id: str
    about: str
    line: int


@dataclass(frozen=True, slots=True)
class Answers:
    """What a file of answers holds: the answers by item, and the items without one."""

    given: Mapping[str, str]
    missing: tuple[Missing, ...]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: Annotated[str, Field(min_length=1)]
    answer: str = ""


class _Answers(BaseModel):
    model_config = ConfigDict(extra="ignore")

    items: list[_Answer]


def render_items(title: str, items: Sequence[OpenItem]) -> str:
    """Write all open items to be read.

    Args:
        title: The first line.
        items: What is open.
    """
    parts = [f"# {title}", "\n".join(f"- {line}" for line in HOW_TO_ANSWER)]
    for number, item in enumerate(items, 1):
        facts = [f"id: `{item.id}`"]
        facts += [f"skill to follow: `{item.skill}`"] if item.skill else []
        facts += [f"workspace: `{item.workspace}/`" + _listed(item.files)] if item.workspace else []
        parts += [f"## {number}. {item.kind}: {item.about}", "\n".join(f"- {fact}" for fact in facts)]
        texts = (("Instructions", item.system), ("Prompt", item.prompt), ("Schema of the answer", item.schema))
        parts += [_quoted(name, text) for name, text in texts if text]
    return "\n\n".join(parts) + "\n"


def _listed(files: Sequence[str]) -> str:
    return f", with {', '.join(f'`{name}`' for name in files)}" if files else ", empty"


def _quoted(name: str, text: str) -> str:
    """Quote a text in a fence that does not occur in it."""
    longest = max((len(found) for found in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{name}:\n\n{fence}text\n{text.rstrip()}\n{fence}"


def render_answers(items: Sequence[OpenItem], given: Mapping[str, str] | None = None) -> str:
    """Write the file to answer in.

    Args:
        items: What is open.
        given: Answers that there are already, by the id of the item.
    """
    parts = [_FIRST_LINE]
    for item in items:
        answer = (given or {}).get(item.id, "").strip("\n")
        parts.append(f"## {item.id} {item.about}\n" + (f"\n{answer}\n" if answer else ""))
    return "\n\n".join(parts) + "\n"


def read_answers(text: str, name: str, items: Sequence[OpenItem], taken: Collection[str] = ()) -> Answers:
    """Read a file of answers: Markdown as `render_answers` writes it, or JSON: `items`, each an `id` and an `answer`.

    Args:
        text: The file.
        name: Of the file, for messages.
        items: What is open; an answer to anything else is an error.
        taken: Items that were open before: what is said of them is left out.

    Raises:
        UsageError: The file is neither, or answers twice or what is not open; the message says where.
    """
    found = _read_json(text, name) if text.lstrip().startswith(("{", "[")) else _read_markdown(text)
    open_ids, answers, lines = {item.id for item in items}, dict[str, str](), dict[str, int]()
    for item, answer, line in found:
        if item not in open_ids and item in taken:
            continue
        if item not in open_ids:
            raise UsageError(
                f"{name}:{line}: expected an item that is open, found {item!r}; see `skillopt handoff next`"
            )
        if item in lines:
            raise UsageError(f"{name}:{line}: expected one answer to each item, found {item} again; remove one")
        lines[item] = line
        if answer.strip():
            answers[item] = answer.strip("\n") + "\n"
    missing = (Missing(item.id, item.about, lines.get(item.id, 0)) for item in items if item.id not in answers)
    return Answers(answers, tuple(missing))


def _read_markdown(text: str) -> list[tuple[str, str, int]]:
    """Give id, answer and line of each heading."""
    found = list(_HEADING.finditer(text))
    ends = [*(heading.start() for heading in found[1:]), len(text)]
    return [
        (heading["id"], text[heading.end() : end].strip(), text.count("\n", 0, heading.start()) + 1)
        for heading, end in zip(found, ends, strict=False)
    ]


def _read_json(text: str, name: str) -> list[tuple[str, str, int]]:
    """Give id, answer and line of each item."""
    try:
        read = _Answers.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        problem = f"{place}: {first['msg']}" if place else first["msg"]
        raise UsageError(
            f'{name}: expected {{"items": [{{"id": "…", "answer": "…"}}]}}, found a problem at {problem}'
        ) from error
    return [(one.id, one.answer, _line_of(text, one.id)) for one in read.items]


def _line_of(text: str, value: str) -> int:
    at = text.find(json.dumps(value))
    return text.count("\n", 0, max(at, 0)) + 1
