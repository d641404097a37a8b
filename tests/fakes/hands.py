"""Somebody who answers by hand what is handed off, and knows the optimizer's prompts."""

import json
from pathlib import Path

from benchmarks.demo.model import DemoModel


def answer_all(folder: Path, model: str = "") -> int:
    """Do everything that the manifest lists, and answer beside each; give how much that was."""
    listed = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for entry in listed["open"]:
        place = folder / entry["folder"]
        answer = model or DemoModel(seed=1).reply((place / "prompt.md").read_text(encoding="utf-8")).text
        (place / "answer.md").write_text(answer, encoding="utf-8")
    return len(listed["open"])
