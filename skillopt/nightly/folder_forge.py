"""Pull requests as Markdown files in a folder, for projects without a forge."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from skillopt.errors import ForgeDownError
from skillopt.nightly.forges import DRAFT_TITLE
from skillopt.protocols import Comment, PullRequest, RepositoryFacts
from skillopt.suites.config_lines import put_file


@dataclass(frozen=True, slots=True)
class _Kept:
    """The record of a pull request, a JSON file, and what was said under it, by topic."""

    branch: str
    request: PullRequest
    comments: dict[str, str]


class FolderForge:
    """A folder with one Markdown file for each open pull request, and a record of every one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def facts(self) -> RepositoryFacts:
        """Say that texts go beside whatever HEAD is; a folder is nobody's and not public."""
        return RepositoryFacts("HEAD", public=False, may_open=True)

    def pull_requests(self, branch: str) -> tuple[PullRequest, ...]:
        """List what was written for a branch, newest first."""
        return tuple(one.request for one in reversed(self._all()) if one.branch == branch)

    def comments(self, number: int) -> tuple[Comment, ...]:  # noqa: ARG002 - as the port has it
        """List nothing: nobody can answer in a folder."""
        return ()

    def create(self, branch: str, into: str, title: str, body: str, *, draft: bool = False) -> PullRequest:  # noqa: ARG002 - as the port has it
        """Write a text, or give the one that is there."""
        for one in self.pull_requests(branch):
            if one.state == "open":
                return one
        # No folder of this machine stands in a commit.
        url = Path(*self.folder.parts[-2:], self._text(branch).name).as_posix()
        made = PullRequest(len(self._all()) + 1, url, "open", head="", title=title, body=body, draft=draft)
        self._keep(_Kept(branch, made, {}))
        return made

    def update(self, number: int, title: str, body: str, *, draft: bool | None = None) -> None:
        """Write a text anew."""
        one = self._all()[number - 1]
        changed = replace(one.request, title=title, body=body, draft=one.request.draft if draft is None else draft)
        self._keep(replace(one, request=changed))

    def comment(self, number: int, topic: str, body: str) -> None:
        """Add a remark to a text, in place of the one about the same topic."""
        one = self._all()[number - 1]
        self._keep(replace(one, comments={**one.comments, topic: body}))

    def close(self, number: int) -> None:
        """Remove a text; its record stays."""
        one = self._all()[number - 1]
        self._keep(replace(one, request=replace(one.request, state="closed")))

    def _text(self, branch: str) -> Path:
        return self.folder / f"{branch.replace('/', '-')}.md"

    def _all(self) -> list[_Kept]:
        try:
            records = [json.loads(path.read_text(encoding="utf-8")) for path in self.folder.glob("*.json")]
        except (OSError, ValueError) as error:
            message = f"cannot read the pull requests in {self.folder}: {error}; mend that file or move it away"
            raise ForgeDownError(message) from error
        kept = (_Kept(one["branch"], PullRequest(**one["request"]), one["comments"]) for one in records)
        return sorted(kept, key=lambda one: one.request.number)

    def _keep(self, one: _Kept) -> None:
        """Write record and text aside, then put them in place."""
        made, place = one.request, self._text(one.branch)
        title = f"{DRAFT_TITLE if made.draft else ''}{made.title}"
        text = "\n\n".join([f"# {title}", made.body, *(f"---\n\n{comment}" for comment in one.comments.values())])
        record = json.dumps(asdict(one), ensure_ascii=False, indent=1)
        put_file(self.folder / f"{made.number}.json", f"{record}\n")
        if made.state == "open":
            put_file(place, f"{text}\n")
        else:
            place.unlink(missing_ok=True)
