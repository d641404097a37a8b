"""What the steps of a night hand to each other: a folder that cannot be used is found before it costs anything."""

import json
from pathlib import Path

import pytest

from tests.fakes.fake_forge import FakeForge
from tests.fakes.nights import Nights

pytestmark = pytest.mark.process


@pytest.fixture
def state(nights: Nights, tmp_path: Path) -> Path:
    found = tmp_path / "state.json"
    ended = nights.step("check", "--output", str(found), **nights.environment)
    assert ended.returncode == 0, ended.stderr
    return found


def train(nights: Nights, state: Path, out: Path) -> tuple[int, str]:
    own = {name: value for name, value in nights.environment.items() if name != "GITHUB_TOKEN"}
    ended = nights.step("train", "--state", str(state), "--output", str(out), "--quiet", **own)
    return ended.returncode, ended.stderr


def test_a_folder_that_cannot_be_written_is_found_before_anything_is_paid_for(
    nights: Nights, state: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    code, said = train(nights, state, tmp_path / "file")
    assert (code, f"cannot write {tmp_path / 'file'}" in said) == (2, True), said
    assert not (nights.folder / ".skillopt" / "ledger.db").exists()


def test_a_state_without_skills_is_a_mistake_and_no_quiet_night(nights: Nights, state: Path, tmp_path: Path) -> None:
    left = json.loads(state.read_text())
    state.write_text(json.dumps({**left, "skills": []}))
    code, said = train(nights, state, tmp_path / "out")
    assert (code, "skills: " in said, "expected a list of 1 or more" in said) == (2, True, True), said


def test_an_offer_without_commit_or_with_a_folder_for_a_bundle_is_refused_and_says_so(
    nights: Nights, state: Path, tmp_path: Path, forge: FakeForge
) -> None:
    out = tmp_path / "out"
    assert train(nights, state, out)[0] == 0
    offers, written = out / "offers.json", (out / "offers.json").read_text()
    left = json.loads(written)
    left["offers"][0]["version"]["tip"] = ""
    offers.write_text(json.dumps(left))
    ended = nights.step("offer", str(out), **nights.environment)
    assert ended.returncode == 3
    assert "expected the newest commit of skillopt/rows in the offer, found none; train again" in ended.stdout

    offers.write_text(written)
    (out / "bundle").unlink()
    (out / "bundle").mkdir()
    ended = nights.step("offer", str(out), **nights.environment)
    assert (ended.returncode, "expected a git bundle, found a folder" in ended.stderr) == (3, True)
    assert (forge.pulls, nights.tip()) == ({}, "")
