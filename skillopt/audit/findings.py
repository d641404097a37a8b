"""What an audit found of each skill, and of all, with its table and its HTML page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from skillopt.errors import UsageError
from skillopt.gate.skill_effect import SkillEffect
from skillopt.project import FoundSkill, Project, Selection, Target
from skillopt.reports.blocks import Heading, Paragraph, ReportBlock, Table, cited, list_names, paragraphs
from skillopt.reports.html import print_page
from skillopt.rollouts import Usage
from skillopt.runs.history import difference_of_files
from skillopt.safety.capabilities import describe_difference
from skillopt.safety.escaping import truncate
from skillopt.safety.literals import LiteralKind
from skillopt.safety.plurals import count_noun
from skillopt.skills.document import Skill
from skillopt.skills.folder import SKILL_FILE
from skillopt.tasks import Split, Suite, Task

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
    capabilities: str = ""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What the audit found."""

    skills: tuple[AuditedSkill, ...]
    error: float
    loss: float
    stopped: str
    paid_rollouts: int
    spent: Mapping[str, Usage]

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
    folders = {project.target(Selection(name, ask.flags)).folder for name in ask.names}
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


_ORDER: Final = ("hurts", "idle", "helps", "cannot tell")
"""What needs a decision comes first."""

_COLUMNS: Final = (
    "skill",
    "effect",
    "rollouts passed",
    "score gained, 90% limits",
    "pairs / tasks",
    "tokens, turns a rollout",
    "listing, tokens",
)


def render_audit_page(report: AuditReport) -> str:
    """Render what an audit found; what hurts and what lies idle comes first."""
    rows = sorted(report.skills, key=lambda row: (_ORDER.index(row.effect.value), row.skill))
    counts = Counter(row.effect.value for row in rows)
    removable = [row.skill for row in rows if row.removable]
    blocks: list[ReportBlock] = [
        Paragraph(", ".join(f"{counts[name]} {name}" for name in _ORDER if counts[name]) + "."),
        *paragraphs(
            f"Proposed for removal: {list_names(removable)}." if removable else "",
            f"Ended early: {cited(report.stopped)}" if report.stopped else "",
        ),
        Heading("Each skill on its own tasks, with it and without it"),
        audit_table(rows, whole=True),
        Paragraph(
            f"Of the skills said to help or hurt, at most {report.error:.0%} are wrong on average, a wrong direction "
            "included, over all skills of this audit together (e-BH), however often it was looked at. That a skill is "
            f"idle is tested for each by itself: of skills that gain more than {report.loss:.2f}, "
            f"{report.error / 2:.0%} are called idle at most. The limits hold for these very tasks, not for new ones. "
            "Nothing was removed."
        ),
    ]
    title, heading = f"Audit of {len(rows)} skills", f"{count_noun(len(rows), 'skill')} against no skill"
    return print_page(title, "audit", blocks, heading=heading, footer="Written by SkillOpt.")


def audit_table(skills: Sequence[AuditedSkill], *, whole: bool = False) -> Table:
    """Return a row for each skill; whole with its folder and why."""
    return Table(
        (*_COLUMNS, *(("why", "what it lets or tells an agent do") if whole else ())),
        [_row(row, whole=whole) for row in skills],
    )


def _row(row: AuditedSkill, *, whole: bool) -> list[str]:
    costs = row.costs
    shares = row.passed_without, row.passed_with
    passed = " → ".join(f"{share:.0%}" for share in shares if share is not None) if None not in shares else "-"
    gain = "-" if row.gain is None else f"{row.gain:+.2f} ({row.low:+.2f} to {row.high:+.2f})"
    return [
        f"{cited(row.skill)} {cited(row.path)}" if whole else cited(row.skill),
        f"{row.effect.value}{f', {row.grade}' if row.grade else ''}",
        passed,
        gain,
        f"{row.pairs} / {row.tasks}",
        "-" if costs.tokens is None else f"{costs.tokens:+,.0f}, {costs.turns:+.1f} turns",
        str(row.listing_tokens or "-"),
        *([cited(row.reason), cited(row.capabilities)] if whole else []),
    ]
