"""The command `update`: a new upstream text of a skill is merged with what was learned, and put to the change gate."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from skillopt.commands.options import JsonOption, QuietOption, RunOptions, SkillArgument, YesOption, with_run_options
from skillopt.commands.output import SHORT, interruptible, show
from skillopt.commands.progress import ProgressObserver
from skillopt.commands.spending import ask_to_pay, foresee_payment
from skillopt.errors import UsageError
from skillopt.execution.drivers import Given, load_drivers
from skillopt.gate.grades import GRADE
from skillopt.review.gate import Demand, why_untestable
from skillopt.review.result import Standing
from skillopt.runs.history import upstream_commit
from skillopt.runs.plan import RunPlan, read_version
from skillopt.runs.proposal import ChangedTexts, measure_change
from skillopt.safety.escaping import escape_terminal
from skillopt.skills.document import Skill
from skillopt.skills.folder import read_skill, skill_from_files
from skillopt.skills.validation import check_trainable
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.tasks import File, Split
from skillopt.versions.branches import DraftBranch
from skillopt.versions.commit_message import ROLLBACK, UPSTREAM
from skillopt.versions.merging import default_tip, merge_texts
from skillopt.versions.repository import NewVersion


@with_run_options
def update(
    skill: SkillArgument = None,
    *,
    onto: Annotated[str, typer.Option("--onto", metavar="PATH|REVISION", help="Skill folder or revision to move to.")],
    options: RunOptions,
    yes: YesOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Merge a new upstream text of the skill with what was learned.

    The merged text becomes the draft, and the change gate compares it with the newest version: ends with 1 when it is
    refused. Where both changed the same lines, nothing is run; merge those by hand.
    """
    selection = options.select(skill)
    project, target = selection.project(), selection.project().target(selection)
    branch = DraftBranch(project.repository(), target.name, target.place(project.repository()))
    old, upstream, merged, tip = _merge(branch, onto)
    suite = target.suite()
    standing, reason = Standing.UNTESTABLE, why_untestable(len(suite.tasks(Split.VAL)), target.settings, Demand())
    with interruptible(), ProgressObserver(quiet=quiet) as observer, writer_lock(project.root, target.name):
        if not reason:
            ask_to_pay(foresee_payment(selection, drafts=False), "the change gate", yes=yes)
            drivers = load_drivers(target.settings, suite, project.root, Given(), optimizer=False)
            plan = RunPlan(target, suite, drivers, branch.repository, skill_path=branch.path, proposer="a person")
            with closing(Ledger.open(project.root)) as ledger:
                found, _ = measure_change(plan, ChangedTexts(old, merged, tip), Demand(), ledger, observer)
            standing, reason = found.standing, found.reason
        replaced, said = branch.tip, f"Change gate: {standing.value}, {reason}."
        draft = branch.publish(_draft(branch, (upstream, merged), tip, said))
    lines = [f"change gate: {standing.value}: {escape_terminal(reason)}", f"draft {draft[:SHORT]} on {branch.name}"]
    lines += [f"the earlier draft is kept as {replaced[:SHORT]}"] if replaced else []
    lines.append(f"next: skillopt take {target.name}    (review it first: skillopt diff {target.name} draft)")
    show({"standing": standing, "reason": reason, "draft": draft}, lambda _: "\n".join(lines), as_json=as_json)
    if standing is Standing.REFUSED:
        raise typer.Exit(1)


def _merge(branch: DraftBranch, onto: str) -> tuple[Skill, Skill, Skill, str]:
    """Return the newest version, the new upstream, both merged, and the commit of the version."""
    repository, name, path = branch.repository, branch.skill, branch.path
    tip = tail = repository.branch_tip(name)
    if tip is None or tail is None:
        raise UsageError(f"{name}: nothing was learned yet, there is no version; copy the new text over {path}")
    while again := repository.commit(tail).trailer(ROLLBACK):
        tail = again
    is_name = onto.isprintable() and not onto.startswith("-") and not Path(onto).exists()
    commit = repository.ref_tip(onto) if is_name else None
    if commit is None and not Path(onto).exists():
        raise UsageError(f"--onto: expected a skill folder or a revision of this repository, found {onto!r}")
    base = read_version(repository, name, upstream_commit(repository.versions(name, tail)), path, missing_ok=True)
    old = read_version(repository, name, tip, path)
    upstream = read_version(repository, name, commit, path) if commit else read_skill(Path(onto))
    check_trainable(upstream)
    files = [{file.path: file.content for file in side.shipped} for side in (base, old, upstream)]
    merged, conflicts = list[File](), list[str]()
    for place in sorted({*files[1], *files[2]}):
        first, ours, theirs = (side.get(place) for side in files)
        content = theirs if ours in (first, theirs) else ours
        if theirs not in (first, content):
            both = merge_texts(*((side or b"").decode("latin-1") for side in (first, ours, theirs)))
            content, conflicts = (both or "").encode("latin-1"), conflicts + [place] * (both is None)
        merged += [File(place, content)] if content is not None else []
    if conflicts:
        raise UsageError(f"{name}: both changed the same lines of {', '.join(conflicts)}; merge them by hand")
    text = skill_from_files(name, tuple(merged), old.document.trained)
    if lost := [one for one in old.document.regions if old.text[one.start : one.end] not in text.text]:
        raise UsageError(f"{name}: {onto!r} changes the protected region {lost[0].name!r}; merge it by hand")
    if text.digest in (old.digest, base.digest):
        raise UsageError(f"{name}: skillopt/{name} has the text of {onto!r} already, or builds on it")
    return old, upstream, text, tip


def _draft(branch: DraftBranch, texts: tuple[Skill, Skill], tip: str, said: str) -> NewVersion:
    """Write the commit of the upstream text, which merges the default branch where that has it, and plan the draft."""
    repository, name, (upstream, merged) = branch.repository, branch.skill, texts
    default, at = default_tip(repository), datetime.now(UTC).isoformat(timespec="seconds")
    has_it = default and read_version(repository, name, default, branch.path, missing_ok=True).digest == upstream.digest
    trailers = (("Skill", name), (UPSTREAM, default if has_it else f"files {upstream.digest[:12]}"))
    merges = default if has_it and not repository.contains(tip, default) else ""
    subject = f"{name}: the new upstream text"
    new = NewVersion(name, branch.path, upstream.shipped, at, tip, merges=merges, subject=subject, trailers=trailers)
    parent, graded = repository.write_commit(new), (*trailers, (GRADE, "cannot tell"))
    subject = f"{name}: draft, the new upstream text with what was learned"
    return replace(new, files=merged.shipped, parent=parent, merges="", subject=subject, body=said, trailers=graded)
