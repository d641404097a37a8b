"""Tasks of Harbor in real containers of docker or podman, of an image that is made of programs of this machine."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.contrib.harbor import containers
from skillopt.contrib.harbor.image_root import ImageRoot, prepared
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.sandbox.roots import ENGINE
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import Task
from tests.contrib.harbor.test_harbor import one_task

pytestmark = pytest.mark.process

BASE = "localhost/base-of-skillopt-tests:1"
PROGRAMS = ("bash", "sh", "cat", "grep", "mkdir", "rm", "sleep", "tail")
BOUNDED = '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n[engine]\nruntime = "runc"\n'
"""For podman inside another container, where limits cannot be raised, and control groups are of both versions."""


def called(engine: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([engine, *arguments], capture_output=True, text=True, timeout=120, check=False)


def write_root(path: Path) -> None:
    """Write a file system with a few programs of this machine, and the libraries that they load."""
    with tarfile.open(path, "w") as archive:
        for folder in ("tmp", "root", "usr/bin", "etc"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            archive.addfile(entry)
        programs = {f"bin/{name}": str(shutil.which(name)) for name in PROGRAMS}
        loaded = {
            place: place
            for program in programs.values()
            for place in re.findall(r"/\S+", called("ldd", program).stdout)
        }
        for name, place in (programs | loaded).items():
            archive.add(os.path.realpath(place), name)


def images(engine: str) -> set[str]:
    return set(called(engine, "images", "--format", "{{.Repository}}").stdout.split())


@pytest.fixture(scope="module")
def real_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give an engine that runs containers here, with an image that needs no registry; skip where there is none."""
    folder = tmp_path_factory.mktemp("engine")
    said = "neither docker nor podman is here"
    with pytest.MonkeyPatch.context() as patched:
        write_root(folder / "root.tar")
        (folder / "containers.conf").write_text(BOUNDED, encoding="utf-8")
        (folder / "none.conf").touch()
        for engine in filter(shutil.which, ("docker", "podman")):
            for name in ("none.conf", "containers.conf"):
                patched.setenv("CONTAINERS_CONF", str(folder / name))
                ran = called(engine, "import", str(folder / "root.tar"), BASE)
                if ran.returncode == 0:
                    ran = called(
                        engine, "run", "--rm", "--init", "--network=none", "--memory=1g", BASE, "sh", "-c", ":"
                    )
                if ran.returncode == 0:
                    patched.setenv(ENGINE, engine)
                    containers.trouble_of.cache_clear()
                    before = images(engine)
                    yield engine
                    for image in (*images(engine).difference(before), BASE):
                        called(engine, "rmi", "--force", image)
                    return
                said = f"{engine} runs no container here: {ran.stderr.strip()[-300:]}"
    pytest.skip(said)


TEST = """\
cd /app
[ "$GREETING$(cat ids.txt)" = "good day$(tail -n 1 /data/orders.csv)" ] && passed=1
echo ${passed:-0} > /logs/verifier/reward.txt
"""


def contained(folder: Path) -> Task:
    lines = f'FROM {BASE}\nENV GREETING="good day"\nWORKDIR /app\nCOPY orders.csv /data/\nRUN mkdir -p /data/out\n'
    toml = "[verifier]\ntimeout_sec = 3\n[agent]\ntimeout_sec = 60\n"
    return one_task(folder, {"environment/Dockerfile": lines, "tests/test.sh": TEST, "task.toml": toml})


def left_over(engine: str) -> list[str]:
    listed = called(engine, "ps", "--all", "--format", "{{.Names}}").stdout.split()
    return [name for name in listed if name.startswith("skillopt-")]


def test_a_container_has_limits_no_network_and_the_digest_of_its_image(tmp_path: Path, real_engine: str) -> None:
    task = contained(tmp_path)
    assert task.environment is not None
    with (
        Workspace.create() as root,
        prepared(root.path, task.environment, task.verifier.files, Sandbox("auto")) as digest,
    ):
        ended = ImageRoot(root.path, task.environment).run(["cat", "/proc/net/dev"], 20, Sandbox("auto"))
        name = containers.container_of(root.path)
        bounds = called(real_engine, "inspect", "--format", "{{.HostConfig.Memory}} {{.HostConfig.PidsLimit}}", name)
        tag = called(real_engine, "inspect", "--format", "{{.Image}}", name).stdout.strip()

    assert re.findall(r"^ *(\w+):", ended.stdout, re.MULTILINE) == ["lo"]
    assert [int(each) > 0 for each in bounds.stdout.split()] == [True, True]
    assert digest.removeprefix("sha256:") == tag.removeprefix("sha256:")


def test_a_container_ends_with_its_rollout_also_when_all_programs_are_stopped(tmp_path: Path, real_engine: str) -> None:
    contained(tmp_path)
    script = f"""
from skillopt.contrib.harbor.oracle import run_oracle
from skillopt.sandbox.processes import stop_all_processes
from skillopt.suites import read_tasks
import skillopt.contrib.harbor.oracle as oracle

class Stopping:
    def __init__(self, *given): pass
    def run(self, *given): stop_all_processes(); raise InterruptedError("Ctrl-C")

oracle.ImageRoot = Stopping
print(run_oracle(read_tasks({str(tmp_path / "tasks")!r}, commands=True).tasks[0][1]).problem)
"""
    ended = called(sys.executable, "-c", script)

    assert ended.stdout == "Ctrl-C\n", ended.stderr
    assert left_over(real_engine) == []
