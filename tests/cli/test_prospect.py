"""What a suite can show is said before anything is spent; suites of which nothing can be learnt end in words."""

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from skillopt.runs.prospect import what_it_can_show
from skillopt.settings import Settings
from skillopt.suites.planning import plan_splits
from skillopt.tasks import Suite, Task, VerifierSpec
from tests.fakes.projects import make_project, skillopt

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests

GREET = {"kind": "exact", "value": "Good day!"}
BROKEN = {"kind": "command", "argv": ["python", "-c", "import sys; sys.exit(127)"]}


def with_suite(folder: Path, count: int, verifier: Mapping[str, object], prompt: str = "Greet guest") -> Path:
    """Make a project whose suite has so many tasks without splits."""
    project = make_project(folder)
    lines = [json.dumps({"id": f"t{at}", "prompt": f"{prompt} {at}.", "verifier": verifier}) for at in range(count)]
    (project / "suites" / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    config = (project / "skillopt.toml").read_text(encoding="utf-8")
    (project / "skillopt.toml").write_text(config.partition("gate =")[0], encoding="utf-8")
    return project


def asked(text: str) -> int:
    """Read how many rollouts a run asked for."""
    found = re.search(r"asked: (\d+) rollouts", text)
    assert found, text
    return int(found[1])


@pytest.mark.parametrize("command", ["estimate", "optimize", "doctor"])
def test_a_suite_of_one_task_is_refused_with_the_number_that_would_do(tmp_path: Path, command: str) -> None:
    project = with_suite(tmp_path, 1, GREET)
    ended = skillopt(project, command, *(("rows",) if command != "doctor" else ()))
    said = ended.stdout + ended.stderr
    assert ended.returncode == 2
    assert (
        "1 task cannot both teach and judge, so nothing could be shown; 2 tasks without given splits would do" in said
    )
    assert not list(project.glob(".skillopt/ledger.db")) or "0 runs" in said


def test_a_night_fails_for_a_suite_that_can_show_nothing_and_spends_nothing(tmp_path: Path) -> None:
    project = with_suite(tmp_path, 1, GREET)
    ended = skillopt(project, "nightly", "--json", "--set", "remote=")
    (night,) = json.loads(ended.stdout)["skills"]
    assert (night["training"], night["rollouts"]) == ("failed", 0)
    assert night["reason"] == (
        "1 task cannot both teach and judge, so nothing could be shown; 2 tasks without given splits would do"
    )


def test_a_cap_under_which_nothing_can_be_shown_is_refused_with_one_that_would_do(tmp_path: Path) -> None:
    project = with_suite(tmp_path, 8, GREET)
    ended = skillopt(project, "estimate", "rows", "--set", "max_rollouts=20")
    assert ended.returncode == 2
    found = re.search(r"max_rollouts of (\d+) would do", ended.stderr)
    assert found, ended.stderr
    assert skillopt(project, "estimate", "rows", "--set", f"max_rollouts={found[1]}").returncode == 0


@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_the_cap_that_an_estimate_gives_is_not_refused(tmp_path: Path, count: int) -> None:
    project = with_suite(tmp_path, count, GREET)
    said = skillopt(project, "estimate", "rows", "--pass-rate", "1")
    found = re.search(r"cap: (--max-rollouts) (\d+)", said.stdout)
    assert found, said.stderr
    again = skillopt(project, "estimate", "rows", *found.groups())
    assert again.returncode == 0, again.stderr


def test_an_estimate_with_too_small_a_cap_names_the_least_and_no_other_command(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    ended = skillopt(project, "estimate", "rows", "--preset", "paper", "--max-rollouts", "5")
    assert ended.returncode == 2
    assert re.search(r"expected max_rollouts of at least \d+ .*, found 5; raise it$", ended.stderr.strip())


def test_twenty_lines_of_tasks_can_be_trained_and_all_commands_say_the_same_of_them(tmp_path: Path) -> None:
    project = with_suite(tmp_path, 20, GREET)
    words = "20 tasks in two folds that judge each other: a gain of "
    assert words in skillopt(project, "estimate", "rows").stdout
    assert words in skillopt(project, "doctor").stdout
    assert words in skillopt(project, "optimize", "rows", "--max-rollouts", "120").stderr


def test_all_tasks_of_two_folds_are_evaluated_and_each_once_in_the_report(tmp_path: Path) -> None:
    project = with_suite(tmp_path, 9, GREET)
    (found,) = json.loads(skillopt(project, "evaluate", "rows", "--json").stdout)["subjects"]
    assert found["tally"]["measured"] == 9
    assert skillopt(project, "optimize", "rows", "--max-rollouts", "60").returncode == 0
    view = json.loads(skillopt(project, "report", "--format", "json").stdout)
    assert view["splits"] == {"fold 1": 4, "fold 2": 5}


def test_what_is_proposed_from_outside_sees_one_fold_and_is_judged_on_the_other(tmp_path: Path) -> None:
    project = with_suite(tmp_path, 9, GREET)
    assert skillopt(project, "evaluate", "rows").returncode == 0
    shown = json.loads(skillopt(project, "evidence", "rows", "--json").stdout)
    assert shown["tasks"] == 4
    assert (shown["fold"], len(shown["measured"])) == (1, 4)


def test_a_run_says_what_the_second_look_of_another_preset_costs(tmp_path: Path) -> None:
    project = with_suite(tmp_path, 8, GREET)
    assert skillopt(project, "optimize", "rows", "--preset", "paper").returncode == 0
    said = skillopt(project, "estimate", "rows").stdout
    assert "note: 1 earlier run with preset `paper` had the same 8 val tasks: their scores can be compared" in said
    assert "note:" not in skillopt(project, "estimate", "rows", "--preset", "paper").stdout
    assert "1 earlier run with preset `paper`" in skillopt(project, "optimize", "rows").stderr


@pytest.mark.parametrize(
    "verifier",
    [{"kind": "regex", "pattern": "(?s).*"}, {"kind": "exact", "value": "what nobody ever answers"}],
    ids=["none fails", "none ever passes"],
)
def test_where_nothing_can_be_learnt_a_run_ends_in_words_within_its_bounds(
    tmp_path: Path, verifier: Mapping[str, object]
) -> None:
    project = with_suite(tmp_path, 8, verifier)
    ended = skillopt(project, "optimize", "rows", "--max-rollouts", "120")
    assert ended.returncode == 0
    assert "no version was accepted" in ended.stdout
    assert asked(ended.stdout) <= 120


def test_where_all_verifiers_are_broken_a_run_ends_with_3_and_quotes_them(tmp_path: Path) -> None:
    project = with_suite(tmp_path, 8, BROKEN)
    ended = skillopt(project, "optimize", "rows")
    assert ended.returncode == 3
    assert "127" in ended.stderr
    status = json.loads(skillopt(project, "status", "--json").stdout)
    assert "127" in json.dumps(status)


def test_the_documentation_states_what_is_simulated() -> None:
    page = (Path(__file__).parents[2] / "docs" / "suite-format.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+) \| (.+) \|$", page.partition("Without a cap:")[2], re.MULTILINE)
    assert len(rows) == 7
    for count, here, proven in rows:
        found = [what_it_can_show(alike(int(count), kind), Settings()) for kind in ("exact", "table")]
        stated = ([int(share) for share in re.findall(r"(\d+)%", cell)] for cell in (here, proven))
        assert [
            [round(100 * one.least_here) for one in found if one.least_here],
            [round(100 * one.least_proven) for one in found if one.least_proven],
        ] == list(stated)


def alike(count: int, kind: str) -> Suite:
    tasks = [Task(str(number), f"do {number}", VerifierSpec(kind)) for number in range(count)]
    return plan_splits(tasks).suite("alike", tasks)


def test_an_estimate_refuses_the_name_of_a_model_or_harness_that_a_run_would_refuse(tmp_path: Path) -> None:
    project = with_suite(tmp_path, 8, GREET)
    model = skillopt(project, "estimate", "rows", "--model", "gpt-5")
    assert (model.returncode, "did you mean 'openai/gpt-5'?" in model.stderr) == (2, True)
    harness = skillopt(project, "estimate", "rows", "--harness", "claude")
    assert (harness.returncode, "did you mean" in harness.stderr) == (2, True)


def refused_for_its_cap(project: Path, command: str, **settings: str) -> str:
    """Ask for a run whose cap can show nothing; give why it is refused."""
    chosen = {"max_rollouts": "20", **settings}
    flags = [part for name, value in chosen.items() for part in ("--set", f"{name}={value}")]
    ended = skillopt(project, command, "rows", *flags)
    assert ended.returncode == 2
    assert not list(project.glob(".skillopt/ledger.db"))
    return ended.stderr.removeprefix("skillopt: ")


@pytest.mark.parametrize("command", ["estimate", "optimize"])
def test_what_keeps_a_model_from_answering_is_said_before_what_the_cap_cannot_show(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    project, power = with_suite(tmp_path, 14, GREET), "max_rollouts of"
    asked_for = partial(refused_for_its_cap, project, command)

    key = asked_for(model="anthropic/claude-opus-5")
    assert key.startswith("for the optimizer model anthropic/claude-opus-5, expected a key in ANTHROPIC_API_KEY")
    assert power in key


def test_an_estimate_is_no_go_and_says_so_where_no_model_judges_its_rubrics(tmp_path: Path) -> None:
    rubric = {"kind": "rubric", "criteria": ["It greets."]}
    ended = skillopt(with_suite(tmp_path, 14, rubric), "estimate", "rows")
    assert "no-go: its tasks have rubrics, and there is no model to judge them; set judge" in ended.stdout
