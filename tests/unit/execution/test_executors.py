"""Where rollouts run is one choice: what is paid, scored and recorded does not depend on it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.errors import InfrastructureError, SettingsError
from skillopt.execution.carried_files import CarriedFiles
from skillopt.execution.drivers import Drivers, PlainDrivers, meter_drivers
from skillopt.execution.executors import ClusterHarness, NodeLostError, make_executor, open_cluster
from skillopt.execution.ray_cluster import NodeJob, describe_node, run_on_node, score_on_node
from skillopt.execution.rollout import run_rollout
from skillopt.execution.threads import ThreadExecutor
from skillopt.protocols import Harness, RolloutRequest
from skillopt.rollouts import Score, Status, Trajectory
from skillopt.settings import Settings, make_settings
from skillopt.tasks import File, Task, VerifierSpec
from skillopt.testing import ScriptedHarness
from tests.fakes.nodes import BrokenHarness, RowsHarness

CHECK = VerifierSpec("command", json.dumps({"argv": ["/bin/sh", "-c", 'test "$(cat twice)" = 44']}))
TASK = Task("t4", "Say 4.", CHECK, (File("number", b"4"),))
SETTINGS = make_settings(("flags", {"harness": "demo", "model": "demo", "sandbox": "none", "max_usd": 10.0}))


class OneNode:
    """A cluster of one node, which is this process; its first calls are lost."""

    def __init__(self, harness: Harness, lost: int = 0) -> None:
        self.notices: list[str] = []
        self.notice: Callable[[str], None] = self.notices.append
        self.is_ready = False
        self.scored = 0
        self._job = NodeJob(SETTINGS, ".", harness.identity, harness)
        self._lost = lost

    def ready(self) -> None:
        self.is_ready = True

    def run(self, request: RolloutRequest) -> tuple[Trajectory, CarriedFiles]:
        if self._lost:
            self._lost -= 1
            raise NodeLostError("its node was lost")
        found, _ = run_on_node(self._job, request)
        if isinstance(found, InfrastructureError):
            raise found
        return found

    def score(self, spec: VerifierSpec, trajectory: Trajectory, files: CarriedFiles) -> Score:
        self.scored += 1
        score, _ = score_on_node(self._job, spec, trajectory, files)
        if isinstance(score, str):
            raise InfrastructureError(score)
        return score

    def clock(self) -> float:
        return 0.0

    def drop(self) -> None:
        self.is_ready = False


def drivers(node: OneNode, harness: Harness) -> Drivers:
    return meter_drivers(PlainDrivers(ClusterHarness(harness, node), cluster=node), SETTINGS)


def test_a_program_of_a_verifier_runs_on_a_node_and_sees_what_the_target_left() -> None:
    node = OneNode(RowsHarness())
    found = drivers(node, RowsHarness())
    rollout = run_rollout(found.harness, RolloutRequest(None, TASK), found.verifier)
    assert rollout.score is not None
    assert rollout.score.passed
    assert rollout.trajectory.files_changed == ("key", "twice")
    assert node.scored == 1


def test_a_lost_rollout_runs_once_more_and_its_unknown_cost_counts_with_its_bound() -> None:
    node = OneNode(RowsHarness(), lost=1)
    found = drivers(node, RowsHarness())
    rollout = run_rollout(found.harness, RolloutRequest(None, TASK), found.verifier)
    assert rollout.status is Status.OK
    assert found.meter.rollouts == 2
    assert found.meter.spent.usd == 1.0 + 0.25
    assert node.notices == ["task t4 is run again: crashed: its node was lost"]


def test_a_rollout_that_is_lost_twice_is_missing_data() -> None:
    node = OneNode(RowsHarness(), lost=2)
    found = drivers(node, RowsHarness())
    rollout = run_rollout(found.harness, RolloutRequest(None, TASK), found.verifier)
    assert rollout.status is Status.INFRA_ERROR
    assert rollout.score is None
    assert found.meter.rollouts == 2


def test_a_verifier_that_breaks_on_a_node_is_missing_data_and_the_answer_stays_paid_once() -> None:
    node = OneNode(RowsHarness())
    found = drivers(node, RowsHarness())
    broken = Task("t4", "Say 4.", VerifierSpec("command", json.dumps({"argv": ["/no/such/program"]})), TASK.files)
    rollout = run_rollout(found.harness, RolloutRequest(None, broken), found.verifier)
    assert rollout.score is None
    assert "/no/such/program" in rollout.reason
    assert found.meter.spent.usd == 0.25


def test_a_node_with_another_target_does_nothing() -> None:
    job = NodeJob(SETTINGS, ".", "rows 2.0", RowsHarness("rows 1.0"))
    failure, _ = run_on_node(job, RolloutRequest(None, TASK))
    assert "expected the target 'rows 2.0', found 'rows 1.0'" in str(failure)


def test_a_node_tells_what_keeps_it_from_running_the_target(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    chosen = make_settings(("flags", {"harness": "chat/openai/gpt-5-mini", "model": "demo"}))
    assert "OPENAI_API_KEY" in describe_node(NodeJob(chosen, str(tmp_path), "")).access
    assert describe_node(NodeJob(SETTINGS, str(tmp_path), "")).identity.startswith("demo")


def test_a_failing_disk_of_a_node_is_told_with_its_name() -> None:
    job = NodeJob(SETTINGS, ".", "broken", BrokenHarness(OSError))
    failure, _ = run_on_node(job, RolloutRequest(None, TASK))
    assert str(failure).startswith("on node ")


def test_a_cluster_is_ready_before_anything_runs_and_threads_need_none() -> None:
    node = OneNode(RowsHarness())
    assert isinstance(make_executor(SETTINGS, print, node), ThreadExecutor)
    assert node.is_ready
    assert open_cluster(SETTINGS, Path(), RowsHarness()) is None


def test_people_do_tasks_on_one_machine_only() -> None:
    chosen: Settings = make_settings(("flags", {"harness": "handoff", "model": "demo", "run_on": "ray"}))
    with pytest.raises(SettingsError, match="is done by people on this machine"):
        open_cluster(chosen, Path(), ScriptedHarness(lambda *_: Trajectory()))
