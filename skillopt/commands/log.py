"""The command `log`: the versions of a skill, newest first, and its draft, as git has them."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Final

import typer

from skillopt.commands.options import JsonOption, SkillArgument
from skillopt.commands.output import SHORT, as_json_text, fold_lines
from skillopt.errors import SkilloptError
from skillopt.execution.drivers import identify_target
from skillopt.figures import read_headline
from skillopt.gate.error_budget import ErrorBudget
from skillopt.project import Project, Selection, Target
from skillopt.runs.history import ListedDraft, ListedVersions, list_versions, shown_of
from skillopt.runs.recorded import count_calibration, error_budget
from skillopt.runs.run import grade_of
from skillopt.safety.escaping import escape_terminal, truncate
from skillopt.versions.commit_message import TAKEN, Version, commit_kind, single_line, target_words, why_stale
from skillopt.versions.decisions import EditLine, NumberedEdit
from skillopt.versions.merging import default_tip
from skillopt.versions.repository import Repository

_WIDEST: Final = 110
"""Characters of an edit that are shown."""

_LEAST_DRAFTS: Final = 5  # fewer say nothing of a probability


def log(skill: SkillArgument = None, *, as_json: JsonOption = False) -> None:
    """List the versions of the skill, newest first, and its draft.

    Each has its grade and the target that it was trained on; it is stale if another target is configured.
    """
    selection = Selection(skill)
    listed, project = list_versions(selection), selection.project()
    target, repository = project.target(selection), project.repository()
    harness, suite, edits = _configured(target, project), None, _edits(repository, target, listed.draft)
    with suppress(SkilloptError):  # it is not here, or cannot be read
        suite = target.suite() if target.suite_path is not None else None
    allowed = 1.0 - target.settings.confidence
    error = error_budget(project.root, listed.versions, suite, target.name, allowed) if suite else None
    calibration = count_calibration(project.root)
    if not as_json:
        typer.echo(fold_lines("\n".join(_lines(listed, harness, error, edits, calibration))))
        return
    versions = [
        asdict(one)
        | {"kind": commit_kind(one), "grade": grade_of(one.trailers), "declined": listed.declined.get(one.sha)}
        | {"harness": _trained_on(one), "stale": why_stale(_trained_on(one), harness)}
        for one in listed.versions
    ]
    beside = {"versions": versions, "harness": harness, "error": error, "edits": edits, "calibration": calibration}
    typer.echo(as_json_text(asdict(listed) | beside))


def _configured(target: Target, project: Project) -> str:
    """Ask the configured target who it is; the default of a setting that nobody chose claims nothing."""
    if "harness" not in target.settings.model_fields_set:
        return ""
    try:
        return identify_target(target.settings, target.suite(), project.root)
    except (SkilloptError, OSError):  # its program, its login or a place for its files is missing
        return ""


def _edits(repository: Repository, target: Target, draft: ListedDraft | None) -> tuple[NumberedEdit, ...]:
    """Number the edits of the versions that the default branch lacks; of the draft where there are none."""
    path, tip = target.place(repository), repository.branch_tip(target.name)
    line = EditLine.read(repository, target.name, path, tip, default_tip(repository)) if tip else EditLine(())
    if not line.edits and draft is not None:
        line = EditLine.read(repository, target.name, path, draft.version.sha, draft.version.parent)
    return line.edits


def _trained_on(version: Version) -> str:
    """Return the identity of the target that a version was trained on; empty where it is unknown."""
    return single_line(version.trailer("Harness"))


def _lines(
    listed: ListedVersions,
    harness: str,
    error: ErrorBudget | None,
    edits: Sequence[NumberedEdit],
    calibration: tuple[int, int],
) -> Iterator[str]:
    yield f"branch {listed.branch}" if listed.versions else f"{listed.skill}: no versions yet"
    for one in listed.versions:
        trained, word, taker = _trained_on(one), listed.declined.get(one.sha), one.trailer(TAKEN)
        stale = why_stale(trained, harness)
        said = (
            shown_of(one),
            escape_terminal(read_headline(dict(one.trailers))),
            f"taken by {taker}" if taker else "",
            escape_terminal(f"declined{word.signature}") if word is not None else "",
            f"stale: {stale}" if stale else f"trained on {target_words(trained)}" if trained else "",
        )
        yield "  ".join(filter(None, (one.sha[:SHORT], one.at, one.subject, *said)))
    if error is not None and error.spent:
        spent = f"error budget of these val tasks: {error.spent:.3f} of {error.allowed:g} used"
        yield f"{spent}, {error.left:.3f} left; new tasks add more"
    decided, better = calibration
    if decided >= _LEAST_DRAFTS:
        yield f"of {decided} drafts called 80-90% better that a later run decided about, {better} were shown better"
    if (draft := listed.draft) is not None:
        version = draft.version
        yield f"draft {version.sha[:SHORT]}  {version.at}  {escape_terminal(version.subject)}  {draft.words}"
        yield from (f"  a person must look at it first: {escape_terminal(mark)}" for mark in draft.marks)
        take = f"to make it a version: skillopt take {listed.skill}" if draft.offered else "kept, not offered"
        yield f"  {escape_terminal(draft.obstacle) or f'what it changes: skillopt diff {listed.skill} draft; {take}'}"
    if edits:
        yield f"edits that are not on the default branch; to refuse one: skillopt decline {listed.skill} NUMBER"
    for edit in edits:
        shown = truncate(escape_terminal(edit.edit.summary), _WIDEST)
        yield f"  {edit.number:>3}  {'dropped: ' if edit.dropped else 'replaced: ' if edit.replaced else ''}{shown}"
