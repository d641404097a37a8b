"""Stimuli of vally: a prompt, files, and graders of the output, of files, and of the tools and skills used.

A stimulus that asks for nothing but which skill is used is a trigger.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Final

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.suites.checks import TaskCheck, criterion, pattern_check, text_check, verifier_of
from skillopt.suites.foreign_files import Folder, ForeignEntry, read_entry, seconds_of, task_id, workspace_file
from skillopt.suites.reading import Collection, Trigger
from skillopt.suites.sources import Source
from skillopt.tasks import File, Task

__all__ = ["Stimulus", "add_stimuli"]

_OF_THE_RUN: Final = frozenset({"completed", "no-errors"})
_FORBIDS: Final = "-not-"


class _Placed(ForeignEntry):
    src: str | None = None
    dest: str
    content: str | None = None


class _Environment(ForeignEntry):
    files: tuple[_Placed, ...] = ()
    commands: tuple[str, ...] | None = None


class _Grader(ForeignEntry):
    type: str
    name: str = ""
    config: dict[str, object] = Field(default_factory=dict)


class _ToolCall(ForeignEntry):
    name: str = "*"
    command: str | None = None


class _Config(ForeignEntry):
    pattern: str | None = None
    substring: str | None = None
    path: str | None = None
    prompt: str | None = None
    rubric: str | None = None
    required: tuple[_ToolCall | str, ...] = ()
    disallowed: tuple[_ToolCall | str, ...] = ()


class Stimulus(ForeignEntry):
    """One stimulus."""

    name: str
    prompt: Annotated[str | None, Field(pattern=r"\S")] = None
    turns: tuple[str, ...] | None = None
    environment: _Environment | str | None = None
    graders: tuple[_Grader, ...] = ()
    rubric: tuple[str, ...] | None = None
    timeout: float | str | None = None


def add_stimuli(found: Collection, source: Source, config: Mapping[str, object], folder: Folder) -> None:
    """Take the stimuli of a file."""
    values, defaults = config["stimuli"], config.get("defaults")
    limit = defaults.get("timeout") if isinstance(defaults, dict) else None
    shared = config.get("graders")
    for at, value in enumerate(values if isinstance(values, list) else []):
        line = source.line_of(("stimuli", at))
        name = str(value.get("name") or at + 1) if isinstance(value, dict) else str(at + 1)
        try:
            entry = read_entry(Stimulus, value)
            common = [read_entry(_Grader, one) for one in (shared if isinstance(shared, list) else [])]
            _add(found, entry, [*common, *entry.graders], folder, (line, limit))
        except SuiteError as error:
            found.skip(name, line, str(error))


def _add(
    found: Collection, entry: Stimulus, graders: list[_Grader], folder: Folder, where: tuple[int, str | float | None]
) -> None:
    line, limit = where
    if entry.prompt is None:
        turns = "a conversation of several turns" if entry.turns else "no prompt"
        raise SuiteError(f"expected one prompt, found {turns}; write it as one prompt")
    invoked = [read_entry(_Config, each.config) for each in graders if each.type == "skill-invocation"]
    if invoked:
        found.triggers.append(Trigger(entry.prompt, any(each.required for each in invoked), line))
    rest = [each for each in graders if each.type != "skill-invocation" and each.type not in _OF_THE_RUN]
    # Where nothing is asked of the result but that it holds no error, only the choice of the skill was meant.
    if invoked and not entry.rubric and all(_FORBIDS in each.type for each in rest):
        return
    checks = [check for each in rest for check in _checks(each)]
    if entry.rubric:
        # The judge that is asked about the rubric judges each of its sentences.
        checks = [check for check in checks if check.kind != "rubric"] + [criterion(text) for text in entry.rubric]
    seconds = seconds_of(entry.timeout if entry.timeout is not None else limit)
    files = _files(entry.environment, folder)
    found.add(Task(task_id(entry.name, "stimulus"), entry.prompt, verifier_of(checks), files, timeout=seconds), line)


def _checks(grader: _Grader) -> Iterator[TaskCheck]:
    config = read_entry(_Config, grader.config)
    absent = _FORBIDS in grader.type
    text, path = config.substring or "", (config.path or "").removeprefix("./")
    match grader.type.replace(_FORBIDS, "-"):
        case "output-matches" if config.pattern:
            yield pattern_check(config.pattern, absent=absent)
        case "output-contains" if text:
            yield text_check(text, absent=absent)
        case "file-exists" if path:
            yield TaskCheck("file", {"path": path, **({"exists": False} if absent else {})})
        case "file-matches" if path and config.pattern:
            yield pattern_check(config.pattern, absent=absent, file=path)
        case "file-contains" if path and text:
            yield TaskCheck("file", {"path": path, "contains": text, **({"absent": True} if absent else {})})
        case "tool-calls":
            yield from (_tool(each) for each in config.required)
            yield from (_tool(each, forbidden=True) for each in config.disallowed)
        case "prompt" if config.prompt or config.rubric:
            yield criterion((config.prompt or config.rubric or "").strip(), name=grader.name)
        case _:
            raise SuiteError(f"the grader {grader.type!r} has no counterpart here, or lacks a value; write it out")


def _tool(call: _ToolCall | str, *, forbidden: bool = False) -> TaskCheck:
    """Ask for a tool call; the name is a pattern, of which alternatives and anchors are understood."""
    wanted = _ToolCall(name=call) if isinstance(call, str) else call
    names = wanted.name.removeprefix("(?i)").strip("^$").removeprefix("(").removesuffix(")").split("|")
    if any(set(name) & set("\\[](){}+?.") for name in names):
        raise SuiteError(f"expected the name of a tool, found the pattern {wanted.name!r}; write the name")
    shells = {"bash", "powershell", "pwsh", "shell"}
    if len(names) > 1 and not set(names) <= shells:
        raise SuiteError(f"expected one tool, found a choice of tools in {wanted.name!r}; write one")
    options: dict[str, object] = {"tool": names[0], **({"arguments": wanted.command} if wanted.command else {})}
    return TaskCheck("tool_used", {**options, "min": 0, "max": 0} if forbidden else options)


def _files(environment: _Environment | str | None, folder: Folder) -> tuple[File, ...]:
    if environment is None:
        return ()
    if isinstance(environment, str):
        raise SuiteError(f"expected files of the stimulus, found the environment {environment!r}; write its files")
    if environment.commands:
        raise SuiteError("expected files for the workspace, found commands, which are not run; write them as files")
    placed = [file for entry in environment.files for file in _placed(entry, folder)]
    return tuple({file.path: file for file in placed}.values())


def _placed(entry: _Placed, folder: Folder) -> Iterator[File]:
    if entry.content is not None:
        yield workspace_file(entry.dest, entry.content.encode())
    else:
        yield from folder.files(entry.src or entry.dest, entry.dest.rstrip("/"))
