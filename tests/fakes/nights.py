"""A project with several skills, its bare remote, and nights over it."""

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.fakes.fake_forge import FakeForge
from tests.fakes.projects import git, make_project, skillopt

TOKEN = "ghp_" + "d4" * 18
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

    def run(self, *arguments: str, expect: int = 0, before_offer: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Run the three steps of a night, with a token in the first and the last only; give its skills by name."""
        ended = self.steps("--json", *arguments, before_offer=before_offer)
        assert ended.returncode == expect, (ended.returncode, ended.stderr)
        assert TOKEN not in ended.stdout + ended.stderr
        result: dict[str, Any] = json.loads(ended.stdout)
        return {row["skill"]: row for row in result["skills"]}

    def tell(self, *arguments: str) -> str:
        """Run a night and give what it prints for people."""
        return self.steps(*arguments).stdout

    def steps(
        self, *arguments: str, before_offer: Callable[[], None] = lambda: None
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

    def change(self, words: str, skill: str = "rows", branch: str = "main") -> None:
        """Change a skill on a branch that is checked out here, as a person would."""
        document = self.folder / "skills" / skill / "SKILL.md"
        document.write_text(document.read_text() + words)
        git(self.folder, "commit", "--quiet", "-am", "By hand")
        git(self.folder, "push", "--quiet", "origin", f"HEAD:{branch}")


def _of(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    given, chosen = iter(arguments), list[str]()
    for option in given:
        words = [option] if option in _FLAGS else [option, next(given)]
        chosen += words if option in options else []
    return chosen


def make_nights(
    folder: Path, forge: FakeForge | None = None, skills: Sequence[str] = ("rows",), tasks: int = 8
) -> Nights:
    """Make a project with skills, its bare remote and a clone."""
    made = make_project(folder / "made", tasks)
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
