"""The table of formats of task files: what loads, runs and is refused of a fixture of each shape.

`python -m tools.generate_docs` puts it into docs/tasks-and-verifiers.md.
"""

import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.sandbox.roots import ENGINE
from skillopt.suites import read_tasks
from skillopt.suites.checks import one_line
from skillopt.suites.reading import Reading

_TESTS: Final = Path(__file__).resolve().parent.parent / "tests"
FIXTURES: Final = {
    place.name: place
    for folder in (_TESTS / "fakes" / "formats", *sorted(_TESTS.glob("contrib/*/shapes")))
    for place in sorted(folder.iterdir())
}
"""Shape of task files → the folder of its fixture: those of the core, then those of packages of contrib."""


@dataclass(frozen=True, slots=True)
class Row:
    """A shape of task files."""

    shape: str
    file: str
    holds: str


_ROWS: Final = (
    Row("native", "`suite.yaml`, `tasks.jsonl`, `tasks/*.yaml`", "tasks with verifiers, as described below"),
    Row("evals-json", "`evals/evals.json`", "`{skill_name, evals: [{prompt, expected_output, expectations, files}]}`"),
    Row(
        "evals-json-list",
        "`evals/evals.json`",
        "`[{question, ground_truth, expected_behavior, expected_skill, expected_script, should_trigger}]`",
    ),
    Row(
        "evals-json-cases",
        "`evals/evals.json`",
        "`{cases: […]}`, also `test_cases`, `tests`, `scenarios`; criteria as objects; `must`, `mustNot`",
    ),
    Row(
        "evals-json-typed",
        "`evals/evals.json`",
        "checks with a `type`: `contains_phrase`, `not_contains_pattern`, `content_includes_any`, `equals` and others",
    ),
    Row("evals-json-single", "`evals/evals.json`", "one eval as the whole file"),
    Row("root-evals-json", "`evals.json`", "any of these, beside SKILL.md"),
    Row("tests-evals-json", "`tests/evals.json`", "any of these"),
    Row("cases-json", "`evals/cases.json`", "`{cases: [{request, expected, forbidden}]}`; `must_contain`"),
    Row("cases-jsonl", "`evals/cases.jsonl`", "one eval a line: `{prompt, criteria}`"),
    Row("cases-yaml", "`evals/cases.yaml`", "`cases: [{name, prompt, checks}]`"),
    Row("test-prompts", "`test-prompts.json`", "`[{prompt, expected}]`"),
    Row(
        "promptfoo",
        "`promptfooconfig.yaml`, in `evals/` too",
        "every one of `prompts` with every one of `tests`: `vars`, `assert`; tests in YAML, JSON and CSV files",
    ),
    Row(
        "plugin-eval",
        "`evals/*/case.yaml`, `evals/*/prompt.md`",
        "cases of `claude plugin eval`: graders `regex`, `tool_used`, `tool_order`, `file_exists`, `llm`, `baseline`",
    ),
    Row("harbor", "`evals/*/task.toml`", "Harbor, Terminal-Bench: `instruction.md`, `environment/`, `tests/test.sh`"),
    Row("triggers", "`evals/trigger-evals.json` and its other names", "`[{query, should_trigger}]`: no tasks"),
)
ROWS: Final = tuple(row for row in _ROWS if row.shape in FIXTURES)
"""The shapes that can be read: a package of contrib takes its own along when it goes."""


def fixture_of(shape: str) -> Path:
    """Return the skill folder, or else the suite folder, of a fixture."""
    skill = FIXTURES[shape] / "orders"
    return skill if skill.is_dir() else FIXTURES[shape]


def formats_table() -> str:
    """Render the table, as the fixtures are read now."""
    os.environ[ENGINE] = "none"  # the table is the same on every machine
    heads = ["| file | shape | in our fixture | runs by | refused there |", "|---|---|---|---|---|"]
    return "\n".join([*heads, *(_line(row, read_tasks(fixture_of(row.shape), commands=True)) for row in ROWS)]) + "\n"


def _line(row: Row, reading: Reading) -> str:
    loads = [f"{len(reading.tasks)} of {len(reading.tasks) + len(reading.skipped)} tasks"] if reading.tasks else []
    asked = len(reading.tasks) - len(read_tasks(fixture_of(row.shape)).tasks)
    loads += [f"{asked} by `skillopt import` only"] if asked else []
    loads += [f"{len(reading.triggers)} triggers"] if reading.triggers else []
    kinds = Counter(part.kind for _, task in reading.tasks for part in task.verifier.parts)
    refused = "; ".join(f"line {each.line}: {one_line(_short(each.reason))}" for each in reading.skipped)
    cells = (row.file, row.holds, ", ".join(loads), ", ".join(f"`{kind}`" for kind in sorted(kinds)), refused)
    return f"| {' | '.join(cells)} |"


def _short(reason: str) -> str:
    """Leave out the checkout's folder, and what to do."""
    return re.sub(rf" in {re.escape(str(_TESTS))}[^,;]*", "", reason).partition(";")[0]
