"""Write tasks as a suite in the native format: suite.yaml, and the files of its tasks beside it."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, count
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import LiteralScalarString

from skillopt.safety.escaping import escape_hidden
from skillopt.suites.foreign_files import task_id
from skillopt.tasks import File, Split, Task


def write_suite(name: str, tasks: Sequence[tuple[Split | None, Task]]) -> tuple[File, ...]:
    """Return the files of a suite; reading them gives the same tasks."""
    files: list[File] = []
    entries = []
    folders = (f"files/{name}" for name in folder_names([task.id for _, task in tasks]))
    for folder, (split, task) in zip(folders, tasks, strict=True):
        entries.append(task_entry(task, split, folder))
        files += [File(f"{folder}/input/{file.path}", file.content) for file in task.files]
        files += [File(f"{folder}/reference/{file.path}", file.content) for file in task.verifier.files]
    return (File("suite.yaml", f"{yaml_text({'name': name, 'tasks': entries})}\n".encode()), *files)


def folder_names(ids: Sequence[str]) -> Iterator[str]:
    """Yield a name for the folder of each task, made of its id; no two are the same."""
    taken: set[str] = set()
    for at, given in enumerate(ids, 1):
        plain = task_id(given, "").strip(".-") or f"task-{at}"
        names = chain([plain], (f"{plain}-{number}" for number in count(2)))
        taken.add(name := next(name for name in names if name not in taken))
        yield name


def task_entry(task: Task, split: Split | None = None, folder: str = "") -> dict[str, object]:
    """Return a task as an entry of a suite; its files are in a folder of the suite, or else written out."""
    entry: dict[str, object] = {"id": task.id, "prompt": task.prompt}
    if split is not None:
        entry["split"] = split.value
    if task.tags:
        entry["tags"] = list(task.tags)
    if task.timeout != 600.0:  # noqa: PLR2004 - the format's own default
        entry["timeout"] = int(task.timeout) if task.timeout.is_integer() else task.timeout
    if task.family:
        entry["family"] = task.family
    if task.environment is not None:
        values = {**asdict(task.environment), "variables": dict(task.environment.variables)}
        told = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items() if value}
        entry["environment"] = told
    if task.tree is not None:
        left_out = {"without": list(task.tree.without)} if task.tree.without else {}
        entry["repository"] = {"commit": task.tree.commit, **left_out}
    if task.files and folder:
        entry["files"] = {file.path: f"{folder}/input/{file.path}" for file in task.files}
    elif task.files:
        entry["files"] = [{"path": file.path, "text": file.content.decode("utf-8", "replace")} for file in task.files]
    references = {file.path: f"{folder}/reference/{file.path}" for file in task.verifier.files}
    options = {**json.loads(task.verifier.options), **({"files": references} if references else {})}
    return {**entry, "verifier": {"kind": task.verifier.kind, **options}}


def yaml_text(entry: Mapping[str, object]) -> str:
    r"""Write an entry as YAML that reads back as it is; as JSON, which is YAML too, where that cannot be.

    >>> print(yaml_text({"id": 1, "prompt": "Do this.\nThen that.", "tags": ["a b"]}))
    id: 1
    prompt: |-
      Do this.
      Then that.
    tags:
    - a b
    """
    yaml = YAML()
    yaml.width = 1_000_000
    yaml.default_flow_style = False
    out = io.StringIO()
    yaml.dump(_literal(entry), out)
    text = out.getvalue().rstrip("\n")
    try:
        same = YAML(typ="safe", pure=True).load(text) == entry
    except YAMLError:
        same = False
    hides = text != escape_hidden(text) or len(text.splitlines()) != text.count("\n") + 1
    return _escaped_json(entry) if hides or not same else text


def _escaped_json(entry: Mapping[str, object]) -> str:
    """Write JSON in which every character that is not seen is an escape of YAML."""

    def shown(character: str) -> str:
        if character == "\n" or (character.isprintable() and escape_hidden(character) == character):
            return character
        code = ord(character)
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 - what four digits can say

    return "".join(map(shown, json.dumps(entry, indent=2, ensure_ascii=False)))


def _literal(value: Any) -> Any:  # noqa: ANN401 - JSON values, for a library without types
    """Let texts of several lines stand as they are."""
    if isinstance(value, dict):
        return {key: _literal(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_literal(inner) for inner in value]
    return LiteralScalarString(value) if isinstance(value, str) and "\n" in value else value
