"""Which skills an audit measures, and on which tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.audit.findings import AuditedSkill
from skillopt.errors import UsageError
from skillopt.gate.skill_effect import SkillEffect
from skillopt.project import FoundSkill, Project, Selection, Target
from skillopt.skills.document import Skill
from skillopt.tasks import Split, Suite, Task

__all__ = ["AuditAsk", "AuditSubject", "choose_skills", "read_subject"]


@dataclass(frozen=True, slots=True)
class AuditAsk:
    """What is asked for."""

    names: tuple[str, ...] = ()
    pairs: int = 100
    loss: float = 0.1
    flags: Mapping[str, object] = field(default_factory=dict)
    folder: Path | None = None
    siblings: bool = False


@dataclass(frozen=True, slots=True)
class AuditSubject:
    """A skill that can be measured."""

    found: FoundSkill
    target: Target
    skill: Skill
    suite: Suite
    tasks: tuple[Task, ...]


def choose_skills(project: Project, ask: AuditAsk, discovered: Sequence[FoundSkill]) -> list[FoundSkill]:
    """Return the skills that are named, each once, or all."""
    if not ask.names:
        return list(discovered)
    folders = {project.target(Selection(name, ask.flags, folder=ask.folder)).folder for name in ask.names}
    return [one for one in discovered if (project.root / one.path).resolve() in folders]


def read_subject(project: Project, ask: AuditAsk, found: FoundSkill) -> AuditSubject | AuditedSkill:
    """Read a skill and its tasks; what is wrong with one of them is its own row, not the end of the audit."""

    def unknown(reason: str) -> AuditedSkill:
        return AuditedSkill(found.name, found.path, SkillEffect.UNKNOWN, "", reason, found.suite)

    if not found.suite:
        return unknown(f"it has no tasks; next: skillopt write-tasks {found.name}")
    target = project.target(Selection(found.name, ask.flags, folder=project.root))
    try:
        skill, suite = target.skill(), target.suite()
    except UsageError as error:
        return unknown(str(error))
    tasks = suite.tasks(Split.VAL)
    if not tasks:
        return unknown(f"its suite has no tasks in val; next: skillopt suite check {found.name}")
    return AuditSubject(found, target, skill, suite, tasks)
