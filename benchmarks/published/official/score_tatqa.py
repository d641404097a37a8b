"""Score recorded answers by the official exact match of TAT-QA: `score_tatqa.py FOLDER` (its repository).

It needs numpy, scipy and pandas. What is read out of an answer is ours, for it takes texts and a scale.
"""

import importlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.published.objects import last_object, texts_of


def main(folder: str) -> None:
    """Score each line; the kind of answer changes nothing in an exact match once the answer is a list of texts."""
    sys.path.insert(0, folder)
    metric = importlib.import_module("tatqa_metric")
    for line in sys.stdin:
        row = json.loads(line)
        given, found = json.loads(row["expected"]), last_object(row["answer"])
        truth = {"answer_type": "span", "answer": given["answers"], "scale": given["scale"]}
        scored = metric.TaTQAEmAndF1()
        scale = str(found.get("scale") or "")
        scored.scale_correct_count.setdefault(scale, 0)
        scored(truth, texts_of(found.get("answer")), scale)
        print(float(scored.get_overall_metric()[0]))


if __name__ == "__main__":
    main(sys.argv[1])
