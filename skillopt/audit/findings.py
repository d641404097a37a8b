"""What an audit found of each skill, and of all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.errors import UsageError
from skillopt.gate.skill_effect import SkillEffect
from skillopt.project import FoundSkill, Project, Selection, Target
from skillopt.rollouts import Usage
from skillopt.skills.document import Skill
from skillopt.tasks import Split, Suite, Task

__all__ = [
    "AuditAsk",
    "AuditReport",
    "AuditSubject",
    "AuditedSkill",
    "SiblingFinding",
    "SkillCosts",
    "choose_skills",
    "read_subject",
]


@dataclass(frozen=True, slots=True)
class SkillCosts:
    """What a skill costs in each rollout, with it minus without it; None where nothing was measured."""

    tokens: float | None = None
    turns: float | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class AuditedSkill:
    """What the audit found of one skill."""

    skill: str
    path: str
    effect: SkillEffect
    grade: str
    reason: str
    suite: str = ""
    tasks: int = 0
    pairs: int = 0
    missing: int = 0
    passed_with: float | None = None
    passed_without: float | None = None
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    listing_tokens: int = 0
    costs: SkillCosts = SkillCosts()
    removable: bool = False
    target: str = ""
    digest: str = ""
    disturbs: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SiblingFinding:
    """What was found of a skill with the other skills of the project beside it."""

    skill: str
    words: str
    fell: bool = False
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What the audit found."""

    skills: tuple[AuditedSkill, ...]
    error: float
    loss: float
    stopped: str
    paid_rollouts: int
    spent: Mapping[str, Usage]
    siblings: tuple[SiblingFinding, ...] = ()

    @property
    def exit_code(self) -> int:
        """3 where nothing could be measured of skills that have tasks, else 0."""
        measurable = [one for one in self.skills if one.tasks]
        return 3 if measurable and not any(one.pairs for one in measurable) else 0


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
