"""Proposing the removal of idle skills: a real audit, real git, a stand-in for the forge."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fake_forge import FakeForge, fake_forge
from tests.fakes.nights import TOKEN, Nights
from tests.fakes.projects import SKILL, git, make_project, skillopt

pytestmark = pytest.mark.process

BRANCH = "skillopt-audit/removals"
AUDIT = ("audit", "--offer", "--json", "-q", "--pairs", "12", "--margin", "0.4")
GOOD = SKILL + "- Write e-mail addresses in lower case.\n- Write dates in ISO form, YYYY-MM-DD.\n"
IDLE = "---\nname: {0}\ndescription: Höflich.\n---\n# Notes\n\n- Be kind.\n"


def make_audited(folder: Path, idle: tuple[str, ...] = ("polite",)) -> Path:
    """Make a project with a skill that its tasks need, and some that say nothing."""
    made = make_project(folder)
    (made / "skills" / "rows" / "SKILL.md").write_text(GOOD, encoding="utf-8")
    tasks = "".join(f"{json.dumps(_clean_already(json.loads(line)))}\n" for line in lines_of(made))
    config = made / "skillopt.toml"
    for name in idle:
        (made / "skills" / name).mkdir()
        (made / "skills" / name / "SKILL.md").write_text(IDLE.format(name), encoding="utf-8")
        (made / "suites" / f"{name}.jsonl").write_text(tasks, encoding="utf-8")
        table = f'\n# {name} is old\n[skills.{name}]\nsuite = "suites/{name}.jsonl"\n'
        config.write_text(config.read_text(encoding="utf-8") + table, encoding="utf-8")
    git(made, "add", "-A")
    git(made, "commit", "-qm", "Add skills")
    return made


def lines_of(folder: Path) -> list[str]:
    return (folder / "suites" / "rows.jsonl").read_text(encoding="utf-8").splitlines()


def _clean_already(task: dict[str, Any]) -> dict[str, Any]:
    """Make a task that passes with every skill and without one."""
    return {**task, "files": [{"path": "input.csv", "text": task["verifier"]["files"][0]["text"]}]}


def offered(folder: Path, *arguments: str, **environment: str) -> dict[str, Any]:
    ended = skillopt(folder, *AUDIT, *arguments, **environment)
    assert ended.returncode == 0, ended.stderr
    assert TOKEN not in ended.stdout + ended.stderr
    offer: dict[str, Any] = json.loads(ended.stdout)["offer"]
    return offer


@dataclass(frozen=True)
class Site:
    """A clone of a project, its bare remote, and the forge."""

    folder: Path
    bare: Path
    forge: FakeForge

    @property
    def environment(self) -> dict[str, str]:
        return Nights(self.folder, self.bare, self.forge).environment

    def offered(self, *arguments: str) -> dict[str, Any]:
        return offered(self.folder, *arguments, **self.environment)

    def pull(self, number: int = 1) -> dict[str, Any]:
        return dict(self.forge.pulls[number])

    def tip(self) -> str:
        return git(self.bare, "for-each-ref", "--format=%(objectname)", f"refs/heads/{BRANCH}")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = make_audited(tmp_path / "made")
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(made), str(bare))
    git(tmp_path, "clone", "--quiet", bare.as_uri(), "clone")
    with fake_forge(bare) as forge:
        yield Site(tmp_path / "clone", bare, forge)


def test_without_a_forge_a_branch_deletes_the_idle_skill_and_nothing_of_the_work_tree_moves(tmp_path: Path) -> None:
    folder = make_audited(tmp_path / "pröject")
    (folder / ".agents").mkdir()
    (folder / ".agents" / "polite").symlink_to("../skills/polite")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Add a link")
    before = (git(folder, "rev-parse", "HEAD"), (folder / ".git" / "index").read_bytes())
    offer = offered(folder)
    assert (offer["skills"], offer["action"], offer["next_step"]) == (["polite"], "opened", f"git push origin {BRANCH}")
    assert git(folder, "rev-parse", BRANCH) == offer["commit"]
    changed = git(folder, "diff", "--no-renames", "--name-status", "HEAD", BRANCH).split()
    assert changed == ["D", ".agents/polite", "M", "skillopt.toml", "D", "skills/polite/SKILL.md"]
    config = git(folder, "show", f"{BRANCH}:skillopt.toml")
    assert "polite" not in config
    assert "[skills.rows]" in config
    assert (git(folder, "rev-parse", "HEAD"), (folder / ".git" / "index").read_bytes()) == before
    assert git(folder, "status", "--porcelain") == ""
    text = Path(offer["url"]).read_text(encoding="utf-8")
    assert "| <code>polite</code> | 0." in text
    assert "they stay: <code>suites/polite.jsonl</code>" in unescape(text)
    again = offered(folder)
    assert (again["commit"], again["action"]) == (offer["commit"], "")
    assert skillopt(folder, "clean", "--branches", "--yes").returncode == 0
    assert git(folder, "branch", "--list", "skillopt*/*") == ""


def test_a_pull_request_is_opened_once_and_kept_as_it_is(site: Site) -> None:
    first = site.offered()
    assert (first["action"], first["skills"], site.tip()) == ("opened", ["polite"], first["commit"])
    assert site.pull()["title"] == "Remove the idle skill polite"
    assert "removal loses at most" in site.pull()["body"]
    (site.folder / "README").write_text("Other news.\n")
    git(site.folder, "add", "-A")
    git(site.folder, "commit", "-qm", "By hand")
    git(site.folder, "push", "-q", "origin", "HEAD:main")
    written = len(site.forge.writes)
    again = site.offered()
    assert (again["action"], again["commit"], len(site.forge.writes)) == ("", first["commit"], written)
    assert list(site.forge.pulls) == [1]


def test_a_commit_of_a_person_on_the_branch_is_left_alone(site: Site) -> None:
    site.offered()
    git(site.folder, "fetch", "-q", "origin", BRANCH)
    git(site.folder, "checkout", "-q", "-b", "mine", "FETCH_HEAD")
    git(site.folder, "commit", "-q", "--allow-empty", "-m", "Mine")
    git(site.folder, "push", "-q", "origin", f"mine:{BRANCH}")
    git(site.folder, "checkout", "-q", "main")
    tip = site.tip()
    ended = skillopt(site.folder, *AUDIT, **site.environment)
    assert (ended.returncode, site.tip()) == (2, tip)
    assert "has commits of people" in ended.stderr


def test_a_pull_request_is_closed_where_no_skill_is_shown_idle_any_more(site: Site) -> None:
    site.offered()
    offer = site.offered("--pairs", "4")
    assert (offer["skills"], offer["action"], site.pull()["state"]) == ([], "closed", "closed")


def test_a_text_that_is_not_committed_is_not_proposed(tmp_path: Path) -> None:
    folder = make_audited(tmp_path)
    (folder / "skills" / "polite" / "SKILL.md").write_text(IDLE.format("polite") + "- Be brief.\n", encoding="utf-8")
    offer = offered(folder)
    assert offer["skills"] == []
    assert "another text of it than was audited" in offer["notes"][0]
    assert git(folder, "branch", "--list", BRANCH) == ""


def test_the_offer_is_about_all_skills_and_a_missing_token_is_told_before_anything_is_run(tmp_path: Path) -> None:
    folder = make_audited(tmp_path)
    named = skillopt(folder, "audit", "polite", "--offer")
    assert (named.returncode, "about all of the project" in named.stderr) == (2, True)
    tokenless = skillopt(folder, "audit", "--offer", "--set", "forge=github", GITHUB_TOKEN="", GH_TOKEN="", CI="true")
    assert (tokenless.returncode, "expected a token" in tokenless.stderr) == (2, True)
    assert not (folder / ".skillopt" / "ledger.db").exists()
