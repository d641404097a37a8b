"""Runs of what somebody else wrote: edits, which are tested and gated, and changed skills against their old text."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from skillopt.errors import EditError, UsageError
from skillopt.execution.recording import record_of
from skillopt.execution.runner import RunObserver
from skillopt.figures import VAL
from skillopt.gate.comparison import Pairs
from skillopt.gate.decide import Verdict
from skillopt.loop.draft import Draft, Line
from skillopt.loop.events import EditRefused, EditScreened, GateDecided
from skillopt.loop.proposals import ProposalTerms, check_proposal, try_proposal
from skillopt.project import Selection
from skillopt.prompts.proposed_edits import DOUBLED, ProposedEdit, ProposedLine
from skillopt.review.gate import ChangeGate, Demand
from skillopt.review.result import Standing, SuiteMeasurement
from skillopt.rollouts import Usage
from skillopt.runs.history import bring_refusals, first_text, told_refusals
from skillopt.runs.plan import RunPlan, Start, incumbent_of, make_plan, read_version, record_run
from skillopt.runs.recorded import earlier_gates, proposal_repeats, rollouts_at, runs_on, spent_by_earlier
from skillopt.runs.records import find_record
from skillopt.runs.run import DraftState, RecordedRun, draft_obstacle, open_draft
from skillopt.safety.leaks import LEAK_REASON
from skillopt.sandbox.processes import shell_problem
from skillopt.skills.document import Skill
from skillopt.skills.edits import Change, Edit, Op, apply_edits
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.locks import MOST_A_DAY, count_refused, note_refused, writer_lock
from skillopt.tasks import Split, digest_of
from skillopt.versions.decisions import edits_of

SHORT = 12
"""Characters of a digest that name an incumbent."""

MOST_EDITS: Final = 64
"""Edits of one proposal at most, whatever the budget is."""


class ProposalLine(ProposedLine):
    """A line of an edit of a proposal."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ProposalEdit(ProposedEdit):
    """An edit of a proposal."""

    # One that cites no task is refused, so the schema says it: whoever reads it saves a turn.
    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_extra={"anyOf": [{"required": ["tasks"]}, {"required": ["lines"]}]}
    )

    op: Annotated[Op, Field(description="What it does.")]
    anchor: Annotated[
        str,
        Field(
            description="Text copied exactly from the skill, occurring there once: what to replace or delete, or what "
            "an add follows.",
            max_length=20_000,
        ),
    ] = ""
    section: Annotated[
        str,
        Field(
            description="For an add without anchor: title of the section it ends; for a rewrite: of the section whose "
            "text below the heading, up to the next heading, becomes the content. `Rules > Dates` where titles repeat.",
            max_length=200,
        ),
    ] = ""
    file: Annotated[str, Field(description="Path of the file, where several are trained.", max_length=200)] = ""
    content: Annotated[
        str, Field(description="The new text, of one or many paragraphs; none for delete.", max_length=20_000)
    ] = ""
    rationale: Annotated[str, Field(description="The cause, and why this removes it.", max_length=2_000)] = ""
    lines: Annotated[
        tuple[ProposalLine, ...],
        Field(description="In place of content: each line of it, with the ids of the tasks behind it.", max_length=64),
    ] = ()
    tasks: Annotated[
        tuple[Annotated[str, Field(max_length=200)], ...],
        Field(description="Ids of the train tasks that show the cause.", max_length=64),
    ] = ()


class EditsProposal(BaseModel):
    """Edits for one incumbent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    edits: tuple[ProposalEdit, ...] = Field(min_length=1, max_length=MOST_EDITS)
    base: str = Field("", max_length=64)
    proposer: str = Field("a person", pattern=r"^[\w .()/-]{1,60}$")


@dataclass(frozen=True, slots=True)
class RefusedEdit:
    """An edit that cannot be tried, by its place from 1; `look`: the refusal tells something of the text of tasks."""

    number: int
    edit: str
    reason: str
    look: bool = False


@dataclass(frozen=True, slots=True)
class ProposalResult:
    """What became of a proposal."""

    run: str
    skill: str
    branch: str
    refused: tuple[RefusedEdit, ...] = ()
    dropped: tuple[EditRefused, ...] = ()
    ablations: tuple[EditScreened, ...] = ()
    verdict: Verdict | None = None
    version: str = ""
    reason: str = ""
    looks: int = 0
    rollouts: int = 0
    paid_rollouts: int = 0
    spent: Mapping[str, Usage] | None = None
    place: str = ""
    draft: DraftState | None = None

    @property
    def accepted(self) -> bool:
        """Whether the gate took it."""
        return self.verdict is not None and self.verdict.accepted


def check(selection: Selection, offered: EditsProposal, *, start: Start = "auto") -> tuple[RefusedEdit, ...]:
    """Return which edits cannot be tried, and why; spends nothing."""
    plan, root = make_plan(selection, proposer=offered.proposer), selection.project().root
    return _checked(plan, root, find_ground(plan, root, start), offered)[1]


def propose(
    selection: Selection, offered: EditsProposal, *, start: Start = "auto", observer: RunObserver | None = None
) -> ProposalResult:
    """Try edits: together on the tasks they cite, then each left out, then those that are needed at the gate."""
    plan, observer = make_plan(selection, proposer=offered.proposer), observer or RunObserver()
    root, name = selection.project().root, plan.target.name
    bring_refusals(selection, observer)
    with writer_lock(root, name), closing(Ledger.open(root)) as ledger:
        ground = find_ground(plan, root, start)
        proposal, refused = _checked(plan, root, ground, offered)
        if refused:
            reason = "nothing was tried: mend or drop what is refused, and propose again"
            return ProposalResult("", name, f"skillopt/{name}", refused, reason=reason)
        record = _record(plan, ledger, ground, proposal, count_refused(root, name, plan.suite.digest)[0])
        run = RecordedRun(plan, ledger, record, observer)
        number = sum(run.seed < record.seed for run in runs_on(ledger, "proposal", name, plan.suite.digest))
        versions = plan.repository.versions(name, record.base) if record.base else ()
        until = next((row.at for row in ledger.events(record.id)), record.started_at)  # which a repeated run sets anew
        taught, repeats = plan.suite.tasks_to_evaluate(Split.TRAIN), proposal_repeats(number)
        ran = rollouts_at(ledger, plan.drivers, ground.text, taught, repeats)
        terms = ProposalTerms(
            number=number,
            spent=spent_by_earlier(ledger, versions, plan.suite, name, until),
            draft=ground.edits,
            ran=[runs[-1] for runs in ran.values()],
            refused=told_refusals(plan.repository, record.refusals, plan.suite),
        )
        tried = try_proposal(
            proposal, ground.incumbent, suite=plan.suite, settings=plan.target.settings, runner=run.runner, terms=terms
        )
        events, ended = run.drive(tried)
    decided = next((event for event in events if isinstance(event, GateDecided)), None)
    return ProposalResult(
        run=record.id,
        skill=name,
        branch=f"skillopt/{name}",
        dropped=tuple(event for event in events if isinstance(event, EditRefused)),
        ablations=tuple(event for event in events if isinstance(event, EditScreened)),
        verdict=decided.verdict if decided else None,
        version=run.commits[-1] if run.commits else "",
        reason=ended.reason,
        looks=record.seed + 1,
        rollouts=ended.rollouts,
        paid_rollouts=run.runner.paid_rollouts,
        spent=plan.drivers.meter.by_role,
        place="" if plan.suite.folds else VAL,
        draft=run.draft,
    )


@dataclass(frozen=True, slots=True)
class Ground:
    """The text that proposed edits are for: the incumbent, and the edits of the draft that waits on top of it."""

    incumbent: Skill
    text: Skill
    edits: tuple[Edit, ...] = ()


def find_ground(plan: RunPlan, root: Path, start: Start) -> Ground:
    """Find what a proposal goes on from: the waiting draft where it is about the incumbent, so that rounds add up.

    A text that is named, `worktree` or `branch`, is meant without the draft. So is the incumbent where people changed
    the draft so that its edits do not make its text any more.
    """
    incumbent = incumbent_of(plan.target, plan.repository, start)
    branch = open_draft(root, plan.repository, plan.target)
    waiting = branch.read() if start == "auto" else None
    if waiting is None or draft_obstacle(plan.repository, plan.target, branch, waiting):
        return Ground(incumbent, incumbent)
    edits = tuple(replace(edit, id=f"d{number}") for number, edit in enumerate(edits_of(waiting), 1))
    text = read_version(plan.repository, plan.target.name, waiting.sha, branch.path)
    draft = Draft(incumbent)
    draft.set([Line(edit) for edit in edits])
    return Ground(incumbent, text, edits) if draft.skill.digest == text.digest else Ground(incumbent, incumbent)


def _checked(
    plan: RunPlan, root: Path, ground: Ground, offered: EditsProposal
) -> tuple[tuple[Change, ...], tuple[RefusedEdit, ...]]:
    skill = ground.text
    today = count_refused(root, skill.name, plan.suite.digest)[1]
    if today >= MOST_A_DAY:
        raise UsageError(
            f"expected rules in words of your own, found {today} proposals within a day that repeat text of tasks; no "
            "more are looked at until tomorrow"
        )
    if offered.base and not (len(offered.base) >= SHORT and skill.digest.startswith(offered.base)):
        raise UsageError(
            f"expected edits for {skill.name} {skill.digest[:SHORT]}, found some for {offered.base[:SHORT]!r}: "
            "the skill changed since; read the evidence again"
        )
    edits: list[Edit] = []
    refused: list[RefusedEdit] = []
    for number, edit in enumerate(offered.edits, 1):
        if edit.doubled:
            refused.append(RefusedEdit(number, edit.op.value, DOUBLED))
            continue
        try:
            edits.append(edit.named(f"e{number}"))
        except EditError as error:
            refused.append(RefusedEdit(number, edit.op.value, str(error)))
    repository = plan.repository
    path = plan.target.place(repository)
    first = first_text(repository, skill.name, repository.versions(skill.name), path) or ground.incumbent.document
    by_people = told_refusals(repository, plan.refusals, plan.suite)
    proposal, unsound = check_proposal(
        skill.document, edits, suite=plan.suite, settings=plan.target.settings, first=first, by_people=by_people
    )
    after = apply_edits(skill.document, [change.edit for change in proposal]).document
    if problem := next(filter(None, (shell_problem(part.path, part.text) for part in after.parts)), ""):
        refused.append(RefusedEdit(len(edits), "all edits together", problem))
    refused += [RefusedEdit(int(edit.id[1:]), edit.summary, why, LEAK_REASON in why) for edit, why in unsound]
    if any(one.look for one in refused):
        words = digest_of(*(edit.model_dump_json() for edit in offered.edits))
        note_refused(root, skill.name, plan.suite.digest, words)
    return proposal, tuple(sorted(refused, key=lambda one: one.number))


def _record(plan: RunPlan, ledger: Ledger, ground: Ground, proposal: Sequence[Change], refused: int) -> RunRecord:
    """Record the proposal's run; the same edits for the same text are the same run, and come to the same."""
    edits = digest_of(
        ground.text.digest,
        *(
            repr((edit.op.value, edit.anchor, edit.section, edit.content, edit.tasks)) + edit.file
            for edit in (change.edit for change in proposal)
        ),
    )
    config = json.dumps([plan.target.settings.identity, *plan.identities, f"proposal {edits}"])
    looks = len(runs_on(ledger, "proposal", plan.target.name, plan.suite.digest)) + refused
    return record_run(plan, ledger, ground.incumbent, config, looks)


@dataclass(frozen=True, slots=True)
class ChangedTexts:
    """Two texts of a skill."""

    before: Skill
    after: Skill
    base: str


def measure_change(
    plan: RunPlan, change: ChangedTexts, demand: Demand, ledger: Ledger, observer: RunObserver
) -> tuple[SuiteMeasurement, Pairs]:
    """Compare two texts of a skill on the suite of a plan, by pairs of rollouts; asked the same, it is the same run."""
    before, after, suite = change.before, change.after, plan.suite
    if demand.by_record:
        demand = replace(demand, record=find_record(plan, before, after))
    config = json.dumps([plan.target.settings.identity, *plan.identities, f"gate {demand} {after.digest}"])
    name = digest_of("gate", after.name, before.digest, config, suite.digest)[:12]
    looks = [run for run in runs_on(ledger, "gate", after.name, suite.digest) if run.id != name]
    renamed = replace(before, name=after.name)
    record = record_of(renamed, suite, config, len(looks), path=plan.skill_path, start=(change.base, ""))
    record = ledger.begin_run(replace(record, id=name))
    run = RecordedRun(plan, ledger, record, observer)
    gate = ChangeGate(before, after, suite=suite, settings=plan.target.settings, runner=run.runner, demand=demand)
    spent = [sum(verdict.error_spent for verdict in gates) for gates in earlier_gates(ledger, record)]
    _, ended = run.drive(gate.events(spent))
    judged = gate.judged
    found = SuiteMeasurement(
        Standing.INVALID if judged is None else judged.answer,
        ended.reason if judged is None else judged.reason,
        judged,
        tasks=len(suite.tasks(Split.VAL)),
        run=record.id,
        rollouts=ended.rollouts,
        paid_rollouts=run.runner.paid_rollouts,
    )
    return found, gate.pairs
