"""What an audit found of each skill, and of all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from skillopt.errors import UsageError
from skillopt.gate.skill_effect import SkillEffect
from skillopt.project import FoundSkill, Project, Selection, Target
from skillopt.rollouts import Usage
from skillopt.runs.history import difference_of_files
from skillopt.safety.capabilities import describe_difference
from skillopt.safety.escaping import truncate
from skillopt.safety.literals import LiteralKind
from skillopt.skills.document import Skill
from skillopt.skills.folder import SKILL_FILE
from skillopt.tasks import Split, Suite, Task

__all__ = [
    "AuditAsk",
    "AuditReport",
    "AuditSubject",
    "AuditedSkill",
    "SiblingFinding",
    "SkillCosts",
    "capabilities_of",
    "choose_skills",
    "read_subject",
]

_LONGEST: Final = 240
"""Characters of the line that lists capabilities."""

_UNLISTED: Final = (LiteralKind.NAME, LiteralKind.NUMBER, LiteralKind.FILE)
"""What a whole text has many of, and what says little without the text around it."""


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
    capabilities: str = ""


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

    def untold(reason: str, skill: Skill | None = None) -> AuditedSkill:
        effect, named = SkillEffect.CANNOT_TELL, capabilities_of(skill) if skill else ""
        return AuditedSkill(found.name, found.path, effect, "", reason, found.suite, capabilities=named)

    target = project.target(Selection(found.name, ask.flags, folder=project.root))
    skill: Skill | None = None
    try:
        skill = target.skill()
        if not found.suite:
            return untold(f"it has no tasks; next: skillopt write-tasks {found.name}", skill)
        suite = target.suite()
    except UsageError as error:
        return untold(str(error), skill)
    tasks = suite.tasks(Split.VAL)
    if not tasks:
        return untold(f"its suite has no tasks in val; next: skillopt suite check {found.name}", skill)
    return AuditSubject(found, target, skill, suite, tasks)


def capabilities_of(skill: Skill) -> str:
    """List in one line what a skill's text and scripts let or tell an agent do."""
    files = {SKILL_FILE: skill.document.render(), **{one.path: one.content for one in skill.files}}
    lines = describe_difference(tuple(one for one in difference_of_files({}, files) if one.kind not in _UNLISTED))
    return truncate("; ".join(line.removeprefix("new ") for line in lines), _LONGEST)
