"""Four suites of house conventions, 60 tasks each: one strict line by codes that nobody can guess.

The codes are made up. A task gives two or three fields, the answer is one line; named criteria tell which part of it is
wrong. 24 tasks are for training, 16 for validation and 20 are held out, drawn by a fixed seed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Final

from skillopt import Skill
from skillopt.skills.document import SkillDocument
from skillopt.tasks import Split, Suite, Task, VerifierSpec

_FOLDER: Final = Path(__file__).with_name("houses")
_SIZES: Final = ((Split.TRAIN, 24), (Split.VAL, 16), (Split.TEST, 20))
_SEED: Final = 2026

Fields = Sequence[str]


@dataclass(frozen=True, slots=True)
class House:
    """A convention: what is asked, the codes of each field, and how the codes of a task become criteria of its line.

    `criteria` maps a name to a regular expression in which `{0}`, `{1}` ... are the codes of the fields; a field whose
    values map to themselves has no secret.
    """

    name: str
    asked: str
    fields: Mapping[str, Mapping[str, str]]
    criteria: Mapping[str, str]

    def tasks(self) -> tuple[Task, ...]:
        """Draw the 60 tasks."""
        values = list(product(*(codes.items() for codes in self.fields.values())))
        Random(f"{_SEED}/{self.name}").shuffle(values)
        count = sum(size for _, size in _SIZES)
        return tuple(self._task(number, chosen) for number, chosen in enumerate(values[:count], 1))

    def suite(self) -> Suite:
        """Split the tasks, first those for training."""
        tasks = self.tasks()
        splits = [split for split, size in _SIZES for _ in range(size)]
        return Suite(self.name, tuple(zip(splits, tasks, strict=True)))

    def skill(self, kind: str) -> Skill:
        """Read a text: `start`, or `by_hand` as the author of the suite would write it."""
        text = (_FOLDER / self.name / f"{kind}.md").read_text(encoding="utf-8")
        return Skill(self.name, SkillDocument(text))

    def _task(self, number: int, chosen: Sequence[tuple[str, str]]) -> Task:
        given = " | ".join(f"{name}: {value}" for name, (value, _) in zip(self.fields, chosen, strict=True))
        codes = [re.escape(code) for _, code in chosen]
        checks = [
            {"kind": "regex", "name": name, "options": {"pattern": pattern.format(*codes)}}
            for name, pattern in self.criteria.items()
        ]
        verifier = VerifierSpec("checks", json.dumps({"checks": checks}))
        # Tasks that differ in values without a code alone pass or fail together.
        family = "/".join(code for value, code in chosen if code != value)
        return Task(f"{self.name}-{number:02}", f"{self.asked}\n{given}", verifier, family=family)


def _same(*values: str) -> dict[str, str]:
    return {value: value for value in values}


def _words(*values: str) -> dict[str, str]:
    return {value: value.replace(" ", "_") for value in values}


HOUSES: Final = {
    house.name: house
    for house in (
        House(
            "metrics",
            "Name the metric.",
            {
                "service": {"checkout": "ck", "search": "fi", "billing": "mo", "login": "dr"},
                "measures": _words("time to answer", "failed calls", "queue length", "cache size", "open orders"),
                "unit": {"milliseconds": "ml", "percent": "pp", "count": "n", "bytes": "oc"},
            },
            {
                "form": r"\A\s*[a-z_.]+\s*\Z",
                "service": r"\A\s*{0}\.",
                "meaning": r"\.{1}\.",
                "unit": r"\.{2}\s*\Z",
            },
        ),
        House(
            "log-lines",
            "Write the log line of this API error.",
            {
                "endpoint": {"/orders": "ORD", "/users": "USR", "/payments": "PAY", "/stock": "STK"},
                "status": {
                    "404": "lost",
                    "403": "locked",
                    "429": "slow",
                    "500": "broken",
                    "503": "away",
                },
                "customer": _same("8123", "4477", "9051", "2260"),
            },
            {
                "endpoint": r"\A\s*{0} ",
                "status": r" {1} ",
                "customer": r" k{2}\s*\Z",
                "form": r"\A\s*\S+ \S+ \S+\s*\Z",
            },
        ),
        House(
            "changelog",
            "Write the release note line of this change.",
            {
                "kind": {"added": "+", "fixed": "=", "removed": "-", "changed": "~"},
                "area": {"billing": "bil", "reports": "rep", "accounts": "acc"},
                "what": _same("export of invoices as CSV", "order of columns", "sign-in by link", "limit of uploads"),
                "ticket": _same("4812", "5093"),
            },
            {
                "mark": r"\A\s*{0} ",
                "area": r"\A\s*\S {1}: ",
                "what": r": {2} ",
                "ticket": r" \(T{3}\)\s*\Z",
            },
        ),
        House(
            "tickets",
            "Write the line for this support ticket.",
            {
                "product": {"kettle": "KTL", "toaster": "TST", "blender": "BLD", "scale": "SCL"},
                "problem": {
                    "does not switch on": "dead",
                    "leaks": "wet",
                    "is too loud": "loud",
                    "part is missing": "gap",
                    "arrived broken": "crash",
                },
                "order": _same("7731", "6402", "1198"),
            },
            {
                "product": r"\A\s*{0}/",
                "problem": r"/{1}/",
                "order": r"/#{2}\s*\Z",
                "form": r"\A\s*[^/\n]+/[^/\n]+/[^/\n]+\s*\Z",
            },
        ),
    )
}
"""The suites by name."""
