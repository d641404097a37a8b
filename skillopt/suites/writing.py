"""Write tasks as a suite in the native format: suite.yaml, and the files of its tasks beside it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Final

from skillopt.suites.foreign_files import task_id
from skillopt.tasks import File, Split, Task, VerifierSpec

__all__ = ["folder_names", "write_suite", "yaml_text"]

_TIMEOUT: Final = 600.0
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_NOT_TEXT: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def write_suite(
    name: str, tasks: Sequence[tuple[Split | None, Task]], shares: Mapping[Split, float] | None = None
) -> tuple[File, ...]:
    """Return the files of a suite; reading them gives the same tasks."""
    suite: dict[str, object] = {"name": name}
    if shares is not None:
        suite["splits"] = {split.value: share for split, share in shares.items()}
    files: list[File] = []
    entries = []
    folders = (f"files/{name}" for name in folder_names([task for _, task in tasks]))
    for folder, (split, task) in zip(folders, tasks, strict=True):
        entries.append(_entry(folder, split, task))
        files += [File(f"{folder}/input/{file.path}", file.content) for file in task.files]
        files += [File(f"{folder}/reference/{file.path}", file.content) for file in task.verifier.files]
    return (File("suite.yaml", yaml_text({**suite, "tasks": entries}).encode()), *files)


def folder_names(tasks: Sequence[Task]) -> Iterator[str]:
    """Yield a name for the folder of each task, made of its id; no two are the same."""
    taken: set[str] = set()
    for at, task in enumerate(tasks, 1):
        plain = task_id(task.id, "").strip(".-") or f"task-{at}"
        names = chain([plain], (f"{plain}-{number}" for number in count(2)))
        taken.add(name := next(name for name in names if name not in taken))
        yield name


def _entry(folder: str, split: Split | None, task: Task) -> dict[str, object]:
    entry: dict[str, object] = {"id": task.id}
    if split is not None:
        entry["split"] = split.value
    if task.tags:
        entry["tags"] = list(task.tags)
    if task.timeout != _TIMEOUT:
        entry["timeout"] = int(task.timeout) if task.timeout.is_integer() else task.timeout
    entry["prompt"] = task.prompt
    if task.files:
        entry["files"] = {file.path: f"{folder}/input/{file.path}" for file in task.files}
    entry["verifier"] = _verifier(folder, task.verifier)
    return entry


def _verifier(folder: str, spec: VerifierSpec) -> dict[str, object]:
    files = {file.path: f"{folder}/reference/{file.path}" for file in spec.files}
    return {"kind": spec.kind, **json.loads(spec.options), **({"files": files} if files else {})}


def yaml_text(value: Mapping[str, object]) -> str:
    r"""Write plain values as YAML, texts of several lines as they are.

    >>> print(yaml_text({"id": 1, "prompt": "Do this.\nThen that.", "tags": ["a b"]}), end="")
    id: 1
    prompt: |-
      Do this.
      Then that.
    tags:
    - "a b"
    """
    return "".join(f"{line}\n" for line in _mapping(value, ""))


def _mapping(value: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, inner in value.items():
        yield from _after(f"{indent}{_scalar(key)}:", inner, indent)


def _after(start: str, value: object, indent: str) -> Iterator[str]:
    """Write a value behind a key or a dash, or below it."""
    match value:
        case dict() if value:
            yield start
            yield from _mapping(value, f"{indent}  ")
        case list() | tuple() if value:
            yield start
            for item in value:
                yield from _item(item, indent)
        case str() if _is_block(value):
            yield f"{start} {'|' if value.endswith(chr(10)) else '|-'}"
            yield from (f"{indent}  {line}" if line else "" for line in value.removesuffix("\n").split("\n"))
        case _:
            yield f"{start} {_scalar(value)}"


def _item(value: object, indent: str) -> Iterator[str]:
    """Write an item of a list; the start of a mapping or list stands behind the dash."""
    match value:
        case dict() if value:
            lines = list(_mapping(value, f"{indent}  "))
        case list() if value:
            lines = [line for item in value for line in _item(item, f"{indent}  ")]
        case _:
            lines = list(_after(f"{indent}-", value, indent))
    yield f"{indent}- {lines[0].removeprefix(f'{indent}-').lstrip(' ')}"
    yield from lines[1:]


def _is_block(text: str) -> bool:
    """Return whether a text of several lines can stand as it is."""
    lines = text.removesuffix("\n").split("\n")
    return len(lines) > 1 and lines[0][:1].strip() != "" and lines[-1] != "" and all(map(str.isprintable, lines))


def _scalar(value: object) -> str:
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT:
            return value
        quoted = json.dumps(value, ensure_ascii=False)
        return (
            quoted
            if quoted.isprintable()
            else "".join(sign if sign.isprintable() else _escape(sign) for sign in quoted)
        )
    return json.dumps(value)


def _escape(sign: str) -> str:
    return f"\\U{ord(sign):08x}"
