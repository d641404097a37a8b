"""SkillsBench: tasks for agents in a file system of their own, each with skills that people wrote for it.

The tasks are Harbor's, read and run by the product; those whose own solution passes here without a container are kept.
"""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from benchmarks.published.benchmark import Benchmark, Item, LeftOut, Reading, Tried, split_of
from benchmarks.published.sources import cache_folder, source_of
from skillopt.contrib.harbor.oracle import check_oracles
from skillopt.contrib.harbor.oracle_record import OracleResult
from skillopt.contrib.harbor.task_folders import read_harbor
from skillopt.tasks import File, Split

_PLACES: Final = (".claude/skills", ".agents/skills")
"""Where agents look for skills in the folder that they start in."""


def _read(folder: Path) -> Reading:
    found = [_item(place.parent) for place in sorted((folder / "tasks").glob("*/task.toml"))]
    return Reading(
        tuple(one for one in found if isinstance(one, Item)), tuple(one for one in found if isinstance(one, LeftOut))
    )


def _item(place: Path) -> Item | LeftOut:
    reading = read_harbor(place / "task.toml")
    if reading.skipped:
        return LeftOut(place.name, f"cannot be read: {reading.skipped[0].reason}")
    task = reading.tasks[0][1]
    if task.environment is None or task.environment.container:
        return LeftOut(place.name, f"needs a container: {task.environment and task.environment.container}")
    split = split_of(place.name, Split.TRAIN, Split.VAL, Split.TEST)
    curated = tuple(_curated(place / "environment" / "skills", task.environment.workdir))
    return Item(place.name, split, task.prompt, "", "", "", "", task=task, curated=curated)


def _curated(folder: Path, workdir: str) -> Sequence[File]:
    files = [(path.relative_to(folder), path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()]
    start = workdir.lstrip("/")
    return [File((Path(start) / own / name).as_posix(), text) for own in _PLACES for name, text in files]


def _tried(items: Sequence[Item]) -> Mapping[str, Tried]:
    """Run the solution of each task, then nothing; what passed or failed once is not run again."""
    record = cache_folder()
    record.mkdir(parents=True, exist_ok=True)
    none = (OracleResult("", problem="it brings none"),)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tasks = [[item.task] if item.task else [] for item in items]
        found = list(pool.map(lambda own: check_oracles(own, record, lambda _: None) or none, tasks))
    return {
        item.id: Tried(one.solution_passes, one.solution_passes and not one.nothing_fails, problem=one.problem)
        for item, (one,) in zip(items, found, strict=True)
    }


def _score(answer: str, expected: str) -> float:  # noqa: ARG001 - as of other benchmarks
    """Score an answer alone: it leaves nothing, and doing nothing fails in all tasks that are kept."""
    return 0.0


SKILLSBENCH: Final = Benchmark(source_of("skillsbench"), _read, _score, tried=_tried)
