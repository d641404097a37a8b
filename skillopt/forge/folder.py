"""Pull requests as Markdown files in a folder, for projects without a forge."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from filelock import FileLock, Timeout

from skillopt.errors import ForgeDownError
from skillopt.protocols import PullRequest

__all__ = ["FolderForge"]

_PATIENCE: Final = 30


@dataclass(frozen=True, slots=True)
class _Kept:
    """The record of a pull request, a JSON file."""

    number: int
    branch: str
    into: str
    title: str
    body: str
    state: Literal["open", "closed"] = "open"
    comments: dict[str, str] = field(default_factory=dict)
    draft: bool = False


class FolderForge:
    """A folder with one Markdown file for each open pull request, and a record of every one.

    Args:
        folder: Created when the first text is written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def default_branch(self) -> str:
        """Name the branch that pull requests go to: whatever HEAD is."""
        return "HEAD"

    def pull_requests(self, branch: str) -> tuple[PullRequest, ...]:
        """List what was written for a branch, newest first."""
        kept = (one for one in reversed(self._all()) if one.branch == branch)
        return tuple(
            PullRequest(one.number, str(self._text(one)), one.state, "", one.title, one.body, one.draft) for one in kept
        )

    def create(self, branch: str, into: str, title: str, body: str, *, draft: bool = False) -> PullRequest:
        """Write a text, or give the one that is there."""
        with self._alone():
            opened = [one for one in self.pull_requests(branch) if one.state == "open"]
            if not opened:
                self._keep(_Kept(len(self._all()) + 1, branch, into, title, body, draft=draft))
            return opened[0] if opened else self.pull_requests(branch)[0]

    def update(self, number: int, title: str, body: str) -> None:
        """Write a text anew."""
        self._keep(replace(self._all()[number - 1], title=title, body=body))

    def comment(self, number: int, topic: str, body: str) -> None:
        """Add a remark to a text, in place of the one about the same topic."""
        one = self._all()[number - 1]
        self._keep(replace(one, comments={**one.comments, topic: body}))

    def close(self, number: int) -> None:
        """Remove a text; its record stays."""
        self._keep(replace(self._all()[number - 1], state="closed"))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Number texts one process at a time."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self._folder / "lock", timeout=_PATIENCE):
                yield
        except (OSError, Timeout) as error:
            raise _unusable(self._folder, error) from error

    def _text(self, one: _Kept) -> Path:
        return self._folder / f"{one.branch.replace('/', '-')}.md"

    def _all(self) -> list[_Kept]:
        try:
            records = [json.loads(path.read_text(encoding="utf-8")) for path in self._folder.glob("*.json")]
        except (OSError, ValueError) as error:
            raise _unusable(self._folder, error) from error
        return sorted((_Kept(**record) for record in records), key=lambda one: one.number)

    def _keep(self, one: _Kept) -> None:
        """Write record and text aside, then put them in place."""
        record: dict[str, Any] = asdict(one)
        title = f"{'Draft: ' if one.draft else ''}{one.title}"
        text = "\n\n".join([f"# {title}", one.body, *(f"---\n\n{comment}" for comment in one.comments.values())])
        try:
            _write(self._folder / f"{one.number}.json", json.dumps(record, ensure_ascii=False, indent=1))
            if one.state == "open":
                _write(self._text(one), text)
            else:
                self._text(one).unlink(missing_ok=True)
        except OSError as error:
            raise _unusable(self._folder, error) from error


def _write(path: Path, text: str) -> None:
    aside = path.with_name(f"{path.name}.new")
    aside.write_text(text + "\n", encoding="utf-8")
    aside.replace(path)


def _unusable(folder: Path, error: Exception) -> ForgeDownError:
    return ForgeDownError(f"cannot keep pull requests in {folder}: {error}; make it writable or move it away")
