"""State of a skill before a night: its text here, on its branch and on the default branch, and its last runs.

Text that people changed outside the training is recognised and never overwritten.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

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
from skillopt.versions.folders import FolderAt, list_folders
from skillopt.versions.merging import Conflict
from skillopt.versions.objects import read_objects
from skillopt.versions.repository import Repository
from skillopt.versions.start_commits import StartPlace, start_conflicts

__all__ = ["DefaultBranch", "SkillState", "read_skill_state", "training_runs"]

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class DefaultBranch:
    """The default branch: its name, and the commit it is at; empty where there is no remote."""

    name: str
    commit: str


@dataclass(frozen=True, slots=True)
class SkillState:
    """State of a skill.

    Args:
        target: The skill, its folder and settings.
        tip: Newest commit of its branch, empty for none.
        versions: Its versions, newest first.
        on_default_branch: Whether the default branch has the branch's text.
        diverged: Whether people changed the skill on the default branch beside its branch.
        start: Which text training begins with.
        unfinished: The newest run, when it ended early.
        due_facts: What decides whether it is due.
        conflicts: Sentences that people changed on its branch, and others differently on the default branch.
    """

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
        """Tell whether training begins with the default branch's text, merged into the skill's branch.

        A run that began with that very text goes on from where it began.
        """
        begun = self.unfinished is not None and _begun(self.unfinished) == self.target.skill().digest
        return bool(self.tip) and self.diverged and self.start == "worktree" and not begun


@dataclass(frozen=True, slots=True)
class _TextDigests:
    """Digests of the skill's text: here, at the tip of its branch, and of every text that the branch ever had."""

    here: str
    tip: str
    known: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Recorded:
    """Versions and runs of a skill, newest first."""

    versions: tuple[Version, ...]
    runs: Sequence[RunRecord]

    @property
    def unfinished(self) -> RunRecord | None:
        """Give the newest run, when it ended early."""
        return next((run for run in self.runs[:1] if run.state != "finished"), None)

    @property
    def finished(self) -> RunRecord | None:
        """Give the newest run that finished."""
        return next((run for run in self.runs if run.state == "finished"), None)

    def last(self) -> tuple[str, str, str]:
        """Give end, target and suite of the last finished run; from the newest version where no run is recorded."""
        if (run := self.finished) is not None:
            return run.ended_at, str(json.loads(run.config)[1]), run.suite_digest
        newest = next((version for version in self.versions if version.trailer("Val-After")), None)
        return (newest.at, newest.trailer("Harness"), newest.trailer("Suite-Digest")) if newest else ("", "", "")


def training_runs(ledger: Ledger, skill: str) -> list[RunRecord]:
    """List the runs that trained a skill, newest first; neither proposed edits nor gated changes are any."""
    return [run for run in ledger.runs(skill) if run.kind == "training"]


def read_skill_state(selection: Selection, default_branch: DefaultBranch, ledger: Ledger, now: datetime) -> SkillState:
    """Read the state of a skill.

    Args:
        selection: The skill, its suite and settings.
        default_branch: The default branch.
        ledger: Where its runs are recorded.
        now: The time.

    Raises:
        UsageError: The skill or its suite cannot be used.
        VersionConflictError: The default branch has a text of it that is neither here nor on its branch.
    """
    project = selection.project()
    repository, target = project.repository(), project.target(selection)
    suite, tip = target.suite(), repository.branch_tip(target.name) or ""
    recorded = _Recorded(repository.versions(target.name, tip) if tip else (), training_runs(ledger, target.name))
    texts = _read_texts(repository, target, tip, recorded.versions)
    there = _text_on(repository, target, default_branch) or texts.here
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
    versions = recorded.versions
    return SkillState(target, tip, versions, on_default_branch, diverged, start, unfinished, due_facts, conflicts)


def _read_texts(repository: Repository, target: Target, tip: str, versions: Sequence[Version]) -> _TextDigests:
    """Read every text that a branch had, from the one that training began with to its tip."""
    parents = [version.parent for version in versions[-1:] if version.parent]
    parents += [version.merged for version in versions if version.merged]
    commits = list(dict.fromkeys([*filter(None, [tip]), *(one.sha for one in versions), *parents]))
    known = _digests_at(repository, target, commits)
    return _TextDigests(target.skill().digest, known[0] if known else "", frozenset(known))


def _digests_at(repository: Repository, target: Target, commits: Sequence[str]) -> list[str]:
    """Give the digest of the skill at each of some commits, of all together with a few git processes."""
    path = repository.relative(target.folder)
    listed = list_folders(repository.root, [FolderAt(commit, path) for commit in commits], is_shipped)
    objects = list(dict.fromkeys(sha for files in listed for sha in (files or {}).values()))
    contents = dict(zip(objects, read_objects(repository.root, objects), strict=True))
    found = []
    for commit, files in zip(commits, listed, strict=True):
        if files and SKILL_FILE in files:
            read = tuple(File(name, contents[sha]) for name, sha in sorted(files.items()))
            found.append(skill_from_files(target.name, read).digest)
        else:  # its folder has links, had another name, or was not there
            found.append(read_version(repository, target.name, commit, path, missing_ok=True).digest)
    return found


def _text_on(repository: Repository, target: Target, default_branch: DefaultBranch) -> str:
    """Give the digest of the skill on the default branch, empty where it is not there."""
    path = repository.relative(target.folder)
    if not default_branch.commit:
        return ""
    if not any(file.path == "SKILL.md" for file in repository.read_folder(default_branch.commit, path)):
        return ""
    return read_version(repository, target.name, default_branch.commit, path).digest


def _start(texts: _TextDigests, unfinished: RunRecord | None) -> Start:
    """Choose the text to begin with: the branch, unless people have changed the skill beside it.

    An unfinished run continues only from a text that is still current.
    """
    begun = _begun(unfinished)
    if texts.tip and texts.here in texts.known:
        return "auto" if begun in texts.known | {""} else "branch"
    return "auto" if not texts.tip and begun in ("", texts.here) else "worktree"


def _begun(run: RunRecord | None) -> str:
    """Give the digest of the text that a run began with, empty for no run."""
    return decode_skill(run.skill, run.start).digest if run else ""


def _score(ledger: Ledger, runs: Iterable[RunRecord]) -> float | None:
    """Give the score to expect on `val` by what the newest run measured last."""
    for run in runs:
        events = [decode_event(row.kind, row.payload) for row in ledger.events(run.id)]
        for event in reversed(events):
            if isinstance(event, VersionAccepted):
                return event.verdict.expected
            if isinstance(event, BaselineMeasured):
                return event.tally.score
    return None
