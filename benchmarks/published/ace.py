"""Formula and FiNER, the finance benchmarks of ACE (arXiv:2510.04618): numbers by formula, and XBRL tags.

The questions are made of the files as the published program makes them: of Formula the question alone is asked, without
the formula that stands before it in the file.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.published.benchmark import Benchmark, Item, Reading, prompt_of, split_of
from benchmarks.published.sources import source_of
from skillopt.tasks import Split

_DATA: Final = "finance/data"
_NOTHING: Final = "No final answer found"
_FALLBACKS: Final = (r"Finish\[(.*?)\]", r'"final_answer"\s*:\s*"([^"]*)"', r"'final_answer'\s*:\s*'([^']*)'")
"""How an answer that is no JSON may name its result, in the order in which the published program tries."""


def final_answer(text: str) -> str:
    """Take the result out of an answer as the published program does."""
    try:
        return str(json.loads(text).get("final_answer", _NOTHING))
    except (json.JSONDecodeError, AttributeError):
        pass
    for pattern in _FALLBACKS:
        if found := re.findall(pattern, text):
            return str(found[-1])
    if found := re.findall(r"['\"]final_answer['\"]\s*:\s*([^,}]+)", text):
        return str(found[-1]).strip().rstrip(",}")
    return _boxed(text) or _stated(text) or _NOTHING


def _boxed(text: str) -> str:
    found = re.search(r"[Tt]he final answer is:?\s*\$?\\boxed\{", text)
    if found is None:
        return ""
    inside = text.find("\\boxed{", found.start()) + len("\\boxed{")
    depth = 1
    for at in range(inside, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[inside:at]
    return ""


def _stated(text: str) -> str:
    found = re.findall(r"[Tt]he final answer is:?\s*([^\n.]+)", text)
    return re.sub(r"^\$?\\boxed\{([^}]+)\}\$?$", r"\1", found[-1].strip()).replace("$", "").strip() if found else ""


def score_formula(answer: str, expected: str) -> float:
    """Pass a number that equals the expected one; thousands may be separated by commas."""
    said = final_answer(answer)
    try:
        return float(float(said.replace(",", "")) == float(expected.replace(",", "")))
    except ValueError:
        return float(said == expected)


def score_tags(answer: str, expected: str) -> float:
    """Return the share of tags that are right at their place, in any case; tags too many are ignored."""
    said, wanted = ([tag.strip().casefold() for tag in text.split(",")] for text in (final_answer(answer), expected))
    said += [""] * (len(wanted) - len(said))
    return sum(one == other for one, other in zip(said, wanted, strict=False)) / len(wanted)


def _lines(folder: Path, name: str) -> Iterator[tuple[int, str, str]]:
    with (folder / _DATA / name).open(encoding="utf-8") as lines:
        for at, line in enumerate(filter(str.strip, lines)):
            found = json.loads(line)
            yield at, found["context"], found["target"]


def _answer(result: str) -> str:
    return json.dumps({"reasoning": "", "final_answer": result})


def _read_formula(folder: Path) -> Reading:
    names = {Split.TRAIN: "formula_train_subset_500", Split.VAL: "formula_val_subset_300", Split.TEST: "formula_test"}
    return Reading(
        tuple(
            _formula(f"formula-{split}-{at}", split, context, target)
            for split, name in names.items()
            for at, context, target in _lines(folder, f"{name}.jsonl")
        )
    )


def _formula(name: str, split: Split, context: str, target: str) -> Item:
    question = context.split("Question: ", 1)[1].split(". Answer:", maxsplit=1)[0].strip()
    if question.startswith('"') and question.endswith('"'):
        question = question[1:-1]
    wrong = str(float(target.replace(",", "")) + 1)
    tag = re.search(r"Use formula (.+?) to answer", context)
    return Item(
        name,
        split,
        prompt_of("formula", question=question),
        target,
        _answer(target),
        _answer(wrong),
        target,
        tag[1] if tag else "",
    )


def _read_finer(folder: Path) -> Reading:
    """Read val and test; the published train split is not in the repository, so half of val trains."""
    items = []
    for split, name in ((Split.VAL, "finer_val_batched_500_samples"), (Split.TEST, "finer_test_subset_006_seed42")):
        for at, context, target in _lines(folder, f"{name}.jsonl"):
            own = split_of(context, Split.VAL, Split.TRAIN) if split is Split.VAL else split
            items.append(_finer(f"finer-{split}-{at}", own, context, target))
    return Reading(tuple(items))


def _finer(name: str, split: Split, context: str, target: str) -> Item:
    first, *others = target.split(",")
    return Item(
        name,
        split,
        prompt_of("finer", question=context),
        target,
        _answer(target),
        _answer(",".join([f"{first}X", *others])),
        target,
    )


FORMULA: Final = Benchmark(source_of("formula"), _read_formula, score_formula)

FINER: Final = Benchmark(source_of("finer"), _read_finer, score_tags)
