"""`skillopt suite check`: what recorded rollouts tell of tasks, criteria and the judge."""

import json
from pathlib import Path

import pytest

from skillopt.sandbox.bubblewrap import Sandbox
from tests.fakes.projects import make_project, skillopt


def test_nothing_is_spent_without_run_and_what_is_not_recorded_is_said(tmp_path: Path) -> None:
    ended = skillopt(make_project(tmp_path), "suite", "check")
    assert ended.returncode == 0
    assert ended.stdout.splitlines()[:3] == [
        "rows: 24 tasks, 0 recorded rollouts",
        "no task has runs enough to say how it goes: run `skillopt evaluate rows --repeats 3`",
        "no leak between tasks was found",
    ]
    assert "power: 8 val tasks" in ended.stdout


def test_programs_are_counted_by_what_they_do_with_the_agent_s_files(tmp_path: Path) -> None:
    project, suite = make_project(tmp_path, tasks=8), tmp_path / "checked.jsonl"
    checks: list[dict[str, object]] = [
        {"argv": ["cmp", "a.csv", "b.csv"], "collect": ["a.csv"]},
        {"argv": ["sh", "-c", ". ./env.sh"], "collect": ["env.sh"]},
        {"argv": ["run-agent", "python", "x.py"], "collect": ["x.py"], "runs": "agent"},
        {"argv": ["pytest", "-q"], "collect": ["**"], "runs": "agent"},
        {"argv": ["tar", "xf", "a.tar"], "collect": ["a.tar"]},
    ]
    tasks = [
        {"id": f"t{at}", "prompt": f"Do {at}.", "verifier": {"kind": "command", **each}}
        for at, each in enumerate(checks)
    ]
    suite.write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    ended = skillopt(project, "suite", "check", "rows", "--suite", str(suite))

    assert ended.returncode == 0, ended.stderr
    told = " ".join(ended.stdout.split())  # long lines are broken
    first, *others = [line for line in ended.stdout.splitlines() if "agent" in line]
    assert first.startswith("programs that check: 1 read results, 1 unpack")
    assert "themselves and can be gamed, 1 may execute results" in told
    assert others == ["  t3: can be gamed: use `run-agent`", "  t1: may execute env.sh: declare `runs: agent`"]
    assert [line for line in ended.stdout.splitlines() if line.startswith("  t4: tar: ")]


@pytest.mark.process  # the quick tests run without bubblewrap
@pytest.mark.skipif(not Sandbox("auto").active, reason="bubblewrap does not work here")
def test_the_oracle_of_tasks_with_a_solution_is_run_once_and_those_that_do_not_count_are_named(tmp_path: Path) -> None:
    project = make_project(tmp_path, tasks=8)
    for name, number in (("good", 3), ("bad", 4)):
        files = {
            "task.toml": "",
            "instruction.md": f"Write {name} to /app/ids.txt.",
            "environment/Dockerfile": "FROM ubuntu:24.04\nWORKDIR /app\n",
            "tests/test.sh": "grep -q 3 /app/ids.txt; echo $(( 1 - $? )) > /logs/verifier/reward.txt\n",
            "solution/solve.sh": f"echo {number} > /app/ids.txt\n",
        }
        for path, text in files.items():
            place = project / "harbor" / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
    skillopt(project, "import", "harbor", "--to", "ids")
    before = skillopt(project, "evaluate", "rows", "--suite", "ids", "--harness", "chat/handoff")
    ended = skillopt(project, "suite", "check", "rows", "--suite", "ids")
    again = skillopt(project, "suite", "check", "rows", "--suite", "ids")

    assert "programs that check: 2 run" in ended.stdout
    assert "run-agent" not in ended.stdout
    assert "oracle: in 1 of 2 tasks" in ended.stdout
    assert "check ended with status 1" in ended.stdout
    assert "solution, then nothing" in ended.stderr
    assert (again.stdout, again.stderr) == (ended.stdout, "")
    after = skillopt(project, "evaluate", "rows", "--suite", "ids", "--harness", "chat/handoff")
    assert "`skillopt suite check` first" in before.stderr
    assert "1 task loaded, 1 skipped" in after.stderr
    assert "bad: its solution does" in skillopt(project, "suite", "show", "rows", "--suite", "ids").stdout
