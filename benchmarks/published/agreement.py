"""Compare our score with the published scorer's on recorded answers, half of them wrong; the rest are scored by theirs.

    python -m benchmarks.published.agreement NAME --official FOLDER [--from FOLDER] [--python PYTHON] [--answers 200]

FOLDER holds the published program, PYTHON has what it imports. Prints what was compared; 1 where a score differs.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.published.benchmark import Benchmark, Item, keep
from benchmarks.published.catalogue import benchmark_of
from benchmarks.published.sources import find
from skillopt.errors import InfrastructureError

_SCRIPT: Final = Path(__file__).parent / "official" / "score.py"
_SECONDS: Final = 600
_SAME: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Recorded:
    """An answer to an item."""

    item: Item
    answer: str


def recorded_answers(benchmark: Benchmark, items: Sequence[Item], number: int, seed: int = 0) -> list[Recorded]:
    """Write so many answers in various forms: half pass by our score, the others are changed, foreign, cut or empty."""
    draw = Random(seed)
    found = []
    for at in range(number):
        item = draw.choice(items)
        forms = draw.sample(_FORMS, len(_FORMS))
        if at % 2 == 0:
            texts = [*(form(item.gold) for form in forms), item.gold]
            found.append(Recorded(item, next((one for one in texts if benchmark.passes(one, item)), item.gold)))
        else:
            text = draw.choice([item.wrong, draw.choice(items).gold, _garbled(item.gold, draw)])
            found.append(Recorded(item, forms[0](text)))
    return found


def _garbled(text: str, draw: Random) -> str:
    at = draw.randrange(len(text))
    return draw.choice([text[:at], text[:at] + text[at + 1 :], "", text.upper(), text.replace("0", "1")])


def _result(text: str) -> str:
    """Take the result out of an answer in JSON; an answer in another form is its own result."""
    try:
        return str(json.loads(text)["final_answer"])
    except (ValueError, KeyError, TypeError):
        return text


_FORMS: Final[Sequence[Callable[[str], str]]] = (
    str,
    lambda text: re.sub(r"\b(\d+)\b", r"\1.0", text),
    lambda text: re.sub(r"(\d)\.0\b", r"\1", text),
    lambda text: re.sub(r"\b(\d{2,})\b", r"-\1", text),
    lambda text: text.replace("'", '"'),
    lambda text: text.replace("[", "(").replace("]", ")"),
    lambda text: text.replace(", ", ","),
    lambda text: re.sub(r"(\d)(\d{3})\b", r"\1,\2", text),
    lambda text: f"{text} ",
    lambda text: f"```json\n{text}\n```",
    lambda text: f"First I think about it.\n{text}",
    lambda text: f"{text}\nThat is my answer.",
    lambda text: f"Finish[{_result(text)}]",
    lambda text: f"{{'reasoning': 'x', 'final_answer': '{_result(text)}'}}",
    lambda text: f'{{"reasoning": "x", "final_answer": {_result(text)}}}',
    lambda text: f"So the final answer is: $\\boxed{{{_result(text)}}}$.",
    lambda text: f"The final answer is {_result(text)}\n",
    lambda text: f'{{"final_answer": " {_result(text)} "}}',
    lambda text: text.lower(),
    _result,
)


def official_scores(benchmark: Benchmark, rows: Sequence[Recorded], official: Path, python: str) -> list[float]:
    """Let the published program score answers, in a process of its own."""
    given = "".join(json.dumps({"answer": row.answer, "expected": row.item.expected}) + "\n" for row in rows)
    command = [python, str(_SCRIPT), benchmark.name, str(official)]
    ended = subprocess.run(command, input=given, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if ended.returncode:
        raise InfrastructureError(f"the published scorer of {benchmark.name} failed: {ended.stderr[-600:]}")
    return [float(line) for line in ended.stdout.split()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the scores, and list the answers on which they differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published.agreement", description=main.__doc__)
    parser.add_argument("name", choices=["formula", "finer", "wtq", "tatqa"])
    parser.add_argument("--official", type=Path, required=True, metavar="FOLDER", help="holds the published program")
    parser.add_argument("--from", dest="folder", type=Path, metavar="FOLDER", help="holds the files of the benchmark")
    parser.add_argument("--python", default=sys.executable, help="runs the published program")
    parser.add_argument("--answers", type=int, default=200)
    chosen = parser.parse_args(arguments)
    benchmark = benchmark_of(chosen.name)
    items = keep(benchmark, benchmark.read(find(benchmark.source, chosen.folder))).items
    rows = recorded_answers(benchmark, items, chosen.answers)
    ours = [benchmark.score(row.answer, row.item.expected) for row in rows]
    theirs = official_scores(benchmark, rows, chosen.official, chosen.python)
    differ = [at for at, (one, other) in enumerate(zip(ours, theirs, strict=True)) if abs(one - other) > _SAME]
    for at in differ:
        print(f"{rows[at].item.id}: ours {ours[at]}, theirs {theirs[at]}: {rows[at].answer!r}")
    passed = sum(score == 1.0 for score in theirs)
    print(f"{benchmark.name}: {len(rows) - len(differ)} of {len(rows)} answers scored alike, {passed} of them passed")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
