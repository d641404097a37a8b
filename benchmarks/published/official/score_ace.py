"""Score recorded answers by the published program of ACE: `score_ace.py FOLDER formula|finer`."""

import importlib
import json
import sys
import types


def main(folder: str, task: str) -> None:
    """Score each line; what the program imports to ask models is not needed and stands in empty."""
    for name in ("openai", "tiktoken", "dotenv"):
        sys.modules[name] = types.ModuleType(name)
    vars(sys.modules["tiktoken"])["get_encoding"] = lambda _: None
    vars(sys.modules["dotenv"])["load_dotenv"] = lambda: None
    sys.path.insert(0, folder)
    utilities = importlib.import_module("utils")
    processor = importlib.import_module("finance.data_processor").DataProcessor(task)
    for line in sys.stdin:
        row = json.loads(line)
        said = utilities.extract_answer(row["answer"])
        print(processor.evaluate_accuracy([said], [row["expected"]]))


if __name__ == "__main__":
    main(*sys.argv[1:])
