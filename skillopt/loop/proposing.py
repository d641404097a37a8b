"""Proposing: a reflection's edits as lines with the symptoms that each is to mend, and without what may not be said."""

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence

from skillopt.loop.course import Course
from skillopt.loop.draft import Line
from skillopt.loop.events import EditRefused, Event, StepStarted
from skillopt.loop.learner import Learner, Seen
from skillopt.loop.reflection import Briefing, propose_edits
from skillopt.loop.training_run import TrainingRun
from skillopt.skills.document import Skill
from skillopt.skills.edits import Change, Edit, split_lines

__all__ = ["make_lines", "propose_lines"]


def propose_lines(
    run: TrainingRun,
    learner: Learner,
    step: int,
    carried: Sequence[Line],
    shown: Mapping[str, Seen],
    digest: str = "",
) -> Course[list[Line]]:
    """Ask for a patch; give its sound edits as lines, each with the symptoms that it is to mend."""
    settings, memory = run.settings, learner.memory
    skill = learner.draft.build(carried)
    yield StepStarted(1, step, settings.edit_budget)
    pairs = [(learner.tasks[name], seen.rollout) for name, seen in shown.items()]
    briefing = Briefing(skill.document, digest, memory.listing(), memory.notes, memory.by_people, learner.readings)
    proposal = yield from propose_edits(briefing, pairs, settings, run.next_proposal(), settings.edit_budget)
    yield from proposal.findings
    yield from run.suspects.add_claims(step, proposal.failures)
    learner.aside = run.suspects.set_aside
    for edit, reason in proposal.refused:
        memory.refused(edit, reason)
        yield EditRefused(step, edit, reason)
    rivals = ((rival.change.edit, f"it rivals {', '.join(rival.instead_of)}") for rival in proposal.rivals)
    for edit, reason in (*proposal.untried, *rivals):
        memory.untried(edit, reason)
        yield EditRefused(step, edit, reason)
    clean = yield from _refuse_leaks(run, learner, step, proposal.patch.changes, skill)
    lines = make_lines(
        [part for edit in clean for part in (split_lines(edit) if edit.line_tasks else (edit,))],
        {name: seen.symptoms for name, seen in shown.items()},
    )
    learner.cite(symptom for line in lines for targets in line.targets.values() for symptom in targets)
    return lines


def make_lines(edits: Sequence[Edit], shown: Mapping[str, frozenset[str]]) -> list[Line]:
    """Say of each edit what it is to mend.

    That is what all tasks share which it cites. Where they share nothing, or one task shows several things, it is what
    no other edit is for.
    """
    cited = [[name for name in dict.fromkeys(edit.tasks) if name in shown] or list(shown) for edit in edits]
    shared = [frozenset.intersection(*(shown[name] for name in names)) for names in cited]
    claimed: dict[str, set[str]] = defaultdict(set)
    for names, symptoms in zip(cited, shared, strict=True):
        if len(symptoms) == 1 and len(names) > 1:
            for name in names:
                claimed[name] |= symptoms
    lines = []
    for edit, names, symptoms in zip(edits, cited, shared, strict=True):
        targets = {name: symptoms or shown[name] for name in names}
        targets = {
            name: (found if len(found) == 1 else found - claimed[name]) or found for name, found in targets.items()
        }
        lines.append(Line(edit, targets, packed=len(edit.content.strip().splitlines()) > 1))
    return lines


def _refuse_leaks(
    run: TrainingRun, learner: Learner, step: int, changes: Sequence[Change], skill: Skill
) -> Generator[Event, None, list[Edit]]:
    """Return the edits that carry no protected text into the draft."""
    edits = [change.edit for change in changes]
    leaking = dict(run.leaking_edits(skill, edits))
    for edit in edits:
        if edit in leaking:
            learner.memory.refused(edit, leaking[edit])
            yield EditRefused(step, edit, leaking[edit])
    return [edit for edit in edits if edit not in leaking]
