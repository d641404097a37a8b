"""Read the cases of `claude plugin eval`: folders with case.yaml or prompt.md, and graders."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from skillopt.errors import SuiteError
from skillopt.suites.checks import TaskCheck, criterion, pattern_check, tool_check, verifier_of
from skillopt.suites.foreign_files import (
    LONGEST_SECONDS,
    Folder,
    ForeignEntry,
    holds_answers,
    read_entry,
    repository_of,
    task_id,
)
from skillopt.suites.reading import Collection, Reading, Source, Trigger, error_at, parse_yaml, read_yaml
from skillopt.tasks import File, Task

_CASE: Final = "case.yaml"
_PROMPT: Final = "prompt.md"
_SKILL_TOOL: Final = "Skill"
_HERE: Final = frozenset({"Bash", "Read", "Edit", "Write", "Skill"})
"""Tools that agents have in a rollout."""

_CAN_DO: Final = _HERE | {"Glob", "Grep", "LS", "MultiEdit", "NotebookEdit", "TodoWrite", "BashOutput", "KillShell"}
"""Tools whose work they can do with these."""

_MOCKED: Final = "mock_calls"
_UNSEEN: Final = (_MOCKED, "files")
"""What a pattern is searched in that is not recorded here: calls of stand-ins, and the names of new files."""

_NOT_CASES: Final = frozenset({"results", "mocks"})
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

    harmless = frozenset()
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
    harmless = frozenset()
    scaffold_script: str | None = None
    add_dirs: tuple[str, ...] = ()


class _Execution(ForeignEntry):
    harmless = frozenset({"model", "max_turns"})  # settings of a run here
    prompt: str | None = None
    timeout_seconds: Annotated[float | None, Field(gt=0, le=LONGEST_SECONDS)] = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _expect_the_tools_that_are_here(self) -> Self:
        missing = [tool for tool in self.allowed_tools if tool.partition("(")[0] not in _CAN_DO]
        taken = [tool for tool in self.disallowed_tools or () if tool.partition("(")[0] in _HERE]
        for tool, had in ((missing, "do not have"), (taken, "have")):
            if tool:
                raise ValueError(
                    f"expected the tools {', '.join(sorted(_HERE))}, found {tool[0]!r}, which agents {had} here"
                )
        return self


class PluginCase(ForeignEntry):
    """One case."""

    harmless = frozenset({"description", "runs", "expected_outcome"})
    schema_version: Annotated[str, Field(pattern=r"^1(\.|$)")] = "1"
    name: str | None = None
    context: _Context = _Context()
    execution: _Execution = _Execution()
    graders: tuple[PluginGrader, ...] = ()
    tags: tuple[str, ...] = ()


_TOP: Final = {*PluginCase.model_fields, *(PluginCase.harmless or ())} - {"context", "execution", "graders"}
"""Keys of a case that prompt.md may start with; the others there are about its execution."""


def read_plugin_eval(path: Path) -> Reading:
    """Read a folder of cases, or one case by its file."""
    places = [path.parent] if path.is_file() else _cases_in(path)
    if not places:
        raise SuiteError(f"{path}:1: expected folders with {_CASE} or {_PROMPT}, found none; add one")
    found = Collection(path)
    for place in places:
        found.path = next(place / name for name in (_CASE, _PROMPT) if (place / name).is_file())
        try:
            _expect_no_mocks(place, path)
            _add(found, _case(place), place)
        except SuiteError as error:
            found.skip(place.name, 1, str(error))
    found.path = path
    folder = (path.parent.parent if path.is_file() else path).resolve()
    return found.reading("plugin-eval", folder.parent.name if folder.name == "evals" else folder.name)


def _cases_in(folder: Path) -> list[Path]:
    found = {file.parent for name in (_CASE, _PROMPT) for file in folder.rglob(name) if file.is_file()}
    return sorted(place for place in found if _NOT_CASES.isdisjoint(place.relative_to(folder).parts))


def _expect_no_mocks(place: Path, folder: Path) -> None:
    """Refuse a case that has stand-ins for the tools of MCP servers, which agents do not have here."""
    for each in (place, *place.parents):
        mock = next((each / "mocks").glob("*/*.md"), None) if each.is_relative_to(folder) else None
        if mock is not None:
            raise error_at(
                mock, 1, "expected a case without mocks, found tools of MCP servers that agents do not have here"
            )


def _case(place: Path) -> PluginCase:
    """Read a case; what prompt.md says goes before what case.yaml says."""
    case = PluginCase()
    if (place / _CASE).is_file():
        source = read_yaml(place / _CASE)
        case = read_entry(PluginCase, source.value, source)
    if (place / _PROMPT).is_file():
        head, values, body = _parts(place / _PROMPT)
        top = {key: values.pop(key) for key in _TOP & values.keys()}
        front = read_entry(PluginCase, {**top, "execution": values | ({"prompt": body} if body else {})}, head)
        execution = case.execution.model_copy(update=front.execution.model_dump(exclude_unset=True))
        named = {key: getattr(front, key) for key in front.model_fields_set}
        case = case.model_copy(update={**named, "execution": execution})
    graders = [*case.graders, *(_grader(file) for file in sorted((place / "graders").glob("*.md")))]
    return case.model_copy(update={"graders": tuple(graders)})


def _grader(file: Path) -> PluginGrader:
    """Read a grader from a file of its own; the text below is its pattern, criteria or path."""
    head, values, body = _parts(file)
    grader = read_entry(PluginGrader, {"name": file.stem, **values}, head)
    key = _BODIES.get(grader.type)
    return grader.model_copy(update={key: body}) if key and body and getattr(grader, key) is None else grader


def _parts(file: Path) -> tuple[Source, dict[str, object], str]:
    """Split a file of text into the values at its start, with their source, and the text below."""
    text = Folder(file.parent, file.parent).text(file.name).replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return Source(file, None, {}), {}, text.strip()
    head, closed, body = text.removeprefix("---\n").partition("\n---")
    source = parse_yaml(file, f"\n{head}\n" if closed else "")
    if not isinstance(source.value, dict | None):
        raise error_at(file, 2, f"expected keys and values, found {source.value!r:.80}; correct it")
    return source, dict(source.value or {}), body.strip()


def _add(found: Collection, case: PluginCase, place: Path) -> None:
    prompt = case.execution.prompt or ""
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
    unseen = [each for each in graders if each.target in _UNSEEN or each.focus == _MOCKED]
    checks = [
        replace(_check(each, folder), name=each.name[:100], weight=each.weight)
        for each in graders
        if each not in unseen or len(unseen) == len(graders)
    ]
    answers = {folder.place(each.baseline_file) for each in graders if each.baseline_file}
    files = tuple(_files(case.context, folder, answers))
    name = task_id(case.name or place.name, "case")
    timeout = case.execution.timeout_seconds or 600.0
    for each in unseen:
        found.skip(f"{name}, grader {each.name}", 1, _looks_at(each))
    found.add(Task(name, prompt, verifier_of(checks), files, tags=case.tags, timeout=timeout), 1)


def _is_shown(grader: PluginGrader) -> bool:
    """Return whether a grader is shown and does not score."""
    return grader.arm == "with-only" or (grader.type == "tool_used" and grader.tool == _SKILL_TOOL)


def _check(grader: PluginGrader, folder: Folder) -> TaskCheck:
    match grader:
        case PluginGrader(type="regex", pattern=str() as pattern):
            return _searched(grader, pattern)
        case PluginGrader(type="tool_used", tool=str() as tool):
            step = _step(_Call(tool=tool, input_match=grader.input_match))
            return tool_check(step, grader.min, grader.max)
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
        case "trace":
            return pattern_check(pattern, grader.flags, absent=absent, trace=True)
        case _:
            raise SuiteError(f"grader {grader.name!r}: {_looks_at(grader)}")


def _looks_at(grader: PluginGrader) -> str:
    """Say what a grader looks at that is not recorded here."""
    seen = grader.focus if grader.focus == _MOCKED else grader.target
    return f"expected the last message, the trace or a file, found {seen!r}; write file_exists or tool_used"


def _judged(grader: PluginGrader, criteria: str, folder: Folder) -> TaskCheck:
    if grader.focus == _MOCKED:
        raise SuiteError(f"grader {grader.name!r}: {_looks_at(grader)}")
    if grader.type == "llm":
        return criterion(criteria, trace=grader.focus == "trace")
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
