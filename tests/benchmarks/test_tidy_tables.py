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
