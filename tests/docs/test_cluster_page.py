"""The page on Ray: its two nodes, started as it says, do the rollouts of a project."""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import ray

from tests.fakes.projects import make_project, skillopt_process

pytestmark = pytest.mark.docs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ray.md"
PASSWORD = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "password-of-the-cluster-0123456789abcdef"}
QUIET = {**PASSWORD, "RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [str(one) for one in found]


def command(beginning: str, address: str) -> list[str]:
    (found,) = [one for one in blocks("sh") if one.startswith(beginning)]
    host, port = address.split(":")
    return shlex.split(
        found.replace("HEAD:6379", address).replace("--port=6379", f"--port={port} --node-ip-address={host}")
    )


def wait_for(node: "subprocess.Popen[bytes]", log: Path, text: str) -> None:
    """Wait until a node has printed a text."""
    pause = threading.Event()
    while text not in log.read_text():
        assert node.poll() is None, log.read_text()
        pause.wait(0.1)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Start the two nodes of the page, both on this machine, at a port that is free."""
    with socket.socket() as free:
        free.bind(("", 0))
        host: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]  # Ray gives it no type
        place = f"{host}:{free.getsockname()[1]}"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    small = ["--object-store-memory=80000000", "--num-cpus=2", "--memory=2000000000"]
    environment = {**os.environ, **QUIET, "PATH": path}
    with ExitStack() as stack:
        for name in ("--head", "--address"):
            log = tmp_path / f"node{name}.log"
            words = [*command(f"ray start {name}", place), *small]
            with log.open("wb") as out:
                node = subprocess.Popen(words, env=environment, stdout=out, stderr=out, start_new_session=True)
            stack.callback(node.wait, 60)
            stack.callback(node.terminate)
            wait_for(node, log, "Ray runtime started")
        yield place


def test_the_two_nodes_of_the_page_do_the_rollouts_of_a_project(address: str, tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project", tasks=6, name="my-skill")
    here = skillopt_process(folder, *command("skillopt evaluate", address)[1:], "--json")
    toml = folder / "skillopt.toml"
    before, mark, skills = toml.read_text().partition("[skills.")
    toml.write_text(f"{before}{blocks('toml')[0].replace('HEAD:6379', address)}\n{mark}{skills}")
    (folder / ".skillopt" / "ledger.db").unlink()
    there = skillopt_process(folder, *command("skillopt evaluate", address)[1:], "--json", **QUIET)
    assert (here.returncode, there.returncode) == (0, 0), there.stderr
    assert json.loads(there.stdout) == json.loads(here.stdout)
    again = skillopt_process(folder, *command("skillopt evaluate", address)[1:], "--json", "--set", "ray=")
    assert json.loads(again.stdout)["paid_rollouts"] == 0
