"""What memory alone would reach: each judging task answered with the answer of the nearest train task, no model.

A skill text may simply hold answers; a gain that does not exceed this shows no more than that. Nearest by the words of
the prompts: cosine of their counts, each word weighed by how rare it is among train prompts.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.execution.drivers import shared_verifier
from skillopt.figures import Headline
from skillopt.rollouts import Trajectory
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import File, Split, Suite, Task
from skillopt.verifiers import read_reference

_WORD: Final = re.compile(r"\w+")
_EXPECTING: Final = frozenset({"exact", "numeric", "json", "table"})
"""Kinds of verifiers whose options name the answer."""

_MOST: Final = 2_000
"""Most tasks of each side that are compared; with 10,000 it takes minutes."""


@dataclass(frozen=True, slots=True)
class MemoryBaseline:
    """How many judging tasks with an expected answer memory alone would pass."""

    passed: int
    tasks: int

    @property
    def words(self) -> str:
        """Say it."""
        return f"memory alone (the answer of the nearest train task) would pass {self.passed} of {self.tasks} tasks"

    def warning(self, gained: Headline | None) -> str:
        """Warn where a gain in tasks passed does not exceed it; empty where it does, and where nothing was gained."""
        gain = (gained.passed_after - gained.passed_before) / gained.tasks if gained else 0.0
        told = f"the gain is no larger: {self.words}, so the text may just hold answers; try tasks of other wording"
        return told if 0 < gain <= self.passed / self.tasks else ""


def memory_baseline(suite: Suite) -> MemoryBaseline | None:
    """Score what memory answers in `val` and `test`, with folds in the other fold; None without expected answers."""
    passed = tasks = 0
    for view in suite.fold_suites or (suite,):
        known = [(task.prompt, answer) for task in view.tasks(Split.TRAIN)[:_MOST] if (answer := _expected(task))]
        judging = [*view.tasks(Split.VAL), *view.tasks(Split.TEST)]
        asked = [task for task in judging if _expected(task)][:_MOST] if known else []
        places = nearest([prompt for prompt, _ in known], [task.prompt for task in asked])
        tasks += len(asked)
        for task, (text, files) in zip(asked, (known[at][1] for at in places), strict=True):
            with Workspace.create(files) as workspace:
                verifier = shared_verifier(task.verifier_with_inputs)
                passed += verifier.score(Trajectory(answer=text), workspace.path).passed
    return MemoryBaseline(passed, tasks) if tasks else None


def _expected(task: Task) -> tuple[str, Sequence[File]] | None:
    """Return the expected answer of a task and the files that hold it; None where it is not named."""
    text, files = "", list[File]()
    for part in task.verifier.parts:
        options = json.loads(part.options)
        value = options.get("value")
        if part.kind not in _EXPECTING or (value is None and not options.get("expected")):
            return None
        plain = value if isinstance(value, str) and part.kind != "json" else json.dumps(value)
        content = read_reference(part, options["expected"]) if value is None else plain.encode("utf-8", "replace")
        if options.get("file"):
            files.append(File(options["file"], content))
        else:
            text = content.decode("utf-8", "replace")
    return text, files


def nearest(known: Sequence[str], asked: Sequence[str]) -> list[int]:
    """Return for each prompt the place of the nearest known one, of equally near ones the first."""
    counts = [_words(prompt) for prompt in known]
    held = Counter(word for count in counts for word in count)
    rarity = {word: math.log(len(known) / number) for word, number in held.items() if number < len(known)}
    places, found = defaultdict[str, list[tuple[int, float]]](list), list[int]()
    for at, count in enumerate(counts):
        for word, weight in _direction(count, rarity).items():
            places[word].append((at, weight))
    for prompt in asked:
        near = defaultdict[int, float](float)
        for word, weight in _direction(_words(prompt), rarity).items():
            for at, own in places[word]:
                near[at] += weight * own
        found.append(max(sorted(near), key=near.__getitem__, default=0))
    return found


def _words(prompt: str) -> Counter[str]:
    return Counter(_WORD.findall(prompt.casefold()))


def _direction(count: Counter[str], rarity: Mapping[str, float]) -> dict[str, float]:
    weights = {word: number * rarity[word] for word, number in count.items() if word in rarity}
    length = math.hypot(*weights.values()) or 1.0
    return {word: weight / length for word, weight in weights.items()}
