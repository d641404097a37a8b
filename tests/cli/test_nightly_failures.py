"""Nights in which something fails: tokens, limits, the network at each write, what steps hand over, two machines."""

import json
from pathlib import Path

import pytest

from tests.fakes.fake_forge import FAULTS, FakeForge, fake_forge
from tests.fakes.held_provider import HELD, held_run
from tests.fakes.nights import BRANCH, Nights, one_more_task
from tests.fakes.projects import git

pytestmark = pytest.mark.process


@pytest.mark.parametrize(("fault", "told"), [("401", "token"), ("403 primary limit", "it asks to wait")])
def test_a_token_or_a_limit_is_found_before_paying(after: Nights, forge: FakeForge, fault: str, told: str) -> None:
    after.person(one_more_task)
    paid = after.recorded()
    forge.fault = lambda _: FAULTS[fault]
    ended = after.steps("--json")
    assert (ended.returncode, ended.stdout, told in ended.stderr) == (3, "", True)
    assert (forge.writes, after.recorded()) == ([], paid)
    forge.mend()
    assert after.night()["rows"]["training"] == "finished"
    after.check_claims()


@pytest.mark.parametrize("late", [False, True])
def test_an_offer_cut_at_any_write_is_completed_once(
    after: Nights, forge: FakeForge, tmp_path: Path, *, late: bool
) -> None:
    forge.say(1, "ada", "/skillopt drop 2: our vendors need their capitals")
    state = tmp_path / "state.json"
    assert after.step("check", "--output", str(state), **after.environment).returncode == 0
    assert train(after, state, tmp_path / "out") == (0, "")
    cut = [write for write in range(20) if cut_offer(after, tmp_path, write, late=late)]
    assert cut == list(range(len(cut)))
    assert len(cut) >= 4


def cut_offer(nights: Nights, place: Path, write: int, *, late: bool) -> bool:
    """Cut an offer at a write, offer again, and look at what is there; tell whether there was such a write."""
    with fake_forge() as forge:
        copy = nights.copy(place / f"cut-{write}", forge)
        was_cut = forge.cut(write, after=late)
        first = copy.step("offer", str(place / "out"), **copy.environment)
        forge.mend()
        if not was_cut:
            assert first.returncode == 0, first.stderr
            return False
        assert (first.returncode, "Traceback" in first.stderr) == (3, False), (was_cut, first.stderr)
        second = copy.step("offer", str(place / "out"), **copy.environment)
        assert second.returncode == 0, (was_cut, second.stderr)
        copy.check_claims()
        assert len(forge.pulls) == 1, was_cut
        topics = [text.splitlines()[0] for text in forge.said(1) if text.startswith("<!--")]
        assert len(topics) == len(set(topics)), (was_cut, topics)
        assert sum("edit 2 dropped" in text for text in forge.said(1)) == 1, was_cut
        assert copy.tip() == git(copy.folder, "rev-parse", BRANCH)
        done = len(forge.writes)
        assert copy.step("offer", str(place / "out"), **copy.environment).returncode == 0
        assert forge.writes[done:] == [], was_cut
        return True


def test_of_two_machines_at_once_the_slower_one_steps_back(nights: Nights, forge: FakeForge) -> None:
    fast = nights.clone("fast")
    slower = nights.night("--set", "seed=1", before_offer=fast.night)["rows"]
    assert (list(forge.pulls), nights.tip()) == ([1], git(fast.folder, "rev-parse", BRANCH))
    assert (slower["versions"], slower["offer"]["action"], len(forge.writes)) == (1, "", 1)
    assert any(note.startswith(f"not offered: {BRANCH}") for note in slower["offer"]["notes"])
    fast.check_claims()
    fast.check_quiet()
    assert git(nights.folder, "rev-parse", BRANCH) == nights.tip()
    nights.check_quiet()


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


def test_an_unusable_folder_or_state_is_a_mistake_before_paying(nights: Nights, state: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, said = train(nights, state, tmp_path / "file")
    assert (code, f"cannot write {tmp_path / 'file'}" in said) == (2, True), said
    left = json.loads(state.read_text())
    state.write_text(json.dumps({**left, "skills": []}))
    code, said = train(nights, state, tmp_path / "out")
    assert (code, "skills: " in said, "expected a list of 1" in said) == (2, True, True), said
    assert nights.recorded() == 0


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
    assert (ended.returncode, "newest commit of skillopt/rows" in ended.stdout) == (3, True)
    offers.write_text(written)
    (out / "bundle").unlink()
    (out / "bundle").mkdir()
    ended = nights.step("offer", str(out), **nights.environment)
    assert (ended.returncode, "expected a git bundle" in ended.stderr) == (3, True)
    assert (forge.pulls, nights.tip()) == ({}, "")


def test_a_second_night_leaves_a_skill_to_the_first(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    with held_run(nights.folder, monkeypatch, "nightly", **nights.environment):
        row = nights.run(*HELD)["rows"]
        assert (row["training"], row["rollouts"]) == ("busy", 0)


def test_a_stopped_run_goes_on_in_a_fresh_shallow_clone_that_lacks_where_it_began(nights: Nights) -> None:
    first = nights.run("--max-rollouts", "40")["rows"]
    assert first["training"] == "stopped"
    git(nights.folder, "commit", "--quiet", "--allow-empty", "-m", "Elsewhere")
    git(nights.folder, "push", "--quiet", "origin", "HEAD:main")
    fresh = nights.clone("fresh", "--depth=1")
    (nights.folder / ".skillopt").rename(fresh.folder / ".skillopt")
    second = fresh.run()["rows"]
    assert (second["run"], second["training"], second["offer"]["action"]) == (first["run"], "finished", "opened")
    assert git(fresh.bare, "fsck", "--strict") == ""
