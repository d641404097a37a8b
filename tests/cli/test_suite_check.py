"""`skillopt suite check`: what recorded rollouts tell of tasks, criteria and the judge."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from tests.fakes.judges import JudgePrompt, judge_reply, sound
from tests.fakes.projects import make_project, skillopt
from tools.fake_providers import fake_anthropic as messages
from tools.fake_providers.fake_anthropic import fake_anthropic
from tools.fake_providers.loopback import Answer, Body

CLEAR, VAGUE = 'The result names "Ada".', "The result is elegant."
EVALS = ("--suite", "skills/rows/evals/evals.json")
KEY = "sk-ant-loopback-only-0123456789abcdef"


def judged_project(folder: Path, *, tasks: int = 6) -> Path:
    project = make_project(folder, tasks=2)
    evals = project / "skills" / "rows" / "evals"
    evals.mkdir()
    entries = [
        {"id": at, "prompt": f"Write a sentence about Ada, number {at}.", "expectations": [CLEAR, VAGUE]}
        for at in range(tasks)
    ]
    (evals / "evals.json").write_text(json.dumps({"skill_name": "rows", "evals": entries}), encoding="utf-8")
    (project / "skillopt.toml").write_text(
        'harness = "chat/anthropic/fake"\njudge = "anthropic/fake"\n', encoding="utf-8"
    )
    return project


def wavering() -> Callable[[Body], Answer]:
    """Write of Ada, and judge: what is vague by turns."""
    turns = count()

    def verdict(read: JudgePrompt, criterion: str) -> str:
        return ("met", "not met")[next(turns) % 2] if criterion == VAGUE else sound(read, criterion)

    def answer(body: Body) -> Answer:
        prompt = body["messages"][0]["content"]
        text = prompt if isinstance(prompt, str) else "".join(block["text"] for block in prompt)
        said = judge_reply(text, verdict) if "judge a result" in text else "Ada wrote programs."
        return messages.message(body, [{"type": "text", "text": said}])

    return answer


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


def test_it_says_what_answers_from_memory_would_pass(tmp_path: Path) -> None:
    project, suite = make_project(tmp_path, tasks=8), tmp_path / "capitals.jsonl"
    capitals = {"Austria": "Wien", "Peru": "Lima", "Chile": "Santiago", "Cuba": "Havana"}
    tasks = [
        {"id": f"{land}{at}", "prompt": f"{ask} {land}", "verifier": {"kind": "exact", "value": town}, "split": split}
        for at, (ask, split) in enumerate((("Which capital has", "train"), ("Name the main town of", "val")))
        for land, town in capitals.items()
    ]
    suite.write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    ended = skillopt(project, "suite", "check", "rows", "--suite", str(suite))
    assert "would pass 4 of 4 tasks" in ended.stdout


def test_what_an_evaluation_recorded_says_how_each_task_goes(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    assert skillopt(project, "evaluate", "rows", "--repeats", "3").returncode == 0
    found = json.loads(skillopt(project, "suite", "check", "--json").stdout)
    assert [one["runs"] for one in found["tasks"]].count(3) == 8
    assert {one["standing"] for one in found["tasks"] if one["runs"]} == {"fails so far"}


def test_criteria_that_the_judge_cannot_decide_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    project = judged_project(tmp_path)
    with fake_anthropic(wavering()) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        evaluated = skillopt(project, "evaluate", "skills/rows", *EVALS, "--repeats", "2", "--workers", "1")
    ended = skillopt(project, "suite", "check", "skills/rows", *EVALS)
    assert ended.returncode == 0, ended.stderr
    assert evaluated.returncode == 0, evaluated.stderr
    assert "agrees with itself on 50%" in ended.stdout
    assert "6 of 12 criteria the judge" in ended.stdout
    assert f"2. {VAGUE}: two readings differ" in ended.stdout
    assert f"1. {CLEAR}" not in ended.stdout
    assert "judge agrees with itself" in evaluated.stdout
