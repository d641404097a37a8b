"""Read the cases of `claude plugin eval`: folders with case.yaml or prompt.md, and graders."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.suites.checks import TaskCheck, criterion, pattern_check, verifier_of
from skillopt.suites.foreign_files import (
    LONGEST_SECONDS,
    Folder,
    ForeignEntry,
    holds_answers,
    read_entry,
    repository_of,
    task_id,
)
from skillopt.suites.reading import Collection, Reading, Trigger
from skillopt.suites.sources import parse_yaml, read_yaml
from skillopt.tasks import File, Task

_CASE: Final = "case.yaml"
_PROMPT: Final = "prompt.md"
_SKILL_TOOL: Final = "Skill"
_BODIES: Final = {"regex": "pattern", "llm": "criteria", "baseline": "criteria", "file_exists": "path"}
"""Grader → what the text below the frontmatter of its file is."""


class _Call(ForeignEntry):
    tool: str
    input_match: str | None = None


class _FileTarget(ForeignEntry):
    source: str
    path: str


class PluginGrader(ForeignEntry):
    """One grader."""

    type: str
    name: str = ""
    weight: Annotated[float, Field(ge=0)] = 1.0
    arm: str = "both"
    pattern: str | None = None
    flags: str = ""
    match: str = "contains"
    target: str | _FileTarget = "last_message"
    tool: str | None = None
    min: int | None = None
    max: int | None = None
    input_match: str | None = None
    before: str | _Call | None = None
    after: str | _Call | None = None
    path: str | None = None
    exists: bool = True
    criteria: str | None = None
    focus: str | _FileTarget = "last_message"
    baseline_file: str | None = None


class _Context(ForeignEntry):
    scaffold_script: str | None = None
    add_dirs: tuple[str, ...] = ()


class _Execution(ForeignEntry):
    prompt: str | None = None
    timeout_seconds: Annotated[float | None, Field(gt=0, le=LONGEST_SECONDS)] = None


class PluginCase(ForeignEntry):
    """One case."""

    name: str | None = None
    context: _Context | None = None
    execution: _Execution | None = None
    timeout_seconds: Annotated[float | None, Field(gt=0, le=LONGEST_SECONDS)] = None
    graders: tuple[PluginGrader, ...] = ()
    tags: tuple[str, ...] = ()


def read_plugin_eval(path: Path) -> Reading:
    """Read a folder of cases, or one case by its file."""
    places = [path.parent] if path.is_file() else _cases_in(path)
    if not places:
        raise SuiteError(f"{path}:1: expected folders with {_CASE} or {_PROMPT}, found none; add one")
    found = Collection(path)
    for place in places:
        found.path = next(place / name for name in (_CASE, _PROMPT) if (place / name).is_file())
        try:
            _add(found, _case(place), place)
        except SuiteError as error:
            # An error of reading YAML starts with file and line, which are told anyway.
            found.skip(place.name, 1, str(error).removeprefix(f"{found.path}:"))
    found.path = path
    folder = (path.parent.parent if path.is_file() else path).resolve()
    return found.reading("plugin-eval", folder.parent.name if folder.name == "evals" else folder.name)


def _cases_in(folder: Path) -> list[Path]:
    found = {file.parent for name in (_CASE, _PROMPT) for file in folder.rglob(name) if file.is_file()}
    return sorted(place for place in found if "results" not in place.relative_to(folder).parts)


def _case(place: Path) -> PluginCase:
    value = read_yaml(place / _CASE).value if (place / _CASE).is_file() else {}
    case = read_entry(PluginCase, value)
    execution = case.execution or _Execution()
    if (place / _PROMPT).is_file():
        head, body = _parts(place / _PROMPT)
        front = read_entry(PluginCase, head)
        timeout = execution.timeout_seconds or front.timeout_seconds
        execution = _Execution(prompt=execution.prompt or body, timeout_seconds=timeout)
        case = case.model_copy(update={"name": case.name or front.name})
    graders = [*case.graders, *(_grader(file) for file in sorted((place / "graders").glob("*.md")))]
    return case.model_copy(update={"execution": execution, "graders": tuple(graders)})


def _grader(file: Path) -> PluginGrader:
    """Read a grader from a file of its own; the text below is its pattern, criteria or path."""
    head, body = _parts(file)
    grader = read_entry(PluginGrader, {"name": file.stem, **head})
    key = _BODIES.get(grader.type)
    return grader.model_copy(update={key: body}) if key and body and getattr(grader, key) is None else grader


def _parts(file: Path) -> tuple[dict[str, object], str]:
    """Split a file of text into the values at its start and the text below."""
    text = Folder(file.parent, file.parent).text(file.name).replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return {}, text.strip()
    head, closed, body = text.removeprefix("---\n").partition("\n---")
    value = parse_yaml(file, f"\n{head}\n").value if closed else None
    if value is not None and not isinstance(value, dict):
        raise SuiteError(f"expected keys and values at the start of {file.name}, found {value!r:.80}; correct it")
    return value or {}, body.strip()


def _add(found: Collection, case: PluginCase, place: Path) -> None:
    prompt = (case.execution.prompt if case.execution else None) or ""
    if not prompt.strip():
        raise SuiteError("expected a prompt in case.yaml or prompt.md, found none; add it")
    # With and without the plugin cannot be compared by whether its skill is used, so such graders do not score.
    shown = [each for each in case.graders if _is_shown(each)]
    skills = [each for each in shown if each.tool == _SKILL_TOOL]
    if skills:
        found.triggers.append(Trigger(prompt, any(each.max != 0 for each in skills), 1))
    graders = [each for each in case.graders if not _is_shown(each) and each.weight > 0]
    if not graders and shown:
        return
    folder = Folder(repository_of(place), place)
    checks = [replace(_check(each, folder), name=each.name[:100], weight=each.weight) for each in graders]
    timeout = (case.execution.timeout_seconds if case.execution else None) or 600.0
    answers = {folder.place(each.baseline_file) for each in graders if each.baseline_file}
    files = tuple(_files(case.context or _Context(), folder, answers))
    name = task_id(case.name or place.name, "case")
    found.add(Task(name, prompt, verifier_of(checks), files, case.tags, timeout), 1)


def _is_shown(grader: PluginGrader) -> bool:
    """Return whether a grader is shown and does not score."""
    return grader.arm == "with-only" or (grader.type == "tool_used" and grader.tool == _SKILL_TOOL)


def _check(grader: PluginGrader, folder: Folder) -> TaskCheck:
    match grader:
        case PluginGrader(type="regex", pattern=str() as pattern):
            return _searched(grader, pattern)
        case PluginGrader(type="tool_used", tool=str() as tool):
            return _used(grader, tool)
        case PluginGrader(type="tool_order", before=(str() | _Call()) as before, after=(str() | _Call()) as after):
            return TaskCheck("tool_order", {"steps": [_step(before), _step(after)]})
        case PluginGrader(type="file_exists", path=str() as path):
            return TaskCheck(
                "file", {"path": path, "written": True} if grader.exists else {"path": path, "exists": False}
            )
        case PluginGrader(type="llm" | "baseline", criteria=str() as criteria):
            return _judged(grader, criteria.strip(), folder)
        case _:
            raise SuiteError(f"grader {grader.name!r}: {grader.type!r} is unknown here, or lacks its value; correct it")


def _searched(grader: PluginGrader, pattern: str) -> TaskCheck:
    absent = grader.match == "not_contains"
    if not absent and grader.match != "contains":
        raise SuiteError(f"grader {grader.name!r}: the match {grader.match!r} has no counterpart here; write contains")
    match grader.target:
        case _FileTarget(path=path):
            return pattern_check(pattern, grader.flags, absent=absent, file=path)
        case "last_message":
            return pattern_check(pattern, grader.flags, absent=absent)
        case "files":
            check = pattern_check(pattern, grader.flags, absent=absent, file="**")
            return replace(check, options={**check.options, "written": True})
        case _:
            raise SuiteError(f"grader {grader.name!r}: expected the last message or files, found {grader.target!r}")


def _used(grader: PluginGrader, tool: str) -> TaskCheck:
    bounds: dict[str, object] = {"min": grader.min} if grader.min is not None else {}
    if grader.max is not None:
        bounds = {"min": min(1, grader.max), **bounds, "max": grader.max}
    return TaskCheck("tool_used", {**_step(_Call(tool=tool, input_match=grader.input_match)), **bounds})


def _judged(grader: PluginGrader, criteria: str, folder: Folder) -> TaskCheck:
    if grader.focus == "trace":
        raise SuiteError(f"grader {grader.name!r}: expected a result to judge, found the trace; judge the result")
    if grader.type == "llm":
        return criterion(criteria)
    if not grader.baseline_file:
        raise SuiteError(f"grader {grader.name!r}: expected a baseline_file, found none; add it")
    text = f"The result is at least as good as the reference by this measure: {criteria}"
    return criterion(text, folder.text(grader.baseline_file))


def _step(call: str | _Call) -> dict[str, object]:
    wanted = _Call(tool=call) if isinstance(call, str) else call
    return {"tool": wanted.tool, **({"arguments": wanted.input_match} if wanted.input_match else {})}


def _files(context: _Context, folder: Folder, answers: set[Path]) -> Iterator[File]:
    """Yield the files of the workspace, without what says what a good result is."""
    if context.scaffold_script is not None:
        raise SuiteError(
            "expected files for the workspace, found a scaffold script, which is not run; add them by add_dirs"
        )
    for name in context.add_dirs:
        to = Path(name).name
        for file in folder.files(name, to):
            inner = file.path.removeprefix(f"{to}/")
            own = folder.place(f"{name}/{inner}").parent == folder.base.resolve() and inner == _PROMPT
            if not own and not holds_answers(inner) and folder.place(f"{name}/{inner}") not in answers:
                yield file
