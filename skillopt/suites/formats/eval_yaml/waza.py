"""Tasks of waza: one file a task, graders of the text and of files, for single tasks and for all."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.suites.checks import TaskCheck, criterion, pattern_check, text_check, verifier_of
from skillopt.suites.foreign_files import Folder, ForeignEntry, read_entry, seconds_of, task_id, workspace_file
from skillopt.suites.reading import Collection, Trigger
from skillopt.suites.sources import Source, read_yaml
from skillopt.tasks import File, Task

__all__ = ["WazaTask", "add_waza"]

_ANY_OUTPUT: Final = "len(output) > "
_OF_THE_RUN: Final = frozenset({"behavior", "human", "human_calibration"})
"""They limit calls and time, or ask a person."""


class _Placed(ForeignEntry):
    path: str
    content: str | None = None


class _Inputs(ForeignEntry):
    prompt: Annotated[str, Field(pattern=r"\S")]
    files: tuple[_Placed, ...] | None = None


class _Expected(ForeignEntry):
    output_contains: tuple[str, ...] = ()
    output_not_contains: tuple[str, ...] = ()
    output_contains_any: tuple[str, ...] = ()
    should_trigger: bool | None = None


class _Grader(ForeignEntry):
    type: str
    name: str = ""
    config: dict[str, object] = Field(default_factory=dict)


class _ContentPattern(ForeignEntry):
    path: str
    must_match: tuple[str, ...] = ()
    must_not_match: tuple[str, ...] = ()


class _ToolSpec(ForeignEntry):
    tool: str
    command_pattern: str | None = None
    path_pattern: str | None = None
    skill_pattern: str | None = None


class _Config(ForeignEntry):
    contains: tuple[str, ...] = ()
    not_contains: tuple[str, ...] = ()
    contains_cs: tuple[str, ...] = ()
    not_contains_cs: tuple[str, ...] = ()
    regex_match: tuple[str, ...] = ()
    regex_not_match: tuple[str, ...] = ()
    must_exist: tuple[str, ...] = ()
    must_not_exist: tuple[str, ...] = ()
    content_patterns: tuple[_ContentPattern, ...] = ()
    expect_tools: tuple[_ToolSpec, ...] = ()
    reject_tools: tuple[_ToolSpec, ...] = ()
    matching_mode: str = ""
    expected_actions: tuple[str, ...] = ()
    assertions: tuple[str, ...] = ()
    prompt: str | None = None


class WazaTask(ForeignEntry):
    """One task, the whole of its file."""

    id: str | None = None
    name: str = ""
    inputs: _Inputs
    expected: _Expected | None = None
    graders: tuple[_Grader, ...] | None = None
    enabled: bool = True


def add_waza(found: Collection, source: Source, config: Mapping[str, object], folder: Folder) -> None:
    """Take the tasks that a file names by patterns."""
    given = config.get("config")
    limit = given.get("timeout_seconds") if isinstance(given, dict) else None
    patterns, shared = config["tasks"], config.get("graders")
    for at, pattern in enumerate(patterns if isinstance(patterns, list) else []):
        line = source.line_of(("tasks", at))
        places = _found(found, pattern, line, folder)
        for place in places:
            try:
                entry = read_entry(WazaTask, read_yaml(folder.place(str(place))).value)
                common = [read_entry(_Grader, one) for one in (shared if isinstance(shared, list) else [])]
                _add(found, entry, [*common, *(entry.graders or ())], folder, (line, limit, place.stem))
            except SuiteError as error:
                found.skip(place.stem, line, str(error))


def _found(found: Collection, pattern: object, line: int, folder: Folder) -> list[Path]:
    """List the files of a pattern, or say why there are none."""
    try:
        places = folder.glob(pattern) if isinstance(pattern, str) else []
    except SuiteError as error:
        found.skip(str(pattern), line, str(error))
        return []
    if not places:
        found.skip(str(pattern), line, "expected files of tasks, found none; add them or correct the pattern")
    return places


def _add(
    found: Collection,
    entry: WazaTask,
    graders: list[_Grader],
    folder: Folder,
    where: tuple[int, str | float | None, str],
) -> None:
    line, limit, name = where
    expected = entry.expected or _Expected()
    if expected.should_trigger is not None:
        found.triggers.append(Trigger(entry.inputs.prompt, expected.should_trigger, line))
    if expected.should_trigger is False or not entry.enabled:
        return
    checks = [check for each in graders if each.type not in _OF_THE_RUN for check in _checks(each)]
    checks += _expected(expected)
    files = tuple(file for each in entry.inputs.files or () for file in _placed(each, folder))
    identity = task_id(entry.id or entry.name, task_id(name, "task"))
    task = Task(identity, entry.inputs.prompt, verifier_of(checks), files, timeout=seconds_of(limit))
    found.add(task, line)


def _expected(expected: _Expected) -> Iterator[TaskCheck]:
    yield from (text_check(text, ignore_case=True) for text in expected.output_contains)
    yield from (text_check(text, ignore_case=True, absent=True) for text in expected.output_not_contains)
    if expected.output_contains_any:
        yield text_check(expected.output_contains_any, ignore_case=True)


def _checks(grader: _Grader) -> Iterator[TaskCheck]:
    config = read_entry(_Config, grader.config)
    match grader.type:
        case "text" | "regex":
            yield from _texts(config)
        case "file":
            yield from _files(config)
        case "tool_constraint":
            yield from (_tool(spec) for spec in config.expect_tools)
            yield from (_tool(spec, forbidden=True) for spec in config.reject_tools)
        case "action_sequence" if config.matching_mode == "in_order_match":
            if len(set(config.expected_actions)) < len(config.expected_actions):
                raise SuiteError("expected each tool once in a sequence, found one twice; write it out")
            yield TaskCheck("tool_order", {"steps": [{"tool": tool} for tool in config.expected_actions]})
        case "prompt" | "llm" if config.prompt:
            yield criterion(config.prompt.strip(), name=grader.name)
        # Any answer at all is what every other check asks for too.
        case "code" if config.assertions and all(text.startswith(_ANY_OUTPUT) for text in config.assertions):
            return
        case _:
            raise SuiteError(f"the grader {grader.type!r} has no counterpart here; write it as text, file or prompt")


def _texts(config: _Config) -> Iterator[TaskCheck]:
    yield from (text_check(text, ignore_case=True) for text in config.contains)
    yield from (text_check(text, ignore_case=True, absent=True) for text in config.not_contains)
    yield from (text_check(text) for text in config.contains_cs)
    yield from (text_check(text, absent=True) for text in config.not_contains_cs)
    yield from (pattern_check(text) for text in config.regex_match)
    yield from (pattern_check(text, absent=True) for text in config.regex_not_match)


def _files(config: _Config) -> Iterator[TaskCheck]:
    yield from (TaskCheck("file", {"path": path}) for path in config.must_exist)
    yield from (TaskCheck("file", {"path": path, "exists": False}) for path in config.must_not_exist)
    for each in config.content_patterns:
        yield from (pattern_check(text, file=each.path) for text in each.must_match)
        yield from (pattern_check(text, absent=True, file=each.path) for text in each.must_not_match)


def _tool(spec: _ToolSpec, *, forbidden: bool = False) -> TaskCheck:
    pattern = spec.command_pattern or spec.path_pattern or spec.skill_pattern
    options: dict[str, object] = {"tool": spec.tool, **({"arguments": pattern} if pattern else {})}
    return TaskCheck("tool_used", {**options, "min": 0, "max": 0} if forbidden else options)


def _placed(entry: _Placed, folder: Folder) -> Iterator[File]:
    if entry.content is not None:
        yield workspace_file(entry.path, entry.content.encode())
        return
    inside = "fixtures" if (folder.base / "fixtures").is_dir() else "."
    yield from folder.files(f"{inside}/{entry.path}", entry.path)
