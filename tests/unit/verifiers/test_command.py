import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.errors import InfrastructureError, SuiteError
from skillopt.rollouts import Score, Trajectory
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
    spec = make_spec("command", File("check.py", code.encode()), argv=["python", "-I", "check.py"], **options)
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


@pytest.mark.parametrize("status", [1, 2, 3, 125])
def test_another_status_than_0_is_a_plain_fail(workspace: Path, status: int) -> None:
    score = run(f"print('two cells differ'); raise SystemExit({status})", workspace)

    assert score == Score(0.0, passed=False, feedback=f"the check ended with status {status}\ntwo cells differ")


@pytest.mark.parametrize("key", ["score", "reward"])
def test_a_reward_is_the_soft_score(workspace: Path, key: str) -> None:
    score = run(reward(f'{{"{key}": 0.25, "feedback": "three missing", "more": 1}}'), workspace)

    assert score == Score(0.25, passed=False, feedback="three missing")


@pytest.mark.parametrize(("status", "passed"), [(0, True), (1, False)])
def test_a_full_reward_passes_only_with_status_0(workspace: Path, status: int, passed: bool) -> None:  # noqa: FBT001 - a parameter of the table above
    score = run(reward('{"score": 1}', status), workspace)

    assert (score.value, score.passed) == (1.0, passed)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"score": 2}', '{"score": NaN}', '{"score": "much"}', "[" * 99_999]
)
def test_an_unusable_reward_is_the_crash_of_the_verifier(workspace: Path, text: str) -> None:
    with pytest.raises(InfrastructureError, match=r"reward\.json"):
        run(reward(text), workspace)


def test_a_reward_that_the_target_left_is_not_read(workspace: Path) -> None:
    (workspace / "reward.json").write_text('{"score": 1}')

    assert run("raise SystemExit(1)", workspace).value == 0


def test_a_program_that_is_missing_is_the_crash_of_the_verifier(workspace: Path) -> None:
    with pytest.raises(InfrastructureError, match="could not start 'no-such-program'"):
        load_verifier(make_spec("command", argv=["no-such-program"])).score(Trajectory(), str(workspace))


@pytest.mark.parametrize("ending", ["os.kill(os.getpid(), 9)", "os._exit(127)", "os.abort()"])
def test_a_program_that_crashes_is_the_crash_of_the_verifier(workspace: Path, ending: str) -> None:
    with pytest.raises(InfrastructureError, match="to end by itself"):
        run(f"import os; {ending}", workspace)


def test_a_check_that_does_not_end_scores_0(workspace: Path) -> None:
    score = run("while True: pass", workspace, timeout=0.3)

    assert score == Score(0.0, passed=False, feedback="the check did not end within 0.3 s")


def test_the_files_of_the_verifier_win_over_those_of_the_target(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("untouched")
    (workspace / "check.py").symlink_to(tmp_path / "mine")

    assert run("raise SystemExit(1)", workspace).value == 0
    assert (tmp_path / "mine").read_text() == "untouched"


def test_the_program_sees_the_work_and_cannot_change_it(workspace: Path) -> None:
    (workspace / "data").mkdir()
    (workspace / "data" / "a.txt").write_text("work")

    assert run("p = 'data/a.txt'; assert open(p).read() == 'work'; open(p, 'w').write('x')", workspace).passed
    assert (workspace / "data" / "a.txt").read_text() == "work"
    assert [path.name for path in workspace.iterdir()] == ["data"]


def test_the_answer_is_written_to_the_file_that_is_asked_for(workspace: Path) -> None:
    assert run("assert open('answer.txt').read() == 'forty-two'", workspace, "forty-two", answer="answer.txt").passed


def test_the_environment_of_this_process_stays_outside(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")

    assert run("import os; assert 'SECRET_TOKEN' not in os.environ", workspace).passed


def test_a_workspace_that_is_too_large_to_copy_scores_0(workspace: Path) -> None:
    with (workspace / "sparse").open("wb") as file:
        file.truncate(2_000_000_000)

    assert "expected at most 1000000000 bytes" in run("", workspace).feedback


def test_long_output_is_cut_in_feedback(workspace: Path) -> None:
    assert len(run("print('x' * 100_000); raise SystemExit(1)", workspace).feedback) < 2_200


def test_a_script_with_a_first_line_of_its_own_is_executable(workspace: Path) -> None:
    script = File("check", f"#!{sys.executable}\nraise SystemExit(0)".encode())

    assert load_verifier(make_spec("command", script, argv=["./check"])).score(Trajectory(), str(workspace)).passed


@pytest.mark.parametrize("argv", [[], [""], "python check.py"])
def test_a_command_that_is_no_list_of_words_is_refused(argv: object) -> None:
    with pytest.raises(SuiteError, match="argv"):
        load_verifier(make_spec("command", argv=argv))


def test_a_reference_file_in_place_of_the_reward_is_refused() -> None:
    with pytest.raises(SuiteError, match=r"expected no file 'reward\.json'"):
        load_verifier(make_spec("command", File("reward.json", b""), argv=["true"]))
