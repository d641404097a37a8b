"""Add tasks to a suite in the native format, a file or a line of JSON each; what is there stays as it is."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from skillopt.errors import SuiteError
from skillopt.suites import load_suite, read_tasks
from skillopt.suites.config_lines import put_file
from skillopt.suites.formats import recognise
from skillopt.suites.split_leaks import find_split_leaks
from skillopt.suites.writing import folder_names, yaml_text
from skillopt.tasks import Split, Suite, Task

_NATIVE: Final = "native"


def suite_place_of(suite: Path) -> Path:
    """Return where tasks can be added to a suite: its folder, or its single file of JSON lines."""
    format_, _ = recognise(suite) or (_NATIVE, suite)
    if format_ != _NATIVE or (suite.suffix in (".yaml", ".yml") and suite.name != "suite.yaml"):
        found = "a single file of YAML" if format_ == _NATIVE else format_
        raise SuiteError(
            f"{suite}: expected a folder or JSON lines in the native format to add tasks to, found {found}; make a "
            "copy with `skillopt import`, and set `suite` to that"
        )
    return suite.parent if suite.name in ("suite.yaml", "tasks.jsonl") else suite


def add_tasks(suite: Path, entries: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """Add tasks to a suite and see that it can be read; otherwise it stays as it was.

    Where the tasks of the suite say their splits, the new ones go to `train` and `val` in turn; one of which a task in
    another split tells goes to that task's.
    """
    old = [task.id for task in tasks_in(suite)]
    ids = tuple(str(entry.get("id", "")) for entry in entries)
    twice = sorted({name for name in ids if name in old or ids.count(name) > 1})
    if twice:
        raise SuiteError(
            f"expected ids that no other task has, found {', '.join(twice)}; rename them in the review file"
        )
    placed = any(split is not None for split, _ in read_tasks(suite).tasks) if old else False
    sides = {name: (Split.TRAIN, Split.VAL)[at % 2] for at, name in enumerate(ids)} if placed else {}
    there = sorted(path.stem for path in (suite / "tasks").glob("*.y*ml"))
    names = list(folder_names([*there, *ids]))[len(there) :]
    in_lines = suite.suffix == ".jsonl"
    paths = [suite] if in_lines else [suite / "tasks" / f"{name}.yaml" for name in names]
    before = suite.read_text(encoding="utf-8") if suite.is_file() else ""

    def put() -> Suite:
        """Write the tasks, each in its split where it has one, and read the suite."""
        splits = ({"split": sides[name].value} if sides else {} for name in ids)
        rows = [{**split, **entry} for split, entry in zip(splits, entries, strict=True)]
        if in_lines:
            lines = [before.rstrip("\n")] * bool(before) + [json.dumps(row, ensure_ascii=False) for row in rows]
            put_file(suite, "\n".join((*lines, "")))
        for path, row in zip(paths, rows, strict=True) if not in_lines else ():
            put_file(path, f"{yaml_text(row)}\n")
        whole = load_suite(suite)
        if left_out := set(ids) - {task.id for _, task in whole.splits}:
            raise SuiteError(
                f"expected tasks that can be run, found {', '.join(sorted(left_out))}; correct the review file"
            )
        return whole

    try:
        whole = put()
        if sides and (leaks := find_split_leaks(whole)):
            splits = {task.id: split for split, task in whole.splits if task.id in old}
            for name in ids:  # the split of a placed task that nearly is this one, or tells of it
                told = (leak for leak in leaks if name in (leak.task, leak.other))
                others = (leak.other if leak.task == name else leak.task for leak in told)
                twin = next((splits[other] for other in others if other != name and other in splits), None)
                splits[name] = sides[name] = twin or sides[name]
            put()
    except SuiteError:
        for path in paths:
            path.unlink(missing_ok=True)
        if before:
            put_file(suite, before)
        raise
    return ids


def tasks_in(suite: Path | None) -> tuple[Task, ...]:
    """List the tasks of a suite in any format; none where it is not there."""
    return tuple(task for _, task in load_suite(suite).splits) if suite is not None and suite.exists() else ()
