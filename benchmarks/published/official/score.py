"""Score recorded answers by the published programs: `score.py NAME FOLDER`, JSON lines in, a score a line out.

Each runs in a Python that has what the program imports: nothing for `formula`, `finer` and `wtq`; numpy, scipy and
pandas for `tatqa`. What programs import to ask models stands in empty. Of `wtq` and `tatqa`, whose programs take items
and no text, what is read out of an answer is ours.
"""

import importlib
import json
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.published.objects import last_object, texts_of

_Scorer = Callable[[str, str], float]


def _stand_in(name: str, **members: object) -> None:
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module


def _ace(task: str) -> _Scorer:
    _stand_in("openai")
    _stand_in("tiktoken", get_encoding=lambda _: None)
    _stand_in("dotenv", load_dotenv=lambda: None)
    utilities = importlib.import_module("utils")
    processor = importlib.import_module("finance.data_processor").DataProcessor(task)
    return lambda answer, expected: processor.evaluate_accuracy([utilities.extract_answer(answer)], [expected])


def _wtq(folder: str) -> _Scorer:
    """Run the functions of an evaluator for Python 2 as they are, but for a prefix that Python 3 has not."""
    text = Path(folder, "evaluator.py").read_text(encoding="utf-8").partition("def main")[0]
    names: dict[str, Any] = {"unicode": str, "basestring": str, "long": int, "__name__": "evaluator"}
    exec(re.sub(r"\bur(?=[\"'])", "r", text), names)  # noqa: S102 - the published program, which the user names
    values = names["to_value_list"]

    def score(answer: str, expected: str) -> float:
        wanted, canons = zip(*json.loads(expected), strict=True)
        said = values(texts_of(last_object(answer).get("answer")))
        return float(names["check_denotation"](values(wanted, canons), said))

    return score


def _tatqa() -> _Scorer:
    metric = importlib.import_module("tatqa_metric")

    def score(answer: str, expected: str) -> float:
        given, found = json.loads(expected), last_object(answer)
        scored, scale = metric.TaTQAEmAndF1(), str(found.get("scale") or "")
        scored.scale_correct_count.setdefault(scale, 0)
        # Once an answer is a list of texts, its kind changes nothing in an exact match.
        truth = {"answer_type": "span", "answer": given["answers"], "scale": given["scale"]}
        scored(truth, texts_of(found.get("answer")), scale)
        return float(scored.get_overall_metric()[0])

    return score


def main(name: str, folder: str) -> None:
    """Score each line."""
    sys.path.insert(0, folder)
    score = {"wtq": lambda: _wtq(folder), "tatqa": _tatqa}.get(name, lambda: _ace(name))()
    for line in sys.stdin:
        row = json.loads(line)
        print(score(row["answer"], row["expected"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
