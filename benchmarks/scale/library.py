"""How long the commands of a large library take, and what a recorded rollout takes on disk.

The repository is generated (`tools.skill_repository`), its ledger by `benchmarks.scale.library_ledger`: a run for every
version of every skill. Each command is its own process and runs twice, so what it prints is read from a warm file
cache; the second is taken. What reads or writes every rollout runs once. The server's answers and the pages are made in
this process, the first time that they are asked for.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.scale.library_ledger import IDENTITY, TASKS, Filled, fill_ledger, run_id, text_of
from skillopt.commands.nightly.check import configured_skills
from skillopt.commands.serve import LivePages
from skillopt.nightly.dashboard import DashboardMemory, SkillStanding, build_dashboard
from skillopt.nightly.due import sort_by_priority, why_due
from skillopt.nightly.known_texts import DefaultBranch, read_many_texts
from skillopt.nightly.skill_state import read_skill_state
from skillopt.project import Project, Selection
from skillopt.reports.dashboard import SkillStatus
from skillopt.storage.ledger import Ledger
from skillopt_mcp.catalogue import served_page
from skillopt_mcp.overview import overview
from tools.skill_repository import make_many

__all__ = ["Library", "markdown", "measure"]

_LIMIT: Final = 2.0
_PAGE: Final = 20
_NEWEST: Final = 500
_COMMANDS: Final = {
    "`skillopt --version`, for comparison: the start alone": ("--version",),
    "`status`": ("status", "--json"),
    "`status --skill`": ("status", "--skill", "skill-0001", "--json"),
    "`log` of one skill": ("log", "skill-0001", "--json"),
    "`report` of one skill": ("report", "skill-0001"),
}
_WHOLE: Final = {
    "`export` to JSON lines": ("export", "all.jsonl"),
    "`export` to Parquet": ("export", "all.parquet"),
    "`prune --dry-run`": ("prune", "--dry-run"),
    "`prune`": ("prune",),
}
"""What reads or writes every rollout, and so has no limit."""


@dataclass(frozen=True, slots=True)
class Library:
    """What was measured.

    Args:
        skills: Of the repository.
        versions: Accepted ones of each.
        rollouts: In the ledger.
        seconds: Of each command, its start included, and of each page and answer.
        queries: Seconds of each question to the ledger.
        whole: Seconds of each command that reads or writes every rollout.
        filled: What the ledger takes.
        pruned: Bytes of the ledger after `prune`.
    """

    skills: int
    versions: int
    rollouts: int
    seconds: Mapping[str, float]
    queries: Mapping[str, float]
    whole: Mapping[str, float]
    filled: Filled
    pruned: int


def measure(quick: bool) -> Library:  # noqa: FBT001 - as every measurement of this package
    """Measure the commands in a generated library.

    Args:
        quick: 20 skills of 2 versions and 4,000 rollouts in place of 1,000 of 20 and 1,000,000.
    """
    size = (20, 2, 4_000) if quick else (1_000, 20, 1_000_000)
    with TemporaryDirectory() as scratch:
        root = make_many(Path(scratch) / "library", size[0], size[1], 1)
        _add_tasks(root)
        filled = fill_ledger(root, *size)
        seconds = {name: _command(root, command, times=2) for name, command in _COMMANDS.items()}
        seconds |= {name: _timed(made) for name, made in _answers(root, size[0]).items()}
        queries = _queries(root, size[1])
        whole = {name: _command(root, command) for name, command in _WHOLE.items() if _can(command)}
        pruned = (root / ".skillopt" / "ledger.db").stat().st_size
    return Library(*size, seconds, queries, whole, filled, pruned)


def markdown(result: Library) -> str:
    """Write what was measured as Markdown."""
    size = (
        f"{result.skills:,} skills of {result.versions} versions and {TASKS} tasks, a ledger of "
        f"{result.skills * result.versions:,} runs and {result.rollouts:,} rollouts"
    )
    lines = [f"{size}. The limit is {_LIMIT:.0f} s.", "", "| what | seconds | within the limit |", "|---|---|---|"]
    for name, seconds in result.seconds.items():
        lines.append(f"| {name} | {seconds:.2f} | {'yes' if seconds <= _LIMIT else '**no**'} |")
    lines += ["", "Questions to the ledger:", "", "| question | seconds |", "|---|---|"]
    lines += [f"| {name} | {seconds:.4f} |" for name, seconds in result.queries.items()]
    lines += ["", "What reads or writes every rollout, and so has no limit:", "", "| command | seconds |", "|---|---|"]
    lines += [f"| {name} | {seconds:.1f} |" for name, seconds in result.whole.items()]
    filled, mega = result.filled, 1_000_000
    lines += [
        "",
        (
            f"A rollout's record takes {filled.stored:.0f} bytes compressed against the first ones of its target, and "
            f"{filled.alone:.0f} compressed by itself. The ledger takes {filled.size / result.rollouts:.0f} bytes a "
            f"rollout, with its indexes: {filled.size / mega:.0f} MB, and {result.pruned / mega:.0f} MB after `prune`, "
            "which keeps all answers of runs that brought a version (here every second one) and of the last 90 days, "
            "and what is known of versions."
        ),
    ]
    return "\n".join(lines)


def _add_tasks(root: Path) -> None:
    """Give all skills the same suite of tasks."""
    splits = ("train", "val", "test")
    rows = [
        {
            "id": f"task-{number:03}",
            "split": splits[number % 3],
            "prompt": f"Clean the shipment log number {number}.",
            "verifier": {"kind": "exact", "file": "hello.txt", "value": "hello"},
        }
        for number in range(TASKS)
    ]
    (root / "tasks.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    config = root / "skillopt.toml"
    text = config.read_text(encoding="utf-8").replace("[skills.", 'suite = "tasks.jsonl"\n[skills.')
    head, _, rest = text.partition("\n")
    config.write_text(f'harness = "demo"\nmodel = "demo"\n{rest}\n{head}\n', encoding="utf-8")


def _answers(root: Path, skills: int) -> Mapping[str, Callable[[], object]]:
    """Give what makes each page and each answer of the server."""
    pages, project = LivePages(Project.find(root)), Project.find(root)
    standings = tuple(
        SkillStanding(skill=f"skill-{number:04}", status=SkillStatus.DUE, reason="it was last trained 30 days ago")
        for number in range(skills)
    )
    memory = DashboardMemory(standings=standings)
    return {
        "MCP `list_skills`, a page": lambda: overview(root, 0, _PAGE),
        "MCP skills/list, a page": lambda: served_page(root, "", _PAGE),
        "`serve`: the list of runs": lambda: pages.answer("/"),
        "`serve`: a run": lambda: pages.answer(f"/runs/{run_id(1, 1)}"),
        "the dashboard of all skills": lambda: build_dashboard(memory, 100.0, datetime.now(UTC)),
        "planning a night: which of all skills are due": lambda: _plan(project),
    }


def _plan(project: Project) -> None:
    """Read the state of all skills, and sort those that are due."""
    now, due, branch = datetime.now(UTC), [], DefaultBranch("HEAD", "")
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        selections = [Selection(name, {}, folder=project.root) for name in configured_skills(project)]
        targets = [project.target(selection) for selection in selections]
        texts = read_many_texts(project.repository(), targets, branch)
        for selection, target in zip(selections, targets, strict=True):
            state = read_skill_state(selection, branch, ledger, now, texts.get(target.name))
            due.append(why_due(state.due_facts, state.target.settings.nightly.due_days))
    sort_by_priority(one for one in due if one)


def _queries(root: Path, versions: int) -> Mapping[str, float]:
    run, texts = run_id(1, 1), [text_of(1, version).digest for version in range(versions)]
    with closing(Ledger.open(root, read_only=True)) as ledger:
        keys = [row.key for row in ledger.run_results(run, [], IDENTITY)]
        asked: Mapping[str, Callable[[], object]] = {
            "how many rollouts and replies there are": ledger.counts,
            "what a run has cost": lambda: ledger.spending(run),
            "the events of a run": lambda: ledger.events(run),
            "the newest 100 runs": lambda: ledger.runs(most=100),
            "the runs of a skill": lambda: ledger.runs("skill-0001"),
            "its interrupted run": lambda: ledger.find_interrupted("skill-0001", "c", "s"),
            "the results of a run": lambda: ledger.run_results(run, texts[:1], IDENTITY),
            "the results of all texts of a skill": lambda: ledger.results(texts, IDENTITY),
            "the rollouts of a run, whole": lambda: ledger.rollouts(keys),
            "whether anything was billed": ledger.was_billed,
            "what the newest 20,000 answers took": ledger.costs,
            "the newest 500 results of a target": lambda: ledger.target_results(IDENTITY, _NEWEST),
            "the newest 100,000 results of a target": lambda: ledger.target_results(IDENTITY),
        }
        return {name: _timed(question) for name, question in asked.items()}


def _can(command: tuple[str, ...]) -> bool:
    """Tell whether a command can run: Parquet needs PyArrow."""
    return not command[-1].endswith(".parquet") or find_spec("pyarrow") is not None


def _timed(made: Callable[[], object]) -> float:
    begun = time.perf_counter()
    made()
    return time.perf_counter() - begun


def _command(root: Path, command: tuple[str, ...], times: int = 1) -> float:
    """Give the seconds of the last of some runs of a command."""
    taken = 0.0
    for _ in range(times):
        begun = time.perf_counter()
        arguments = [sys.executable, "-m", "skillopt", *command]
        ended = subprocess.run(arguments, cwd=root, capture_output=True, text=True, check=False, env={**os.environ})
        taken = time.perf_counter() - begun
        if ended.returncode != 0:
            raise RuntimeError(f"expected {command} to end well, found {ended.returncode}: {ended.stderr}")
    return taken
