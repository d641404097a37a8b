"""What an audit found of each skill, and of all."""

from collections.abc import Mapping
from dataclasses import dataclass

from skillopt.gate.skill_effect import SkillEffect
from skillopt.rollouts import Usage

__all__ = ["AuditReport", "AuditedSkill", "RemovalOffer", "SiblingFinding", "SkillCosts"]


@dataclass(frozen=True, slots=True)
class SkillCosts:
    """What a skill costs in each rollout, with it minus without it; None where nothing was measured.

    Args:
        tokens: Tokens read and written.
        turns: Calls of the target's model.
        usd: US dollars; None where a price is unknown, too.
    """

    tokens: float | None = None
    turns: float | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class AuditedSkill:
    """What the audit found of one skill.

    Args:
        skill: Its name.
        path: Its folder in the project.
        effect: `helps`, `idle`, `hurts` or `unknown`.
        grade: What the effect was shown for: `proven here` for these tasks; empty where it is unknown.
        reason: Why, and what to do next, in a sentence.
        suite: Where its tasks are; empty for none.
        tasks: Tasks that it was compared on.
        pairs: Pairs of rollouts that were measured.
        missing: Pairs that could not be measured.
        passed_with: Share of its rollouts that passed; None where nothing was measured.
        passed_without: The same without it.
        gain: Mean score with it minus without it.
        low: Lower limit of the gain on these tasks, with `error / 2` of being wrong.
        high: Upper limit, likewise: what removal loses at most.
        listing_tokens: Estimated tokens of its name and description, which every session reads.
        costs: What it costs in each rollout.
        removable: Whether its removal is proposed: it is idle, on tasks of which some pass.
        target: The target that it was measured on, as the setting `harness` names it.
        digest: Of its text and files.
        disturbs: Skills that do worse with this one beside them; None where that was not measured.
    """

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
    """What was found of a skill with the other skills of the project beside it.

    Args:
        skill: Its name.
        words: What was measured, or why nothing was.
        fell: Whether it is shown to do worse on these tasks.
        by: Those of which one alone beside it is shown to do it.
    """

    skill: str
    words: str
    fell: bool = False
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RemovalOffer:
    """What became of the pull request that proposes removals.

    Args:
        branch: Its branch.
        commit: Its commit, empty where nothing is proposed.
        skills: What it removes.
        action: `opened`, `updated` or `closed`; empty when nothing changed.
        url: Its address, or the file with its text; empty for none.
        notes: Why idle skills are left out, and remarks.
        next_step: What to do with the branch; empty where it was pushed, or nothing is proposed.
    """

    branch: str
    commit: str = ""
    skills: tuple[str, ...] = ()
    action: str = ""
    url: str = ""
    notes: tuple[str, ...] = ()
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What the audit found.

    Args:
        skills: Every skill, sorted by path.
        error: Share of the skills said to help or hurt that is wrong on average, at most.
        loss: What the removal of an idle skill may lose at most.
        stopped: Why it ended before every skill had its answer or all its pairs; empty when it did not.
        paid_rollouts: Rollouts that were not recorded before.
        spent: What each role consumed in this command.
        offer: What was offered; None where nothing was to be.
        siblings: What was found of skills with the others beside them; none where that was not asked for.
    """

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
        """Give 3 where nothing could be measured of skills that have tasks, else 0."""
        measurable = [one for one in self.skills if one.tasks]
        return 3 if measurable and not any(one.pairs for one in measurable) else 0
