"""Move a trained skill to a new upstream text: read both and what was learned from git, and drive the recorded run."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from skillopt.errors import UsageError
from skillopt.execution.runner import RunObserver
from skillopt.loop.draft import Draft, Line
from skillopt.loop.events import EditScreened
from skillopt.project import Selection
from skillopt.rollouts import Usage
from skillopt.runs.history import upstream_commit
from skillopt.runs.plan import RunPlan, is_new_text, make_plan, read_version, record_run
from skillopt.runs.run import DraftState, RecordedRun
from skillopt.shrink.carry import Carried, Fate, Learned, carry_edits, edits_between
from skillopt.shrink.reapplied import IN_OTHER_WORDS, Update, reapply
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Edit
from skillopt.skills.folder import SKILL_FILE
from skillopt.skills.frontmatter import read_leniently
from skillopt.skills.validation import check_trainable
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.versions.commit_message import ROLLBACK, Version, commit_kind
from skillopt.versions.decisions import Decisions, offered_edits
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import find_skill_folder

__all__ = ["PlannedUpdate", "UpdateRow", "Updated", "plan_update", "update"]

_NO_MODEL: Final = "none"


@dataclass(frozen=True, slots=True)
class UpdateRow:
    """An edit, the commit that brought it, what became of it and why, and the tasks that need it."""

    number: int
    commit: str
    fate: str
    reason: str
    tasks: tuple[str, ...]
    edit: Edit


@dataclass(frozen=True, slots=True)
class Updated:
    """What became of each edit, what is not carried over, and how the text was judged."""

    skill: str
    upstream: str
    base: str
    rows: tuple[UpdateRow, ...]
    notes: tuple[str, ...]
    run: str = ""
    reason: str = ""
    version: str = ""
    draft: DraftState | None = None
    rollouts: int = 0
    paid_rollouts: int = 0
    spent: Mapping[str, Usage] | None = None


@dataclass(frozen=True, slots=True)
class PlannedUpdate:
    """What an update would do, before anything is run."""

    plan: RunPlan
    texts: Update
    result: Updated


def plan_update(selection: Selection, onto: str) -> PlannedUpdate:
    """Apply what was learned to a new upstream text, a skill folder or a revision; spends nothing."""
    plan = make_plan(selection, proposer=_NO_MODEL)
    name, path, repository = plan.target.name, plan.skill_path, plan.repository
    if not repository.versions(name):
        raise UsageError(f"{name}: nothing was learned yet, there is no version; copy the new text over {path}")
    tip, (upstream, revision) = plan.base, _read_upstream(plan, onto)
    check_trainable(upstream)
    if not is_new_text(plan.target, repository, upstream):
        raise UsageError(f"{name}: expected a new text, found in {onto!r} one that skillopt/{name} has, or began from")
    base, learned = _read_learned(repository, name, path, tip)
    old, before = (read_version(repository, name, one, path, missing_ok=True) for one in (tip, base))
    names = [read_leniently(one.document).name for one in (old, upstream)]
    if all(names) and names[0] != names[1]:
        raise UsageError(
            f"expected a new text of skill {names[0]!r}, found the name {names[1]!r} in {onto!r}; rename it"
        )
    carried = carry_edits(learned, before.document, upstream.document)
    start, notes = _with_frontmatter(before, old, upstream)
    rows = tuple(_row(number, one) for number, one in enumerate(carried, 1))
    return PlannedUpdate(plan, Update(old, upstream, start, carried), Updated(name, revision, tip, rows, notes))


def update(planned: PlannedUpdate, observer: RunObserver) -> Updated:
    """Measure a planned update and publish a version or draft; the same update goes on where it was interrupted."""
    plan, texts, result = planned.plan, planned.texts, planned.result
    root, settings = plan.repository.root, plan.target.settings
    config = json.dumps([settings.identity, *plan.identities, f"update {result.upstream}"])
    with writer_lock(root, result.skill), closing(Ledger.open(root)) as ledger:
        record = record_run(plan, ledger, texts.upstream, config, settings.seed)
        run = RecordedRun(plan, ledger, record, observer)
        happened, ended = run.drive(reapply(texts, plan.suite, settings, run.runner))
    screened = {event.edit.id: event for event in happened if isinstance(event, EditScreened)}
    return replace(
        result,
        rows=tuple(_row(at, one, screened.get(one.edit.id)) for at, one in enumerate(texts.carried, 1)),
        run=record.id,
        reason=ended.reason,
        version=run.commits[-1] if run.commits else "",
        draft=run.draft,
        rollouts=ended.rollouts,
        paid_rollouts=run.runner.paid_rollouts,
        spent=plan.drivers.meter.by_role,
    )


def _row(number: int, carried: Carried, event: EditScreened | None = None) -> UpdateRow:
    edit, alike = carried.edit, f"the new upstream says: {carried.alike}" if carried.alike else ""
    if event is None:
        said = "; ".join(filter(None, (carried.note, alike)))
        return UpdateRow(number, carried.commit, carried.fate, said, (), edit)
    if event.kept:
        why = "; ".join(filter(None, (carried.note, event.reason)))
        return UpdateRow(number, carried.commit, "kept", why, event.edit.tasks if event.tasks else (), edit)
    fate = Fate.THERE.value if event.reason.startswith(IN_OTHER_WORDS) else "not needed"
    return UpdateRow(number, carried.commit, fate, event.reason.removeprefix(f"{fate} "), (), edit)


def _read_upstream(plan: RunPlan, onto: str) -> tuple[Skill, str]:
    """Read the new text, with the revision or the digest of the files that its commit names."""
    name, path, repository = plan.target.name, plan.skill_path, plan.repository
    if Path(onto).exists():
        skill, head = replace(plan.target, folder=Path(onto)).skill(), repository.head()
        committed = head and read_version(repository, name, head, path, missing_ok=True).digest == skill.digest
        return skill, head if head and committed else f"files {skill.digest[:12]}"
    commit = repository.ref_tip(onto) if onto.isprintable() and not onto.startswith("-") else None
    if commit is None:
        raise UsageError(f"--onto: expected a skill folder or a revision of this repository, found {onto!r}")
    there = any(file.path == SKILL_FILE for file in repository.read_folder(commit, path))
    folder = path if there else find_skill_folder(repository, commit, name)
    if folder is None:
        raise UsageError(f"--onto: expected {path}/{SKILL_FILE} in revision {onto!r}, found none; name another one")
    return read_version(repository, name, commit, folder), commit


def _read_learned(repository: Repository, name: str, path: str, tip: str) -> tuple[str, tuple[Learned, ...]]:
    """Read the edits since the upstream that a version builds on; what a later commit took back is left out."""
    while again := repository.commit(tip).trailer(ROLLBACK):
        tip = again
    base = upstream_commit(repository.versions(name, tip))
    line, steps = tuple(reversed(repository.line(tip, base))), list[tuple[Version, SkillDocument, SkillDocument]]()
    for commit in line:
        shas = (commit.parent, commit.sha)
        before, after = (read_version(repository, name, sha, path, missing_ok=True).document for sha in shas)
        back = next((at for at, (_, older, _) in enumerate(steps) if older == after), None)
        if back is not None:
            del steps[back:]
        elif before.body != after.body:
            steps.append((commit, before, after))
    dropped = Decisions(line).dropped
    return base, tuple(one for step in steps for one in _learned(name, *step, dropped))


def _learned(
    name: str, commit: Version, before: SkillDocument, after: SkillDocument, dropped: frozenset[str]
) -> Iterator[Learned]:
    """Yield the edits that a commit names; where they do not make up its text, its lines that changed."""
    named = offered_edits([commit])
    whole = Draft(Skill(name, before)).build([Line(edit) for _, edit in named])
    if named and whole.document.body == after.body:
        edits = [edit for key, edit in named if key not in dropped]
    else:
        said = f"Changed by hand: {commit.subject}"
        edits = [] if commit_kind(commit) == "dropped" else list(edits_between(before, after, said))
    yield from (Learned(edit, commit.sha, before) for edit in edits)


def _with_frontmatter(before: Skill, old: Skill, upstream: Skill) -> tuple[Skill, tuple[str, ...]]:
    """Keep our frontmatter where upstream left its own as it was, and say what else of ours is not carried over."""
    base, ours, theirs = (one.text[: one.document.body_start] for one in (before, old, upstream))
    keeps = ours != base == theirs
    start = upstream.with_document(SkillDocument(ours + upstream.document.body)) if keeps else upstream
    both = len({base, ours, theirs}) == 3  # noqa: PLR2004 - no two are the same
    notes = ["frontmatter: changed here and by the new upstream, whose own is taken"] if both else []
    files = [{file.path: file.content for file in one.files} for one in (before, old, upstream)]
    for path in sorted(files[0].keys() | files[1].keys()):
        first, own, new = (one.get(path) for one in files)
        if own not in (first, new):
            notes.append(f"{path}: changed on the branch; the new upstream's is taken, merge it by hand")
    return start, tuple(notes)
