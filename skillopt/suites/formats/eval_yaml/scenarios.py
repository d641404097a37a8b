"""Scenarios of .NET's skill-validator: a prompt, files, assertions on the output and on files, and a rubric."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.suites.checks import TaskCheck, criterion, pattern_check, text_check, verifier_of
from skillopt.suites.foreign_files import (
    Folder,
    ForeignEntry,
    holds_answers,
    read_entry,
    seconds_of,
    task_id,
    workspace_file,
)
from skillopt.suites.reading import Collection, Trigger
from skillopt.suites.sources import Source
from skillopt.tasks import File, Task

__all__ = ["Scenario", "add_scenarios"]


class _SetupFile(ForeignEntry):
    path: str
    source: str | None = None
    content: str | None = None


class _Setup(ForeignEntry):
    copy_test_files: bool = False
    files: tuple[_SetupFile, ...] = ()
    commands: tuple[str, ...] = ()


class _Assertion(ForeignEntry):
    type: str
    pattern: str | None = None
    value: str | None = None
    path: str | None = None


class Scenario(ForeignEntry):
    """One scenario."""

    name: str
    prompt: Annotated[str, Field(pattern=r"\S")]
    setup: _Setup | None = None
    assertions: tuple[_Assertion, ...] | None = None
    rubric: tuple[str, ...] | None = None
    expect_tools: tuple[str, ...] | None = None
    reject_tools: tuple[str, ...] | None = None
    expect_activation: bool = True
    timeout: float | str | None = None


def add_scenarios(found: Collection, source: Source, config: Mapping[str, object], folder: Folder) -> None:
    """Take the scenarios of a file; one in which the skill is not to be used is a trigger."""
    values = config["scenarios"]
    for at, value in enumerate(values if isinstance(values, list) else []):
        line = source.line_of(("scenarios", at))
        name = str(value.get("name") or at + 1) if isinstance(value, dict) else str(at + 1)
        try:
            entry = read_entry(Scenario, value)
            if not entry.expect_activation:
                found.triggers.append(Trigger(entry.prompt, should_trigger=False, line=line))
                continue
            spec = verifier_of(list(_checks(entry)))
            files = _files(entry.setup or _Setup(), folder)
            identity = task_id(name, f"scenario-{at + 1}")
            found.add(Task(identity, entry.prompt, spec, files, timeout=seconds_of(entry.timeout)), line)
        except SuiteError as error:
            found.skip(name, line, str(error))


def _checks(entry: Scenario) -> Iterator[TaskCheck]:
    for assertion in entry.assertions or ():
        # That the run itself ended well is known of every rollout.
        if assertion.type not in ("exit_success", "run_command_and_assert_success"):
            yield _check(assertion)
    for tool in entry.expect_tools or ():
        yield TaskCheck("tool_used", {"tool": tool})
    for tool in entry.reject_tools or ():
        yield TaskCheck("tool_used", {"tool": tool, "min": 0, "max": 0})
    for text in entry.rubric or ():
        yield criterion(text)


def _check(assertion: _Assertion) -> TaskCheck:
    kind, text = assertion.type, assertion.value if assertion.value is not None else assertion.pattern
    absent = "_not_" in kind
    match kind.replace("_not_", "_"):
        case "file_exists":
            return TaskCheck("file", {"path": _path(assertion), "written": True} if not absent else _without(assertion))
        case "output_contains" if text:
            return text_check(text, ignore_case=True, absent=absent)
        case "output_matches" if text:
            return pattern_check(text, "i", absent=absent)
        case "file_contains" if text:
            return TaskCheck(
                "file", {"path": _path(assertion), "contains": text, **({"absent": True} if absent else {})}
            )
        case "file_matches" if text:
            return pattern_check(text, absent=absent, file=_path(assertion))
        case _:
            raise SuiteError(f"the assertion {kind!r} has no counterpart here, or no value; write it in the rubric")


def _path(assertion: _Assertion) -> str:
    if not assertion.path:
        raise SuiteError(f"expected a path for {assertion.type!r}, found none; add it")
    return assertion.path.removeprefix("./")


def _without(assertion: _Assertion) -> dict[str, object]:
    return {"path": _path(assertion), "exists": False}


def _files(setup: _Setup, folder: Folder) -> tuple[File, ...]:
    if setup.commands:
        raise SuiteError("expected files for the setup, found commands, which are not run; write their result as files")
    placed: dict[str, File] = {}
    if setup.copy_test_files:
        placed.update((file.path, file) for file in _beside(folder))
    for entry in setup.files:
        if entry.content is not None:
            placed[entry.path] = workspace_file(entry.path, entry.content.encode())
        else:
            source = entry.source or entry.path
            # Some are relative to the skill, which lies elsewhere in the repository.
            inside = folder if folder.exists(source) else Folder(folder.root, folder.root)
            name = source if inside is folder else source.lstrip("./")
            placed.update((file.path, file) for file in inside.files(name, entry.path))
    return tuple(placed.values())


def _beside(folder: Folder) -> Iterator[File]:
    """Yield what lies beside the file of scenarios, which itself holds the answers."""
    return (file for file in folder.files(".", "") if not holds_answers(file.path))
