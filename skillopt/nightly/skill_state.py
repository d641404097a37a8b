"""State of a skill before a night: its text here, on its branch and on the default branch, and its last runs.

Text that people changed outside the training is recognised and never overwritten.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

from skillopt.errors import VersionConflictError
from skillopt.execution.drivers import identify_target
from skillopt.project import Selection, Target
from skillopt.runs.plan import Start, read_version
from skillopt.skills.folder import decode_skill
from skillopt.skills.trained_files import SkillPlace
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.versions.branches import DraftBranch, document_on, find_removal
from skillopt.versions.commit_message import Version, why_stale
from skillopt.versions.merging import Conflict, StartPlace, fork_of, start_conflicts
from skillopt.versions.remotes import Tips
from skillopt.versions.repository import Repository

_DUE_DAYS: Final = 30.0
"""Days after which a skill is trained again."""

NOT_DUE: Final = f"trained within {_DUE_DAYS:.0f} days, unchanged"


@dataclass(frozen=True, slots=True)
class DueFacts:
    """What decides whether a skill is due."""

    skill: str
    target: str
    suite: str
    unfinished: str = ""
    days: float | None = None
    trained_on: str = ""
    trained_with: str = ""
    changed: bool = False


class Due(NamedTuple):
    """A skill that is due; they are sorted by rank, then the longest ago."""

    rank: int
    age: float
    skill: str
    reason: str


def why_due(facts: DueFacts) -> Due | None:
    """Return why a skill is due, None when it is not.

    An unfinished run is mostly paid for; a skill that was never trained has most to gain; then those whose text, target
    or suite changed; then those that were last trained long ago.
    """
    stale = why_stale(facts.trained_on, facts.target)
    causes: tuple[tuple[bool, str], ...] = (
        (bool(facts.unfinished), f"its last run ended early: {facts.unfinished}"),
        (facts.days is None, "it was never trained"),
        (facts.changed, "people changed or moved its text since it was trained"),
        (bool(stale), stale),
        (facts.trained_with not in ("", facts.suite), "its suite changed since it was trained"),
        ((facts.days or 0) >= _DUE_DAYS, f"it was last trained {facts.days or 0:.0f} days ago"),
    )
    found = ((rank, reason) for rank, (holds, reason) in enumerate(causes) if holds)
    return next((Due(rank, -(facts.days or 0.0), facts.skill, reason) for rank, reason in found), None)


def why_gone(repository: Repository, tips: Tips, skill: str, tip: str) -> str:
    """Return why the default branch has a skill no more that a branch trains; empty where it has, or nobody knows."""
    path = document_on(repository, skill, tip)
    if not path or repository.tree(tips.default, path):
        return ""
    commit, moved = find_removal(repository, tips.default, path)
    if not commit:
        return ""
    where = f"on {tips.default_branch} ({commit[:10]})"
    return f"{path} was moved to {moved} {where} and is trained there" if moved else f"{path} was deleted {where}"


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
    conflicts: tuple[Conflict, ...]
    moves_on: bool


def read_skill_state(selection: Selection, tips: Tips, ledger: Ledger, now: datetime) -> SkillState:
    """Read the state of a skill."""
    project = selection.project()
    repository, target = project.repository(), project.target(selection)
    suite, here, path = target.suite(), target.skill().digest, target.place(repository)
    tip = repository.branch_tip(target.name) or ""
    versions = repository.versions(target.name, tip) if tip else ()
    # A text that was there when the branch began is no news, even where nobody can tell our commits any more.
    begun_at = fork_of(repository, tip, tips.default) if tip else ""
    begun = [*(version.parent for version in versions[-1:]), *(version.merged for version in versions), begun_at]
    commits = dict.fromkeys(filter(None, [tip, *(version.sha for version in versions), *begun]))
    # From the tip to the text that training began with.
    texts = [_digest_at(repository, target.name, commit, path) for commit in commits]
    there = here
    if tips.default:
        on_default = read_version(repository, target.name, tips.default, path, missing_ok=True)
        there = on_default.digest if on_default.text else here
    if there != here and there not in texts:
        message = (
            f"{SkillPlace.parse(path).words} differs between {tips.default_branch} and this clone; nothing was trained "
            "or pushed. Update the clone (git pull), or push what was changed here (git push), then run this again"
        )
        raise VersionConflictError(message)
    # Gated changes are no training, and proposed edits are where their draft waits, which training would replace.
    draft = DraftBranch(repository, target.name, path).read()
    drafted = draft.trailer("Skillopt-Run") if draft else ""
    runs = [
        run
        for run in ledger.runs(target.name)
        if run.kind == "training" or (run.kind == "proposal" and run.id == drafted)
    ]
    unfinished = next((run for run in runs[:1] if run.state != "finished"), None)
    finished = next((run for run in runs if run.state == "finished"), None)
    at, trained_on, trained_with = _last_training(finished, versions)
    diverged = bool(tip) and there not in texts
    due_facts = DueFacts(
        target.name,
        identify_target(target.settings, suite, project.root),
        suite.digest,
        (unfinished.reason or "it was interrupted") if unfinished else "",
        days=(now - datetime.fromisoformat(at)) / timedelta(days=1) if at else None,
        trained_on=trained_on,
        trained_with=trained_with,
        changed=diverged and (_begun(finished) != here or not repository.tree(tip, SkillPlace.parse(path).prefix)),
    )
    begun_with = _begun(unfinished)
    # The branch, unless people have changed the skill beside it; an unfinished run only from a text still current.
    start: Start = "auto" if not tip and begun_with in ("", here) else "worktree"
    if tip and here in texts:
        start = "auto" if begun_with in {"", *texts} else "branch"
    place = StartPlace(repository, target.name, path, tip, tips.default)
    conflicts = start_conflicts(place) if diverged and place.merged else ()
    on_default_branch = bool(tip) and there == (texts[0] if texts else "")
    return SkillState(
        target,
        tip,
        versions,
        on_default_branch,
        diverged=diverged,
        start=start,
        unfinished=unfinished,
        due_facts=due_facts,
        conflicts=conflicts,
        # Training begins with the default branch's text, unless an unfinished run began with that very text.
        moves_on=diverged and start == "worktree" and begun_with != here,
    )


def _last_training(finished: RunRecord | None, versions: Sequence[Version]) -> tuple[str, str, str]:
    """Return end, target and suite of the last finished run; from the newest version where no run is recorded."""
    if finished is not None:
        return finished.ended_at, str(json.loads(finished.config)[1]), finished.suite_digest
    newest = next((version for version in versions if version.trailer("Val-After")), None)
    return (newest.at, newest.trailer("Harness"), newest.trailer("Suite-Digest")) if newest else ("", "", "")


@lru_cache(maxsize=4096)  # a commit does not change
def _digest_at(repository: Repository, skill: str, commit: str, path: str) -> str:
    return read_version(repository, skill, commit, path, missing_ok=True).digest


def _begun(run: RunRecord | None) -> str:
    """Return the digest of the text that a run began with, empty for no run."""
    return decode_skill(run.skill, run.start).digest if run else ""
