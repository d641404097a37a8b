"""WikiTableQuestions: questions on Wikipedia tables that training has not seen (Pasupat and Liang, arXiv:1508.00305).

Numbers and dates of the expected answers of the test split are those of its tagged file, as the official evaluator
takes them; the answers of train and val are compared as they are written.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Final

from benchmarks.published.benchmark import Benchmark, Item, Reading, prompt_of
from benchmarks.published.objects import last_object, texts_of
from benchmarks.published.sources import source_of
from skillopt.tasks import Split

_FILES: Final[Mapping[Split, str]] = {
    Split.TRAIN: "data/random-split-1-train.tsv",
    Split.VAL: "data/random-split-1-dev.tsv",
    Split.TEST: "tagged/data/pristine-unseen-tables.tagged",
}
_NEAR: Final = 1e-6
_QUOTES: Final = str.maketrans(dict.fromkeys("‘’´`", "'") | dict.fromkeys("“”", '"') | dict.fromkeys("‐‑‒–—−", "-"))  # noqa: RUF001 - what the evaluator replaces
_CITED: Final = re.compile(r"((?<!^)\[[^\]]*\]|\[[0-9]+\]|[•♦†‡*#+])*$")
_DETAIL: Final = re.compile(r"(?<!^)( \([^)]*\))*$")
_WHOLE: Final = re.compile(r'^"([^"]*)"$')


@dataclass(frozen=True, slots=True)
class _Value:
    """An item of a denotation: its normal form, and the number or the date (year, month, day) that it is."""

    text: str
    number: float | None = None
    date: tuple[int, int, int] | None = None

    @property
    def key(self) -> tuple[str, object]:
        """Tell what counts as the same item of one denotation."""
        if self.number is not None:
            return "number", self.number
        return ("date", self.date) if self.date else ("text", self.text)

    def matches(self, other: "_Value") -> bool:
        """Return whether an expected item is the other one."""
        if self.text == other.text:
            return True
        if self.number is not None and other.number is not None:
            return abs(self.number - other.number) < _NEAR
        return self.date is not None and self.date == other.date


def score_denotation(answer: str, expected: str) -> float:
    """Pass the expected set of items, by the rules of the official evaluator 1.0.2."""
    wanted = _values([(text, canon) for text, canon in json.loads(expected)])
    said = _values([(text, "") for text in texts_of(last_object(answer).get("answer"))])
    return float(len(wanted) == len(said) and all(any(one.matches(other) for other in said) for one in wanted))


def _values(pairs: Sequence[tuple[str, str]]) -> list[_Value]:
    found: dict[tuple[str, object], _Value] = {}
    for text, canon in pairs:
        value = _value(text, canon or text)
        found.setdefault(value.key, value)
    return list(found.values())


def _value(text: str, canon: str) -> _Value:
    normal = _normal(text)
    number = _number(canon)
    if number is not None:
        return _Value(normal, number)
    match _date(canon):
        case None:
            return _Value(normal)
        case (year, -1, -1):
            return _Value(normal, year)
        case date:
            return _Value(normal, None, date)


def _number(text: str) -> float | None:
    """Read a number; one that is whole but for an error of rounding is whole."""
    try:
        number = float(text) if "_" not in text else None
    except ValueError:
        return None
    if number is None or not isfinite(number):
        return None
    return int(number) if abs(number - round(number)) < _NEAR else number


def _date(text: str) -> tuple[int, int, int] | None:
    """Read a date of the form yyyy-mm-dd, in which `xx` stands for what is not known, as -1."""
    parts = text.lower().split("-")
    if len(parts) != 3 or "_" in text:  # noqa: PLR2004 - year, month, day
        return None
    try:
        year = -1 if parts[0] in {"xx", "xxxx"} else int(parts[0])
        month, day = (-1 if part == "xx" else int(part) for part in parts[1:])
    except ValueError:
        return None
    known = (year, month, day) != (-1, -1, -1)
    return (year, month, day) if known and month in {-1, *range(1, 13)} and day in {-1, *range(1, 32)} else None


def _normal(text: str) -> str:
    """Leave out accents, citations, details in parentheses, outer quotes, a last period; in lower case."""
    plain = "".join(one for one in unicodedata.normalize("NFKD", text) if unicodedata.category(one) != "Mn")
    plain, before = plain.translate(_QUOTES), ""
    while before != plain:
        before = plain
        plain = _DETAIL.sub("", _CITED.sub("", plain.strip()).strip())
        plain = _WHOLE.sub(r"\1", plain.strip())
    return re.sub(r"\s+", " ", plain.removesuffix(".")).lower().strip()


def items_of(folder: Path, split: Split) -> Iterator[Item]:
    """Read the questions of a split with their tables."""
    header, *lines = (folder / _FILES[split]).read_text(encoding="utf-8").splitlines()
    tables: dict[str, str] = {}
    for line in lines:
        row = dict(zip(header.split("\t"), line.split("\t"), strict=False))
        place = row["context"]
        if place not in tables:
            tables[place] = _table(folder / place.replace(".csv", ".tsv"))
        texts = [_unescaped(one) for one in row["targetValue"].split("|")]
        canons = [_unescaped(one) for one in row["targetCanon"].split("|")] if "targetCanon" in row else texts
        prompt = prompt_of("wtq", table=tables[place], question=_unescaped(row["utterance"]))
        wrong = [f"{texts[0]} X1", *texts[1:]]
        yield Item(
            row["id"],
            split,
            prompt,
            json.dumps(list(zip(texts, canons, strict=True)), ensure_ascii=False),
            _answer(texts),
            _answer(wrong),
            "; ".join(texts),
        )


def _table(path: Path) -> str:
    return path.read_text(encoding="utf-8").replace(r"\n", " ").replace(r"\p", "|").strip("\n")


def _unescaped(text: str) -> str:
    return text.replace(r"\n", "\n").replace(r"\p", "|").replace("\\\\", "\\")


def _answer(texts: Sequence[str]) -> str:
    return json.dumps({"reasoning": "", "answer": texts}, ensure_ascii=False)


def _read(folder: Path) -> Reading:
    return Reading(tuple(item for split in _FILES for item in items_of(folder, split)))


WTQ: Final = Benchmark(source_of("wtq"), _read, score_denotation)
