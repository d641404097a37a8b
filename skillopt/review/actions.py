"""What a target did in a rollout, step by step: what it said, which tools it used, and which files it wrote."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from skillopt.rollouts import ToolCall, Trajectory
from skillopt.tasks import File

__all__ = ["TakenAction", "final_output", "is_reading", "read_actions", "text_of"]

_MOST_TEXT: Final = 200_000
"""Characters of a text that are looked at."""

_WRITERS: Final = ("write", "edit", "create", "patch", "replace")
_PATH_KEYS: Final = ("file_path", "path", "notebook_path", "filename")
_PATCHED: Final = re.compile(r"^(?:add|update|delete|\*\*\* (?:Add|Update|Delete) File:) (.+)$", re.MULTILINE)
_CHAT_FILE: Final = re.compile(r'^<file path="([^"\n]{1,300})">\n(.*?)^</file>', re.MULTILINE | re.DOTALL)
_QUOTED: Final = r"""["']([^"'\n]{1,300})["']"""
_NAMED: Final = r"""["']?([^\s"';|&<>()]{1,300})"""
_SHELL_WRITES: Final = tuple(
    map(
        re.compile,
        (
            rf"(?<![0-9&>-])>{{1,2}}\s*(?!&|/dev/null){_NAMED}",
            rf"\b(?:tee|touch|mkfifo|truncate|mkdir)\s+(?:-\w+\s+(?:\d+\s+)?)*{_NAMED}",
            rf"\b(?:cp|mv|ln|install)\s+[^;|&\n]{{1,300}}\s{_NAMED}[ \t]*(?=$|[;|&\n)])",
            rf"\b(?:sed|perl)\s+-\w*i[^;|&\n]{{1,300}}\s{_NAMED}[ \t]*(?=$|[;|&\n)])",
            rf"\brm\s+(?:-\w+\s+)*{_NAMED}",
            rf"\bopen\(\s*{_QUOTED}\s*,\s*[\"'][wax]",
            rf"\bPath\(\s*{_QUOTED}\s*\)\.(?:write_|unlink|touch|symlink_to)",
            rf"\b(?:writeFile|appendFile|writeFileSync|appendFileSync)\(\s*{_QUOTED}",
        ),
    )
)
_LEAST_LINE: Final = 8
_MOST_LINES: Final = 400


@dataclass(frozen=True, slots=True)
class TakenAction:
    """One thing that the target said or did."""

    tool: str
    text: str
    result: str = ""
    paths: tuple[str, ...] = ()


def read_actions(trajectory: Trajectory) -> tuple[TakenAction, ...]:
    """List what the target said and did, in order; the final answer is the last where no message has it."""
    found: list[TakenAction] = []
    for message in trajectory.messages:
        if message.role != "assistant":
            continue
        if message.text.strip():
            found.append(_said(message.text[:_MOST_TEXT]))
        found += map(_used, message.tool_calls)
    if trajectory.answer.strip() and not any(trajectory.answer.strip() in one.text for one in found if not one.tool):
        found.append(_said(trajectory.answer[:_MOST_TEXT]))
    return tuple(found)


def is_reading(action: TakenAction, inputs: tuple[File, ...]) -> bool:
    """Return whether a tool use looks at an input file: it names one, by a pattern too, or prints a line of one."""
    if not action.tool:
        return False
    names = [file.path.rpartition("/")[2] for file in inputs]
    if any(name in action.text for name in names):
        return True
    words = [word.strip("\"'()[];,").rpartition("/")[2] for word in action.text.split()[:_MOST_LINES]]
    patterns = [word for word in words if "*" in word]
    if any(fnmatchcase(name, pattern) for pattern in patterns for name in names):
        return True
    return any(line in action.result for line in _lines(inputs))


def final_output(trajectory: Trajectory) -> str:
    """Return all that the target wrote into files, as far as its record tells, and its answer."""
    written = [action.text for action in read_actions(trajectory) if action.paths]
    return "\n".join([*written, trajectory.answer])


def text_of(files: tuple[File, ...]) -> str:
    """Return files as one text, each cut where it is very long."""
    return "\n".join(file.content[:_MOST_TEXT].decode("utf-8", "replace") for file in files)


def _lines(inputs: tuple[File, ...]) -> Iterator[str]:
    for line in text_of(inputs).split("\n")[:_MOST_LINES]:
        if len(line.strip()) >= _LEAST_LINE:
            yield line.strip()


def _said(text: str) -> TakenAction:
    # Behind the last closing mark no file ends, and to look for the end of each that begins there takes for ever.
    end = text.rfind("\n</file>")
    files = _CHAT_FILE.findall(text[: end + len("\n</file>")]) if end >= 0 else []
    return TakenAction("", text, paths=tuple(path for path, _ in files))


def _used(call: ToolCall) -> TakenAction:
    arguments, named = _plain(call.arguments[:_MOST_TEXT])
    writer = any(word in call.name.lower() for word in _WRITERS)
    paths = list(named) if writer else []
    if writer and not named:
        paths = _PATCHED.findall(arguments) or arguments.split("\n", 1)[:1]
    paths += [path for pattern in _SHELL_WRITES for path in pattern.findall(arguments)]
    return TakenAction(call.name, arguments, call.result[:_MOST_TEXT], tuple(dict.fromkeys(paths)))


def _plain(arguments: str) -> tuple[str, tuple[str, ...]]:
    """Return arguments as the tool reads them, and the files that they name as such."""
    try:
        found = json.loads(arguments)
    except ValueError:
        return arguments, ()
    if not isinstance(found, dict):
        return arguments, ()
    paths = tuple(str(found[key]) for key in _PATH_KEYS if found.get(key))
    return "\n".join(_leaves(found)), paths


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    else:
        yield str(value)
