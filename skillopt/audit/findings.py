"""What an audit found of each skill, and of all."""

from collections.abc import Mapping
from dataclasses import dataclass

from skillopt.gate.skill_effect import SkillEffect
from skillopt.rollouts import Usage

__all__ = ["AuditReport", "AuditedSkill", "RemovalOffer", "SiblingFinding", "SkillCosts"]


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
class RemovalOffer:
    """What became of the pull request that proposes removals."""

    branch: str
    commit: str = ""
    skills: tuple[str, ...] = ()
    action: str = ""
    url: str = ""
    notes: tuple[str, ...] = ()
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What the audit found."""

    skills: tuple[AuditedSkill, ...]
    error: float
    loss: float
    stopped: str
    paid_rollouts: int
    spent: Mapping[str, Usage]
    offer: RemovalOffer | None = None
    siblings: tuple[SiblingFinding, ...] = ()

    @property
    def exit_code(self) -> int:
        """3 where nothing could be measured of skills that have tasks, else 0."""
        measurable = [one for one in self.skills if one.tasks]
        return 3 if measurable and not any(one.pairs for one in measurable) else 0
