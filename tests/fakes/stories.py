"""Nights as a team lives through them: its people on the remote and on the forge, and what is true after each night."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skillopt.nightly.people_commands import read_checklist
from skillopt.storage.ledger import Ledger
from tests.fakes.fake_forge import FakeForge, fake_forge
from tests.fakes.nights import TOKEN, Nights, make_nights
from tests.fakes.projects import git, skillopt

BRANCH = "skillopt/rows"
SKILL_FILE = "skills/rows/SKILL.md"
_NEEDED = ("(?i)lower.case", "YYYY-MM-DD")
"""What the demo target must read in a skill to solve half of the tasks each."""

_ANNA = "--author=Anna <anna@teams.example>"
_PASSED = re.compile(r"rows: (?P<before>\d+) → (?P<after>\d+) of (?P<of>\d+) (?:val|held-out) tasks passed")


@dataclass(frozen=True)
class Night:
    """What a night did."""

    code: int
    step: str
    result: dict[str, Any]
    errors: str
    paid: int
    writes: tuple[str, ...]

    @property
    def row(self) -> dict[str, Any]:
        found: dict[str, Any]
        (found,) = self.result["skills"]
        return found

    @property
    def offer(self) -> str:
        return str(self.row["offer"]["action"])


@dataclass(frozen=True)
class Story:
    """A skill, its remote, its forge, and the machine where its nights run."""

    nights: Nights
    forge: FakeForge
    place: Path

    def night(self, *options: str, before_offer: Callable[[], None] = lambda: None) -> Night:
        """Check out main, and run the three steps, of which the first and the last have a token."""
        kept, done = self.recorded(), len(self.forge.writes)
        with TemporaryDirectory() as place:
            step, ended = self.train(Path(place), *options)
            if step == "train" and ended.returncode in (0, 3):
                before_offer()
                step, ended = "offer", self.step("offer", str(Path(place, "out")), token=True)
        return self._told(step, ended, kept, done)

    def train(self, place: Path, *options: str) -> "tuple[str, subprocess.CompletedProcess[str]]":
        """Check out main, and run the steps before the offer into `out`; give the last one's name, and how it ended."""
        self._check_out()
        state, out = str(place / "state.json"), str(place / "out")
        ended = self.step("check", "--output", state, token=True)
        if ended.returncode:
            return "check", ended
        return "train", self.step("train", "--state", state, "--output", out, "--quiet", *options)

    def step(self, name: str, *options: str, token: bool = False) -> "subprocess.CompletedProcess[str]":
        """Run one step, of which training has no token."""
        environment = dict(self.nights.environment)
        if not token:
            del environment["GITHUB_TOKEN"]
        return skillopt(self.nights.folder, "nightly", name, "--json", *options, **environment)

    def elsewhere(self, name: str) -> "Story":
        """Return another machine with a fresh clone, which has no record of any run."""
        return Story(self.nights.clone(name), self.forge, self.place)

    def _check_out(self) -> None:
        git(self.nights.folder, "fetch", "--quiet", "origin", "main")
        git(self.nights.folder, "reset", "--quiet", "--hard", "FETCH_HEAD")

    def _told(self, step: str, ended: "subprocess.CompletedProcess[str]", kept: int, done: int) -> Night:
        assert "Traceback" not in ended.stderr
        assert TOKEN not in ended.stdout + ended.stderr
        result = json.loads(ended.stdout) if ended.stdout.strip() else {}
        writes = tuple(self.forge.writes[done:])
        return Night(ended.returncode, step, result, ended.stderr, self.recorded() - kept, writes)

    def recorded(self) -> int:
        """Count the rollouts that the ledger has."""
        if not (self.nights.folder / ".skillopt" / "ledger.db").is_file():
            return 0
        with closing(Ledger.open(self.nights.folder, read_only=True)) as ledger:
            return ledger.counts().rollouts

    def pull(self, number: int = 1) -> dict[str, Any]:
        """Return a pull request as the forge has it."""
        return self.forge.pulls[number]

    def text(self, commit: str = BRANCH) -> str:
        """Read the skill at a commit of the remote."""
        return git(self.nights.bare, "show", f"{commit}:{SKILL_FILE}")

    def tip(self, branch: str = BRANCH) -> str:
        """Return where the remote has a branch, empty for nowhere."""
        return git(self.nights.bare, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")

    @contextmanager
    def person(self) -> Iterator[Path]:
        """Return a person a fresh clone to work in."""
        with TemporaryDirectory(dir=self.place) as place:
            folder = Path(place, "clone")
            git(self.place, "clone", "--quiet", self.nights.bare.as_uri(), str(folder))
            yield folder

    def edit(self, branch: str, line: str, *, instead_of: str = "") -> str:
        """Let a person commit a line of the skill on a branch, or change one; give the commit."""
        with self.person() as folder:
            git(folder, "checkout", "--quiet", branch)
            document = folder / SKILL_FILE
            text = document.read_text()
            document.write_text(text.replace(instead_of, line) if instead_of else f"{text}- {line}\n")
            git(folder, "commit", "--quiet", _ANNA, "-am", "A rule of ours")
            git(folder, "push", "--quiet", "origin", branch)
            return git(folder, "rev-parse", "HEAD")

    def edit_other(self) -> None:
        """Let a person commit a file on main that is of no skill."""
        with self.person() as folder:
            (folder / "README").write_text("Other things.\n")
            git(folder, "add", "README")
            git(folder, "commit", "--quiet", _ANNA, "-m", "Other things")
            git(folder, "push", "--quiet", "origin", "main")

    def grow_suite(self) -> None:
        """Let a person add a task, so that the skill is due again."""
        with self.person() as folder:
            suite = folder / "suites" / "rows.jsonl"
            lines = suite.read_text().splitlines()
            name = f"train{len(lines) + 70}"
            suite.write_text("\n".join([*lines, lines[1].replace("train1", name)]) + "\n")
            git(folder, "commit", "--quiet", _ANNA, "-am", "One more task")
            git(folder, "push", "--quiet", "origin", "main")

    def merge(self) -> None:
        """Let a person merge the pull request as the forge's button for one commit would."""
        with self.person() as folder:
            git(folder, "merge", "--quiet", "--squash", f"origin/{BRANCH}")
            git(folder, "commit", "--quiet", "-m", self.pull()["title"])
            git(folder, "push", "--quiet", "origin", "main")
        self.forge.set_state(1, merged=True)

    def force(self, branch: str, change: Callable[[Path], None]) -> str:
        """Let a person rewrite a branch; give its new tip."""
        with self.person() as folder:
            git(folder, "checkout", "--quiet", branch)
            change(folder)
            git(folder, "push", "--quiet", "--force", "origin", branch)
        return self.tip(branch)

    def check_unchanged(self) -> None:
        """Live through a night in which nothing may change and nothing may be paid."""
        tip, pulls = self.tip(), self._written()
        night = self.night()
        assert (night.code, night.paid, night.result["rollouts"], night.writes) == (0, 0, 0, ()), night
        assert (self.tip(), self._written()) == (tip, pulls)

    def _written(self) -> dict[int, tuple[object, ...]]:
        return {
            number: tuple(pull[key] for key in ("state", "draft", "title", "body"))
            for number, pull in self.forge.pulls.items()
        }

    def number_of(self, words: str) -> int:
        """Return the number of the edit in the first pull request that says something."""
        (line,) = (line for line in self.pull(1)["body"].splitlines() if line.startswith("- [") and words in line)
        return int(line.split("**")[1])

    def check_claims(self, number: int = 1) -> None:
        """Compare what an open pull request says with git, and its numbers with what the tasks need."""
        pull, bare = self.pull(number), self.nights.bare
        body, branch = pull["body"], pull["branch"]
        assert pull["state"] == "open"
        assert self._shown(body) == self._merged(branch)
        merged = git(bare, "merge-tree", "--write-tree", "main", branch)
        assert git(bare, "diff", "--name-only", "main", merged) == SKILL_FILE
        new = git(bare, "log", "--format=%H", "--first-parent", branch, "^main").splitlines()
        boxes = read_checklist(body)
        assert [box.number for box in boxes if box.ticked] == sorted(box.number for box in boxes)
        assert {box.key.partition("/")[0] for box in boxes} <= {sha[:12] for sha in new}
        by_anna = [sha for sha in new if git(bare, "log", "-1", "--format=%an", sha) == "Anna"]
        assert [sha for sha in new if not self._trailer(sha, "Skill")] == by_anna
        kept = any(line in self.text(branch) for sha in by_anna for line in self._added(sha))
        assert ("Anna" in body.partition("<details>")[0]) == kept
        found = _PASSED.match(pull["title"])
        assert found is not None, pull["title"]
        of = int(found["of"])
        for commit, passed in (("main", found["before"]), (branch, found["after"])):
            least, most = _passing(self.text(commit), of)
            assert least <= int(passed) <= most, pull["title"]
        assert f"{found['before']} → {found['after']} of {of}" in body

    def _added(self, commit: str) -> list[str]:
        shown = git(self.nights.bare, "show", "--format=", "-U0", commit, "--", SKILL_FILE).splitlines()
        return [line[1:] for line in shown if re.match(r"\+(?!\+\+ )", line)]

    def _trailer(self, commit: str, key: str) -> str:
        return git(self.nights.bare, "log", "-1", f"--format=%(trailers:key={key},valueonly)", commit)

    def _shown(self, body: str) -> Counter[str]:
        """Count the lines that a text says would be merged; those by people stand there twice."""
        blocks = re.findall(r"```diff\n(.*?)\n```", body, re.DOTALL)
        again = re.findall(r"by people.*?```diff\n(.*?)\n```", body, re.DOTALL)
        lines = Counter(line for block in blocks for line in block.splitlines() if line[0] in "+-")
        return lines - Counter(line for block in again for line in block.splitlines())

    def _merged(self, branch: str) -> Counter[str]:
        listed = git(self.nights.bare, "diff", "-U0", f"main...{branch}", "--", SKILL_FILE).splitlines()
        return Counter(line for line in listed if re.match(r"[+-](?![+-]{2} )", line) and line[1:].strip())


def _passing(text: str, tasks: int) -> tuple[int, int]:
    """Return how many tasks the demo target, which overlooks rules at random, may pass: half need each rule."""
    rules = sum(bool(re.search(words, text)) for words in _NEEDED)
    half = tasks // 2
    return (0, 0) if not rules else (half + 1, tasks) if rules == len(_NEEDED) else (1, half)


@contextmanager
def begun_story(place: Path) -> Iterator[Story]:
    """Make a project and live through its first night, which opens a pull request."""
    with fake_forge() as forge:
        story = Story(make_nights(place, forge), forge, place)
        first = story.night()
        assert (first.code, first.offer) == (0, "opened"), first.errors
        assert first.paid == first.result["rollouts"] > 0
        yield story
