"""A project with several skills, its bare remote, and nights over it."""

import json
import shutil
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fakes.fake_forge import FakeForge
from tests.fakes.projects import git, make_project, skillopt

__all__ = ["TOKEN", "Nights", "make_nights"]

TOKEN = "ghp_" + "d4" * 18
_QUICK = (
    "harness = 'demo'\nmodel = 'demo'\nepochs = 3\nconfidence = 0.7\n\n[advanced]\nbatch_size = 4\nslow_tasks = 4\n"
)


@dataclass(frozen=True)
class Nights:
    """A clone in which `skillopt nightly` is run.

    Args:
        folder: The clone.
        bare: The remote.
        forge: Where pull requests go; None for a folder.
    """

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
            "SKILLOPT_FORGE_URL": self.forge.url,
            "SKILLOPT_RETRY_SECONDS": "0",
        }

    def run(self, *arguments: str, expect: int = 0) -> dict[str, Any]:
        """Run a night as a user does; give its skills by name."""
        ended = skillopt(self.folder, "nightly", "--json", *arguments, **self.environment)
        assert ended.returncode == expect, (ended.returncode, ended.stderr)
        assert TOKEN not in ended.stdout + ended.stderr
        result: dict[str, Any] = json.loads(ended.stdout)
        return {row["skill"]: row for row in result["skills"]}

    def tell(self, *arguments: str) -> str:
        """Run a night and give what it prints for people."""
        return skillopt(self.folder, "nightly", "--quiet", *arguments, **self.environment).stdout

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
            forge.issues = deepcopy(self.forge.issues)
        forge.repository = folder / "bare.git"
        git(folder / "clone", "remote", "set-url", "origin", forge.repository.as_uri())
        return Nights(folder / "clone", forge.repository, forge)

    def tip(self, skill: str = "rows") -> str:
        """Give where the remote has a skill's branch, empty for nowhere."""
        return git(self.bare, "for-each-ref", "--format=%(objectname)", f"refs/heads/skillopt/{skill}")

    def change(self, words: str, skill: str = "rows") -> None:
        """Change a skill on the default branch as a person would, from this clone."""
        document = self.folder / "skills" / skill / "SKILL.md"
        document.write_text(document.read_text() + words)
        git(self.folder, "commit", "--quiet", "-am", "By hand")
        git(self.folder, "push", "--quiet", "origin", "HEAD:main")


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
