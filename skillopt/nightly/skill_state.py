"""State of a skill before a night: its text here, on its branch and on the default branch, and its last runs.

Text that people changed outside the training is recognised and never overwritten.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean

from skillopt.errors import VersionConflictError
from skillopt.execution.drivers import identify_target
from skillopt.loop.events import BaselineMeasured, VersionAccepted, decode_event
from skillopt.nightly.due import DueFacts
from skillopt.project import Selection, Target
from skillopt.runs.plan import Start, read_version
from skillopt.skills.folder import SKILL_FILE, decode_skill, is_shipped, skill_from_files
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.tasks import File
from skillopt.versions.commit_message import Version
from skillopt.versions.merging import Conflict, StartPlace, start_conflicts
from skillopt.versions.objects import FolderAt, list_folders, read_objects
from skillopt.versions.repository import Repository

__all__ = [
    "DefaultBranch",
    "KnownTexts",
    "SkillState",
    "measured_pass_rate",
    "read_skill_state",
    "read_texts",
    "training_runs",
]

_DAY = 86_400.0
_MEASURED = frozenset({VersionAccepted.__name__, BaselineMeasured.__name__})


@dataclass(frozen=True, slots=True)
class DefaultBranch:
    """The default branch: its name, and the commit it is at; empty where there is no remote."""

    name: str
    commit: str


@dataclass(frozen=True, slots=True)
class KnownTexts:
    """A skill's versions, and the digests of its texts."""

    repository: Repository
    target: Target
    branch: str
    versions: tuple[Version, ...]
    here: str
    tip: str
    known: frozenset[str]
    default: str


@dataclass(frozen=True, slots=True)
class SkillState:
    """State of a skill."""

    target: Target
    tip: str
    versions: tuple[Version, ...]
    on_default_branch: bool
    diverged: bool
    start: Start
    unfinished: RunRecord | None
    due_facts: DueFacts
    conflicts: tuple[Conflict, ...] = ()

    @property
    def moves_on(self) -> bool:
        """Whether training begins with the default branch's text, merged into the skill's branch.

        A run that began with that very text goes on from where it began.
        """
        begun = self.unfinished is not None and _begun(self.unfinished) == self.target.skill().digest
        return bool(self.tip) and self.diverged and self.start == "worktree" and not begun


@dataclass(frozen=True, slots=True)
class _Recorded:
    """Versions and runs of a skill, newest first."""

    versions: tuple[Version, ...]
    runs: Sequence[RunRecord]

    @property
    def unfinished(self) -> RunRecord | None:
        """The newest run, when it ended early."""
        return next((run for run in self.runs[:1] if run.state != "finished"), None)

    @property
    def finished(self) -> RunRecord | None:
        """The newest run that finished."""
        return next((run for run in self.runs if run.state == "finished"), None)

    def last(self) -> tuple[str, str, str]:
        """Return end, target and suite of the last finished run; from the newest version where no run is recorded."""
        if (run := self.finished) is not None:
            return run.ended_at, str(json.loads(run.config)[1]), run.suite_digest
        newest = next((version for version in self.versions if version.trailer("Val-After")), None)
        return (newest.at, newest.trailer("Harness"), newest.trailer("Suite-Digest")) if newest else ("", "", "")


def training_runs(ledger: Ledger, skill: str) -> list[RunRecord]:
    """List the runs that trained a skill, newest first; neither proposed edits nor gated changes are any."""
    return [run for run in ledger.runs(skill) if run.kind == "training"]


def read_skill_state(
    selection: Selection,
    default_branch: DefaultBranch,
    ledger: Ledger,
    now: datetime,
) -> SkillState:
    """Read the state of a skill."""
    project = selection.project()
    texts = read_texts(project.repository(), project.target(selection), default_branch)
    repository, target, tip, versions = texts.repository, texts.target, texts.branch, texts.versions
    suite = target.suite()
    recorded = _Recorded(versions, training_runs(ledger, target.name))
    there = texts.default or texts.here
    if there != texts.here and there not in texts.known:
        message = (
            f"{repository.relative(target.folder)} differs between {default_branch.name} and this clone; nothing was "
            "trained or pushed. Update the clone (git pull), or push what was changed here (git push), then run this "
            "again"
        )
        raise VersionConflictError(message)
    unfinished, finished, (at, trained_on, trained_with) = recorded.unfinished, recorded.finished, recorded.last()
    diverged = bool(tip) and there not in texts.known
    due_facts = DueFacts(
        target.name,
        identify_target(target.settings, suite, project.root),
        suite.digest,
        (unfinished.reason or "it was interrupted") if unfinished else "",
        (now - datetime.fromisoformat(at)).total_seconds() / _DAY if at else None,
        trained_on,
        trained_with,
        changed=diverged and _begun(finished) != texts.here,
        score=_score(ledger, recorded.runs),
    )
    on_default_branch = bool(tip) and there == texts.tip
    start = _start(texts, unfinished)
    place = StartPlace(repository, target.name, repository.relative(target.folder), tip, default_branch.commit)
    conflicts = start_conflicts(place) if diverged and place.merged else ()
    return SkillState(target, tip, versions, on_default_branch, diverged, start, unfinished, due_facts, conflicts)


def read_texts(repository: Repository, target: Target, default_branch: DefaultBranch) -> KnownTexts:
    """Read what git knows of a skill."""
    tip = repository.branch_tip(target.name) or ""
    versions = repository.versions(target.name, tip) if tip else ()
    path = repository.relative(target.folder)
    # Every text that the branch had, from its tip to the one that training began with.
    begun = [version.parent for version in versions[-1:]] + [version.merged for version in versions]
    commits = list(dict.fromkeys(filter(None, [tip, *(one.sha for one in versions), *begun])))
    known = _digests(repository, target.name, path, commits)
    default = _on_default(repository, target, path, default_branch)
    newest = known[0] if known else ""
    return KnownTexts(repository, target, tip, versions, target.skill().digest, newest, frozenset(known), default)


def _digests(repository: Repository, skill: str, path: str, commits: Sequence[str]) -> list[str]:
    """Return the digest of a skill at each commit, of all together with a few git processes."""
    listed = list_folders(repository.root, [FolderAt(commit, path) for commit in commits], is_shipped)
    objects = list(dict.fromkeys(sha for files in listed for sha in (files or {}).values()))
    contents = dict(zip(objects, read_objects(repository.root, objects), strict=True))
    digests = []
    for commit, files in zip(commits, listed, strict=True):
        if files and SKILL_FILE in files:
            read = tuple(File(name, contents[sha]) for name, sha in sorted(files.items()))
            digests.append(skill_from_files(skill, read).digest)
        else:  # its folder has links, had another name, or was not there
            digests.append(read_version(repository, skill, commit, path, missing_ok=True).digest)
    return digests


def _on_default(repository: Repository, target: Target, path: str, default_branch: DefaultBranch) -> str:
    """Return the digest of the skill on the default branch, empty where it is not there."""
    if not default_branch.commit:
        return ""
    if not any(file.path == SKILL_FILE for file in repository.read_folder(default_branch.commit, path)):
        return ""
    return read_version(repository, target.name, default_branch.commit, path).digest


def measured_pass_rate(ledger: Ledger, run: str) -> float | None:
    """Return the share of `val` tasks that the newest text of a run passed; None where nothing was measured."""
    for row in reversed(list(ledger.events(run))):
        event = decode_event(row.kind, row.payload)
        if isinstance(event, VersionAccepted) and event.verdict.pairs:
            return fmean(one.passed_after for one in event.verdict.pairs)
        if isinstance(event, BaselineMeasured):
            return event.tally.passed
    return None


def _start(texts: KnownTexts, unfinished: RunRecord | None) -> Start:
    """Choose the text to begin with: the branch, unless people have changed the skill beside it.

    An unfinished run continues only from a text that is still current.
    """
    begun = _begun(unfinished)
    if texts.tip and texts.here in texts.known:
        return "auto" if begun in texts.known | {""} else "branch"
    return "auto" if not texts.tip and begun in ("", texts.here) else "worktree"


def _begun(run: RunRecord | None) -> str:
    """Return the digest of the text that a run began with, empty for no run."""
    return decode_skill(run.skill, run.start).digest if run else ""


def _score(ledger: Ledger, runs: Iterable[RunRecord]) -> float | None:
    """Return the score to expect on `val` by what the newest run measured last."""
    for run in runs:
        for row in reversed(ledger.events(run.id)):
            if row.kind not in _MEASURED:
                continue
            event = decode_event(row.kind, row.payload)
            if isinstance(event, VersionAccepted):
                return event.verdict.expected
            if isinstance(event, BaselineMeasured):
                return event.tally.score
    return None
