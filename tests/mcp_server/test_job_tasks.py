"""Tasks (SEP-2663): only for clients that declare them, and the same job as everybody sees."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from skillopt.storage.jobs import finish_job
from tests.fakes.jobs import record_job
from tests.fakes.mcp_clients import MODERN, pipe
from tests.fakes.projects import make_project
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.process

TASKS = "io.modelcontextprotocol/tasks"
DECLARED = MODERN | {"io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path)


@contextmanager
def running(project: Path) -> Iterator[Path]:
    """Make a job whose process is this one, and which ends with 0."""
    folder = record_job(project, "rows", ["evaluate"])
    with FileLock(folder / "lock"):
        (folder / "pid").write_text("1")
        yield folder
        finish_job(folder, 0)


def looked(name: str, seconds: int) -> dict[str, Any]:
    return {"name": "job_status", "arguments": {"job_id": name, "wait_seconds": seconds}}


def test_a_start_that_waits_is_a_task_for_a_client_that_declares_them(tmp_path: Path) -> None:
    started = {"name": "start_job", "arguments": {"name": "rows", "max_minutes": 20, "wait_seconds": 50}}
    with pipe(make_project(tmp_path)) as server:
        made = server.ask("tools/call", **started, _meta=DECLARED)["result"]
        assert (made["resultType"], made["status"]) == ("task", "working")
        assert "20 minutes" in made["statusMessage"]
        while (task := server.ask("tasks/get", taskId=made["taskId"], _meta=DECLARED)["result"])["status"] == "working":
            pass
    told = task["result"]["content"][0]["text"]
    assert f"# Job {made['taskId']}: done" in told
    assert "Limits in force: 20 minutes" in told


def test_a_task_can_be_looked_at_and_cancelled_by_its_id(project: Path) -> None:
    with pipe(project) as server:
        with running(project) as folder:
            looking = server.ask("tools/call", **looked(folder.name, 1), _meta=DECLARED)["result"]
            assert looking["resultType"] == "complete"  # whoever cancels a look does not mean the job
            working = server.ask("tasks/get", taskId=folder.name, _meta=DECLARED)["result"]
            assert (working["resultType"], working["status"]) == ("complete", "working")
            assert server.ask("tasks/update", taskId=folder.name, inputResponses={}, _meta=DECLARED)["result"]
            assert server.ask("tasks/cancel", taskId=folder.name, _meta=DECLARED)["result"]
            assert (folder / "cancelled").exists()
        ended = server.ask("tasks/get", taskId=folder.name, _meta=DECLARED)["result"]
        assert ended["status"] == "completed"
        assert f"# Job {folder.name}: done" in ended["result"]["content"][0]["text"]
        unknown = server.ask("tasks/get", taskId="../x", _meta=DECLARED)
        assert unknown["error"]["code"] == -32602


def test_without_the_extension_or_a_wait_the_call_itself_is_answered(project: Path) -> None:
    with pipe(project) as server, running(project) as folder:
        for meta, seconds in ((MODERN, 1), (DECLARED, 0)):
            answer = server.ask("tools/call", **looked(folder.name, seconds), _meta=meta)["result"]
            assert answer["resultType"] == "complete"
            assert f"# Job {folder.name}: running" in answer["content"][0]["text"]
        refused = server.ask("tasks/get", taskId=folder.name, _meta=MODERN)
        assert refused["error"]["code"] == -32021


def test_a_server_whose_client_is_gone_does_not_wait_for_a_job(project: Path) -> None:
    with pipe(project) as server, running(project) as folder:
        assert server.ask("tools/call", **looked(folder.name, 0), _meta=MODERN)["result"]
        params = looked(folder.name, 50) | {"_meta": MODERN}
        server.write(json.dumps({"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": params}).encode())
        assert server.process.stdin is not None
        server.process.stdin.close()
        server.process.stdin = None  # or it is closed again
        assert server.process.wait(timeout=40) == 0
