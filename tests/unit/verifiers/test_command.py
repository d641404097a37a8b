import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillopt.errors import InfrastructureError, SuiteError
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.sandbox.processes import run_process
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import File, VerifierSpec
from skillopt.verifiers import load_verifier
from tests.contracts.verifier_contract import VerifierContract, make_spec

CHECK = b"""
import pathlib
path = pathlib.Path("output.txt")
if path.is_symlink() or not path.is_file() or path.stat().st_size > 100:
    raise SystemExit("output.txt: missing or odd")
raise SystemExit(None if path.read_bytes() == b"hello" else "output.txt: not hello")
"""


def run(code: str, workspace: Path, said: str = "", **options: object) -> Score:
    chosen = {"argv": ["python", "-I", "check.py"], "collect": ["output.txt"], **options}
    spec = make_spec("command", File("check.py", code.encode()), **chosen)
    return load_verifier(spec).score(Trajectory(answer=said), str(workspace))


def reward(text: str, status: int = 0) -> str:
    return f"open('reward.json', 'w').write({text!r}); raise SystemExit({status})"


@pytest.fixture
def workspace() -> Iterator[Path]:
    with Workspace.create() as made:
        yield Path(made.path)


class TestCommandVerifier(VerifierContract):
    kind = "command"
    right = b"hello"
    wrong = b"hullo"

    def spec(self) -> VerifierSpec:
        return make_spec("command", File("check.py", CHECK), argv=["python", "-I", "check.py"])


def test_another_status_than_0_is_a_plain_fail(workspace: Path) -> None:
    score = run("print('two cells differ'); raise SystemExit(125)", workspace)

    assert score == Score(0.0, passed=False, feedback="the check ended with status 125\ntwo cells differ")


@pytest.mark.parametrize("key", ["score", "reward"])
def test_a_reward_is_the_soft_score(workspace: Path, key: str) -> None:
    said = f'{{"{key}": 0.25, "feedback": "three missing", "more": 1}}'
    score = run(reward(said), workspace, reward="reward.json")

    assert score == Score(0.25, passed=False, feedback="three missing")


def test_a_reward_that_the_agent_s_program_writes_scores_nothing(workspace: Path) -> None:
    (workspace / "solution.py").write_text("open('reward.json', 'w').write('{\"score\": 1}')")
    check = "import subprocess, sys; subprocess.run([sys.executable, 'solution.py']); raise SystemExit(1)"

    assert run(check, workspace, collect=["solution.py"]).value == 0
    assert run(check, workspace, collect=["solution.py"], reward="reward.json").value == 0


ASKS = """
import json, subprocess
ended = subprocess.run(["run-agent", "python", "solution.py"], input="6", capture_output=True, text=True)
json.dump({"score": ended.stdout == "36\\n" or 0, "feedback": ended.stdout}, open("reward.json", "w"))
"""


def test_code_of_the_agent_is_run_apart_and_only_what_it_prints_comes_back(workspace: Path) -> None:
    said: dict[str, Any] = {"collect": ["solution.py"], "runs": "agent", "reward": "reward.json"}
    (workspace / "solution.py").write_text("print(int(input()) ** 2)")
    assert run(ASKS, workspace, **said).passed

    (workspace / "solution.py").write_text("import os; open('reward.json', 'w'); print(sorted(os.listdir()))")
    listed = "['.input', 'reward.json', 'solution.py']\n"
    assert run(ASKS, workspace, **said) == Score(0.0, passed=False, feedback=listed)


def test_code_of_the_agent_that_breaks_the_check_that_loads_it_scores_0(workspace: Path) -> None:
    for broken in ("os.kill(os.getpid(), 9)", "open('check.py', 'w').close()"):
        (workspace / "solution.py").write_text(f"import os; {broken}")
        said: dict[str, Any] = {"argv": ["python", "check.py"], "collect": ["**"], "runs": "agent"}
        assert run("import solution", workspace, **said).value == 0


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("raise SystemExit(0)", r"that it names none; add `collect: \[NAME, FOLDER/\]`"),
        ("run([sys.executable, 'solution.py'])", r"runs or loads solution\.py; add `collect: .*`runs: agent`"),
    ],
)
def test_a_check_of_which_nobody_knows_what_it_reads_is_refused_with_the_line_to_add(code: str, line: str) -> None:
    with pytest.raises(SuiteError, match=line):
        load_verifier(make_spec("command", File("check.py", code.encode()), argv=["python", "check.py"]))


def test_files_that_a_check_names_are_collected_and_its_feedback_says_so(workspace: Path) -> None:
    (workspace / "input.csv").write_text("changed")
    (workspace / "total.txt").write_text("1")
    code = b"raise SystemExit(open('input.csv').read() + open('total.txt').read())"
    spec = make_spec("command", File("check.py", code), argv=["python", "check.py"])
    score = load_verifier(replace(spec, inputs=(File("input.csv", b"as placed "),))).score(Trajectory(), str(workspace))

    assert score.feedback.splitlines()[1:] == ["as placed 1", "given to the check: total.txt (`collect` names files)"]


@pytest.mark.parametrize("text", ["", "{}", '{"score": 2}', '{"score": NaN}', "[" * 99_999])
def test_an_unusable_reward_is_the_crash_of_the_verifier(workspace: Path, text: str) -> None:
    with pytest.raises(InfrastructureError, match=r"reward\.json"):
        run(reward(text), workspace, reward="reward.json")


def test_a_check_that_does_not_end_scores_0(workspace: Path) -> None:
    score = run("while True: pass", workspace, timeout=0.3)

    assert score == Score(0.0, passed=False, feedback="the check did not end within 0.3 s")


def test_the_files_of_the_verifier_win_over_those_of_the_target(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("untouched")
    (workspace / "check.py").symlink_to(tmp_path / "mine")

    assert run("raise SystemExit(1)", workspace).value == 0
    assert (tmp_path / "mine").read_text() == "untouched"


def test_a_module_of_the_agent_takes_no_other_s_place(workspace: Path) -> None:
    for name in ("json.py", "mine.py"):
        (workspace / name).write_text("raise SystemExit(0)")
    check = File("check.py", b"import json, mine; raise SystemExit(mine.status)")
    own, given = File("mine.py", b"status = 3"), ["json.py", "mine.py"]
    spec = make_spec("command", check, own, argv=["python", "check.py"], collect=given)

    assert "check ended with status 3" in load_verifier(spec).score(Trajectory(), str(workspace)).feedback


def test_only_the_paths_that_a_suite_names_are_there(workspace: Path) -> None:
    for name in ("out/a.csv", "out/deep/b.csv", "notes.md", "Makefile", "out/.env"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(name)
    shown = "import os; print(sorted(os.path.join(f, n) for f, _, ns in os.walk('.') for n in ns)); raise SystemExit(1)"

    assert "['./check.py', './out/a.csv', './out/deep/b.csv']" in run(shown, workspace, collect=["out/"]).feedback
    assert "['./Makefile', './check.py']" in run(shown, workspace, collect=["Makefile"]).feedback


@pytest.mark.parametrize(("left", "value"), [(1_990, 1.0), (2_010, 0.0)])
def test_where_files_are_collected_the_agent_may_leave_2000_entries(workspace: Path, left: int, value: float) -> None:
    for folder, count in (("out", left), ("elsewhere", 2_100)):
        (workspace / folder).mkdir()
        for number in range(count):
            (workspace / folder / str(number)).symlink_to("nowhere")

    score = run("", workspace, collect=["out/", "output.txt"])

    told = "results: expected at most 2,000 files and folders and 1 GB where files are collected, found more"
    assert (score.value, told in score.feedback) == (value, value == 0.0)


def test_commits_of_the_agent_can_be_checked_without_its_configuration_of_git(workspace: Path) -> None:
    as_agent = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["git", "init", "-q"], [*as_agent, "commit", "-q", "--allow-empty", "-m", "Done"]):
        assert run_process(words, str(workspace), {}, 20).status == 0
    run_process(["git", "config", "alias.log", "!true"], str(workspace), {}, 20)
    spec = make_spec(
        "command", argv=["sh", "-c", "git config alias.log; git log --format=%s; exit 1"], collect=[".git/**"]
    )

    feedback = load_verifier(spec).score(Trajectory(), str(workspace)).feedback

    assert feedback.splitlines() == ["the check ended with status 1", "Done"]


def test_a_verifier_s_file_that_changed_is_the_crash_of_the_verifier(workspace: Path) -> None:
    with pytest.raises(InfrastructureError, match=r"verifier's file 'check\.py'"):
        run("open('check.py', 'w').close()", workspace)


@pytest.mark.process
@pytest.mark.skipif(not Sandbox("auto").active, reason="bubblewrap does not work here")
def test_a_check_has_no_network_and_cannot_write_outside(workspace: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"""
import pathlib, socket
for attempt in (lambda: socket.create_connection(('127.0.0.1', {port}), 5), pathlib.Path({str(tmp_path)!r}, 'x').touch):
    try:
        attempt()
    except OSError:
        continue
    raise SystemExit('possible')
"""
        assert run(code, workspace).passed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_a_check_leaves_no_process_behind(workspace: Path, tmp_path: Path, sandbox: SandboxChoice) -> None:
    waiting = [sys.executable, "-c", "import time; time.sleep(600)", str(tmp_path)]
    code = f"import subprocess; print(subprocess.Popen({waiting}, start_new_session=True).pid)"
    spec = make_spec("command", File("check.py", code.encode()), argv=["python", "check.py"], collect=["x"])

    assert load_verifier(spec, sandbox=sandbox).score(Trajectory(), str(workspace)).passed
    assert str(tmp_path) not in running(tmp_path)


def running(folder: Path) -> str:
    """Return the command lines of all processes."""
    return run_process(["ps", "-eo", "args"], str(folder), {}, 10).stdout


def test_a_program_that_the_copy_lacks_is_of_the_project_that_skillopt_runs_in(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / ".venv" / "bin" / "judge"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\ntest -f output.txt\n", encoding="utf-8")
    program.chmod(0o755)
    (program.parents[1] / "pyvenv.cfg").touch()
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    failed = run("", workspace, argv=[".venv/bin/judge"])
    (workspace / "output.txt").write_text("hello", encoding="utf-8")

    assert (failed.passed, run("", workspace, argv=[".venv/bin/judge"]).passed) == (False, True)
    with pytest.raises(InfrastructureError, match="could not start 'env/bin/judge'"):
        run("", workspace, argv=["env/bin/judge"])
