"""Nights in which something fails: tokens, limits, the network at each write, what steps hand over, two machines."""

import json
from pathlib import Path

import pytest

from tests.fakes.fake_forge import FAULTS, FakeForge, fake_forge
from tests.fakes.held_provider import HELD, held_run
from tests.fakes.nights import Nights, make_nights
from tests.fakes.projects import git
from tests.fakes.stories import BRANCH, Night, Story

pytestmark = pytest.mark.process


def test_an_expired_token_and_a_limit_are_found_before_anything_is_paid(story: Story) -> None:
    story.grow_suite()
    kept = story.recorded()
    story.forge.fault = lambda _: FAULTS["401"]
    expired = story.night()
    assert (expired.code, expired.step, expired.writes, story.recorded()) == (3, "check", (), kept)
    assert "401" in expired.errors
    assert "token" in expired.errors
    story.forge.fault = lambda _: FAULTS["403 primary limit"]
    limited = story.night()
    assert (limited.code, limited.step, limited.writes, story.recorded()) == (3, "check", (), kept)
    assert "it asks to wait" in limited.errors
    story.forge.mend()
    good = story.night()
    assert (good.code, good.row["training"]) == (0, "finished")
    assert good.paid > 0
    story.check_claims()


@pytest.mark.parametrize("after", [False, True])
def test_an_offer_that_is_cut_at_any_write_is_completed_by_the_next_and_nothing_is_there_twice(
    story: Story, tmp_path: Path, *, after: bool
) -> None:
    story.forge.say(1, "ada", "/skillopt drop 2: our vendors need their capitals")
    step, ended = story.train(tmp_path)
    assert (step, ended.returncode) == ("train", 0), ended.stderr
    cut = [write for write in range(20) if cut_offer(story, tmp_path, write, after=after)]
    assert cut == list(range(len(cut)))
    assert len(cut) >= 4


def cut_offer(story: Story, place: Path, write: int, *, after: bool) -> bool:
    """Cut an offer at a write, offer again, and look at what is there; tell whether there was such a write."""
    with fake_forge() as forge:
        copy = Story(story.nights.copy(place / f"cut-{write}", forge), forge, place)
        was_cut = forge.cut(write, after=after)
        first = copy.step("offer", str(place / "out"), token=True)
        forge.mend()
        if not was_cut:
            assert first.returncode == 0, first.stderr
            return False
        assert (first.returncode, "Traceback" in first.stderr) == (3, False), (was_cut, first.stderr)
        second = copy.step("offer", str(place / "out"), token=True)
        assert second.returncode == 0, (was_cut, second.stderr)
        copy.check_claims()
        assert len(forge.pulls) == 1, was_cut
        topics = [text.splitlines()[0] for text in forge.said(1) if text.startswith("<!--")]
        assert len(topics) == len(set(topics)), (was_cut, topics)
        assert sum("edit 2 dropped" in text for text in forge.said(1)) == 1, was_cut
        assert copy.tip() == git(copy.nights.folder, "rev-parse", BRANCH)
        done = len(forge.writes)
        assert copy.step("offer", str(place / "out"), token=True).returncode == 0
        assert forge.writes[done:] == [], was_cut
        return True


def test_a_night_that_was_cut_when_it_opened_its_pull_request_finds_it_the_next_night(tmp_path: Path) -> None:
    with fake_forge() as forge:
        story = Story(make_nights(tmp_path, forge), forge, tmp_path)

        def cut() -> None:
            forge.cut(0, after=True)

        first = story.night(before_offer=cut)
        assert (first.code, first.step, list(forge.pulls)) == (3, "offer", [1])
        forge.mend()
        second = story.night()
        assert (second.code, second.paid, list(forge.pulls)) == (0, 0, [1])
        story.check_claims()
        story.check_unchanged()


def test_first_nights_of_two_machines_at_once_open_one_pull_request_and_the_slower_one_steps_back(
    tmp_path: Path,
) -> None:
    with fake_forge() as forge:
        slow = Story(make_nights(tmp_path, forge), forge, tmp_path)
        fast, nights = slow.elsewhere("fast"), list[Night]()
        stepped_back = slow.night("--set", "seed=1", before_offer=lambda: nights.append(fast.night()))
        tip, (first,) = slow.tip(), nights
        assert (first.code, first.offer, list(forge.pulls)) == (0, "opened", [1]), first
        assert tip == git(fast.nights.folder, "rev-parse", BRANCH)
        assert (stepped_back.code, stepped_back.row["versions"], stepped_back.offer) == (0, 1, "")
        assert any(note.startswith(f"not offered: {BRANCH}") for note in stepped_back.row["offer"]["notes"])
        assert len(forge.writes) == 1
        fast.check_claims()
        fast.check_unchanged()
        assert git(slow.nights.folder, "rev-parse", BRANCH) == tip
        slow.check_unchanged()
        fast.check_claims()


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
    assert (code, "skills: " in said, "expected a list of 1" in said) == (2, True, True), said


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
    assert "newest commit of skillopt/rows" in ended.stdout

    offers.write_text(written)
    (out / "bundle").unlink()
    (out / "bundle").mkdir()
    ended = nights.step("offer", str(out), **nights.environment)
    assert (ended.returncode, "expected a git bundle" in ended.stderr) == (3, True)
    assert (forge.pulls, nights.tip()) == ({}, "")


def test_a_second_night_leaves_a_skill_to_the_first(
    tmp_path: Path, forge: FakeForge, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights = make_nights(tmp_path, forge)
    with held_run(nights.folder, monkeypatch, "nightly", **nights.environment):
        row = nights.run(*HELD)["rows"]
        assert (row["training"], row["reason"], row["rollouts"]) == ("busy", "another run trains it", 0)


def test_a_stopped_run_goes_on_in_a_fresh_shallow_clone_that_lacks_where_it_began(
    tmp_path: Path, forge: FakeForge
) -> None:
    nights = make_nights(tmp_path, forge)
    first = nights.run("--max-rollouts", "40")["rows"]
    assert first["training"] == "stopped"
    git(nights.folder, "commit", "--quiet", "--allow-empty", "-m", "Elsewhere")
    git(nights.folder, "push", "--quiet", "origin", "HEAD:main")
    fresh = nights.clone("fresh", "--depth=1")
    (nights.folder / ".skillopt").rename(fresh.folder / ".skillopt")
    second = fresh.run()["rows"]
    assert (second["run"], second["training"], second["offer"]["action"]) == (first["run"], "finished", "opened")
    assert git(fresh.bare, "fsck", "--strict") == ""
