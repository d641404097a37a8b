"""The doubles keep the promises of their ports."""

import json
from pathlib import Path

import pytest

from skillopt.protocols import Harness, Model, RolloutRequest
from skillopt.rollouts import Message, Trajectory, Usage
from skillopt.testing import ScriptedHarness, ScriptedModel
from tests.contracts.harness_contract import HarnessContract
from tests.contracts.model_contract import ModelContract


class TestScriptedModel(ModelContract):
    @pytest.fixture
    def model(self) -> Model:
        return ScriptedModel(lambda _: json.dumps({"edits": [], "guidance": ""}))


class TestScriptedHarness(HarnessContract):
    @pytest.fixture
    def harness(self) -> Harness:
        def copy(request: RolloutRequest, workspace: str) -> Trajectory:
            folder = Path(workspace)
            (folder / "output.csv").write_bytes((folder / "input.csv").read_bytes())
            messages = (Message("user", request.task.prompt),)
            return Trajectory(messages, "done", ("output.csv",), usage=Usage(calls=1))

        return ScriptedHarness(copy)
