"""`skillopt suite check`: what recorded rollouts tell of tasks, criteria and the judge."""

import json
from pathlib import Path

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
