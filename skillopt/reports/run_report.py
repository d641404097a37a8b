"""Report of a run as blocks, made once for every printer; every text from elsewhere is cited."""

from collections.abc import Sequence
from shlex import quote
from typing import Final

from skillopt.gate.comparison import Tally
from skillopt.gate.decide import LOSS_ERRORS, Outcome, Verdict
from skillopt.gate.grades import GRADE_MEANINGS, gain_words, grade_name, grade_words
from skillopt.gate.headline import (
    HELD_OUT,
    VAL,
    compared_words,
    headline_of_verdict,
    metric_label,
    passed_cells,
    passed_words,
    tally_words,
)
from skillopt.loop.release_check import look_confidence
from skillopt.reports.blocks import (
    Bullets,
    Commands,
    Grid,
    Heading,
    Paragraph,
    ReportBlock,
    Table,
    act_blocks,
    cited,
    difference_blocks,
    list_names,
    paragraphs,
)
from skillopt.reports.run_edits import (
    ReportLimits,
    edits_not_taken,
    list_draft_edits,
    list_taken_edits,
    list_units,
    more_line,
    name_files,
    show_changes,
)
from skillopt.reports.view import GateView, RunView
from skillopt.safety.capabilities import capability_difference
from skillopt.safety.credentials import mask
from skillopt.safety.plurals import count_noun
from skillopt.storage.ledger import noun_of

_OUTCOMES: Final = {
    Outcome.ACCEPT: "Accepted",
    Outcome.REJECT: "Rejected",
    Outcome.INCONCLUSIVE: "Inconclusive",
    Outcome.INVALID: "Not measured",
}
_MOST_REASON: Final = 300
_MOST_QUOTE: Final = 200


def run_report(view: RunView, limits: ReportLimits, extra: Sequence[ReportBlock] = ()) -> list[ReportBlock]:
    """Make the blocks of the whole report, `extra` ones before the settings."""
    ended = f": {cited(view.reason)}." if view.reason else ". The run is not over."
    return [
        *paragraphs(
            _headline(view),
            view.caution,
            _size_change(view),
            f"{view.state.capitalize()}, started {view.started.replace('T', ' ').replace('+00:00', ' UTC')}{ended}",
        ),
        *_difference(view),
        *(Heading("Edits"), *list_taken_edits(view, limits), *show_changes(view)),
        *_headed([("Text and the tasks that need it", list_units(view, limits))], 2),
        *_headed(_found(view, limits, whole=True), 2),
        *_headed([("Tasks by version", _tasks_by_version(view))], 2),
        *extra,
        *_headed([("Settings", _settings(view)), *_advice(view)], 2),
    ]


def _difference(view: RunView) -> list[ReportBlock]:
    """Compare the text before training with the newest one, the draft where there is one."""
    texts = [version.text for version in view.versions] + ([view.draft.text] if view.draft else [])
    new = difference_blocks(capability_difference(texts[0], texts[-1])) if len(texts) > 1 else []
    return [*new, *act_blocks(view.new_acts)]


def run_details(view: RunView, limits: ReportLimits) -> list[ReportBlock]:
    """Make the blocks of what a run's record tells beside its headline and the edits that were taken."""
    return _headed(
        [
            ("Text and the tasks that need it", list_units(view, limits)),
            *_found(view, limits, whole=False),
            *_advice(view),
        ],
        3,
    )


def _headed(sections: Sequence[tuple[str, list[ReportBlock]]], level: int) -> list[ReportBlock]:
    return [one for title, blocks in sections if blocks for one in (Heading(title, level), *blocks)]


def _found(view: RunView, limits: ReportLimits, *, whole: bool) -> list[tuple[str, list[ReportBlock]]]:
    draft = _draft(view)
    return [
        ("Draft", [*draft, *list_draft_edits(view, limits)] if draft and whole else draft),
        ("Tasks fixed and broken", _flips(view, limits) if whole else []),
        ("Held-out test", [] if view.shrunk else _held_out_test(view)),
        (f"Gates on {_judged_on(view)}", _gates(view, limits)),
        ("Steps", _steps(view) if whole and not view.shrunk else []),
        ("Verifiers to check", _suspects(view)),
        ("Suspicious rollouts", _suspicious_rollouts(view, limits)),
        ("Unsolved tasks", _not_learned(view, limits)),
        ("Cost", [*_cost(view), *(_versions(view) if whole else [])]),
        ("Not taken", edits_not_taken(view, limits)),
    ]


def _advice(view: RunView) -> list[tuple[str, list[ReportBlock]]]:
    return [("Reproduce and roll back", _reproduce(view)), ("What the numbers do not show", _not_shown(view))]


def _headline(view: RunView) -> str:
    """State the verdict of the run with the gain and its interval."""
    if view.test is not None:
        verdict = view.test.verdict
        return f"**{_OUTCOMES[verdict.outcome]}**: {_comparison(view, verdict, HELD_OUT)}."
    if view.taken_gates:
        return _accepted(view)
    if view.draft is not None:
        passed = f"{view.draft.headline.words}, " if view.draft.headline else ""
        return f"**{passed}{grade_words(view.draft.grading)}**. No version was accepted. The draft waits for a person."
    if not view.gates:
        return "**no verdict**: no candidate reached the gate."
    found = count_noun(len(view.gates), "candidate")
    return f"**{_OUTCOMES[view.gates[-1].verdict.outcome]}**: {found}, none accepted."


def _accepted(view: RunView) -> str:
    """State what the accepted versions gained, without a held-out test."""
    taken = view.taken_gates
    verdict = taken[-1].verdict
    newest = _comparison(view, verdict)
    if grading := view.accepted[-1].grading if view.accepted else None:
        newest += f"; {grade_words(grading)}"
    if len(taken) > 1 and view.headline is not None:
        newest = f"{view.headline.words}, by {len(taken)} versions; the newest one: {newest}"
    place = f"on {_judged_on(view)}, not tested on the held-out `test` split"
    return f"**{_OUTCOMES[verdict.outcome]}** {place}: {newest}."


def _judged_on(view: RunView) -> str:
    if view.shrunk:
        return "all tasks that are not held out"
    return "two folds, each by the other's edits" if view.folded else "`val`"


def _comparison(view: RunView, verdict: Verdict, place: str = "") -> str:
    missing = f", {verdict.missing} not measured" if verdict.missing else ""
    where = place or ("" if view.folded or view.shrunk else VAL)
    found = headline_of_verdict(verdict, where)
    passed = found.passed if found else compared_words(verdict, where, view.metric)
    score = f"; {found.score}" if found else ""
    return (
        f"{passed}{_points(verdict)}{score}; {verdict.wins} better, {verdict.ties} equal, "
        f"{verdict.losses} worse{missing}"
    )


def _points(verdict: Verdict) -> str:
    """Give the gain in tasks passed with its interval; empty where no task was measured."""
    return f", {gain_words(verdict.gain, verdict.low, verdict.high)}" if verdict.pairs else ""


def _confidence(verdict: Verdict) -> str:
    """Confidence of a verdict, never quite 1."""
    return f"{verdict.confidence:.3f}" if verdict.confidence < 0.9995 else "above 0.999"  # noqa: PLR2004 - would be rounded up


def _draft(view: RunView) -> list[ReportBlock]:
    """State what waits, what was shown of it and what was not, and what to do with it."""
    if (found := view.draft) is None:
        return []
    grading, skill = found.grading, quote(view.skill)
    meaning = f", that is {GRADE_MEANINGS[grading.grade]}" if grading else ""
    shown = [f"**{grade_words(grading)}**{meaning}. {count_noun(len(found.edits), 'edit')} in the draft."]
    shown += [f"A person must look at it first: {cited(mark)}." for mark in found.marks]
    if found.taken:
        return paragraphs(*shown, f"A person made it version {cited(found.taken[:10])}.")
    if not found.commit:
        return paragraphs(*shown, "It is on no branch.")
    where = f"It is on branch {cited(found.branch)}, and becomes a version when taken:"
    if grading is not None and not grading.offered:
        return paragraphs(*shown, f"On branch {cited(found.branch)} it is kept, and not offered.")
    return [*paragraphs(*shown, where), Commands([f"skillopt diff {skill} draft", f"skillopt take {skill}"])]


def _noise(view: RunView) -> str:
    """State the noise floor and the least gain that the gate can prove; empty before the baseline."""
    if (base := view.baseline) is None:
        return ""
    floor = "The first skill was measured once, so its noise is unknown."
    if base.noise is not None:
        floor = f"The first skill, measured twice on `val`, differs by ± {base.noise:.3f} (standard error)."
    least = "`val` is too small to prove any gain."
    if base.least_gain is not None:
        least = f"The least gain in passed tasks that `val` can prove is {base.least_gain:.3f}."
    return f"The gate compares the {metric_label(view.metric)}, from 0 to 1. {floor} {least}"


def _size_change(view: RunView) -> str:
    """Count the versions and edits accepted, and the skill's tokens before and after."""
    if len(view.versions) < 2:  # noqa: PLR2004 - before and after
        return ""
    first, last = view.versions[0].tokens, view.versions[-1].tokens
    taken = count_noun(view.funnel["accepted"], "edit")
    made = f"{count_noun(len(view.accepted), 'version')} with {taken}"
    files = name_files(view.versions[0].text)
    return f"{made}. `{files}` goes from about {first:,} to {last:,} tokens ({last - first:+,}, estimated)."


def _gates(view: RunView, limits: ReportLimits) -> list[ReportBlock]:
    if not view.gates:
        return paragraphs("No candidate reached the gate.", _noise(view))
    columns = ("gate", "step", "candidate", "verdict", "tasks passed", "score", f"gain in {metric_label(view.metric)}")
    rows = [_gate(gate) for gate in view.gates[-limits.rows :]]
    more = more_line(len(view.gates) - len(rows), "earlier gate", view.run)
    return [
        Table((*columns, "better / equal / worse", "confidence"), rows),
        *paragraphs(more, _noise(view)),
        *paragraphs("" if view.test else _guarantee(view)),
    ]


def _gate(gate: GateView) -> tuple[str, ...]:
    verdict = gate.verdict
    what = count_noun(len(gate.edits), "edit") if gate.edits else cited(gate.kind)
    outcome = verdict.outcome.value + (f", version {gate.version}" if gate.version is not None else "")
    tasks = f" of {len(verdict.pairs)} run" if verdict.pairs else ""
    counts = f"{verdict.wins} / {verdict.ties} / {verdict.losses}{tasks}"
    gain = gain_words(verdict.gain, verdict.low, verdict.high)
    return str(gate.number), str(gate.step), what, outcome, *passed_cells(verdict), gain, counts, _confidence(verdict)


def _flips(view: RunView, limits: ReportLimits) -> list[ReportBlock]:
    """List the flips of accepted versions and of the test: fail to pass, and pass to fail (regressions)."""
    taken = [(f"Gate {gate.number}", gate.verdict) for gate in view.taken_gates]
    comparisons = taken[-limits.rows :] + ([("Held-out test", view.test.verdict)] if view.test else [])

    def listed(tasks: Sequence[str]) -> str:
        return f" ({list_names(tasks, limits.rows)})" if tasks else ""

    lines = [
        f"{place}: fixed {count_noun(len(verdict.fixed), 'task')}{listed(verdict.fixed)}; "
        f"broke {len(verdict.broken)}{listed(verdict.broken)}"
        for place, verdict in comparisons
    ]
    shown: ReportBlock = Bullets(lines) if lines else Paragraph("No version was accepted.")
    return [shown, *paragraphs(more_line(len(taken) - limits.rows, "earlier gate", view.run))]


def _held_out_test(view: RunView) -> list[ReportBlock]:
    """Show the release check before and after, with what it guarantees."""
    test = view.test
    if test is None:
        training = view.state == "finished" and view.kind == "training"
        none = "the suite has no held-out tasks" if training else f"the run is a {view.kind} that is {view.state}"
        reason = view.test_withheld or (none if view.accepted else "nothing was accepted")
        return paragraphs(f"There was no release check: {cited(reason)}.")

    def row(name: str, tally: Tally) -> tuple[str, ...]:
        passed = passed_words(tally.passed * tally.measured, tally.measured)
        return name, passed, f"{tally.score:.2f}", str(tally.missing)

    first = "released" if test.released else "before training"
    rows = [row(first, test.before), row("after", test.after)]
    return [Table(("", "tasks passed", "score", "not measured"), rows), Paragraph(_guarantee(view))]


def _steps(view: RunView) -> list[ReportBlock]:
    rows = [
        (
            str(step.number),
            "—" if step.train is None else tally_words(step.train),
            "; ".join(
                f"{count_noun(len(one.edits), 'edit')}: {len(one.moved)} of {len(one.tasks)} tasks improved"
                for one in step.patch_tests
            )
            or "—",
            cited(step.failure) or "—",
        )
        for step in view.steps
        if step.patch_tests or step.failure
    ]
    return [
        Paragraph(f"{funnel_words(view)}."),
        *([Table(("step", "train", "patch tests", "failed"), rows)] if rows else []),
    ]


def funnel_words(view: RunView) -> str:
    """Count how many edits came how far."""
    counts = view.funnel
    return (
        f"{counts['proposed']} edits proposed, {counts['refused']} refused, {counts['tested']} in patch tests, "
        f"{counts['kept']} kept, {counts['gated']} at a gate, {counts['accepted']} accepted"
    )


def _suspects(view: RunView) -> list[ReportBlock]:
    rows = [
        f"{cited(one.task)}, by {'what was measured' if one.by == 'measured' else 'the optimizer model'}: "
        f"{cited(one.reason)}"
        for one in view.suspects
    ]
    return [Bullets(rows)] if rows else []


def _suspicious_rollouts(view: RunView, limits: ReportLimits) -> list[ReportBlock]:
    """List rollouts whose score may have been got without the work, with quotes and what ordinary ones do instead."""
    if not view.suspicions:
        return []
    rows = [
        f"{one.sign}, task {cited(one.task, 100)}"
        f"{f', {one.rollouts} rollouts' if one.rollouts > 1 else ''}: {cited(one.what)}"
        f"{f': {cited(mask(one.quote), _MOST_QUOTE)}' if one.quote else ''}. {one.ordinary}; {one.sure}."
        for one in view.suspicions[: min(limits.rows, 50)]
    ]
    more = len(view.suspicions) - len(rows)
    rest = [f"{more} more: `skillopt report {view.run} --json` lists them all"] if more else []
    told = (
        f"{count_noun(len(view.suspicions), 'finding')}: these rollouts scored under trained text in a way that "
        "ordinary rollouts of the same task did not. A person must look at them."
    )
    return [Paragraph(told), Bullets([*rows, *rest])]


def _not_learned(view: RunView, limits: ReportLimits) -> list[ReportBlock]:
    parts: list[ReportBlock] = []
    if view.set_aside:
        rows = [f"{list_names(names, limits.rows)}: {cited(reason)}" for reason, names in view.set_aside.items()]
        parts += [Paragraph("These tasks still failed when training ended:"), Bullets(rows)]
    if view.skipped:
        rows = [
            f"reflection {one.step}, about {list_names(one.tasks, limits.rows)}: {cited(one.reason, _MOST_REASON)}"
            for one in view.skipped[: limits.rows]
        ]
        prompts = f"{count_noun(len(view.skipped), 'prompt')} got no answer, and the run went on without:"
        parts += [Paragraph(prompts), Bullets(rows)]
    return parts


def _guarantee(view: RunView) -> str:
    if view.shrunk:
        return (
            "A text that loses the margin or more is called `nothing lost` with probability "
            f"{sum(LOSS_ERRORS):.2f} at most, over both looks together."
        )
    error, gates_run = 1.0 - view.confidence, len(view.gates)
    if view.test is not None:
        look = view.test.look
        return (
            "The release check is an exact paired sign-flip test of fixed size, on tasks that training never saw. "
            f"This was look {look} at the split for that released version. A look like it accepts an equal version "
            f"with probability {1.0 - look_confidence(view.confidence, look):.3f} at most, all looks together with "
            f"{error:.2f} at most."
        )
    if view.gate_rule == "sequential":
        return f"All gates of this run together accept an equal or worse version with probability {error:.2f} at most."
    if view.gate_rule != "paired":
        return "A greater mean was enough here, so the error is not bounded."
    together = min(1.0, error * max(1, gates_run))
    return f"Each gate errs with probability {error:.2f} at most, all {gates_run} together with {together:.2f}."


def _cost(view: RunView) -> list[ReportBlock]:
    told = []
    for what, answers in (("rollouts", view.rollouts), ("optimizer calls", view.calls)):
        asked = f"{what} paid so far" if answers.asked is None else "of them newly paid"
        first = "" if answers.asked is None else f"{answers.asked:,} {what} asked for, "
        told.append(f"{first}{answers.paid:,} {asked}")
    rows = [
        (
            cited(role),
            count_noun(usage.calls, noun_of(role)),
            f"{usage.tokens:,}",
            usage.price,
        )
        for role, usage in view.spend.items()
    ]
    if not rows:
        return paragraphs(f"{'; '.join(told)}. Every answer was cached, so nothing was paid for.")
    columns = ("role", "paid", "tokens", "price")
    return [Paragraph(f"{'; '.join(told)}."), Table(columns, rows)]


def _versions(view: RunView) -> list[ReportBlock]:
    columns = ("version", "grade", "tasks of `val` passed", metric_label(view.metric), "tokens")

    def number(value: float | None, digits: int) -> str:
        return "—" if value is None else f"{value:.{digits}f}"

    rows = [
        (
            f"v{one.number}",
            grade_name(one.grading) if one.grading else "—",
            one.passed or "—",
            number(one.score, 3),
            f"{one.tokens:,}",
            number(one.usd, 4),
            number(one.turns, 2),
        )
        for one in view.versions
    ]
    return [Table((*columns, "US dollars a task", "turns a task"), rows)] if rows else []


def _tasks_by_version(view: RunView) -> list[ReportBlock]:
    if not view.heat:
        return paragraphs("No rollout of these versions is recorded.")
    legend = "Numbers are the verifier's score. `·` was not evaluated, which is not a failure."
    return [Paragraph(legend), Grid([f"v{version.number}" for version in view.versions], view.heat)]


def _settings(view: RunView) -> list[ReportBlock]:
    verdicts = [gate.verdict for gate in view.gates] + ([view.test.verdict] if view.test is not None else [])
    agreed = max((one.judge for one in verdicts if one.judge is not None), key=lambda one: one.criteria, default=None)
    judge = f"{view.judge}; {agreed.words}" if agreed is not None else view.judge
    who = [("target", view.target), ("optimizer model", view.model), ("judge", judge), ("suite", view.suite_digest)]
    return [Table(("setting", "value"), [(name, cited(value) or "—") for name, value in (*who, *view.settings)])]


def _reproduce(view: RunView) -> list[ReportBlock]:
    """Return the commands that repeat the run, look further, and roll back."""
    skill, first = quote(view.skill), view.versions[0].commit if view.versions else ""
    lines = [f"git fetch origin {quote(view.branch)}", f"skillopt report {quote(view.run)}"]
    if view.accepted and first:
        newest = view.accepted[-1].commit or view.branch
        lines.append(f"skillopt diff {skill} {quote(first)} {quote(newest)}")
    lines.append(f"{'skillopt shrink' if view.kind == 'shrink' else 'skillopt optimize'} {skill}")
    replay = (
        "The last command repeats the run from the base commit with the settings that the report lists. With its "
        "ledger every answer is cached and costs nothing. Without it the target answers anew, so numbers vary."
    )
    undo = f"skillopt rollback {skill} {quote(first)}" if first else f"skillopt log {skill}"
    before = "Before merging, closing the pull request is enough. After that, publish the old text again:"
    return [Commands(lines), *paragraphs(replay, before), Commands([undo])]


def _not_shown(view: RunView) -> list[ReportBlock]:
    """List the limits of the evidence: what the numbers do not show."""
    why = "The reasons of edits are the optimizer model's words. Only the scores were checked."
    lines = [
        f"Only this target was measured: {cited(view.target)}. `skillopt evaluate --harness` measures others.",
        f"Only tasks like those of the suite {cited(view.suite)} were run. What no task checks may have changed.",
        why,
    ]
    if view.accepted and not view.shrunk:
        bias = "The release check has no such bias" if view.test else "No release check was run"
        lines.append(f"Scores on `val` are too high, because versions were selected by them. {bias}.")
    return [Bullets(lines)]
