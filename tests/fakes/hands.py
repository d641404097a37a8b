"""Somebody who does by hand what is handed off: follows skills on tables, and knows the optimizer's prompts."""

import json
from pathlib import Path

from benchmarks.demo.model import DemoModel
from tools.fake_providers.skill_follower import clean


def do_item(folder: Path, name: str, model: str = "") -> str:
    """Do one piece of work and give the answer to it."""
    place = folder / name
    if name.startswith("prompts/"):
        return model or DemoModel(seed=1).reply((place / "prompt.md").read_text(encoding="utf-8")).text
    skills = list(place.glob("skill/*/SKILL.md"))
    table = (place / "workspace" / "input.csv").read_text(encoding="utf-8")
    cleaned = clean(skills[0].read_text(encoding="utf-8") if skills else "", table)
    (place / "workspace" / "output.csv").write_text(cleaned, encoding="utf-8")
    return "Wrote output.csv."


def answer_all(folder: Path, model: str = "") -> int:
    """Do everything that the manifest lists, and answer beside each; give how much that was."""
    listed = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for entry in listed["open"]:
        answer = do_item(folder, entry["folder"], model)
        (folder / entry["folder"] / "answer.md").write_text(answer, encoding="utf-8")
    return len(listed["open"])
