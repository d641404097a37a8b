"""The user action `log`: list the versions of a skill and its draft, or draw them as a line with what each gained.

Reads git; for the list, the configured target is asked for its identity, where there is one that can tell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from skillopt.errors import SkilloptError
from skillopt.execution.drivers import identify_target
from skillopt.gate.error_budget import ErrorBudget
from skillopt.gate.grade_words import grade_name, grade_words
from skillopt.gate.grades import Grade, Grading
from skillopt.project import Project, Selection, Target
from skillopt.runs.draft_publication import draft_obstacle, recover_draft
from skillopt.runs.error_spent import error_budget
from skillopt.runs.lineage import trained_on
from skillopt.runs.version_message import grade_of, read_grading
from skillopt.safety.text_classes import NEEDS_A_PERSON
from skillopt.triggers.version import declined_descriptions, list_descriptions
from skillopt.versions.commit_message import DROPPED_BY, ROLLBACK, Version, commit_kind
from skillopt.versions.decisions import Decisions, PersonsWord
from skillopt.versions.draft_branch import DraftBranch
from skillopt.versions.edit_history import EditLine, NumberedEdit
from skillopt.versions.merging import default_tip
from skillopt.versions.repository import Repository
from skillopt.versions.staleness import Staleness, compare_targets

__all__ = ["Graphed", "GraphedVersion", "Logged", "LoggedDraft", "LoggedVersion", "graph", "log"]


@dataclass(frozen=True, slots=True)
class LoggedVersion(Version):
    """A version and its target."""

    harness: str
    staleness: Staleness
    kind: str
    grade: Grade | None
    declined: PersonsWord | None

    @property
    def shown(self) -> str:
        """What was shown of it; of what builds on a proven version, against which text. Empty when not known."""
        grading = read_grading(self.trailers)
        return grade_name(grading) if grading else self.grade.value if self.grade else ""


@dataclass(frozen=True, slots=True)
class LoggedDraft:
    """The draft of a skill."""

    branch: str
    version: Version
    grading: Grading | None
    obstacle: str
    marks: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What was shown of it."""
        if self.version.trailer(DROPPED_BY):
            return "unproven: people dropped edits of it after it was graded"
        return grade_words(self.grading)


@dataclass(frozen=True, slots=True)
class Logged:
    """The versions of a skill, newest first."""

    skill: str
    branch: str
    harness: str
    versions: tuple[LoggedVersion, ...]
    draft: LoggedDraft | None = None
    error: ErrorBudget | None = None
    edits: tuple[NumberedEdit, ...] = ()
    descriptions: tuple[Version, ...] = ()
    declined: Mapping[str, PersonsWord] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphedVersion:
    """A version and where it stands in the line."""

    version: Version
    kind: str
    restores: str
    undone: bool
    declined: bool


@dataclass(frozen=True, slots=True)
class Graphed:
    """The versions of a skill, newest first."""

    skill: str
    branch: str
    versions: tuple[GraphedVersion, ...]


def log(selection: Selection) -> Logged:
    """List the versions of a skill, newest first, and its draft."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    versions, now = repository.versions(target.name), _configured(target, project)
    trained, declined = trained_on(versions), Decisions(versions).declined_by
    listed = (
        LoggedVersion(
            **{field.name: getattr(version, field.name) for field in fields(version)},
            harness=trained[version.sha],
            staleness=compare_targets(trained[version.sha], now),
            kind=commit_kind(version),
            grade=grade_of(version.trailers),
            declined=declined.get(version.sha),
        )
        for version in versions
    )
    recover_draft(project.root, repository, target.name)
    draft, error = _draft(repository, target), _error(target, project, versions)
    edits = _edits(repository, target, draft)
    branch, descriptions = f"skillopt/{target.name}", list_descriptions(repository, target.name)
    refused = declined_descriptions(repository, target.name)
    return Logged(target.name, branch, now, tuple(listed), draft, error, edits, descriptions, refused)


def _edits(repository: Repository, target: Target, draft: LoggedDraft | None) -> tuple[NumberedEdit, ...]:
    """Number the edits of the versions that the default branch lacks; of the draft where there are none."""
    path, tip = repository.relative(target.folder), repository.branch_tip(target.name)
    line = EditLine.read(repository, target.name, path, tip, default_tip(repository)) if tip else EditLine(())
    if not line.edits and draft is not None:
        line = EditLine.read(repository, target.name, path, draft.version.sha, draft.version.parent)
    return line.edits


def _error(target: Target, project: Project, versions: Sequence[Version]) -> ErrorBudget | None:
    if target.suite_path is None:
        return None
    try:
        suite = target.suite()
    except SkilloptError:  # it is not here, or cannot be read
        return None
    return error_budget(project.root, versions, suite, target.name, 1.0 - target.settings.confidence)


def _draft(repository: Repository, target: Target) -> LoggedDraft | None:
    branch = DraftBranch(repository, target.name, repository.relative(target.folder))
    found = branch.read()
    if found is None:
        return None
    obstacle = draft_obstacle(repository, target, branch, found)
    return LoggedDraft(branch.name, found, read_grading(found.trailers), obstacle, found.values(NEEDS_A_PERSON))


def _configured(target: Target, project: Project) -> str:
    """Ask the configured target who it is; the default of a setting that nobody chose claims nothing."""
    if "harness" not in target.settings.model_fields_set:
        return ""
    try:
        return identify_target(target.settings, target.suite(), project.root)
    except (SkilloptError, OSError):  # its program, its login or a place for its files is missing
        return ""


def graph(selection: Selection) -> Graphed:
    """Draw up the line of versions."""
    project = selection.project()
    target = project.target(selection)
    versions = project.repository().versions(target.name)
    places = {version.sha: at for at, version in enumerate(versions)}
    undone: set[int] = set()
    for at, version in enumerate(versions):
        wanted = version.trailer(ROLLBACK)
        if wanted and at not in undone:
            # What it goes back to may be no version, but the text that training started from.
            undone.update(range(at + 1, places.get(wanted, len(versions))))
    declined = Decisions(versions).declined
    rows = (
        GraphedVersion(
            version,
            commit_kind(version),
            version.trailer(ROLLBACK),
            undone=at in undone,
            declined=version.sha in declined,
        )
        for at, version in enumerate(versions)
    )
    return Graphed(target.name, f"skillopt/{target.name}", tuple(rows))
