"""The user action `write-tasks --accept`: make the drafts that a person ticked tasks of the skill's suite."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.actions.write_tasks import review_path
from skillopt.errors import UsageError
from skillopt.project import Project, Selection, Target
from skillopt.runs.prospect import what_it_can_show
from skillopt.storage.locks import review_lock
from skillopt.suites import load_suite
from skillopt.suites.config_lines import ConfigLines, add_to_config, put_file, quote_toml
from skillopt.suites.review_file import ReviewEntry, read_review, without_entries
from skillopt.suites.suite_file import add_tasks, suite_file_of

__all__ = ["AcceptedTasks", "accept_tasks"]

_ALL = "all"


@dataclass(frozen=True, slots=True)
class AcceptedTasks:
    """What became of drafts."""

    skill: str
    suite: str
    accepted: tuple[str, ...]
    tasks: int
    waiting: int
    config: tuple[str, ...]
    prospect: str


def accept_tasks(
    selection: Selection, ids: Sequence[str] = (), *, review: Path | None = None, command: str = "write-tasks"
) -> AcceptedTasks:
    """Append drafts of the review file to the skill's suite, and name the suite in skillopt.toml if it is missing."""
    project = selection.project()
    with review_lock(project.root):
        return _accept(project, project.target(selection), ids, review, command)


def _accept(project: Project, target: Target, ids: Sequence[str], review: Path | None, command: str) -> AcceptedTasks:
    review = review or review_path(project, target)
    text = review.read_text(encoding="utf-8") if review.exists() else ""
    entries = read_review(text)
    chosen = _chosen(entries, ids, review, f"skillopt {command} {target.name}")
    suite = suite_file_of(target.suite_path or project.root / "suites" / target.name)
    lines = _config_lines(project, target, suite)
    config = _with_lines(project, lines)
    accepted = add_tasks(suite, [entry.block for entry in chosen])
    if config:
        put_file(project.config, config)
    if len(chosen) == len(entries):
        review.unlink()
    else:
        put_file(review, without_entries(text, chosen))
    whole = load_suite(target.suite_path or suite)
    return AcceptedTasks(
        target.name,
        str(suite),
        accepted,
        len(whole.splits),
        len(entries) - len(chosen),
        tuple(line for own in lines.skills.values() for line in own),
        what_it_can_show(whole, target.settings).words,
    )


def _chosen(entries: Sequence[ReviewEntry], ids: Sequence[str], review: Path, command: str) -> tuple[ReviewEntry, ...]:
    if not entries:
        raise UsageError(f"expected drafts in {review}, found none; make some with `{command}`")
    if list(ids) == [_ALL]:
        return tuple(entries)
    strangers = set(ids) - {entry.id for entry in entries}
    if strangers:
        known = ", ".join(entry.id for entry in entries)
        raise UsageError(f"{review}: expected ids of drafts, found {', '.join(sorted(strangers))}; there are {known}")
    chosen = tuple(entry for entry in entries if (entry.id in ids if ids else entry.ticked))
    if not chosen:
        raise UsageError(
            f"{review}: expected ticked drafts, found none of {len(entries)}; tick some as in "
            f"`## [x] {entries[0].id}`, or name their ids, or `all`"
        )
    return chosen


def _config_lines(project: Project, target: Target, suite: Path) -> ConfigLines:
    """Return the lines that name the suite: none where one is configured."""
    if target.suite_path is not None:
        return ConfigLines()
    shown = suite.resolve().relative_to(project.root.resolve()).as_posix()
    folder = target.folder.resolve()
    for name, entry in project.entries.items():
        if (project.root / str(entry.get("path", f"skills/{name}"))).resolve() == folder:
            return ConfigLines(skills={name: (f"suite = {quote_toml(shown)}",)})
    path = folder.relative_to(project.root.resolve()).as_posix()
    return ConfigLines(skills={target.name: (f"path = {quote_toml(path)}", f"suite = {quote_toml(shown)}")})


def _with_lines(project: Project, lines: ConfigLines) -> str:
    if not lines.skills:
        return ""
    before = project.config.read_text(encoding="utf-8") if project.config.exists() else ""
    return add_to_config(before, lines, project.config)
