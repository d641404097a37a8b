"""TAT-QA: questions on a table and paragraphs of a financial report, by the official exact match.

Zhu et al., ACL 2021, https://aclanthology.org/2021.acl-long.254.

The tables of dev train and judge, for the train file may be absent from a clone; test is the published test with its
gold answers.
"""

import json
import math
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.published.benchmark import Benchmark, Item, Reading, prompt_of, split_of
from benchmarks.published.objects import last_object, texts_of
from benchmarks.published.sources import source_of
from skillopt.tasks import Split

_DEV: Final = "dataset_raw/tatqa_dataset_dev.json"
_TEST: Final = "dataset_raw/tatqa_dataset_test_gold.json"
_SCALES: Final = (("hundred", 100.0), ("thousand", 1e3), ("million", 1e6), ("billion", 1e9), ("percent", 0.01))
_MARKS: Final = dict.fromkeys(map(ord, "'\"\\$€£¥%(),[]"))
_PUNCTUATION: Final = dict.fromkeys(map(ord, string.punctuation))
_STEP: Final = 1017


def score_exact_match(answer: str, expected: str) -> float:
    """Pass the expected texts or number in the expected scale, by the rules of the official exact match."""
    given: dict[str, Any] = json.loads(expected)
    said, scale = prediction_of(answer)
    if not said or not given["answers"]:
        return 0.0
    found = {_normal(_joined(said, scale))}
    if len(said) == 1 and not scale and "%" not in said[0] and _is_number(said[0]):
        number = _number(said[0])
        found |= set() if number is None else {_normal(f"{number:.4f}")}
    return float(_normal(_joined(given["answers"], given["scale"])) in found)


def prediction_of(answer: str) -> tuple[list[str], str]:
    """Take the texts and the scale out of an answer."""
    found = last_object(answer)
    return texts_of(found.get("answer")), str(found.get("scale") or "")


def _joined(texts: Sequence[str], scale: str) -> str:
    """Write texts in one order; a number is multiplied by its scale, any other text is followed by it."""
    written = []
    for text in sorted(texts):
        number = _number(text) if _is_number(text) else None
        if number is None:
            written.append(f"{text} {scale}" if scale else text)
        elif "%" in text:
            written.append(f"{number:.4f}")
        else:
            written.append(f"{round(number, 2) * _factor(scale):.4f}")
    return " ".join(written)


def _factor(scale: str) -> float:
    return next((factor for word, factor in _SCALES if word in scale.lower()), 1.0)


def _is_number(text: str) -> bool:
    """Return whether a text is a number, alone or followed by a scale."""
    words = " ".join(word.translate(_MARKS) for word in text.split()).split()
    try:
        number = float(words[0]) if words else math.nan
    except ValueError:
        return False
    return not math.isnan(number) and not (len(words) > 1 and _factor(words[1]) == 1.0)


def _number(text: str) -> float | None:
    """Read the first number of a text, with its scale, its percent sign, and parentheses that make it negative."""
    found = re.search(r"[+-]?\d+(\.\d+)?|[+-]?\.\d+", text.translate(_MARKS))
    if found is None or found[0].lstrip("+-").startswith("."):
        return None
    number: float = float(found[0]) if "." in found[0] else int(found[0])
    scaled = re.search(r"[\d.]+\s?[a-zA-Z]+", text)
    number *= _factor(scaled[0]) if scaled else 1
    number *= -1 if re.search(r"\([\d.\s]+\)", text.strip()) else 1
    number *= 0.01 if re.search(r"[\d.\s]+%", text.strip()) else 1
    return round(number, 4)


def _normal(text: str) -> str:
    """Leave out case, articles, spaces and punctuation, word by word; a word that is a number becomes its value."""
    return " ".join(filter(None, map(_normal_word, text.split(" "))))


def _normal_word(word: str) -> str:
    plain = word.lower()
    plain = plain if _is_number(plain) else plain.translate(_PUNCTUATION)
    plain = str(_number(plain)) if _is_number(plain) else plain
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


def _read(folder: Path) -> Reading:
    return Reading(tuple(item for name in (_DEV, _TEST) for item in _items(folder, name)))


def _items(folder: Path, name: str) -> Iterator[Item]:
    for context in json.loads((folder / name).read_text(encoding="utf-8")):
        table = "\n".join("\t".join(row) for row in context["table"]["table"])
        paragraphs = "\n\n".join(one["text"] for one in sorted(context["paragraphs"], key=lambda one: one["order"]))
        split = Split.TEST if name == _TEST else split_of(table, Split.VAL, Split.TRAIN, Split.TRAIN)
        for question in context["questions"]:
            prompt = prompt_of("tatqa", table=table, paragraphs=paragraphs, question=question["question"])
            yield _item(question, split, prompt)


def _item(question: Mapping[str, Any], split: Split, prompt: str) -> Item:
    kind, scale, answer = question["answer_type"], question["scale"], question["answer"]
    texts = answer if kind in {"span", "multi-span"} else [str(int(answer) if kind == "count" else answer)]
    wrong = [_other(texts[0]), *texts[1:]] if texts else ["X1"]
    shown = f"{'; '.join(texts)} {scale}".strip()
    expected = json.dumps({"answers": texts, "scale": scale}, ensure_ascii=False)
    return Item(question["uid"], split, prompt, expected, _answer(texts, scale), _answer(wrong, scale), shown, kind)


def _other(text: str) -> str:
    try:
        return str(round(float(text) + _STEP, 2))
    except ValueError:
        return f"X1 {text}"


def _answer(texts: Sequence[str], scale: str) -> str:
    return json.dumps({"reasoning": "", "answer": texts, "scale": scale}, ensure_ascii=False)


TATQA: Final = Benchmark(source_of("tatqa"), _read, score_exact_match)
