"""Pull requests as Markdown files in a folder, for projects without a forge."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from skillopt.errors import ForgeDownError
from skillopt.nightly.forges import DRAFT_TITLE
from skillopt.protocols import Comment, PullRequest, RepositoryFacts


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
    """A folder with one Markdown file for each open pull request, and a record of every one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def facts(self) -> RepositoryFacts:
        """Say that texts go beside whatever HEAD is; a folder is nobody's and not public."""
        return RepositoryFacts("HEAD", public=False, login="", may_open=True)

    def pull_requests(self, branch: str) -> tuple[PullRequest, ...]:
        """List what was written for a branch, newest first."""
        kept = (one for one in reversed(self._all()) if one.branch == branch)
        return tuple(map(self._read, kept))

    def comments(self, number: int) -> tuple[Comment, ...]:  # noqa: ARG002 - as the port has it
        """List nothing: nobody can answer in a folder."""
        return ()

    def create(self, branch: str, into: str, title: str, body: str, *, draft: bool = False) -> PullRequest:
        """Write a text, or give the one that is there."""
        opened = [one for one in self.pull_requests(branch) if one.state == "open"]
        if not opened:
            self._keep(_Kept(len(self._all()) + 1, branch, into, title, body, draft=draft))
        return opened[0] if opened else self.pull_requests(branch)[0]

    def update(self, number: int, title: str, body: str, *, draft: bool | None = None) -> None:
        """Write a text anew."""
        one = self._all()[number - 1]
        self._keep(replace(one, title=title, body=body, draft=one.draft if draft is None else draft))

    def comment(self, number: int, topic: str, body: str) -> None:
        """Add a remark to a text, in place of the one about the same topic."""
        one = self._all()[number - 1]
        self._keep(replace(one, comments={**one.comments, topic: body}))

    def close(self, number: int) -> None:
        """Remove a text; its record stays."""
        self._keep(replace(self._all()[number - 1], state="closed"))

    def _read(self, one: _Kept) -> PullRequest:
        return PullRequest(
            one.number,
            Path(*self.folder.parts[-2:], self._text(one).name).as_posix(),  # no folder of this machine in a commit
            one.state,
            head="",
            title=one.title,
            body=one.body,
            draft=one.draft,
            base=one.into,
        )

    def _text(self, one: _Kept) -> Path:
        return self.folder / f"{one.branch.replace('/', '-')}.md"

    def _all(self) -> list[_Kept]:
        try:
            records = [json.loads(path.read_text(encoding="utf-8")) for path in self.folder.glob("*.json")]
        except (OSError, ValueError) as error:
            raise _unusable(self.folder, error) from error
        kept = (_Kept(**record) for record in records)
        return sorted(kept, key=lambda one: one.number)

    def _keep(self, one: _Kept) -> None:
        """Write record and text aside, then put them in place."""
        record: dict[str, Any] = asdict(one)
        title = f"{DRAFT_TITLE if one.draft else ''}{one.title}"
        text = "\n\n".join([f"# {title}", one.body, *(f"---\n\n{comment}" for comment in one.comments.values())])
        try:
            _write(self.folder / f"{one.number}.json", json.dumps(record, ensure_ascii=False, indent=1))
            if one.state == "open":
                _write(self._text(one), text)
            else:
                self._text(one).unlink(missing_ok=True)
        except OSError as error:
            raise _unusable(self.folder, error) from error


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.new")
    aside.write_text(text + "\n", encoding="utf-8")
    aside.replace(path)


def _unusable(folder: Path, error: Exception) -> ForgeDownError:
    return ForgeDownError(f"cannot keep pull requests in {folder}: {error}; make it writable or move it away")
