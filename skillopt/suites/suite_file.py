"""Add tasks to a suite in the native format, a file each; files that are there stay as they are."""

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


def suite_folder_of(suite: Path) -> Path:
    """Return the folder of a suite to which tasks can be added."""
    format_, _ = recognise(suite) or (_NATIVE, suite)
    folder = suite.parent if suite.name in ("suite.yaml", "tasks.jsonl") else suite
    if format_ != _NATIVE or folder.is_file() or folder.suffix in (".yaml", ".yml", ".jsonl"):
        found = "a single file" if format_ == _NATIVE else format_
        raise SuiteError(
            f"{suite}: expected a folder in the native format to add tasks to, found {found}; make a copy with "
            "`skillopt import`, and set `suite` to that"
        )
    return folder


def add_tasks(suite: Path, entries: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """Put tasks into files of a suite's folder and see that the suite can be read; otherwise it stays as it was.

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
    files = {suite / "tasks" / f"{name}.yaml": entry for name, entry in zip(names, entries, strict=True)}
    try:
        whole = _put(suite, files, ids, sides)
        if sides and (leaks := find_split_leaks(whole)):
            splits = {task.id: split for split, task in whole.splits if task.id in old}
            for name in ids:  # the split of a placed task that nearly is this one, or tells of it
                told = (leak for leak in leaks if name in (leak.task, leak.other))
                others = (leak.other if leak.task == name else leak.task for leak in told)
                twin = next((splits[other] for other in others if other != name and other in splits), None)
                splits[name] = sides[name] = twin or sides[name]
            _put(suite, files, ids, sides)
    except SuiteError:
        for path in files:
            path.unlink(missing_ok=True)
        raise
    return ids


def _put(
    suite: Path, files: Mapping[Path, Mapping[str, object]], ids: Sequence[str], sides: Mapping[str, Split]
) -> Suite:
    """Write the tasks, each in its split where it has one, and read the suite."""
    for (path, entry), name in zip(files.items(), ids, strict=True):
        split = {"split": sides[name].value} if name in sides else {}
        put_file(path, f"{yaml_text({**split, **entry})}\n")
    whole = load_suite(suite)
    left_out = set(ids) - {task.id for _, task in whole.splits}
    if left_out:
        raise SuiteError(
            f"expected tasks that can be run, found {', '.join(sorted(left_out))}; correct the review file"
        )
    return whole


def tasks_in(suite: Path | None) -> tuple[Task, ...]:
    """List the tasks of a suite in any format; none where it is not there."""
    return tuple(task for _, task in load_suite(suite).splits) if suite is not None and suite.exists() else ()
