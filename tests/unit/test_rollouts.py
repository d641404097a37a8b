"""What a rollout holds, and that the doubles keep the promises of their ports."""

import json
from functools import reduce
from pathlib import Path

import pytest

from skillopt.protocols import Harness, Model, RolloutRequest
from skillopt.rollouts import Message, ToolCall, Trajectory, Usage
from skillopt.testing import ScriptedHarness, ScriptedModel
from tests.contracts.harness_contract import HarnessContract
from tests.contracts.model_contract import ModelContract


def told(workspace: str, home: str) -> Trajectory:
    """Return a trajectory that names its folders in each of its texts."""
    call = ToolCall("shell", f"cat {workspace}/a.csv", f"{workspace}/a.csv: 2")
    messages = (Message("user", "Tidy the table."), Message("assistant", f"I look into {workspace}.", (call,)))
    answer = f"See {workspace}/out.csv and {home}/log."
    return Trajectory(messages, answer, files_changed=("out.csv",), reason=f"{workspace} was left")


def test_a_change_of_texts_reaches_each_of_them() -> None:
    change = {"/scratch/w1": "/workspace", "/scratch/h1": "/home/agent"}

    def renamed(text: str) -> str:
        return reduce(lambda found, one: found.replace(*one), change.items(), text)

    assert told("/scratch/w1", "/scratch/h1").with_texts(renamed) == told("/workspace", "/home/agent")


def test_a_call_of_unknown_price_leaves_what_a_sum_is_at_least() -> None:
    total = Usage.total([Usage(1, usd=3.0), Usage(1, usd=None), Usage(1, usd=0.41), Usage(1, usd=None)])
    assert (total.usd, total.price) == (None, "at least $3.41")
    assert Usage(1, usd=None).price == "price unknown"


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
