"""Before money is spent: what it is likely to be and can show, a question on a terminal, a cap without one."""

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.commands.spending import foresee_training
from skillopt.project import Selection
from skillopt.rollouts import Reply, Rollout, Score, Status, Trajectory
from skillopt.runs.jobs import start_evaluation
from skillopt.runs.plan import make_plan
from skillopt.storage.jobs import wait_for_job
from skillopt.storage.ledger import Ledger
from tests.fakes.fake_chat import fake_chat
from tests.fakes.projects import make_project, skillopt
from tools.fake_providers.fake_anthropic import fake_anthropic

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests

KEY = "sk-ant-loopback-only-0123456789abcdef"
PAID = ("--harness", "chat/anthropic/fake", "--model", "anthropic/fake")
SET = ("--set", f"harness={PAID[1]}", "--set", f"model={PAID[3]}")
QUICK = ("--set", "retry_seconds=0")


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project", tasks=6)


def runs(project: Path) -> int:
    found = skillopt(project, "status", "--json")
    return len(json.loads(found.stdout)["runs"]) if found.returncode == 0 else 0


def test_without_a_terminal_a_paid_run_without_a_cap_is_refused_with_the_option_that_would_do(project: Path) -> None:
    ended = skillopt(project, "optimize", "rows", *PAID)
    assert ended.returncode == 2
    assert "expected a cap for a command that is paid for" in ended.stderr
    assert "add --max-rollouts " in ended.stderr
    assert not (project / ".skillopt" / "ledger.db").exists()


def test_with_a_cap_it_says_once_what_it_is_likely_to_take(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capped = ("optimize", "rows", *PAID, *QUICK, "--max-rollouts", "40")
    with fake_anthropic() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        ended = skillopt(project, *capped)
        again = skillopt(project, *capped, "--set", "seed=7")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.startswith("likely: about ")
    assert " rollouts, " in ended.stderr.splitlines()[0]
    assert not again.stderr.startswith("likely: ")


def test_a_job_cannot_raise_the_cap_that_the_user_set(project: Path) -> None:
    capped = Selection("rows", {"max_usd": 1.0, "max_minutes": 17.0}, folder=project)
    for given, holds in ((500.0, 1.0), (0.25, 0.25), (None, 1.0)):
        begun = start_evaluation(capped, limits={"max_usd": given})
        wait_for_job(project, begun.id, 60)
        assert (begun.limits["max_usd"], begun.limits["max_minutes"]) == (holds, 17.0)


FREE_TARGET, PAID_TARGET = "chat/openai-compatible/fake", "chat/anthropic/fake"
FREE_MODEL, PAID_MODEL = "openai-compatible/fake", "anthropic/fake"


@pytest.mark.parametrize(
    ("trained", "planned", "asks"),
    [
        ([(FREE_TARGET, FREE_MODEL)], (FREE_TARGET, PAID_MODEL), True),
        ([(PAID_TARGET, FREE_MODEL)], (PAID_TARGET, PAID_MODEL), True),
        ([(PAID_TARGET, FREE_MODEL), (FREE_TARGET, PAID_MODEL)], (PAID_TARGET, PAID_MODEL), False),
        ([("demo", PAID_MODEL)], (FREE_TARGET, PAID_MODEL), False),
    ],
)
def test_it_is_asked_until_all_that_is_billed_for_was_billed_for_before(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    trained: list[tuple[str, str]],
    planned: tuple[str, str],
    asks: object,
) -> None:
    monkeypatch.setenv("SKILLOPT_BASE_URL", "http://127.0.0.1:9/v1")
    for drivers in trained:
        record(project, dict(zip(("harness", "model"), drivers, strict=True)))
    selection = Selection("rows", dict(zip(("harness", "model"), planned, strict=True)), folder=project)
    payment, _ = foresee_training(selection)
    assert (payment.paid, payment.first) == (True, asks)


def record(project: Path, flags: Mapping[str, object]) -> None:
    """Record a rollout and a reply by some drivers."""
    drivers = make_plan(Selection("rows", flags, folder=project)).drivers
    done = Rollout("t", "", 0, Trajectory(), Status.OK, Score(1.0, passed=True))
    with closing(Ledger.open(project)) as ledger:
        ledger.store_rollouts("run", [(drivers.target_identity, done)], drivers.target_identity)
        if drivers.model:
            ledger.store_replies("run", [(drivers.model.identity, Reply("x"))], drivers.model.identity)


@pytest.mark.parametrize(("answer", "code"), [("n", 130), ("y", 3)])
def test_a_terminal_is_asked_before_the_first_money_is_spent(project: Path, answer: str, code: int) -> None:
    ended, seen = at_a_terminal(project, answer, "optimize", "rows", *PAID, *QUICK, "--quiet")
    assert ended == code, seen
    assert b"this is paid for: about " in seen
    assert (b"nothing was spent" in seen) is (answer == "n")
    assert runs(project) == (answer == "y")


@pytest.mark.parametrize("command", [("write-tasks", "rows", *PAID), ("nightly", "--set", "remote=", *SET)])
def test_a_terminal_is_asked_before_other_commands_spend_money(project: Path, command: tuple[str, ...]) -> None:
    ended, seen = at_a_terminal(project, "n", *command)
    assert ended == 130, seen
    assert b"this is paid for: " in seen
    assert b"nothing was spent" in seen
    assert not (project / ".skillopt" / "ledger.db").exists()


def at_a_terminal(project: Path, answer: str, *arguments: str) -> tuple[int, bytes]:
    """Answer a command's question at a terminal; give how it ended and all that it showed."""
    ours, theirs = pty.openpty()
    # Nothing listens there: who says yes gets as far as the first call.
    url = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "TERM": "xterm"}
    command = [sys.executable, "-m", "skillopt", *arguments]
    process = subprocess.Popen(
        command, cwd=project, env={**os.environ, **url}, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    while b"go on? [y/N]" not in seen:
        assert select.select([ours], [], [], 60)[0], seen
        seen += os.read(ours, 4096)
    os.write(ours, f"{answer}\n".encode())
    seen += _rest(ours)
    code = process.wait(60)
    os.close(ours)
    return code, seen


def _rest(terminal: int) -> bytes:
    """Read a terminal until its other end is closed, which Linux tells by an error."""
    found = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            return found
        if not part:
            return found
        found += part


def test_an_estimate_times_one_call_of_a_local_server_and_a_silent_one_leaves_what_is_typical(project: Path) -> None:
    def estimate(address: str) -> dict[str, object]:
        chat = ("--harness", "chat/openai-compatible/fake", "--model", "openai-compatible/fake")
        ended = skillopt(project, "estimate", "rows", *chat, "--set", f"base_url={address}", "--json")
        assert ended.returncode == 0, ended.stderr
        return dict(json.loads(ended.stdout))

    with fake_chat() as server:
        address, timed = f"{server.url}/v1", estimate(f"{server.url}/v1")["timed"]
        asked = [one for one in server.requests if one.path.endswith("/completions")]
    assert isinstance(timed, float)
    assert len(asked) == 1
    assert estimate(address)["timed"] is None
