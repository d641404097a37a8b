"""Find the commands that Claude Code runs when it loads a skill: code spans or blocks after an exclamation mark."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# The mark counts at the start and after white space only: `name!` and (!`x`) reach the model as they are.
_SPAN = re.compile(r"(?<![^\s\ufeff])!`+[^`]*`*")
# A run is taken whole or not at all: tried again at each of its characters, it would take quadratic time.
_FENCE_RUN = re.compile(r"(?P<ticks>[`~]++)[ \t]*+(?P<mark>!?)")
_FENCE = re.compile(r"`{3}|~{3}")


@dataclass(frozen=True, slots=True)
class LoadCommand:
    """A command: its offset in the text, the text of it, and whether it is a block of commands."""

    start: int
    text: str
    is_block: bool


def find_load_commands(text: str) -> Iterator[LoadCommand]:
    """Find commands, spans first; what looks as if it were one by an odd fence counts, too.

    >>> [found.text for found in find_load_commands("Now: !`git status`. Use `format!` and `vec!`.")]
    ['!`git status`']
    """
    for match in _SPAN.finditer(text):
        yield LoadCommand(match.start(), match[0], is_block=False)
    position = 0
    while (run := _FENCE_RUN.search(text, position)) is not None:
        position = run.end()
        fence = _FENCE.search(run["ticks"])
        if fence and run["mark"]:
            start, end = run.start() + fence.start(), text.find(fence[0], run.end())
            position = len(text) if end < 0 else end + len(fence[0])
            yield LoadCommand(start, text[start:position], is_block=True)
