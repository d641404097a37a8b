"""A learning curve of a real, small language model: how much a skill gains with 8, 24 or 72 tasks to train on.

    python -m benchmarks.llm.curve --model handoff --by WHO --out FILE

Tasks are those of reasoning-gym, half sums of two numbers of one digit (`chain_sum`), half products (`products`); the
seed draws them, and held-out tasks are none of those. The last number of an answer is scored by reasoning-gym. The
target is SmolLM2-135M-Instruct. What is handed off waits in the store; the same command goes on.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from benchmarks.llm.training import HARNESS
from benchmarks.published.run import handed_over
from skillopt import Settings, Skill, compare, evaluate, load_skill, optimize
from skillopt.errors import AnswersPendingError
from skillopt.rollouts import Score, Trajectory
from skillopt.suites.planning import plan_splits
from skillopt.tasks import Split, Suite, Task, VerifierSpec

KIND: Final = "reasoning-gym"
_VERSION: Final = "0.1.25"
_FOLDER: Final = Path(__file__).resolve().parents[2] / ".bench-venvs" / f"reasoning-gym-{_VERSION}"
_DATASETS: Final = {
    "chain_sum": {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1},
    "products": {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1},
}
_MOST_ROLLOUTS: Final = {8: 60, 24: 100, 72: 200}
_HELD_OUT: Final = 40
_ANSWER_TOKENS: Final = 16
_APART: Final = 10_000
"""Entry i of a dataset is drawn by its seed + i, so that seeds next to each other share all entries but one."""
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")

Entries = Callable[[str, int], list[dict[str, Any]]]
"""Draws the entries of a dataset by its name and a seed."""


class Point(BaseModel):
    """A training with so many tasks, and its text on held-out tasks, all of them the seed's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: int = Field(ge=1)
    seed: int = Field(ge=0)
    held_out: int = Field(ge=1)
    no_skill: int = Field(ge=0)
    start: int = Field(ge=0)
    trained: int = Field(ge=0)
    fixed: int = Field(ge=0)
    broken: int = Field(ge=0)
    rollouts: int = Field(ge=0)
    calls: int = Field(ge=0)
    handed_over: str
    reason: str
    text: str


class Curve(BaseModel):
    """The points of a curve; `answered_by` says who answered what the optimizer model was asked."""

    model_config = Point.model_config

    target: str
    model: str
    answered_by: str
    data: str
    start: str
    points: tuple[Point, ...]


def last_number(answer: str) -> str:
    """Take the last number out of an answer."""
    return next(iter(_NUMBER.findall(answer.replace(",", ""))[::-1]), "")


class _LastNumber:
    """Scores the last number of an answer by the dataset that the task is of."""

    def __init__(self, spec: VerifierSpec) -> None:
        given = json.loads(spec.options)
        self._dataset, self._expected = given["dataset"], given["expected"]

    def score(self, trajectory: Trajectory, workspace: str) -> Score:  # noqa: ARG002 - only the answer counts
        """Pass a number that the dataset gives its full score."""
        said = last_number(trajectory.answer)
        if _gym().create_dataset(self._dataset, size=1).score_answer(said, {"answer": self._expected}) == 1.0:
            return Score(1.0, passed=True)
        return Score(0.0, passed=False, feedback=f"expected {self._expected}, found {said or 'no number'}")


def _gym() -> Any:  # noqa: ANN401 - a package without types, in a folder of its own
    if not _FOLDER.is_dir():
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq", "install", "--target", str(_FOLDER)]
        subprocess.run([*pip, f"reasoning-gym=={_VERSION}"], check=True)
    if str(_FOLDER) not in sys.path:
        sys.path.append(str(_FOLDER))
    return import_module("reasoning_gym")


def entries_of(dataset: str, seed: int) -> list[dict[str, Any]]:
    """Draw more entries of a dataset than a suite needs, some of them twice."""
    return list(_gym().create_dataset(dataset, size=500, seed=seed * _APART, **_DATASETS[dataset]))


def tasks_of(size: int, seed: int, entries: Entries) -> tuple[list[Task], list[Task]]:
    """Draw the held-out tasks of a seed and so many others; those of a smaller size are among those of a larger one."""
    held_out: list[Task] = []
    others: list[Task] = []
    for dataset in _DATASETS:
        unique = {entry["question"]: entry["answer"] for entry in entries(dataset, seed)}
        made = iter(_task(dataset, at, *pair) for at, pair in enumerate(unique.items()))
        held_out += islice(made, _HELD_OUT // 2)
        others += islice(made, size // 2)
    return held_out, others


def _task(dataset: str, at: int, question: str, answer: str) -> Task:
    options = json.dumps({"dataset": dataset, "expected": answer}, sort_keys=True)
    return Task(f"{dataset}-{at}", question, VerifierSpec(KIND, options), tags=(dataset,))


def measure(size: int, seed: int, start: Skill, entries: Entries, shared: dict[str, Any]) -> Point:
    """Train on so many tasks of a seed, and compare what is handed over with the start text on its held-out tasks."""
    held_out, others = tasks_of(size, seed, entries)
    test = Suite("sums-held-out", tuple((Split.TEST, task) for task in held_out))
    common = {name: value for name, value in shared.items() if name != "model"}
    none = evaluate(None, test, split=Split.TEST, **common)
    settings = shared["settings"].model_copy(update={"seed": seed, "max_rollouts": _MOST_ROLLOUTS[size]})
    suite = plan_splits(others).suite("sums", others)
    result = optimize(start, suite, **{**shared, "settings": settings})
    trained, grade = handed_over(result)
    compared = compare(start, trained, test, split=Split.TEST, **common)
    return Point(
        tasks=len(others),
        seed=seed,
        held_out=len(held_out),
        no_skill=none.passed,
        start=compared.before.passed,
        trained=compared.after.passed,
        fixed=len(compared.verdict.fixed),
        broken=len(compared.verdict.broken),
        rollouts=result.rollouts,
        calls=result.calls,
        handed_over=grade,
        reason=result.reason,
        text=trained.text,
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure all points; 3 where answers are missing of what was handed off."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm.curve", description=main.__doc__)
    parser.add_argument("--model", required=True, help="the optimizer model, as in openai/NAME or handoff")
    parser.add_argument("--by", default="", help="who answers what is handed off, for the file")
    parser.add_argument("--base-url", required=True, help="the server: `python -m benchmarks.llm.server PORT`")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(_MOST_ROLLOUTS), choices=list(_MOST_ROLLOUTS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--store", type=Path, required=True, help="keeps what was run")
    parser.add_argument("--out", type=Path, required=True, help="file for the points")
    chosen = parser.parse_args(arguments)
    start = load_skill(Path(__file__).parent / "sums")
    named = {"harness": HARNESS, "base_url": chosen.base_url, "rollout_tokens": _ANSWER_TOKENS, "workers": 8}
    shared = {"settings": Settings.model_validate(named), "model": chosen.model, "store": chosen.store}
    shared["verifiers"] = {KIND: _LastNumber}
    points, waiting = [], 0
    for size, seed in ((size, seed) for size in chosen.sizes for seed in chosen.seeds):
        try:
            points.append(measure(size, seed, start, entries_of, shared))
        except AnswersPendingError as pending:
            waiting += 1
            print(f"{size} tasks, seed {seed}: {pending}", file=sys.stderr, flush=True)
            continue
        print(points[-1].model_dump_json(exclude={"text"}), flush=True)
    found = Curve(
        target=f"SmolLM2-135M-Instruct, 4 bits a weight, as {HARNESS}",
        model=chosen.model,
        answered_by=chosen.by,
        data=f"reasoning-gym {_VERSION}: {json.dumps(_DATASETS)}",
        start=start.text,
        points=tuple(points),
    )
    chosen.out.write_text(f"{found.model_dump_json(indent=2)}\n", encoding="utf-8")
    return AnswersPendingError.exit_code if waiting else 0


if __name__ == "__main__":
    sys.exit(main())
