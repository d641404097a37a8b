"""Waiting out what passes at a forge, within a bound of ours."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.errors import ForgeAccessError, ForgeDownError, ForgeError, ForgeLimitError
from skillopt.forge.folder import FolderForge
from skillopt.forge.patience import PatientForge
from skillopt.ports import Forge
from tests.contracts.forge_contract import ForgeContract


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


class FailingForge(FolderForge):
    """Fails as told when asked for its default branch, then answers."""

    def __init__(self, folder: Path, *failures: ForgeError) -> None:
        super().__init__(folder)
        self.failures = list(failures)

    def default_branch(self) -> str:
        if self.failures:
            raise self.failures.pop(0)
        return super().default_branch()


@pytest.fixture
def patient(tmp_path: Path) -> Callable[..., tuple[Clock, PatientForge]]:
    def make(*failures: ForgeError, seconds: float = 100.0) -> tuple[Clock, PatientForge]:
        clock = Clock()
        return clock, PatientForge(FailingForge(tmp_path, *failures), seconds, clock, clock.sleep)

    return make


class TestPatientForge(ForgeContract):
    @pytest.fixture
    def forge(self, tmp_path: Path) -> Forge:
        return PatientForge(FolderForge(tmp_path), 1.0)

    def remarks(self, forge: Forge, number: int) -> list[str]:  # noqa: ARG002 - there is one
        return Path(forge.pull_requests("skillopt/rows")[0].url).read_text().strip().split("\n\n---\n\n")[1:]


Patient = Callable[..., tuple[Clock, PatientForge]]


def test_passing_failures_are_waited_out_longer_each_time(patient: Patient) -> None:
    clock, forge = patient(*(ForgeDownError("down") for _ in range(4)))
    assert forge.default_branch() == "HEAD"
    assert clock.pauses == [1, 2, 4, 8]


def test_the_wait_that_a_forge_asks_for_is_kept(patient: Patient) -> None:
    clock, forge = patient(ForgeLimitError("slow down", 7.0))
    forge.default_branch()
    assert clock.pauses == [7.0]


def test_a_wait_past_the_bound_is_not_begun_and_is_told(patient: Patient) -> None:
    clock, forge = patient(ForgeLimitError("slow down", 3600.0))
    with pytest.raises(ForgeLimitError, match="slow down; it asks to wait 3600 s") as told:
        forge.default_branch()
    assert (clock.pauses, told.value.retry_after) == ([], 3600.0)


def test_a_forge_that_stays_down_is_given_up_within_the_bound(patient: Patient) -> None:
    clock, forge = patient(*(ForgeDownError("down") for _ in range(99)), seconds=20)
    with pytest.raises(ForgeDownError, match=r"down; tried \d+ times"):
        forge.default_branch()
    assert clock.now <= 20


def test_what_does_not_pass_is_not_repeated(patient: Patient) -> None:
    clock, forge = patient(ForgeAccessError("no"))
    with pytest.raises(ForgeAccessError, match=r"\Ano\Z"):
        forge.default_branch()
    assert clock.pauses == []
