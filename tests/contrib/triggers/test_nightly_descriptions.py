"""Nights that train a description: it is offered once, a closed pull request declines it, a merged one settles it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fake_forge import fake_forge
from tests.fakes.nights import Nights
from tests.fakes.projects import git
from tests.fakes.triggers import make_siblings

pytestmark = pytest.mark.process

SKILL = "expense-claims"
BRANCH = f"skillopt-draft/{SKILL}"
TABLE = f"\n[skills.{SKILL}]\n"


def tip(nights: Nights) -> str:
    """Return where the remote has the branch, empty for nowhere."""
    return git(nights.bare, "for-each-ref", "--format=%(objectname)", f"refs/heads/{BRANCH}")


def night(nights: Nights, *options: str) -> dict[str, Any]:
    """Check out main as it is on the remote, run a night, and give the skill's row."""
    git(nights.folder, "fetch", "--quiet", "origin", "main")
    git(nights.folder, "reset", "--quiet", "--hard", "FETCH_HEAD")
    row: dict[str, Any] = nights.run(*options)[SKILL]
    return row


def prepare(folder: Path) -> Path:
    """Make a project whose skill has a trigger set and no suite, and its bare remote."""
    made = make_siblings(folder / "made")
    (made / "skillopt.toml").write_text((made / "skillopt.toml").read_text() + TABLE, encoding="utf-8")
    git(made, "commit", "--quiet", "-am", "One skill to train")
    git(folder, "clone", "--quiet", "--bare", str(made), "bare.git")
    git(folder, "clone", "--quiet", (folder / "bare.git").as_uri(), "clone")
    for key, value in (("user.name", "Bob"), ("user.email", "bob@example.com")):
        git(folder / "clone", "config", key, value)
    return folder / "clone"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    """Live through a night that offers a description."""
    folder = tmp_path_factory.mktemp("first")
    with fake_forge() as forge:
        nights = Nights(prepare(folder), folder / "bare.git", forge)
        forge.repository = nights.bare
        row = night(nights)
        assert (row["training"], row["draft"]["action"]) == ("no suite", "opened"), row
        assert row["described"].startswith("its description was never")
        assert row["rollouts"] > 0
        yield nights


@pytest.fixture
def nights(first: Nights, tmp_path: Path) -> Iterator[Nights]:
    """Return a copy of that night for one test."""
    with fake_forge() as forge:
        yield first.copy(tmp_path, forge)


def test_a_description_is_offered_once_with_what_held_out_requests_showed(nights: Nights) -> None:
    assert nights.forge is not None
    pull = nights.forge.pulls[1]
    assert (pull["branch"], pull["state"], pull["draft"]) == (BRANCH, "open", True)
    assert f"{SKILL}: 1 of 7 → 7" in pull["title"]
    body = pull["body"]
    assert "-Prepares claims.\n+Prepares claims." in body
    assert "7 (95% interval 65% to 100%)" in body
    assert body.count("\nFixed-Request: ") == 6
    assert git(nights.bare, "diff", "--stat", "main", BRANCH).startswith("skills/expense-claims/SKILL.md")
    done, before = len(nights.forge.writes), tip(nights)
    again = night(nights)
    assert (again["described"], again["rollouts"], again["draft"]["action"]) == ("", 0, "")
    assert (nights.forge.writes[done:], tip(nights)) == ([], before)


def test_a_description_whose_sibling_changed_is_due_again_in_a_clone_without_records(nights: Nights) -> None:
    clone = nights.clone("elsewhere")
    for key, value in (("user.name", "Cai"), ("user.email", "cai@example.com")):
        git(clone.folder, "config", key, value)
    assert (night(clone)["described"], tip(clone)) == ("", tip(nights))
    sibling = clone.folder / "skills" / "invoice-check" / "SKILL.md"
    sibling.write_text(sibling.read_text().replace("and their tax", "and the tax on them"))
    git(clone.folder, "commit", "--quiet", "-am", "Other words")
    git(clone.folder, "push", "--quiet", "origin", "HEAD:main")
    row = night(clone, "--max-rollouts", "5")
    assert row["described"].startswith("descriptions of other skills")
    assert row["rollouts"] <= 5
