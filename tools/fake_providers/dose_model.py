"""A skill with doses for children, its tasks, and a model that multiplies the skill's dose by the weight in a task."""

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

from tools.fake_providers.fake_anthropic import message
from tools.fake_providers.loopback import Answer, Body

DOSES: Final = {"amoxicillin": (25, 12), "ibuprofen": (10, 8), "paracetamol": (15, 6)}
"""Milligrams for each kilogram, and after how many hours the next one."""

NAME: Final = "child-doses"
VAL: Final = 12  # tasks
_SKILL: Final = """\
---
name: child-doses
description: Doses of medicines for children by weight. Use for every question about a child's dose.
---
# Doses for children

{doses}- Never give aspirin to a child.
- Answer with the number of milligrams of one dose.
"""


def write_skill(folder: Path) -> str:
    """Write the skill and its suite, and give the skill's text."""
    doses = (f"- Give {name} at {dose} mg/kg, every {hours} hours.\n" for name, (dose, hours) in DOSES.items())
    text = _SKILL.format(doses="".join(doses))
    tasks = [_task(number, "val" if number < VAL else "train") for number in range(VAL + 3)]
    for place, content in ((f"skills/{NAME}/SKILL.md", text), (f"suites/{NAME}.jsonl", "".join(tasks))):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(content, encoding="utf-8")
    return text


def _task(number: int, split: str) -> str:
    drug, weight = [*DOSES][number % len(DOSES)], 8 + number
    verifier = {"kind": "numeric", "value": DOSES[drug][0] * weight}
    prompt = f"A child of {weight} kg needs {drug}. How many mg are one dose?"
    return json.dumps({"id": f"{drug}-{weight}-kg", "split": split, "prompt": prompt, "verifier": verifier}) + "\n"


def answer_dose(body: Body, lost: Collection[str] = ()) -> Answer:
    """Answer a task, unless its weight is among those that are lost."""
    asked = json.dumps(body)
    found = re.search(r"A child of (\d+) kg needs (\w+)", asked)
    rule = found and re.search(rf"{found[2]} at (\d+) mg/kg", asked)
    words = f"{int(rule[1]) * int(found[1])} mg" if found and rule and found[1] not in lost else "I do not know."
    return message(body, [{"type": "text", "text": words}])
