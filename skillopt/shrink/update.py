"""Move a trained skill to a new upstream text: read both and what was learned from git, and drive the recorded run."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from skillopt.errors import UsageError, VersionConflictError
from skillopt.execution.runner import RunObserver
from skillopt.project import Selection
from skillopt.rollouts import Usage
from skillopt.runs.history import upstream_commit
from skillopt.runs.plan import RunPlan, make_plan, read_version, record_run
from skillopt.runs.run import DraftState, RecordedRun
from skillopt.shrink.carry import Carried, Reapplying, carry_edits
from skillopt.shrink.shrinking import shrink_tasks
from skillopt.skills.document import Skill
from skillopt.skills.folder import SKILL_FILE
from skillopt.skills.frontmatter import read_leniently
from skillopt.skills.validation import check_trainable
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.versions.commit_message import ROLLBACK
from skillopt.versions.decisions import EditLine

_NO_MODEL: Final = "none"


@dataclass(frozen=True, slots=True)
class Updated:
    """What becomes of each edit of an old version, what is not carried over, and how the text was judged."""

    skill: str
    upstream: str
    old: str
    edits: tuple[Carried, ...]
    lost: tuple[str, ...]
    run: str = ""
    reason: str = ""
    version: str = ""
    draft: DraftState | None = None
    rollouts: int = 0
    paid_rollouts: int = 0
    spent: Mapping[str, Usage] | None = None


def plan_update(selection: Selection, onto: str) -> tuple[RunPlan, Skill, Updated]:
    """Apply what was learned to a new upstream text, a skill folder or a revision; spends nothing."""
    plan = make_plan(selection, proposer=_NO_MODEL)
    name, path, repository = plan.target.name, plan.skill_path, plan.repository
    if not repository.versions(name):
        raise UsageError(f"{name}: nothing was learned yet, there is no version; copy the new text over {path}")
    upstream, revision = _read_upstream(plan, onto)
    check_trainable(upstream)
    tip = plan.base
    while again := repository.commit(tip).trailer(ROLLBACK):
        tip = again
    base = upstream_commit(repository.versions(name, tip))
    first, old = (read_version(repository, name, sha, path, missing_ok=True) for sha in (base, plan.base))
    if upstream.digest in (first.digest, old.digest):
        raise UsageError(
            f"{name}: skillopt/{name} has the text of {onto!r} already, or builds on it; to move an older version "
            f"there, go back to that one first: skillopt rollback {name} VERSION"
        )
    before, after = (read_leniently(one.document).name for one in (old, upstream))
    if before and after and before != after:
        raise UsageError(f"expected a text of skill {before!r}, found the name {after!r} in {onto!r}; rename it there")
    line = EditLine.read(repository, name, path, tip, base, whole=True)
    standing = (one for one in line.edits if not (one.dropped or one.replaced))
    learned = {one.edit.summary: (one.edit, one.version.sha) for one in standing}  # a commit may bring edits back
    edits = carry_edits(tuple(learned.values()), first.document, old.document, upstream.document)
    by_people = tuple(f"commit {one.sha[:10]}, {one.subject}: merge it by hand" for one in line.by_people)
    return plan, upstream, Updated(name, revision, plan.base, edits, (*by_people, *_lost(first, old, upstream)))


def _read_upstream(plan: RunPlan, onto: str) -> tuple[Skill, str]:
    """Read the new text, with the revision or the digest of the files that its commit names."""
    name, path, repository = plan.target.name, plan.skill_path, plan.repository
    if onto and Path(onto).exists():
        skill, head = replace(plan.target, folder=Path(onto)).skill(), repository.head() or ""
        committed = head and read_version(repository, name, head, path, missing_ok=True).digest == skill.digest
        return skill, head if committed else f"files {skill.digest[:12]}"
    commit = repository.ref_tip(onto) if onto.isprintable() and not onto.startswith("-") else None
    if commit is None:
        raise UsageError(f"--onto: expected a skill folder or a revision of this repository, found {onto!r}")
    return read_version(repository, name, commit, path), commit


def _lost(first: Skill, old: Skill, upstream: Skill) -> Iterator[str]:
    """Say what of ours beside the body differs from the upstream before and is not in the new one."""
    sides = [
        {f"frontmatter of {SKILL_FILE}": one.document.frontmatter} | {file.path: file.content for file in one.files}
        for one in (first, old, upstream)
    ]
    for what in sorted(sides[0].keys() | sides[1].keys()):
        before, ours, theirs = (side.get(what) for side in sides)
        if ours not in (before, theirs):
            yield f"{what}, changed since: merge it by hand"


def update(plan: RunPlan, upstream: Skill, planned: Updated, observer: RunObserver) -> Updated:
    """Measure a planned update and publish a version or draft; the same update goes on where it was interrupted."""
    root, settings, name = plan.repository.root, plan.target.settings, planned.skill
    config = json.dumps([settings.identity, *plan.identities, f"update {planned.upstream}"])
    with writer_lock(root, name), closing(Ledger.open(root)) as ledger:
        if plan.base != planned.old:
            raise VersionConflictError(f"skillopt/{name} moved on from {planned.old[:10]} meanwhile; run this again")
        run = RecordedRun(plan, ledger, record_run(plan, ledger, upstream, config, settings.seed), observer)
        old = read_version(plan.repository, name, planned.old, plan.skill_path)
        tasks = shrink_tasks(plan.suite)
        reapplying = Reapplying(old, upstream, planned.edits, tasks, run.runner, settings)
        reapplying.lost = planned.lost
        _, ended = run.drive(reapplying.as_events(plan.suite))
    return replace(
        planned,
        edits=reapplying.carried,
        run=run.record.id,
        reason=ended.reason,
        version=run.commits[-1] if run.commits else "",
        draft=run.draft,
        rollouts=ended.rollouts,
        paid_rollouts=run.runner.paid_rollouts,
        spent=plan.drivers.meter.by_role,
    )
