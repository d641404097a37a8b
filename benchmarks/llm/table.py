"""The table of real models: no skill, start, a text written by hand, one shot and training, on suites of conventions.

    python -m benchmarks.llm.table                                             # print the rows that are recorded
    python -m benchmarks.llm.table --measure qwen-1.5b --house log-lines --seed 0 --by WHO

Contestants answer the 20 held-out tasks, which no step of any of them saw. The optimizer model answers by hand-off: who
answers gets the prompt file and nothing else. Replies are kept in `replies` by prompt, so that a row is measured again
without a key and without anybody; a prompt that has changed is asked anew, and the same command then goes on.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from benchmarks.llm.houses import HOUSES, House
from benchmarks.llm.server import serve
from benchmarks.published.run import handed_over
from skillopt import Settings, Skill, SkilloptError, evaluate, optimize
from skillopt.errors import AnswersPendingError
from skillopt.execution.calls import OptimizeResult
from skillopt.gate.judge_noise import share_interval
from skillopt.loop.events import Event
from skillopt.prompts.proposed_edits import read_reflection
from skillopt.protocols import Model
from skillopt.reports.lines import event_line
from skillopt.rollouts import Reply, Usage
from skillopt.skills.edits import apply_edits
from skillopt.targets.handoff import HandoffModel
from skillopt.tasks import Split
from tools.fetch_llm import MODELS, MissingLlmError, find_llm

_FOLDER: Final = Path(__file__).parent
_ROWS: Final = _FOLDER / "rows.jsonl"
_ANSWER_TOKENS: Final = 60
_MOST_ROLLOUTS: Final = 200
_CONTEXTS: Final = 2
_TRAIN: Final = 24


@dataclass(frozen=True, slots=True)
class Row:
    """Held-out tasks passed by one contestant, and what its text took."""

    model: str
    house: str
    seed: int
    contestant: str
    passed: int
    tasks: int
    rollouts: int = 0
    calls: int = 0
    minutes: float = 0.0
    grade: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class _Overheard:
    """A model whose replies are noted, so that the first one can be taken as it is."""

    asked: Model
    replies: list[str] = field(default_factory=list)

    @property
    def identity(self) -> str:
        return self.asked.identity

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        return self.asked.worst_case(prompt, system=system)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        found = self.asked.reply(prompt, system=system, schema=schema)
        self.replies.append(found.text)
        return found


class Measuring:
    """One model on one suite."""

    def __init__(self, house: House, model: str, base_url: str, store: Path, by: str) -> None:
        self._house, self._store, self._model, self._by = house, store, model, by
        named = {"harness": f"chat/openai-compatible/{model}", "base_url": base_url, "workers": _CONTEXTS}
        self._settings: Mapping[str, object] = {**named, "rollout_tokens": _ANSWER_TOKENS}

    def rows(self, seed: int) -> Iterator[Row]:
        """Measure every contestant; what does not depend on the seed stands with seed 0 alone."""
        start = self._house.skill("start")
        if seed == 0:
            yield self._row("no skill", None, seed)
            yield self._row("start", start, seed)
            yield self._row("written by hand", self._house.skill("by_hand"), seed)
        began, model = time.monotonic(), _Overheard(HandoffModel(_FOLDER / "replies"))
        result = self._train(start, model, seed)
        minutes = round((time.monotonic() - began) / 60, 1)
        trained, grade = handed_over(result)
        once = self._row("one shot", _taken_as_it_is(start, model.replies[0]), seed)
        yield replace(once, rollouts=_TRAIN, calls=1)
        ours = self._row("trained", trained, seed)
        yield replace(ours, rollouts=result.rollouts, calls=result.calls, minutes=minutes, grade=grade)

    def _row(self, contestant: str, skill: Skill | None, seed: int) -> Row:
        settings = Settings.model_validate(self._settings)
        suite = self._house.suite()
        found = evaluate(skill, suite, split=Split.TEST, settings=settings, store=self._store)
        return Row(
            self._model, self._house.name, seed, contestant, passed=found.passed, tasks=found.measured, by=self._by
        )

    def _train(self, start: Skill, model: Model, seed: int) -> OptimizeResult:
        """Train on the tasks that are not held out; the optimizer model is asked in files."""
        suite = self._house.suite()
        learnt = replace(suite, splits=tuple(row for row in suite.splits if row[0] is not Split.TEST))
        settings = Settings.model_validate({**self._settings, "seed": seed, "max_rollouts": _MOST_ROLLOUTS})
        return optimize(start, learnt, model=model, settings=settings, store=self._store, on_event=_show)


def _taken_as_it_is(start: Skill, reply: str) -> Skill:
    """Return the text that the first reply makes of the start: one shot."""
    edits = [edit.named(f"e{number}") for number, edit in enumerate(read_reflection(reply).edits, 1)]
    return start.with_document(apply_edits(start.document, edits).document)


def _show(event: Event) -> None:
    if line := event_line(event):
        print(line, file=sys.stderr, flush=True)


def write_table(rows: Sequence[Row]) -> str:
    """Write the recorded rows as a Markdown table, one line a contestant, with 95% intervals."""
    names = (
        "model",
        "suite",
        "seed",
        "text",
        "held-out passed",
        "95% interval",
        "rollouts",
        "calls",
        "minutes",
        "grade",
    )
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for row in rows:
        low, high = share_interval(row.passed / row.tasks, row.tasks)
        about = (row.model, row.house, str(row.seed), row.contestant, f"{row.passed} of {row.tasks}")
        spent = [f"{one:g}" if one else "" for one in (row.rollouts, row.calls, row.minutes)]
        lines.append("| " + " | ".join((*about, f"{low:.0%} to {high:.0%}", *spent, row.grade)) + " |")
    return "\n".join(lines)


def read_rows() -> list[Row]:
    """Read the recorded rows."""
    if not _ROWS.is_file():
        return []
    return [Row(**json.loads(line)) for line in _ROWS.read_text(encoding="utf-8").splitlines()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the recorded rows, or measure one suite and record its rows; 3 while answers are pending."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm.table", description=main.__doc__)
    parser.add_argument("--measure", choices=sorted(MODELS), help="the model to measure")
    parser.add_argument("--house", choices=sorted(HOUSES), action="append", help="suites; all when none is named")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--by", default="", help="who answers for the optimizer model")
    parser.add_argument("--store", type=Path, default=Path(tempfile.gettempdir()) / "skillopt-llm")
    chosen = parser.parse_args(arguments)
    if not chosen.measure:
        print(write_table(read_rows()))
        return 0
    try:
        with serve(find_llm(chosen.measure), 0, _CONTEXTS) as base_url:
            for name in chosen.house or sorted(HOUSES):
                measuring = Measuring(HOUSES[name], chosen.measure, base_url, chosen.store, chosen.by)
                rows = list(measuring.rows(chosen.seed))
                kept = [
                    one
                    for one in read_rows()
                    if (one.model, one.house, one.seed) != (chosen.measure, name, chosen.seed)
                ]
                whole = sorted([*kept, *rows], key=lambda one: (one.model, one.house, one.seed))
                _ROWS.write_text("".join(f"{json.dumps(asdict(one))}\n" for one in whole), encoding="utf-8")
                print(write_table(rows), flush=True)
    except AnswersPendingError as pending:
        print(pending, file=sys.stderr)
        return 3
    except (MissingLlmError, SkilloptError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
