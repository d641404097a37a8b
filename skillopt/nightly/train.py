"""The step `nightly train`: train every skill that is due, and write down what is to be offered.

It has no token of the forge and reaches no remote; what these say is in the file that `nightly check` wrote. A skill
that fails does not stop the others.
"""

import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from skillopt.errors import BusyError, NothingMeasuredError, SkilloptError, UsageError
from skillopt.execution.credentials import forge_token_names
from skillopt.execution.metering import Caps, Meter
from skillopt.execution.runner import RunObserver
from skillopt.nightly.answers import answer_people
from skillopt.nightly.check import configured_skills
from skillopt.nightly.handover import (
    BUNDLE,
    OFFERS,
    REPORT,
    BranchOffer,
    OfferFolder,
    ReviewState,
    SkillOffers,
    make_folder,
    read_state,
)
from skillopt.nightly.night import SHARE, Nightly, RemainingBudget, SkillNight, Training, with_failure
from skillopt.nightly.offers import Night, RecordMaking, find_descriptions, offer_decision, offer_draft, offer_version
from skillopt.nightly.skill_state import (
    NOT_DUE,
    Due,
    why_due,
    why_gone,
)
from skillopt.project import Project, Selection, Target
from skillopt.runs.plan import Start
from skillopt.runs.records import make_record
from skillopt.runs.training import optimize
from skillopt.safety.escaping import escape_terminal
from skillopt.skills.folder import SKILL_FILE
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.suites.config_lines import put_file
from skillopt.versions.branches import DRAFT_BRANCHES, VERSION_BRANCHES
from skillopt.versions.bundles import write_bundle
from skillopt.versions.merging import StartPlace, write_start
from skillopt.versions.records import RECORDS, add_records
from skillopt.versions.refusals import REFUSALS, add_refusals, adopt_renamed, all_lines
from skillopt.versions.remotes import Remote, Tips, find_stored_credentials


def train_night(
    state: Path,
    out: Path,
    budget: Caps,
    *,
    flags: Mapping[str, object],
    observer: RunObserver,
    record: RecordMaking = "no",
) -> Nightly:
    """Train every skill that is due, the most promising first, and write what is to be offered into a folder."""
    project = Project.find(Path.cwd())
    review = read_state(state)
    _refuse_credentials(project)
    make_folder(out)  # before anything is paid for
    remote, tips = _find_remote(project, review)
    for name, lines in review.refusals.items():  # a checkout by itself brings none
        add_refusals(project.repository(), name, lines)
    for name, lines in review.records.items():
        add_records(project.repository(), name, lines)
    with closing(Ledger.open(project.root)) as ledger:
        night = Night(
            project=project,
            remote=remote,
            tips=tips,
            review=review,
            ledger=ledger,
            remaining=RemainingBudget(budget),
            observer=observer,
            flags=flags,
            report=out / REPORT,
            record=record,
        )
        rows: list[SkillNight] = []
        try:
            _take_turns(night, rows)
            if record != "only" and (descriptions := find_descriptions()) is not None:
                descriptions.train_due(night, rows)
            _end_gone(night, rows)
        finally:
            found = night.remaining.night(tuple(rows))
            _hand_over(night, out, found)
    return found


def _refuse_credentials(project: Project) -> None:
    """Refuse to train where agents and verifiers could read a token of the forge."""
    names = forge_token_names(os.environ)
    if names:
        unset = " ".join(f"-u {name}" for name in names)
        message = f"nightly train: expected no token of the forge in the environment, found {', '.join(names)}"
        raise UsageError(
            f"{message}; start it as `env {unset} skillopt nightly train ...`, or run `skillopt nightly`, which does so"
        )
    places = find_stored_credentials(project.repository())
    if places:
        message = f"nightly train: expected no token in the configuration of git, found one in {places[0]}"
        raise UsageError(f"{message}; in a workflow, check out with `persist-credentials: false`")


def _find_remote(project: Project, review: ReviewState) -> tuple[Remote | None, Tips]:
    """Find the remote and its default branch as `nightly check` saw them; nothing can be fetched now."""
    tips = review.tips
    if not review.remote or tips is None:
        return None, Tips("HEAD", "", {})
    remote = Remote.find(project.repository(), review.remote)
    if remote is None:
        raise UsageError(f"expected a git remote named {review.remote!r}, as `nightly check` found it, found none")
    missing = [sha for sha in tips.all if remote.repository.ref_tip(sha) is None]
    if missing:
        message = f"expected {missing[0]} of {review.remote} here, found nothing; fetch all branches first"
        raise UsageError(f"{message} (in a workflow, check out with `fetch-depth: 0`), or run `nightly check` again")
    return remote, tips


def _take_turns(night: Night, rows: list[SkillNight]) -> None:
    """Train the skills that are due, in order, then look at all others."""
    due: dict[str, Due] = {}
    turns: dict[str, Selection] = {}
    asked = {one.skill for one in night.review.skills}
    for name in configured_skills(night.project):
        if name not in asked:
            continue
        selection = Selection(name, night.flags, folder=night.project.root)
        try:
            target = night.project.target(selection)
            if (ended := _ended(night, name, target)) is not None:
                rows.append(_close_all(night, ended, name) if name == target.name else ended)
                continue
            found = why_due(night.read_state(selection).due_facts)
        except SkilloptError as error:
            rows.append(SkillNight(name, Training.FAILED, reason=str(error)))
            continue
        turns[target.name] = selection
        if found:
            due[target.name] = found
    order = [found.skill for found in sorted(due.values())]
    order += [skill for skill in turns if skill not in due]
    for number, skill in enumerate(order, 1):
        rows.append(_turn(night, turns[skill], skill, last=number >= len(due)))


def _ended(night: Night, name: str, target: Target) -> SkillNight | None:
    """Return the row of a skill that lacks its text or its suite; None where it is whole, or never was, by mistake."""
    suite, tips = target.suite_path, night.tips
    tip = tips.of(VERSION_BRANCHES, name) or tips.of(DRAFT_BRANCHES, name)
    tip = tip if name == target.name else ""  # a second table's is not its own
    away = tip and not (target.folder / SKILL_FILE).is_file()
    if away and (reason := why_gone(night.repository, night.tips, name, tip)):
        return SkillNight(name, Training.GONE, reason=reason)
    if suite is None:
        return SkillNight(name, Training.NO_SUITE, reason="it has no suite any more" if tip else "it has no suite")
    if tip and not suite.exists():
        return SkillNight(name, Training.NO_SUITE, reason=f"its suite {suite.name} is gone")
    return None


def _close_all(night: Night, row: SkillNight, name: str) -> SkillNight:
    """Have the pull requests of a skill closed that is trained no more, where it has branches on the remote."""
    made = {
        kind: BranchOffer(branch=f"{prefix.removeprefix('refs/heads/')}{name}", moot_reason=row.reason)
        for kind, prefix in (("version", VERSION_BRANCHES), ("draft", DRAFT_BRANCHES))
        if night.tips.of(prefix, name)
    }
    if made:
        night.offers.append(SkillOffers(skill=row.skill, name=name).model_copy(update=made))
    return row


def _end_gone(night: Night, rows: list[SkillNight]) -> None:
    """End the pull requests of skills that have branches on the remote and are on the default branch no more."""
    names = configured_skills(night.project)
    if {one.skill for one in night.review.skills} != {*names}:
        return
    known = {*names, *(one.name for one in night.offers), *(row.skill for row in rows)}
    for ref, tip in night.tips.branches.items():
        name = ref.rpartition("/")[2]
        if name in known:
            continue
        reason = why_gone(night.repository, night.tips, name, tip)
        if not reason and not night.project.entries:
            reason = f"it has no tasks on {night.tips.default_branch} any more"
        if reason:
            known.add(name)
            rows.append(_close_all(night, SkillNight(name, Training.GONE, reason=reason), name))


def _turn(night: Night, selection: Selection, skill: str, *, last: bool) -> SkillNight:
    """Train a skill if it is still due, then say what is offered of it, under a lock against other nights."""
    row = SkillNight(selection.name or skill, Training.NOT_DUE)
    try:
        with writer_lock(night.project.root, f"{skill}@nightly"):
            state, review, repository = night.read_state(selection), night.review.of(row.skill), night.repository
            adopt_renamed(repository, skill, state.target.place(repository))
            answers = answer_people(selection, state.target, review, night.tips.default)
            row = replace(row, answers=answers.lines)
            if answers.ignored:
                row = replace(row, training=Training.IGNORED, reason=answers.ignored)
            elif night.record != "only":
                row = _train(night, selection, row, last=last)
                state = night.read_state(selection)
            if night.record != "no" and not night.remaining.used_up:
                writer = f"{os.environ.get('GITHUB_EVENT_NAME', 'a night')} at {night.tips.default[:10]}"
                with night.remaining.metered() as meter:
                    row = replace(row, recorded=make_record(selection, meter, night.observer, writer))
                row = row.with_usage(meter)
            if answers.ignored:
                made = SkillOffers(skill=row.skill, name=skill, version=offer_decision(night, skill))
            else:
                # What must be measured for an offer counts as the night's.
                with night.remaining.metered() as meter:
                    version = offer_version(night, state, review.versions, meter)
                    draft = offer_draft(night, state, review.drafts, meter)
                made = SkillOffers(skill=row.skill, name=skill, version=version, draft=draft)
            refusals, lines = (all_lines(repository, refs).get(skill, ()) for refs in (REFUSALS, RECORDS))
            brought = {"answers": answers.posted, "refusals": refusals, "record": lines}
            night.offers.append(made.model_copy(update=brought))
            return replace(row, answers=answers.lines)
    except BusyError:
        return replace(row, training=Training.BUSY, reason="another run trains it")
    except SkilloptError as error:
        return with_failure(row, error)


def _train(night: Night, selection: Selection, row: SkillNight, *, last: bool) -> SkillNight:
    """Train a skill that is due, within the remaining budget."""
    state = night.read_state(selection)
    due = why_due(state.due_facts)
    if due is None:
        return replace(row, reason=NOT_DUE)
    row = replace(row, cause=due.reason)
    target, into = state.target, night.tips
    waits = night.remaining.used_up
    if not waits and state.conflicts:
        found = state.conflicts[0]
        theirs, ours = (escape_terminal(" / ".join(text.splitlines())) for text in (found.theirs, found.ours))
        waits = (
            f"people changed the same lines in two ways, '{theirs}' on {into.default_branch} and '{ours}' on "
            f"skillopt/{target.name}; merge {into.default_branch} into skillopt/{target.name} by hand"
        )
    if waits:
        return replace(row, training=Training.WAITING, reason=waits)
    if state.moves_on:
        place = StartPlace(night.repository, target.name, target.place(night.repository), state.tip, into.default)
        with writer_lock(night.project.root, target.name):
            write_start(place, datetime.now(UTC).isoformat(timespec="seconds"))
        state = night.read_state(selection)
    night.observer.notice(f"{target.name}: {due.reason}")
    run, start = state.unfinished, state.start
    if start == "auto" and run and run.base and night.remote and night.repository.ref_tip(run.base) is None:
        start = "branch" if state.tip else "worktree"  # a run whose first commit is gone is not continued
    with night.remaining.metered(1.0 if last else SHARE) as meter:
        row = _trained(night, selection, start, row, meter)
    return row.with_usage(meter)


def _trained(night: Night, selection: Selection, start: Start, row: SkillNight, meter: Meter) -> SkillNight:
    """Train within what a meter allows, and say what came of it."""
    try:
        done = optimize(selection, start=start, observer=night.observer, allowance=meter)
        stopped = night.ledger.run(done.run).state == "stopped"
        training = Training.STOPPED if stopped else Training.FINISHED
        return replace(row, training=training, reason=done.reason, run=done.run, versions=len(done.versions))
    except BusyError:
        raise
    except NothingMeasuredError as error:
        # What the night left too little for goes on in the next one; a run's own cap would end that one, too.
        training = Training.STOPPED if meter.refused else Training.FAILED
        return replace(row, training=training, reason=str(error), run=error.run)
    except SkilloptError as error:
        return replace(row, training=Training.FAILED, reason=str(error))


def _hand_over(night: Night, out: Path, found: Nightly) -> None:
    """Write what is to be offered, and the branches with it."""
    left = OfferFolder(remote=night.review.remote, night=found, offers=tuple(night.offers))
    put_file(out / OFFERS, left.model_dump_json(indent=1))
    if night.remote is None:
        return
    offered = [one for skill in night.offers for one in (skill.version, skill.draft) if one is not None and one.tip]
    branches = {f"refs/heads/{one.branch}": one.tip for one in offered}
    here = {name: tip for name, tip in branches.items() if night.repository.ref_tip(name) == tip}
    write_bundle(night.repository, out / BUNDLE, here, night.tips.all)
