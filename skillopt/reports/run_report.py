"""Report of a run as Markdown of which every other form is made; every text from elsewhere is marked."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from shlex import quote
from typing import Final

from skillopt.figures import HELD_OUT, VAL, comparison_words, name_grade
from skillopt.gate.decide import Outcome, Verdict
from skillopt.gate.error_budget import look_confidence
from skillopt.gate.grades import GRADE_MEANINGS
from skillopt.reports.html import print_page
from skillopt.reports.markdown import (
    bullets,
    cited,
    commands,
    details,
    list_names,
    paragraphs,
    print_markdown,
    quote_block,
    tell_acts,
    tell_difference,
    write_table,
)
from skillopt.reports.terminal import print_terminal
from skillopt.reports.view import FOLDS, Cell, EditView, Fate, HeatRow, RunView
from skillopt.safety.capabilities import capability_difference
from skillopt.safety.credentials import mask
from skillopt.safety.escaping import count_noun
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import diff_documents
from skillopt.skills.trained_files import split_text
from skillopt.storage.ledger import noun_of

_OUTCOMES: Final = {
    Outcome.ACCEPT: "Accepted",
    Outcome.REJECT: "Rejected",
    Outcome.INCONCLUSIVE: "Inconclusive",
    Outcome.INVALID: "Not measured",
}
_MOST_REASON: Final = 300  # of an error of a provider: more is the text of a page
_MOST_QUOTE: Final = 200  # of what a suspicious rollout said: two lines of a terminal
_SPLITS: Final = ("train", "val", *FOLDS, "test", "")


def render_markdown(view: RunView) -> str:
    """Return the whole run as Markdown."""
    return print_markdown(_titled(view))


def render_text(view: RunView, width: int) -> str:
    """Return the whole run as plain text for a terminal."""
    return print_terminal(_titled(view), width)


def render_page(view: RunView, rollouts: str = "") -> str:
    """Return the run as one HTML page, with rollouts before its settings."""
    kind = "run" if view.kind == "training" else view.kind
    footer = "Written by SkillOpt from the record of the run; no number is from a model's text."
    return print_page(view.skill, f"{kind} {view.run}", _report(view, rollouts), footer)


def _titled(view: RunView) -> str:
    return paragraphs(f"# {cited(view.skill)}: {cited(view.kind)} run {cited(view.run)}", _report(view))


def _report(view: RunView, rollouts: str = "") -> str:
    ended = f": {cited(view.reason)}." if view.reason else ". The run is not over."
    texts = [version.text for version in view.versions] + ([view.draft.text] if view.draft else [])
    steps = (f"{step.head}{f'. {cited(step.end)}' if step.end else ''}" for step in view.steps)
    taken = [edit for edit in view.edits if edit.fate is Fate.ACCEPTED]
    suspects = (
        f"{cited(one.task)}, by {'what was measured' if one.by == 'measured' else 'the optimizer model'}: "
        f"{cited(one.reason)}"
        for one in view.suspects
    )
    return paragraphs(
        *(
            _headline(view),
            view.caution,
            f"{view.state.capitalize()}, started {view.started.replace('T', ' ').replace('+00:00', ' UTC')}{ended}",
            tell_difference(capability_difference(texts[0], texts[-1])) if len(texts) > 1 else "",
            tell_acts(view.new_acts),
            _headed("Edits", paragraphs(_list_edits(taken) or "No edit was taken.", _changes(view))),
            _headed("Draft", _draft(view)),
            _headed("Steps", "" if view.shrunk else bullets(steps)),
            _headed("Text and the tasks that need it", list_units(view)),
            _headed("Comparisons", _comparisons(view)),
            _headed("Verifiers to check", bullets(suspects)),
            _headed("Suspicious rollouts", _suspicious_rollouts(view)),
            _headed("Unsolved tasks", _not_learned(view)),
            _headed("Cost", _cost(view)),
            _headed("Not taken", _edits_not_taken(view)),
            _headed("Tasks by version", _tasks_by_version(view)),
            rollouts,
            _headed("Settings", _settings(view)),
            _headed("Reproduce and roll back", _reproduce(view)),
        )
    )


def _headed(title: str, text: str) -> str:
    return f"## {title}\n\n{text}" if text else ""


def _headline(view: RunView) -> str:
    """State what the run came to: tasks passed, gain, grade."""
    accepted, taken = view.accepted, view.taken_gates
    grade = f"; **{name_grade(accepted[-1].grading)}**" if accepted and accepted[-1].grading else ""
    if view.test is not None:
        verdict = view.test.verdict
        return f"**{_OUTCOMES[verdict.outcome]}**: {comparison_words(verdict, HELD_OUT)}{grade}."
    if taken:
        place = "" if view.folded or view.shrunk else VAL
        told = view.headline.words if view.headline else comparison_words(taken[-1].verdict, place)
        versions = f", by {len(taken)} versions" if len(taken) > 1 else ""
        judged = "two halves, each by the other's edits" if view.folded else "`val`"
        judged = "all tasks that are not held out" if view.shrunk else judged
        where = f"on {judged}, not tested on the held-out `test` split"
        return f"**{_OUTCOMES[taken[-1].verdict.outcome]}** {where}: {told}{versions}{grade}."
    if (draft := view.draft) is not None:
        told = f"{draft.headline.words}; " if draft.headline else ""
        return f"{told}**{name_grade(draft.grading)}**. No version was accepted. The draft waits for a person."
    if not view.gates:
        return "**No verdict**: no candidate reached the gate."
    found = count_noun(len(view.gates), "candidate")
    return f"**{_OUTCOMES[view.gates[-1].verdict.outcome]}**: {found}, none accepted."


def _list_edits(edits: Sequence[EditView]) -> str:
    """List edits with what is known of each; an ablation counts runs without it that make a mistake it removes."""
    rows = []
    for number, edit in enumerate(edits, 1):
        reason, tasks = cited(edit.edit.rationale) or "no reason", list_names(edit.tasks)
        row, found = f"**{number}** {_edit(edit)} — {reason}; for {tasks}.", edit.ablation
        if found is not None and found.runs:
            row += f" Ablation: {found.failed}/{found.runs} runs fail, {count_noun(found.tasks, 'task')}."
        rows.append(row)
    return bullets(rows)


def _edit(view: EditView) -> str:
    edit = view.edit
    before, after = (cited(text) or "—" for text in (edit.anchor, edit.content))
    place = f" in {cited(view.section)}" if view.section else ""
    shown = {"add": after, "rewrite": after, "delete": before}.get(edit.op.value, f"{before} by {after}")
    return f"{edit.op.value}{place}: {shown}"


def _changes(view: RunView) -> str:
    """Show what each version changes, folded away."""
    shown = []
    for before, after in pairwise(view.versions):
        change = diff_documents(SkillDocument(before.text), SkillDocument(after.text))
        told = paragraphs(
            f"Grade: {name_grade(after.grading)}." if after.grading else "",
            tell_difference(capability_difference(before.text, after.text)),
            quote_block(change, "diff") if change.strip() else "",
        )
        files = " + ".join(cited(part.path) for part in split_text(before.text))
        shown.append(details(f"What version {after.number} changes in {files}", told))
    return paragraphs(*shown)


def _draft(view: RunView) -> str:
    """State what waits, what was shown of it and what was not, and what to do with it."""
    if (found := view.draft) is None:
        return ""
    grading, skill = found.grading, quote(view.skill)
    edits = [edit for edit in view.edits if edit.edit.id in found.edits]
    meaning = f", that is {GRADE_MEANINGS[grading.grade]}" if grading else ""
    told = [f"**{name_grade(grading)}**{meaning}. {count_noun(len(found.edits), 'edit')} in the draft."]
    told += [f"A person must look at it first: {cited(mark)}." for mark in found.marks]
    if found.taken:
        told.append(f"A person made it version {cited(found.taken[:10])}.")
    elif not found.commit:
        told.append("It is on no branch.")
    elif grading is not None and not grading.offered:
        told.append(f"On branch {cited(found.branch)} it is kept, and not offered.")
    else:
        told.append(f"It is on branch {cited(found.branch)}, and becomes a version when taken:")
        told.append(commands([f"skillopt diff {skill} draft", f"skillopt take {skill}"]))
    return paragraphs(*told, _list_edits(edits))


def list_units(view: RunView) -> str:
    """List what a shortened text was made of: each unit with the tasks that need it; empty for other runs."""
    rows = [
        (
            str(one.line),
            cited(one.text),
            str(one.tokens),
            "stays" if one.kept else "deleted",
            list_names(one.tasks) if one.tasks else cited(one.reason),
        )
        for one in view.units
    ]
    return write_table(("line", "text", "tokens", "outcome", "tasks that need it"), rows)


def _comparisons(view: RunView) -> str:
    """List each gate and the release check with figure, outcome and flips, and what the check guarantees."""
    place, rows = "" if view.folded or view.shrunk else VAL, []
    for number, gate in enumerate(view.gates, 1):
        what = count_noun(len(gate.edits), "edit") if gate.edits else cited(gate.kind)
        version = f", version {gate.version}" if gate.version is not None else ""
        rows.append((f"gate {number} ({what})", f"{gate.verdict.outcome.value}{version}", gate.verdict, place))
    if (test := view.test) is not None:
        against = "the released version" if test.released else "the text before training"
        rows.append((f"held-out test (against {against})", test.verdict.outcome.value, test.verdict, HELD_OUT))

    return paragraphs(
        bullets(
            f"{about}: {comparison_words(verdict, where)}; {list_flips(verdict)}: **{outcome}**"
            for about, outcome, verdict, where in rows
        ),
        "" if view.gates else "No candidate reached the gate.",
        "" if view.shrunk else _release_check(view),
    )


def list_flips(verdict: Verdict) -> str:
    """Count and name the tasks that a comparison fixed and broke."""
    sides = ("fixed", verdict.fixed), ("broke", verdict.broken)
    return ", ".join(f"{what} {len(names)}{f' ({list_names(names, 200)})' if names else ''}" for what, names in sides)


def _release_check(view: RunView) -> str:
    """Say what the release check guarantees, or why there was none."""
    if (test := view.test) is None:
        training = view.state == "finished" and view.kind == "training"
        none = "the suite has no held-out tasks" if training else f"the run is a {view.kind} that is {view.state}"
        reason = view.test_withheld or (none if view.accepted else "nothing was accepted")
        return f"There was no release check: {cited(reason)}."
    equal, error = 1.0 - look_confidence(view.confidence, test.look), 1.0 - view.confidence
    return (
        f"The held-out test is look {test.look} at tasks that training never saw, for that released version. It "
        f"accepts an equal text with probability {equal:.3f} at most, all looks together with {error:.2f}."
    )


def _suspicious_rollouts(view: RunView) -> str:
    """List rollouts whose score may have been got without the work, with quotes and what ordinary ones do instead."""
    if not view.suspicions:
        return ""
    rows = [
        f"{one.sign}, task {cited(one.task, 100)}"
        f"{f', {one.rollouts} rollouts' if one.rollouts > 1 else ''}: {cited(one.what)}"
        f"{f': {cited(mask(one.quote), _MOST_QUOTE)}' if one.quote else ''}. {one.sure}."
        for one in view.suspicions
    ]
    told = (
        f"{count_noun(len(view.suspicions), 'finding')}: these rollouts scored under trained text in a way that "
        "ordinary rollouts of the same task did not. A person must look at them."
    )
    return paragraphs(told, bullets(rows))


def _not_learned(view: RunView) -> str:
    aside = [f"{list_names(names)}: {cited(reason)}" for reason, names in view.set_aside.items()]
    skipped = [f"{list_names(one.tasks)}: {cited(one.reason, _MOST_REASON)}" for one in view.skipped]
    prompts = f"{count_noun(len(view.skipped), 'prompt')} got no answer, and the run went on without proposals for:"
    return paragraphs(
        *(("These tasks still failed when training ended:", bullets(aside)) if aside else ()),
        *((prompts, bullets(skipped)) if skipped else ()),
    )


def _cost(view: RunView) -> str:
    """Say what each role was paid for, as console and `status` do, and how long each version is."""
    asked = f"{view.rollouts:,} rollouts asked for." if view.rollouts is not None else "The run is not over."
    rows = [
        (cited(role), count_noun(usage.calls, noun_of(role)), f"{usage.tokens:,}", usage.price)
        for role, usage in view.spend.items()
    ]
    paid = write_table(("role", "paid", "tokens", "price"), rows) or "Every answer was cached, so nothing was paid for."
    versions = [
        (f"v{one.number}", name_grade(one.grading) if one.grading else "—", one.passed or "—", f"{one.tokens:,}")
        for one in view.versions
    ]
    return paragraphs(asked, paid, write_table(("version", "grade", "tasks passed", "tokens"), versions))


def _edits_not_taken(view: RunView) -> str:
    """Count the edits that were not taken by why, and list them, folded away; empty when there are none."""
    waiting = view.draft.edits if view.draft else ()
    others = [edit for edit in view.edits if edit.fate is not Fate.ACCEPTED and edit.edit.id not in waiting]
    fates = Counter(edit.fate for edit in others)
    summary = ", ".join(f"{fates[fate]} {fate.value}" for fate in Fate if fates[fate])
    # The same edit comes again and again, and falls for the same reason.
    same = Counter((_edit(one), one.fate.value, cited(one.reason) or "—") for one in others)
    rows = [(*row, str(times)) for row, times in same.items()]
    listed = write_table(("edit", "fate", "reason", "times"), rows)
    return details(f"{count_noun(len(others), 'edit')} not taken: {summary}", listed)


def _tasks_by_version(view: RunView) -> str:
    """Show how each task went under each version; of each split what broke or fails stands first."""
    if not view.heat:
        return "No rollout of these versions is recorded."
    rows: list[tuple[str, ...]] = []
    for split in _SPLITS:
        ran = [row for row in view.heat if row.split == split and any(cell.repeats for cell in row.cells)]
        lines = sorted(map(_line, ran), key=lambda line: line[0])
        rows += [(split or "?", *cells) for _, cells in lines]
    columns = ("split", "task", *(f"v{version.number}" for version in view.versions))
    legend = (
        "`pass` and `fail`, with the verifier's score where it is partial; with repeats, how many passed. "
        "`·` was not evaluated, which is not a failure."
    )
    return paragraphs(legend, write_table(columns, rows))


def _line(row: HeatRow) -> tuple[int, tuple[str, ...]]:
    """Return the cells of a task, and how much it needs a look: broken, not passing in the end, fixed, the rest."""
    cells: list[str] = []
    flips: set[str] = set()
    last = Cell()
    for cell in row.cells:
        shown = "·"
        if cell.repeats:
            shown = "pass" if cell.passed else f"fail {cell.score:.2f}" if cell.score else "fail"
            shown = f"{cell.passed}/{cell.repeats} pass" if 0 < cell.passed < cell.repeats else shown
            if last.repeats and last.holds != cell.holds:
                flips.add(flip := "fixed" if cell.holds else "broken")
                shown += f", {flip}"
            last = cell
        cells.append(shown)
    urgency = (2 if flips else 3) if last.holds else (0 if "broken" in flips else 1)
    return urgency, (cited(row.task), *cells)


def _settings(view: RunView) -> str:
    verdicts = [gate.verdict for gate in view.gates] + ([view.test.verdict] if view.test is not None else [])
    agreed = max((one.judge for one in verdicts if one.judge is not None), key=lambda one: one.criteria, default=None)
    judge = f"{view.judge}; {agreed.words}" if agreed is not None else view.judge
    who = [("target", view.target), ("optimizer model", view.model), ("judge", judge), ("suite", view.suite_digest)]
    return write_table(
        ("setting", "value"), [(cited(name), cited(value) or "—") for name, value in (*who, *view.settings)]
    )


def _reproduce(view: RunView) -> str:
    """Return the commands that repeat the run, look further, and roll back."""
    skill, first = quote(view.skill), view.versions[0].commit if view.versions else ""
    again = "shrink" if view.kind == "shrink" else "optimize"
    lines = [f"git fetch origin {quote(view.branch)}", f"skillopt {again} {skill}"]
    if view.accepted and first:
        lines.append(f"skillopt diff {skill} {quote(first)} {quote(view.accepted[-1].commit or view.branch)}")
    undo = f"skillopt rollback {skill} {quote(first)}" if first else f"skillopt log {skill}"
    told = "The first two repeat the run; with its ledger every answer is cached. The last one publishes the old text."
    return paragraphs(commands([*lines, undo]), told)
