"""Rollouts on the nodes of a Ray cluster: the same answers, the same events, no key sent, nothing charged twice."""

import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster as SimulatedCluster
from ray.exceptions import ObjectStoreFullError, OutOfMemoryError, RayError, RuntimeEnvSetupError, WorkerCrashedError

from skillopt import Suite
from skillopt.errors import SettingsError
from skillopt.execution.drivers import Drivers, Given, load_drivers
from skillopt.execution.masking import environment_masking
from skillopt.execution.runner import RecordedRunner, RunObserver, run_rollout
from skillopt.protocols import Harness, RolloutRequest
from skillopt.settings import Settings, make_settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.storage.ledger import Ledger
from skillopt.tasks import File, Split, Task, VerifierSpec
from tests.fakes.nodes import BrokenHarness, HeldHarness, RowsHarness

pytestmark = pytest.mark.process

SECRET = "sk-planted-0123456789abcdef"  # noqa: S105 - planted, to be found nowhere
SKILL = Skill("rows", SkillDocument("---\nname: rows\ndescription: Rows.\n---\n# Rows\n"))
OUT_OF_MEMORY = OutOfMemoryError("95% used")  # type: ignore[no-untyped-call]  # Ray gives it no type
CHECK = 'test "$(cat twice)" = 44 && test ! -e number.bak && echo right'


def task(number: int, kind: str = "exact", **options: object) -> Task:
    spec = VerifierSpec(kind, json.dumps(options or {"value": str(number)}))
    return Task(f"t{number}", f"Say {number}.", spec, (File("number", b"%d" % number),))


TASKS = (*(task(number) for number in range(4)), task(4, "command", argv=["/bin/sh", "-c", CHECK], collect=["twice"]))


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatedCluster]:
    """Two simulated nodes, which have a key of their own; this process has another one."""
    before = dict(os.environ)
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "NODE_API_KEY": SECRET}
    own = {"num_cpus": 2, "object_store_memory": 80_000_000, "memory": 4_000_000_000}
    soon = {"health_check_period_ms": 500, "health_check_failure_threshold": 8}
    head = {**own, "include_dashboard": False, "_system_config": soon}
    started = SimulatedCluster(initialize_head=True, head_node_args=head)
    started.add_node(wait=True, **own)
    os.environ.clear()
    os.environ.update(before)
    yield started
    ray.shutdown()
    started.shutdown()  # type: ignore[no-untyped-call]  # Ray gives it no type


def settings(address: str, **more: object) -> Settings:
    # Programs of tests are the tests' own, in CI too.
    named = {"harness": "demo", "model": "demo", "ray": address, "workers": 4, "sandbox": "none"}
    return make_settings(("flags", {**named, **more}))


def drivers(chosen: Settings, root: Path, harness: Harness | None = None) -> Drivers:
    suite = Suite("rows", tuple((Split.VAL, one) for one in TASKS))
    return load_drivers(chosen, suite, root, Given(harness), optimizer=False)


def runner(ledger: Ledger, found: Drivers, observer: RunObserver | None = None) -> RecordedRunner:
    return RecordedRunner(ledger, "run", found, observer or RunObserver())


def test_rollouts_on_nodes_are_as_rollouts_here(cluster: SimulatedCluster, tmp_path: Path) -> None:
    requests = [RolloutRequest(SKILL, one) for one in TASKS]
    found = {}
    for name, chosen in (("ray", settings(cluster.address)), ("threads", settings(""))):
        (tmp_path / name).mkdir()
        with closing(Ledger.open(tmp_path / name)) as ledger:
            asked = runner(ledger, drivers(chosen, tmp_path, RowsHarness()))
            found[name] = asked.rollouts(requests)
            assert asked.usage.usd == 0.25 * len(TASKS)
    plain = {
        name: [replace(one, trajectory=replace(one.trajectory, reason=""), reason="") for one in all_]
        for name, all_ in found.items()
    }
    assert plain["ray"] == plain["threads"]
    assert [one.score and one.score.passed for one in found["ray"]] == [True] * len(TASKS)
    assert len({one.reason for one in found["ray"]}) > 1  # more than one process, none of them this one


def test_a_key_of_a_node_stays_there_and_is_in_no_log_of_ray(cluster: SimulatedCluster, tmp_path: Path) -> None:
    chosen = settings(cluster.address)
    with closing(Ledger.open(tmp_path)) as ledger:
        answers = runner(ledger, drivers(chosen, tmp_path, RowsHarness())).rollouts(
            [RolloutRequest(SKILL, one, 7) for one in TASKS]
        )
    assert all("with [secret]" in one.reason for one in answers)
    found = drivers(chosen, tmp_path, BrokenHarness(LookupError))
    answer = run_rollout(found.harness, RolloutRequest(SKILL, TASKS[0]))
    assert answer.score is None
    assert re.fullmatch(r"on node \S+: LookupError: t0 in a workspace with \[secret\] \(nodes.py:\d+\)", answer.reason)
    session: str = cluster.head_node.get_session_dir_path()  # type: ignore[attr-defined]  # Ray gives it no type
    logs = Path(session, "logs")
    read = [place.read_bytes() for place in logs.rglob("*") if place.is_file()]
    assert len(read) > 5
    assert not any(SECRET.encode() in content for content in read)


@pytest.fixture
def key_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("DRIVER_API_KEY", "sk-of-the-driver-0123456789")
    environment_masking.cache_clear()
    yield "sk-of-the-driver-0123456789"
    environment_masking.cache_clear()


def test_a_task_that_holds_a_key_of_this_machine_is_refused_before_the_first_rollout(
    cluster: SimulatedCluster, tmp_path: Path, key_here: str
) -> None:
    chosen, leaking = settings(cluster.address), replace(TASKS[3], prompt=f"Use {key_here}.")
    suite = Suite("rows", ((Split.VAL, TASKS[0]), (Split.TEST, leaking)))
    made = load_drivers(chosen, suite, tmp_path, Given(RowsHarness()), optimizer=False)
    with pytest.raises(SettingsError, match=r"'t3'.*DRIVER_API_KEY") as refused:
        made.executor(lambda _: None)
    assert key_here not in str(refused.value)


def test_a_node_that_dies_in_mid_call_costs_each_of_its_rollouts_one_more_and_loses_none(
    cluster: SimulatedCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    third = cluster.add_node(num_cpus=2, object_store_memory=80_000_000, memory=4_000_000_000)
    chosen, notices, signs = settings(cluster.address, max_usd=100.0), list[str](), tmp_path / "signs"
    signs.mkdir()
    found = drivers(chosen, tmp_path, HeldHarness(str(signs)))
    assert found.cluster is not None
    found.cluster.notice = notices.append
    held = [replace(task(number, value=f"Say {number}."), id=f"held{number}") for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        waiting = [pool.submit(run_rollout, found.harness, RolloutRequest(SKILL, one), found.verifier) for one in held]
        wait_until(lambda: len(list(signs.glob("begun-*"))) == 6)
        cluster.remove_node(third, allow_graceful=False)
        wait_until(lambda: bool(notices))
        (signs / "go").touch()
        answers = [one.result() for one in waiting]
    begun = Counter(place.name.split("-")[1] for place in signs.glob("begun-*"))
    lost = len(notices)
    assert lost >= 1
    assert all(one.score is not None and one.score.passed for one in answers)
    assert begun.total() == 6 + lost
    assert max(begun.values()) == 2
    assert found.meter.rollouts == 6 + lost
    # Each answer is paid once; a call that was lost may have been billed, so that the cap counts its worst case.
    assert found.meter.spent.usd == 6 * 0.25 + lost * 1.0
    assert "is run again" in notices[0]
    assert "node, or its process" in notices[0]
    assert not capfd.readouterr().out  # what a command prints there is read by programs


@pytest.mark.parametrize(
    ("error", "said", "tries"),
    [
        (WorkerCrashedError(), "its node, or its process there, was lost (The worker died", 2),
        (
            ObjectStoreFullError("1 MB of 80 MB is free"),
            "is full; start the nodes with a larger --object-store-memory",
            1,
        ),
        (OUT_OF_MEMORY, "its node had no memory left (95% used); lower workers", 1),
        (RuntimeEnvSetupError("pip"), "Ray could not run it: RuntimeEnvSetupError: ", 1),
    ],
)
def test_only_what_was_lost_runs_again_and_other_failures_of_ray_are_named(
    cluster: SimulatedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: RayError, said: str, tries: int
) -> None:
    found = drivers(settings(cluster.address), tmp_path, RowsHarness())
    assert found.cluster is not None
    found.cluster.ready()
    monkeypatch.setattr(ray, "get", raising(error))
    answer = run_rollout(found.harness, RolloutRequest(SKILL, TASKS[0]))
    assert answer.score is None
    assert said in answer.reason
    assert found.meter.rollouts == tries


def raising(error: Exception) -> Callable[..., object]:
    """Make what stands for a function of Ray that fails."""

    def fail(*_: object) -> object:
        raise error

    return fail


def test_what_runs_on_nodes_ends_when_it_is_dropped(cluster: SimulatedCluster, tmp_path: Path) -> None:
    chosen, signs = settings(cluster.address), tmp_path / "signs"
    signs.mkdir()
    found = drivers(chosen, tmp_path, HeldHarness(str(signs)))
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(run_rollout, found.harness, RolloutRequest(SKILL, one)) for one in TASKS[:2]]
        wait_until(lambda: len(list(signs.glob("begun-*"))) == 2)
        assert found.cluster is not None
        found.cluster.drop()
        answers = [one.result() for one in waiting]
    assert [one.reason for one in answers] == ["the command was interrupted"] * 2


def wait_until(reached: Callable[[], bool]) -> None:
    """Look again and again; the limit of pytest ends a wait for what never comes."""
    pause = threading.Event()
    while not reached():
        pause.wait(0.02)
