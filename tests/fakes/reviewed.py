"""A repository whose pull requests were reviewed: reviewers ask for the same thing again and again."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.projects import git

SAID = (
    "Please use logger.info instead of print.",
    "nit: use logger.info instead of print here",
    "We use logger.info instead of print in this package",
    "Use `logger.info` instead of print, please",
)

_BEFORE = """\
import logging

logger = logging.getLogger(__name__)


def {name}(rows):
    print("{name} begins")
    for row in rows:
        row.{name}()
    return rows
"""
_AFTER = _BEFORE.replace("print(", "logger.info(")


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A remark, and the commits of its pull request before and after."""

    number: int
    author: str
    path: str
    text: str
    before: str
    after: str

    def row(self, **more: object) -> dict[str, object]:
        """Return the remark as GitHub's API gives it."""
        return {
            "id": self.number,
            "user": {"login": self.author, "type": "User"},
            "body": self.text,
            "path": self.path,
            "original_line": 7,
            "original_start_line": None,
            "original_commit_id": self.before,
            "commit_id": self.after,
            "html_url": f"https://github.com/acme/skills/pull/{self.number}#discussion_r{self.number}",
            "created_at": f"2026-03-{self.number:02}T10:00:00Z",
            **more,
        }


def make_reviewed(folder: Path, said: tuple[str, ...] = SAID) -> Iterator[Reviewed]:
    """Commit a change, and the change after its review, on a branch for each remark."""
    main = git(folder, "branch", "--show-current")
    for number, text in enumerate(said, 1):
        name, path = f"step{number}", f"src/step{number}.py"
        git(folder, "checkout", "--quiet", "-b", name, main)
        commits = []
        for content in (_BEFORE, _AFTER):
            (folder / "src").mkdir(exist_ok=True)
            (folder / path).write_text(content.replace("{name}", name), encoding="utf-8")
            git(folder, "add", ".")
            git(folder, "commit", "--quiet", "-m", f"Add {name}")
            commits.append(git(folder, "rev-parse", "HEAD"))
        yield Reviewed(number, ("ada", "mo", "eve")[number % 3], path, text, *commits)
        git(folder, "checkout", "--quiet", main)


def export(path: Path, rows: list[dict[str, object]]) -> Path:
    """Write rows as `gh api --paginate` does: one list a page, one after the other."""
    path.write_text("".join(json.dumps(rows[at : at + 3]) for at in range(0, len(rows), 3)), encoding="utf-8")
    return path
