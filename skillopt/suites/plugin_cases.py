"""Write tasks as cases that `claude plugin eval` reads: case.yaml with graders, and a script that places files."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, TypeAlias

from skillopt.errors import SuiteError
from skillopt.suites.scaffold import write_scaffold
from skillopt.suites.writing import folder_names, yaml_text
from skillopt.tasks import File, Task

__all__ = ["PluginCases", "write_cases"]

_TOOLS: Final = ("Read", "Glob", "Grep", "Skill", "Write", "Edit", "Bash")
_SCHEMA: Final = "1.0"
_INLINE: Final = re.compile(r"\(\?(?P<flags>[ims]+)\)")
_PYTHON_ONLY: Final = (("(?P<", "(?<"), (r"\A", r"(?<![\s\S])"), (r"\Z", r"(?![\s\S])"))
_FLAGS: Final = {"ignore_case": "i", "multiline": "m", "dotall": "s"}
_WILD: Final = re.compile(r"[*?\[]")

_Grader: TypeAlias = dict[str, object]
_Options: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class PluginCases:
    """What was written of tasks."""

    files: tuple[File, ...]
    left_out: tuple[tuple[str, str], ...]


def write_cases(tasks: tuple[Task, ...]) -> PluginCases:
    """Return the files of one case for each task."""
    files: list[File] = []
    left_out = []
    for name, task in zip(folder_names(tasks), tasks, strict=True):
        try:
            files += _case(name, task)
        except SuiteError as error:
            left_out.append((task.id, str(error)))
    return PluginCases(tuple(files), tuple(left_out))


def _case(name: str, task: Task) -> Iterator[File]:
    graders = _graders(task.verifier.kind, json.loads(task.verifier.options))
    for number, grader in enumerate(graders, 1):
        grader.setdefault("name", f"check-{number}")
    case: dict[str, object] = {"schema_version": _SCHEMA, "name": task.id}
    if task.tags:
        case["tags"] = list(task.tags)
    if task.files:
        case["context"] = {"scaffold_script": "scaffold.sh"}
        yield File(f"{name}/scaffold.sh", write_scaffold(task.files).encode())
    case["execution"] = {
        "prompt": task.prompt,
        "max_turns": 50,
        "timeout_seconds": ceil(task.timeout),
        "allowed_tools": list(_TOOLS),
    }
    yield File(f"{name}/case.yaml", yaml_text({**case, "graders": graders}).encode())


def _graders(kind: str, options: _Options) -> list[_Grader]:
    writer = _WRITERS.get(kind)
    if writer is None:
        raise SuiteError(f"the verifier {kind!r} has no counterpart there; keep the task here")
    return list(writer(options))


def _several(options: _Options) -> Iterator[_Grader]:
    if options.get("threshold", 1.0) != 1.0:
        raise SuiteError("a threshold has no counterpart there; have all checks pass")
    for check in _list(options["checks"]):
        own = {key: check[key] for key in ("name", "weight") if key in check}
        made = _graders(check["kind"], check.get("options", {}))
        yield from ({**grader, **own, **_numbered(own, at, len(made))} for at, grader in enumerate(made, 1))


def _numbered(own: _Options, at: int, number: int) -> _Grader:
    """Keep the names of several graders of one check apart, and its weight the same."""
    if number == 1:
        return {}
    names: _Grader = {"name": f"{own['name']}-{at}"} if "name" in own else {}
    return {**names, "weight": float(str(own.get("weight", 1.0))) / number}


def _criteria(options: _Options) -> Iterator[_Grader]:
    if options.get("need", 1.0) != 1.0:
        raise SuiteError("a share of criteria has no counterpart there; ask for all of them")
    reference = options.get("reference")
    for text in _list(options["criteria"]):
        yield {"type": "llm", "criteria": f"{text}\n\nA good result would be:\n{reference}" if reference else text}


def _pattern(options: _Options) -> Iterator[_Grader]:
    yield _search(str(options["pattern"]), options, str(options.get("file") or ""))


def _exact(options: _Options) -> Iterator[_Grader]:
    value = options.get("value")
    if not isinstance(value, str):
        raise SuiteError("an expected file has no counterpart there; write the text as `value`")
    space = r"\s*" if options.get("strip", True) else ""
    yield _search(
        rf"\A{space}{re.escape(value.strip() if space else value)}{space}\Z", options, str(options.get("file") or "")
    )


def _used(options: _Options) -> Iterator[_Grader]:
    yield {"type": "tool_used", **_call(options), **{key: options[key] for key in ("min", "max") if key in options}}


def _order(options: _Options) -> Iterator[_Grader]:
    steps = _list(options["steps"])
    if len(steps) != 2:  # noqa: PLR2004 - before and after
        raise SuiteError("an order of more than two tools has no counterpart there; write two orders")
    yield {"type": "tool_order", "before": _call(steps[0]), "after": _call(steps[1])}


def _search(pattern: str, options: _Options, file: str) -> _Grader:
    """Write a search in the syntax of JavaScript."""
    letters = {_FLAGS[name] for name in _FLAGS if options.get(name)}
    inline = _INLINE.match(pattern)
    if inline is not None:
        letters |= set(inline["flags"])
        pattern = pattern[inline.end() :]
    for python, other in _PYTHON_ONLY:
        pattern = pattern.replace(python, other)
    grader: _Grader = {"type": "regex", "pattern": pattern}
    if letters:
        grader["flags"] = "".join(sorted(letters))
    if options.get("absent"):
        grader["match"] = "not_contains"
    if file == "**" and options.get("written"):
        grader["target"] = "files"
    elif file:
        grader["target"] = {"source": "file", "path": file}
    return grader


def _file(options: _Options) -> Iterator[_Grader]:
    path, contains, pattern = str(options["path"]), options.get("contains"), options.get("pattern")
    if contains is None and pattern is None:
        yield {"type": "file_exists", "path": path, **({} if options.get("exists", True) else {"exists": False})}
        return
    if _WILD.search(path) and not (path == "**" and options.get("written")):
        raise SuiteError(f"a search in several files, {path!r}, has no counterpart there; name one file")
    yield _search(re.escape(str(contains)) if pattern is None else str(pattern), options, path)


def _call(options: _Options) -> _Grader:
    found = options.get("arguments")
    return {"tool": options["tool"], **({"input_match": found} if found else {})}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


_WRITERS: Final[Mapping[str, Callable[[_Options], Iterator[_Grader]]]] = {
    "checks": _several,
    "exact": _exact,
    "file": _file,
    "regex": _pattern,
    "rubric": _criteria,
    "tool_order": _order,
    "tool_used": _used,
}
