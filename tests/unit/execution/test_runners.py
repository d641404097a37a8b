"""All runners keep the same promises."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.execution.threads import ThreadExecutor
from skillopt.loop.caps import CappedRunner
from skillopt.protocols import Runner
from skillopt.rollouts import Trajectory
from skillopt.settings import Settings
from skillopt.storage.ledger import Ledger
from skillopt.testing import ScriptedHarness, ScriptedModel, ScriptedRunner, scored
from tests.contracts.runner_contract import RunnerContract


class TestRecordedRunner(RunnerContract):
    @pytest.fixture
    def runner(self, tmp_path: Path) -> Iterator[Runner]:
        harness = ScriptedHarness(lambda request, _: Trajectory(answer=request.task.prompt))
        with closing(Ledger.open(tmp_path)) as ledger:
            yield RecordedRunner(
                ledger, "", Drivers(harness, ScriptedModel(str.upper)), ThreadExecutor(8), RunObserver()
            )


class TestScriptedRunner(RunnerContract):
    @pytest.fixture
    def runner(self) -> Runner:
        return ScriptedRunner(lambda request: scored(request, 0.5), str.upper)


class TestCappedRunner(RunnerContract):
    @pytest.fixture
    def runner(self) -> Runner:
        return CappedRunner(ScriptedRunner(lambda request: scored(request, 0.5), str.upper), Settings(), 0)
