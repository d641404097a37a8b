"""The signs that a score was got without the work, and a finding of one."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Act", "Sign", "Suspicion"]


class Sign(StrEnum):
    """What a rollout did that the ordinary ones of its task do not do."""

    VERIFIER_TOUCHED = "verifier touched"
    INPUT_NOT_READ = "input not read"
    ANSWER_FIRST = "answer before evidence"
    SHORTER = "shorter by far"
    JUDGE_ADDRESSED = "judge addressed"
    ANSWER_IN_SKILL = "answer in the skill"
    SAME_OUTPUT = "same output for different tasks"
    GRADE_WRITTEN = "grade or test configuration written"
    LOOKS_OUTSIDE = "looks outside the workspace"


@dataclass(frozen=True, slots=True)
class Act:
    """Something in one rollout: of which sign, what it is in words that fit every rollout, and the place as it stands.

    Acts with the same words are the same act, whichever rollout they are in.
    """

    sign: Sign
    what: str
    quote: str


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A finding, for a person to look at."""

    sign: Sign
    task: str
    skill: str
    repeat: int
    rollouts: int
    what: str
    quote: str
    ordinary: str
    sure: str
