"""The suite tidy_tables leaves room to learn."""

from pathlib import Path
from statistics import mean

import pytest

from benchmarks.demo.harness import DemoHarness
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Score
from skillopt.skills.document import Skill, SkillDocument
from skillopt.suites import load_suite
from skillopt.tasks import Split, Suite
from skillopt.verifiers import load_verifier

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "suites" / "tidy_tables"
WEAK = ROOT / "skills" / "tidy-tables" / "SKILL.md"
FULL = """\
# Tidy tables

## Reading

- Write headers in snake_case: lower case with underscores.
- Rename columns to the house names: `qty` to `quantity`, `tel` to `phone`, `amt` to `amount`,
  `ctry` to `country`, `curr` to `currency`.
- Drop unnamed columns that are empty.

## Rows

- Drop empty rows.
- Drop rows with totals or subtotals.
- Drop footer notes below the table.
- Fill empty group labels in the first column down from the row above.
- Remove rows that are exact duplicates of another row.
- When the same id occurs more than once, keep only the row with the latest date.
- Sort the rows by id, ascending.

## Values

- Trim spaces around values and collapse inner runs of spaces.
- Replace missing-value markers such as N/A, - or null by an empty cell.
- Write dates as YYYY-MM-DD; numeric dates are day first.
- Numbers with a decimal comma get a decimal point.
- Remove thousands separators.
- Remove currency symbols from amounts, leaving plain numbers.
- Move a currency code that stands beside an amount into its own column `currency`.
- Write currencies as upper-case ISO 4217 codes.
- Parentheses around a number mean it is negative.
- Move a trailing minus to the front.
- Write amounts and prices with exactly two decimals.
- Write percentages as fractions, so 19% becomes 0.19.
- Write yes/no answers as true or false.
- Write e-mail addresses in lower case.
- Write phone numbers in E.164; numbers without a country code get +49.
- Write countries as two-letter ISO codes.
- Convert weights to kg with two decimals and lengths to cm.
- Write ids in upper case with the number padded to four digits.
"""


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(FOLDER)


def scores(suite: Suite, split: Split, text: str | None, folder: Path, seed: int = 0) -> list[Score]:
    skill = None if text is None else Skill("tidy-tables", SkillDocument(text))
    found = []
    for task in suite.tasks(split):
        for file in task.files:
            (folder / file.path).write_bytes(file.content)
        trajectory = DemoHarness(seed).run(RolloutRequest(skill, task), str(folder))
        found.append(load_verifier(task.verifier).score(trajectory, str(folder)))
    return found


def soft(found: list[Score]) -> float:
    return mean(score.value for score in found)


def hard(found: list[Score]) -> float:
    return mean(score.passed for score in found)


@pytest.mark.parametrize("split", Split)
def test_the_weak_skill_leaves_much_to_learn(suite: Suite, split: Split, tmp_path: Path) -> None:
    found = [scores(suite, split, WEAK.read_text(), tmp_path, seed) for seed in range(4)]

    assert 0.55 <= mean(map(soft, found)) <= 0.72
    assert 0.02 <= mean(map(hard, found)) <= 0.10


@pytest.fixture(scope="module")
def full_scores(suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> dict[Split, list[list[Score]]]:
    folder = tmp_path_factory.mktemp("full")
    return {split: [scores(suite, split, FULL, folder, seed) for seed in range(6)] for split in Split}


@pytest.mark.parametrize("split", Split)
def test_a_full_set_of_rules_does_nearly_everything(split: Split, full_scores: dict[Split, list[list[Score]]]) -> None:
    everywhere = [found for rounds in full_scores.values() for found in rounds]

    assert mean(map(soft, everywhere)) >= 0.97
    assert mean(map(soft, full_scores[split])) >= 0.96
    assert mean(map(hard, full_scores[split])) >= 0.85
