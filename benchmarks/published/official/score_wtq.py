"""Score recorded answers by the official evaluator of WikiTableQuestions: `score_wtq.py FOLDER` (its repository).

The evaluator is written for Python 2. Its functions are run as they are, but for the prefix of Unicode patterns, which
Python 3 has not; what is read out of an answer is ours, for it takes items.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.published.objects import last_object, texts_of


def main(folder: str) -> None:
    """Score each line."""
    text = Path(folder, "evaluator.py").read_text(encoding="utf-8").partition("def main")[0]
    names: dict[str, Any] = {"unicode": str, "basestring": str, "long": int, "__name__": "evaluator"}
    exec(re.sub(r"\bur(?=[\"'])", "r", text), names)  # noqa: S102 - the published program, which the user names
    for line in sys.stdin:
        row = json.loads(line)
        texts, canons = zip(*json.loads(row["expected"]), strict=True)
        said = names["to_value_list"](texts_of(last_object(row["answer"]).get("answer")))
        print(float(names["check_denotation"](names["to_value_list"](texts, canons), said)))


if __name__ == "__main__":
    main(sys.argv[1])
