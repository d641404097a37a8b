"""Serve the runs of a project as live pages for this machine's own browser, for the command `serve`.

Each page is made anew when the record has changed. The one page that changes something is the review of candidates for
tasks.
"""

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Final

from skillopt.commands.pages import rollout_text, run_page
from skillopt.commands.status import run_status
from skillopt.commands.tasks.review_page import ReviewPages
from skillopt.errors import SkilloptError, UsageError
from skillopt.project import Project
from skillopt.reports.html import RunEntry, live_policy, render_index
from skillopt.reports.load_view import load_view
from skillopt.reports.local_server import Answer, LoopbackServer
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.locks import is_locked
from skillopt.tasks import digest_of

__all__ = ["LivePages", "serve"]

_MOST_RUNS: Final = 100
_KEPT: Final = 8
"""Pages that are kept ready."""
_RUN: Final = re.compile(r"/runs/([\w-]+)")
_ROLLOUT: Final = re.compile(r"/runs/([\w-]+)/rollouts/([0-9a-f]{64})\.txt")


class LivePages:
    """The pages of a project by path; each is made again when the record has changed since.

    Args:
        project: Whose runs are shown.
        all_splits: Whether rollouts of held-out tasks are shown, too.
    """

    def __init__(self, project: Project, *, all_splits: bool = False) -> None:
        self._project = project
        self._all_splits = all_splits
        self.review = ReviewPages(project)
        self._kept: dict[str, Answer] = {}
        # One page is made at a time, so that two readers of a large run do not make it twice.
        self._making = Lock()

    def answer(self, path: str) -> Answer | None:
        """Give the page at a path, None where there is none."""
        if path.startswith("/review/"):
            return self.review.answer(path)
        waiting = self.review.waiting() if path == "/" else []
        if waiting and not _has_runs(self._project):
            return Answer(render_index([], waiting), policy=live_policy())
        try:
            with self._making, closing(Ledger.open(self._project.root, read_only=True)) as ledger:
                return self._answer(ledger, path)
        except SkilloptError as error:
            return Answer(f"{error}\n", "plain")

    def _answer(self, ledger: Ledger, path: str) -> Answer | None:
        if path == "/":
            return Answer(self._index(ledger), policy=live_policy())
        if found := _RUN.fullmatch(path):
            record = _exact(ledger, found[1])
            return self._page(ledger, record) if record else None
        if found := _ROLLOUT.fullmatch(path):
            record = _exact(ledger, found[1])
            return self._rollout(ledger, record, found[2]) if record else None
        return None

    def _index(self, ledger: Ledger) -> str:
        found = [run_status(self._project.root, ledger, record) for record in ledger.runs(most=_MOST_RUNS)]
        return render_index(
            [
                RunEntry(
                    run.run,
                    run.skill,
                    run.state,
                    run.versions,
                    run.headline.passed if run.headline else "",
                    run.step,
                    run.started_at,
                )
                for run in found
            ],
            self.review.waiting(),
        )

    def _page(self, ledger: Ledger, record: RunRecord) -> Answer:
        stamp = self._stamp(ledger, record)
        kept = self._kept.get(record.id)
        if kept is None or kept.stamp != stamp:
            view = load_view(self._project, ledger, record)
            body = run_page(ledger, view, all_splits=self._all_splits, live=True)
            self._kept[record.id] = kept = Answer(body, stamp=stamp, policy=live_policy())
            for oldest in list(self._kept)[:-_KEPT]:
                del self._kept[oldest]
        return kept

    def _stamp(self, ledger: Ledger, record: RunRecord) -> str:
        """Say how far the record is: its events and whether its process is there."""
        events = ledger.events(record.id)
        state = (record.state, record.started_at, record.ended_at, str(is_locked(self._project.root, record.skill)))
        return digest_of(record.id, *state, str(len(events)))

    def _rollout(self, ledger: Ledger, record: RunRecord, key: str) -> Answer | None:
        view = load_view(self._project, ledger, record)
        try:
            return Answer(rollout_text(ledger, view, key, all_splits=self._all_splits), "plain")
        except UsageError:
            return None


def serve(
    *, port: int = 0, all_splits: bool = False, folder: Path | None = None, announce: Callable[[str], None]
) -> None:
    """Serve the pages of a project until Ctrl-C.

    Args:
        port: Where; 0 for any that is free.
        all_splits: Whether rollouts of held-out tasks are shown, too.
        folder: Where the command is given; the current folder when None.
        announce: Told the address when it answers.

    Raises:
        UsageError: There are neither runs nor candidates yet, or the port cannot be used.
    """
    project = Project.find(folder or Path.cwd())
    pages = LivePages(project, all_splits=all_splits)
    if not pages.review.waiting():
        Ledger.open(project.root, read_only=True).close()
    with closing(LoopbackServer(pages.answer, port, pages.review.act)) as server:
        announce(server.address)
        try:
            server.serve()
        except KeyboardInterrupt:
            return


def _has_runs(project: Project) -> bool:
    try:
        Ledger.open(project.root, read_only=True).close()
    except UsageError:
        return False
    return True


def _exact(ledger: Ledger, name: str) -> RunRecord | None:
    return ledger.find_run(name)
