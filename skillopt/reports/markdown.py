"""A run's whole report as Markdown: what the pull request shows, without its limit, and what led there."""

from collections.abc import Sequence

from skillopt.gate.grade_words import grade_name
from skillopt.gate.headline import metric_label, tally_words
from skillopt.reports.edit_tables import draft_edits, edits_not_taken, taken_edits
from skillopt.reports.edit_views import EditView, PatchTestView
from skillopt.reports.escape_markdown import code_block, inline_code
from skillopt.reports.gate_words import is_change
from skillopt.reports.length_limits import LengthLimits
from skillopt.reports.sections import (
    cost,
    draft,
    flips,
    gates,
    guarantee,
    headline,
    held_out_test,
    judged_on,
    noise_line,
    not_learned,
    not_shown,
    reproduce,
    size_change,
    suspects,
)
from skillopt.reports.suspicious_rollouts import suspicious_rollouts
from skillopt.reports.task_grid import CellState, HeatRow
from skillopt.reports.view import RunView, VersionView
from skillopt.safety.plurals import count_noun
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import diff_documents

__all__ = ["render_markdown"]

_MARKS = {CellState.PASSED: "pass", CellState.MIXED: "mixed", CellState.FAILED: "fail", CellState.NOT_EVALUATED: "·"}


def render_markdown(view: RunView) -> str:
    """Return the run as Markdown."""
    limits = LengthLimits(text=5000)
    ended = f"It ended: {inline_code(view.reason)}." if view.reason else "The run is not over."
    parts = [
        f"# {inline_code(view.skill)}: {inline_code(view.kind)} run {inline_code(view.run)}",
        f"{view.state.capitalize()}, begun {view.started}. {ended}",
        *(headline(view), view.caution, size_change(view), noise_line(view)),
        *(
            ("## The change", _change(view))
            if is_change(view)
            else ("## Edits", taken_edits(view, limits), _diffs(view.edits))
        ),
        *(("## Draft", draft(view), draft_edits(view, limits)) if view.draft else ()),
        *("## Tasks that changed sides", flips(view, limits)),
        *("## Held-out test", held_out_test(view)),
        *(
            f"## Gates on {judged_on(view)}",
            gates(view, limits),
            "\n".join(f"- {inline_code(words)}" for words in view.siblings[-limits.gates :]),
            guarantee(view) if view.test is None and view.gates else "",
        ),
        *(() if is_change(view) else ("## Steps", _funnel(view), _steps(view))),
        *(("## Verifiers to check", suspects(view)) if view.suspects else ()),
        *(("## Suspicious rollouts", suspicious_rollouts(view)) if view.suspicions else ()),
        *(("## Not learned", not_learned(view, limits)) if view.set_aside or view.skipped else ()),
        *("## Cost", cost(view), _versions(view)),
        *(() if is_change(view) else ("## Not taken", edits_not_taken(view, limits) or "Every edit was taken.")),
        *("## Tasks by version", _heat(view)),
        *("## Settings", _settings(view)),
        *("## Reproduce and roll back", reproduce(view)),
        *("## What the numbers do not show", not_shown(view)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _change(view: RunView) -> str:
    """Show what people changed in SKILL.md."""
    before, after = SkillDocument(view.versions[0].text), SkillDocument(view.versions[-1].text)
    same = "SKILL.md is the same, or nothing is decided yet."
    return code_block(diff_documents(before, after), "diff") if before != after else same


def _diffs(shown: Sequence[EditView]) -> str:
    """Show each edit that was taken as a diff, folded away."""
    found = "\n\n".join(code_block(edit.diff, "diff") for edit in shown if edit.version is not None)
    return f"<details><summary>Each edit as a diff</summary>\n\n{found}\n\n</details>" if found else ""


def _funnel(view: RunView) -> str:
    funnel = view.funnel
    return (
        f"{funnel.proposed} edits proposed, {funnel.refused} refused, {funnel.tested} in patch tests, "
        f"{funnel.kept} kept, {funnel.gated} at a gate, {funnel.accepted} accepted."
    )


def _steps(view: RunView) -> str:
    """List the steps; epochs and edit budgets are the published loop's, patch tests the default one's."""
    if not view.steps:
        return ""
    epochs = view.steps_planned > 0 and any(step.edit_budget for step in view.steps)
    columns = ("step", *(("epoch", "edit budget") if epochs else ()), "train", "patch tests", "failed")
    rows = [
        (
            str(step.number),
            *((str(step.epoch), str(step.edit_budget)) if epochs else ()),
            "—" if step.train is None else tally_words(step.train),
            "; ".join(map(_patch_test, step.patch_tests)) or "—",
            inline_code(step.failure) or "—",
        )
        for step in view.steps
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, ("---",) * len(columns), *rows))


def _patch_test(found: PatchTestView) -> str:
    """Say in a few words what was tried together, and how many of the tasks moved."""
    return f"{count_noun(len(found.edits), 'edit')}: {len(found.moved)} of {count_noun(len(found.tasks), 'task')} moved"


def _versions(view: RunView) -> str:
    """Pareto table of the versions by score, tokens, cost and turns; the front is over those known of all."""
    rows = [
        f"| v{one.number} | {grade_name(one.grading) if one.grading else '—'} | {one.passed or '—'} "
        f"| {_number(one.score)} | {_number(one.expected)} | {one.tokens:,} "
        f"| {'not known' if one.usd is None else f'{one.usd:.4f}'} "
        f"| {'not known' if one.turns is None else f'{one.turns:.2f}'} | {_front(one)} |"
        for one in view.versions
    ]
    columns = (
        "version",
        "grade",
        "tasks of `val` passed",
        metric_label(view.metric),
        "expected",
        "tokens",
        "US dollars a task",
        "turns a task",
        "on the Pareto front",
    )
    head = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    note = "On the Pareto front: no other version is at least as good in each number that is known of all."
    if view.accepted:
        note += " What is chosen for its score has had some luck; what is expected allows for that."
    return "\n".join([*head, *rows]) + f"\n\n{note}" if view.versions else ""


def _number(score: float | None) -> str:
    return "—" if score is None else f"{score:.3f}"


def _front(version: VersionView) -> str:
    if version.score is None:
        return "—"
    return "yes" if version.front else "no"


def _heat(view: RunView) -> str:
    if not view.heat:
        return "No rollout of these versions is recorded."
    head = ["| split | task | " + " | ".join(f"v{version.number}" for version in view.versions) + " |"]
    head.append("|" + "---|" * (2 + len(view.versions)))
    versions = "v0 is the text before, v1 the change. " if is_change(view) else ""
    legend = f"{versions}`·` was not evaluated, which is not a failure; `mixed` passed in some of its repeats."
    return legend + "\n\n" + "\n".join([*head, *map(_row, view.heat)])


def _row(row: HeatRow) -> str:
    cells = " | ".join(_MARKS[cell.state] for cell in row.cells)
    return f"| {row.split or '?'} | {inline_code(row.task)} | {cells} |"


def _settings(view: RunView) -> str:
    who = [
        ("target", view.target),
        ("optimizer model", view.model),
        ("judge", view.judge_words),
        ("suite", view.suite_digest),
    ]
    rows = [f"| {name} | {inline_code(value) or '—'} |" for name, value in (*who, *view.settings)]
    return "\n".join(["| setting | value |", "|---|---|", *rows])
