"""Append tasks to a suite in the native format, keeping every line that is there."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from skillopt.errors import SuiteError
from skillopt.suites import load_suite, read_tasks
from skillopt.suites.config_lines import put_file
from skillopt.suites.formats import recognise
from skillopt.suites.reading import parse_yaml, read_yaml
from skillopt.suites.split_leaks import find_split_leaks
from skillopt.suites.writing import yaml_text
from skillopt.tasks import Split, Suite, Task

_EMPTY: Final = re.compile(r"^tasks:[ \t]*\[[ \t]*\][ \t]*(?:#.*)?$", re.MULTILINE)
_TASKS: Final = re.compile(r"^tasks:[ \t]*(?:#.*)?$", re.MULTILINE)
_NEXT_KEY: Final = re.compile(r"^[^\s#-]", re.MULTILINE)
_ITEM: Final = re.compile(r"^([ ]*)- ", re.MULTILINE)
_INDENT: Final = "  "
_NATIVE: Final = "native"
_WITHOUT_TASKS: Final[tuple[object, ...]] = (None, {"tasks": []}, {"tasks": None})


def suite_file_of(suite: Path) -> Path:
    """Return the file that tasks are appended to."""
    format_, _ = recognise(suite) or (_NATIVE, suite)
    if format_ != _NATIVE:
        raise SuiteError(
            f"{suite}: expected a suite in the native format to add tasks to, found {format_}; make a copy with "
            "`skillopt import`, and set `suite` to that"
        )
    if suite.is_file() or suite.suffix in (".yaml", ".yml", ".jsonl"):
        return suite
    lines, main = suite / "tasks.jsonl", suite / "suite.yaml"
    return lines if lines.exists() and not main.exists() else main


def add_tasks(path: Path, entries: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """Append tasks to a suite file and see that the suite can be read; otherwise the file stays as it is.

    Where the tasks of the file say their splits, the new ones go to `train` and `val` in turn; one of which a task in
    another split tells goes to that task's.
    """
    before = path.read_text(encoding="utf-8") if path.exists() else None
    old = [task.id for task in tasks_in(path)]
    ids = tuple(str(entry.get("id", "")) for entry in entries)
    twice = sorted({name for name in ids if name in old or ids.count(name) > 1})
    if twice:
        raise SuiteError(
            f"expected ids that no other task has, found {', '.join(twice)}; rename them in the review file"
        )
    placed = {task.id: split for split, task in read_tasks(path).tasks if split is not None} if old else {}
    sides = {name: (Split.TRAIN, Split.VAL)[at % 2] for at, name in enumerate(ids)} if placed else {}
    try:
        whole = _put(path, before or "", entries, ids, sides)
        if sides and (leaks := find_split_leaks(whole)):
            splits = {task.id: split for split, task in whole.splits if task.id in old}
            for name in ids:  # the split of a placed task that nearly is this one, or tells of it
                told = (leak for leak in leaks if name in (leak.task, leak.other))
                others = (leak.other if leak.task == name else leak.task for leak in told)
                twin = next((splits[other] for other in others if other != name and other in splits), None)
                splits[name] = sides[name] = twin or sides[name]
            whole = _put(path, before or "", entries, ids, sides)
    except SuiteError:
        if before is None:
            path.unlink(missing_ok=True)
        else:
            put_file(path, before)
        raise
    return ids


def _put(
    path: Path, before: str, entries: Sequence[Mapping[str, object]], ids: Sequence[str], sides: Mapping[str, Split]
) -> Suite:
    """Write the file with more tasks, each in its split where it has one, and read it."""
    if sides:
        entries = [
            {**entry, "split": entry.get("split", sides[name].value)} for entry, name in zip(entries, ids, strict=True)
        ]
    if path.suffix == ".jsonl":
        rows = "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)
        put_file(path, _ended(before) + rows)
    else:
        put_file(path, append_tasks(before, entries, path))
    whole = load_suite(path)
    left_out = set(ids) - {task.id for _, task in whole.splits}
    if left_out:
        raise SuiteError(
            f"expected tasks that can be run, found {', '.join(sorted(left_out))}; correct the review file"
        )
    return whole


def append_tasks(text: str, entries: Sequence[Mapping[str, object]], path: Path) -> str:
    """Append tasks to the text of a suite file."""
    value, lines = parse_yaml(path, text).value, _items(entries, _INDENT)
    before = {} if value is None else value
    empty, begun = _EMPTY.search(text), _TASKS.search(text)
    if empty is not None:
        after = f"{text[: empty.start()]}tasks:\n{lines}{text[empty.end() :].removeprefix(chr(10))}"
    elif begun is not None:
        following = _NEXT_KEY.search(text, begun.end())
        end = len(text) if following is None else following.start()
        item = _ITEM.search(text, begun.end(), end)
        after = _ended(text[:end]) + _items(entries, _INDENT if item is None else item[1]) + text[end:]
    else:
        after = f"{_ended(text)}tasks:\n{lines}"
    try:
        found = parse_yaml(path, after).value
        tasks = [*(before.get("tasks") or []), *entries] if isinstance(before, dict) else None
        as_wanted = isinstance(before, dict) and found == {**before, "tasks": tasks}
    except (SuiteError, TypeError):
        as_wanted = False
    if not as_wanted:
        raise SuiteError(f"{path}: expected tasks one below the other, found another form; add them by hand:\n{lines}")
    return after


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _items(entries: Sequence[Mapping[str, object]], indent: str) -> str:
    lines = []
    for entry in entries:
        first, *rest = yaml_text(entry).splitlines()
        lines += [f"{indent}- {first}", *(f"{indent}  {line}" if line.strip() else "" for line in rest)]
    return "".join(f"{line}\n" for line in lines)


def tasks_in(suite: Path | None) -> tuple[Task, ...]:
    """List the tasks of a suite in any format; none where it is not there, or has none yet."""
    if suite is None or not suite.exists():
        return ()
    path = suite / "suite.yaml" if suite.is_dir() else suite
    is_yaml = path.suffix in (".yaml", ".yml") and path.exists()
    if is_yaml and read_yaml(path).value in _WITHOUT_TASKS:
        return ()
    return tuple(task for _, task in load_suite(suite).splits)
