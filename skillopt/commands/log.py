"""The user action `log`: list the accepted versions of a skill, each with the target it was trained on.

Reads git; the configured target is asked for its identity, where there is one that can tell.
"""

from dataclasses import dataclass, fields

from skillopt.commands.lineage import trained_on
from skillopt.commit_text import Version
from skillopt.errors import SkilloptError
from skillopt.project import Project, Selection, Target
from skillopt.roles import load_target
from skillopt.staleness import Staleness, compare_targets

__all__ = ["Logged", "LoggedVersion", "log"]


@dataclass(frozen=True, slots=True)
class LoggedVersion(Version):
    """A version and its target.

    Args:
        harness: Identity of the target it was trained on, empty when its commit does not say.
        staleness: That target compared with the configured one.
    """

    harness: str
    staleness: Staleness


@dataclass(frozen=True, slots=True)
class Logged:
    """The versions of a skill, newest first.

    Args:
        skill: Name of the skill.
        branch: Where they are.
        harness: Identity of the configured target; empty when none is configured or its program cannot tell.
        versions: The versions.
    """

    skill: str
    branch: str
    harness: str
    versions: tuple[LoggedVersion, ...]


def log(selection: Selection) -> Logged:
    """List the accepted versions of a skill, newest first.

    Raises:
        UsageError: There is no such skill or no repository.
    """
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    versions, now = repository.versions(target.name), _configured(target, project)
    trained = trained_on(versions)
    listed = (
        LoggedVersion(
            **{field.name: getattr(version, field.name) for field in fields(version)},
            harness=trained[version.sha],
            staleness=compare_targets(trained[version.sha], now),
        )
        for version in versions
    )
    return Logged(target.name, f"skillopt/{target.name}", now, tuple(listed))


def _configured(target: Target, project: Project) -> str:
    """Ask the configured target who it is; the default of a setting that nobody chose claims nothing."""
    if "harness" not in target.settings.model_fields_set:
        return ""
    try:
        return load_target(target.settings, project.root).identity
    except (SkilloptError, OSError):  # its program, its login or a place for its files is missing
        return ""
