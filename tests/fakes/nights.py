"""A project with several skills, its bare remote, and nights over it."""

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skillopt.nightly.people_commands import read_checklist
from skillopt.storage.ledger import Ledger
from tests.fakes.fake_forge import FakeForge
from tests.fakes.projects import git, make_project, skillopt

TOKEN = "ghp_" + "d4" * 18
BRANCH, SKILL_FILE = "skillopt/rows", "skills/rows/SKILL.md"
_ANNA = "--author=Anna <anna@teams.example>"
_NEEDED = ("(?i)lower.case", "YYYY-MM-DD")
"""What the demo target must read in a skill to solve half of the tasks each."""

_PASSED = re.compile(r"rows: (?P<before>\d+) → (?P<after>\d+) of (?P<of>\d+) (?:val|held-out) tasks passed")
_FLAGS = ("--json", "--quiet")
_REACHING = ("--set",)
_TRAINING = ("--max-rollouts", "--max-usd", "--record", "--set", "--quiet")
_QUICK = "harness = 'demo'\nmodel = 'demo'\nconfidence = 0.7\n"


@dataclass(frozen=True)
class Nights:
    """A clone in which `skillopt nightly` is run."""

    folder: Path
    bare: Path
    forge: FakeForge | None

    @property
    def environment(self) -> dict[str, str]:
        if self.forge is None:
            return {}
        return {
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_REPOSITORY": self.forge.name,
            "SKILLOPT_FORGE": "github",
            "GITHUB_API_URL": self.forge.url,
            "SKILLOPT_RETRY_SECONDS": "0",
        }

    def run(
        self, *arguments: str, expect: int = 0, before_offer: Callable[[], object] = lambda: None
    ) -> dict[str, Any]:
        """Run the three steps of a night, with a token in the first and the last only; give its skills by name."""
        ended = self.steps("--json", *arguments, before_offer=before_offer)
        assert ended.returncode == expect, (ended.returncode, ended.stderr)
        assert TOKEN not in ended.stdout + ended.stderr
        result: dict[str, Any] = json.loads(ended.stdout)
        return {row["skill"]: row for row in result["skills"]}

    def night(self, *arguments: str, before_offer: Callable[[], object] = lambda: None) -> dict[str, Any]:
        """Check out main, and run a night."""
        git(self.folder, "fetch", "--quiet", "origin", "main")
        git(self.folder, "reset", "--quiet", "--hard", "FETCH_HEAD")
        return self.run(*arguments, before_offer=before_offer)

    def check_quiet(self) -> None:
        """Live through a night in which nothing may change and nothing may be paid."""
        tip, paid = self.tip(), self.recorded()
        assert self.forge is not None
        done = len(self.forge.writes)
        rows = self.night()
        assert (self.forge.writes[done:], self.tip()) == ([], tip)
        assert (self.recorded(), sum(row["rollouts"] for row in rows.values())) == (paid, 0)

    def recorded(self) -> int:
        """Count the rollouts that the ledger has."""
        if not (self.folder / ".skillopt" / "ledger.db").is_file():
            return 0
        with closing(Ledger.open(self.folder, read_only=True)) as ledger:
            return ledger.counts()["rollout"]

    def tell(self, *arguments: str) -> str:
        """Run a night and give what it prints for people."""
        return self.steps(*arguments).stdout

    def steps(
        self, *arguments: str, before_offer: Callable[[], object] = lambda: None
    ) -> "subprocess.CompletedProcess[str]":
        """Run the steps one after the other as far as they go, in this process; give how the last one ended.

        Which option a step does not have is left out: `--remote` is of those that reach a remote, caps are of training.
        """
        with TemporaryDirectory() as place:
            state, out = str(Path(place, "state.json")), str(Path(place, "out"))
            own = {name: value for name, value in self.environment.items() if name != "GITHUB_TOKEN"}
            checked = self.step("check", "--output", state, *_of(arguments, _REACHING), **self.environment)
            if checked.returncode:
                return checked
            trained = self.step("train", "--state", state, "--output", out, *_of(arguments, _TRAINING), **own)
            if trained.returncode not in (0, 3):
                return trained
            before_offer()
            return self.step("offer", out, *_of(arguments, (*_REACHING, "--json")), **self.environment)

    def step(self, name: str, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run one step."""
        return skillopt(self.folder, "nightly", name, *arguments, **environment)

    def clone(self, name: str, *options: str) -> "Nights":
        """Make another clone of the remote, as another machine would have it."""
        folder = self.folder.with_name(name)
        git(self.bare, "clone", "--quiet", *options, self.bare.as_uri(), str(folder))
        return Nights(folder, self.bare, self.forge)

    def copy(self, folder: Path, forge: FakeForge) -> "Nights":
        """Copy clone, remote and forge, so that one night serves many tests."""
        shutil.copytree(self.folder, folder / "clone", symlinks=True)
        shutil.copytree(self.bare, folder / "bare.git", symlinks=True)
        if self.forge is not None:
            forge.pulls, forge.comments = deepcopy(self.forge.pulls), deepcopy(self.forge.comments)
        forge.repository = folder / "bare.git"
        git(folder / "clone", "remote", "set-url", "origin", forge.repository.as_uri())
        return Nights(folder / "clone", forge.repository, forge)

    def tip(self, skill: str = "rows") -> str:
        """Return where the remote has a skill's branch, empty for nowhere."""
        return git(self.bare, "for-each-ref", "--format=%(objectname)", f"refs/heads/skillopt/{skill}")

    def text(self, commit: str = BRANCH) -> str:
        """Read the skill at a commit of the remote."""
        return git(self.bare, "show", f"{commit}:{SKILL_FILE}")

    def person(self, change: Callable[[Path], None], branch: str = "main", *, force: bool = False) -> str:
        """Let Anna change a branch in a clone of her own; give its new tip."""
        with TemporaryDirectory(dir=self.bare.parent) as place:
            folder = Path(place, "clone")
            git(self.bare, "clone", "--quiet", self.bare.as_uri(), str(folder))
            git(folder, "checkout", "--quiet", branch)
            change(folder)
            git(folder, "add", ".")
            if git(folder, "status", "--porcelain"):
                git(folder, "commit", "--quiet", _ANNA, "-m", "By Anna")
            git(folder, "push", "--quiet", *(["--force"] if force else []), "origin", f"HEAD:{branch}")
            return git(folder, "rev-parse", "HEAD")

    def check_claims(self, number: int = 1) -> None:
        """Compare what an open pull request says with git, and its numbers with what the tasks need."""
        assert self.forge is not None
        pull = self.forge.pulls[number]
        body, branch = pull["body"], pull["branch"]
        blocks = re.findall(r"```diff\n(.*?)\n```", body, re.DOTALL)
        shown = Counter(line for block in blocks for line in block.splitlines() if line[0] in "+-")
        listed = git(self.bare, "diff", "-U0", f"main...{branch}", "--", SKILL_FILE).splitlines()
        assert shown == Counter(line for line in listed if re.match(r"[+-](?![+-]{2} )", line) and line[1:].strip())
        new = git(self.bare, "log", "--format=%H", "--first-parent", branch, "^main").splitlines()
        assert {box.key.partition("/")[0] for box in read_checklist(body)} <= {sha[:12] for sha in new}
        found = _PASSED.match(pull["title"])
        assert found is not None, pull["title"]
        assert pull["state"] == "open"
        for commit, passed in (("main", "before"), (branch, "after")):
            least, most = _passing(self.text(commit), int(found["of"]))
            assert least <= int(found[passed]) <= most, pull["title"]


def append(path: str, text: str) -> Callable[[Path], None]:
    """Return what a person does who adds text to a file."""

    def change(folder: Path) -> None:
        place = folder / path
        place.write_text((place.read_text() if place.exists() else "") + text)

    return change


def one_more_task(folder: Path) -> None:
    """Add a task to each suite, so that its skill is due again."""
    for suite in (folder / "suites").glob("*.jsonl"):
        lines = suite.read_text().splitlines()
        suite.write_text("\n".join([*lines, lines[1].replace("train1", f"train{len(lines) + 70}")]) + "\n")


def _passing(text: str, tasks: int) -> tuple[int, int]:
    """Return how many tasks the demo target, which overlooks rules at random, may pass: half need each rule."""
    rules, half = sum(bool(re.search(words, text)) for words in _NEEDED), tasks // 2
    return (0, 0) if not rules else (half + 1, tasks) if rules == len(_NEEDED) else (1, half)


def _of(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    given, chosen = iter(arguments), list[str]()
    for option in given:
        words = [option] if option in _FLAGS else [option, next(given)]
        chosen += words if option in options else []
    return chosen


def make_nights(folder: Path, forge: FakeForge | None = None, skills: Sequence[str] = ("rows",)) -> Nights:
    """Make a project with skills, its bare remote and a clone."""
    made = make_project(folder / "made")
    text = (made / "skills" / "rows" / "SKILL.md").read_text()
    config = _QUICK
    for skill in skills:
        (made / "skills" / skill).mkdir(exist_ok=True)
        (made / "skills" / skill / "SKILL.md").write_text(text.replace("name: rows", f"name: {skill}"))
        config += f'\n[skills.{skill}]\nsuite = "suites/rows.jsonl"\ngate = "paired"\n'
    (made / "skillopt.toml").write_text(config)
    git(made, "add", ".")
    git(made, "commit", "--quiet", "-am", "Several skills")
    git(folder, "clone", "--quiet", "--bare", str(made), "bare.git")
    nights = Nights(made, folder / "bare.git", forge)
    if forge is not None:
        forge.repository = nights.bare
    return nights.clone("clone")
