"""Remove recorded answers that no recent run, no version and no draft refers to, for `clean --records`."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from skillopt.actions.clean import refuse_while_busy
from skillopt.errors import RepositoryError
from skillopt.loop.events import decode_event
from skillopt.project import Project
from skillopt.reports.build_view import digests_of
from skillopt.skills.folder import decode_skill
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.notes import is_unreported
from skillopt.storage.pruning import Prunable, prunable_answers, prune_answers
from skillopt.versions.draft_branch import DRAFT_BRANCHES, VERSION_BRANCHES, list_branches
from skillopt.versions.repository import Repository, read_histories

__all__ = ["Pruned", "prune"]

_ACCEPTED = "VersionAccepted"


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed, or would be."""

    days: int
    answers: Prunable
    kept_runs: int
    removed: bool


def prune(days: int, *, dry_run: bool = False, folder: Path | None = None, now: datetime | None = None) -> Pruned:
    """Remove answers older than some days, except those of runs that can resume or are a skill's newest."""
    root = Project.find(folder or Path.cwd()).root
    before = ((now or datetime.now(UTC)) - timedelta(days=days)).isoformat(timespec="seconds")
    if not dry_run:
        refuse_while_busy(root)
    with closing(Ledger.open(root, read_only=True)) as ledger:
        kept = _kept(root, ledger, before)
        texts = {text for run in kept for text in _texts(ledger, run)}
        path = ledger.path
    act = prunable_answers if dry_run else prune_answers
    runs = [run.id for run in kept]
    return Pruned(days, act(path, before, runs, texts), len(runs), removed=not dry_run)


def _kept(root: Path, ledger: Ledger, before: str) -> list[RunRecord]:
    """List the runs all of whose answers stay."""
    runs = ledger.runs()
    going_on = {run.skill for run in runs if run.state != "finished" or is_unreported(root, run.id)}
    in_git = frozenset(_runs_in_git(root))
    newest: dict[str, str] = {}
    for run in runs:
        if run.kind != "gate":
            newest.setdefault(run.skill, run.id)

    def stays(run: RunRecord) -> bool:
        recent = max(run.started_at, run.ended_at) >= before
        # A run that goes on asks for what earlier runs of its skill paid for, too.
        referred = run.skill in going_on or run.id in in_git or newest.get(run.skill) == run.id
        return recent or referred or any(row.kind == _ACCEPTED for row in ledger.events(run.id))

    return [run for run in runs if stays(run)]


def _runs_in_git(root: Path) -> Iterator[str]:
    """Return the ids of the runs that versions and drafts name."""
    try:
        repository = Repository.find(root)
    except RepositoryError:
        return
    for kind in (VERSION_BRANCHES, DRAFT_BRANCHES):
        tips = {name.removeprefix(kind): tip for name, tip in list_branches(repository) if name.startswith(kind)}
        for versions in read_histories(root, tips).values():
            yield from (version.trailer("Skillopt-Run") for version in versions)


def _texts(ledger: Ledger, run: RunRecord) -> Sequence[str]:
    """Return the digests of the texts that a run compared."""
    events = [(row.at, decode_event(row.kind, row.payload)) for row in ledger.events(run.id)]
    return digests_of(decode_skill(run.skill, run.start), events)
