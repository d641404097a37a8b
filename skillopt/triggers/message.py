"""Message of the commit of a description: before and after, what held-out requests showed, and trailers."""

from textwrap import fill
from typing import Final

from skillopt.gate.comparison import Verdict
from skillopt.gate.error_budget import ERROR_SPENT
from skillopt.gate.grades import GRADE
from skillopt.rollouts import Usage
from skillopt.safety.credentials import mask
from skillopt.safety.escaping import disarm, escape_terminal, truncate
from skillopt.settings import GateRule
from skillopt.storage.notes import TriggerBasis
from skillopt.triggers.quality import HeldOutTriggers, TriggerRate
from skillopt.triggers.shared_error import TRIGGER_TRAINING
from skillopt.triggers.training import TrainedDescription
from skillopt.versions.commit_message import DESCRIPTION

__all__ = [
    "BEFORE",
    "BROKEN",
    "FIXED",
    "SIBLINGS_DIGEST",
    "SIBLING_RECALL",
    "description_body",
    "description_trailers",
]

BEFORE: Final = "Description-Before"
"""Trailer of a description: digest of the one that its training started from."""

FIXED: Final = "Fixed-Request"
"""Trailer with a held-out request that goes right with the new description only; there is one for each."""

BROKEN: Final = "Broken-Request"
"""Trailer with one that went right with the description before only; there is one for each."""

SIBLING_RECALL: Final = "Sibling-Recall"
"""Trailer with another skill's held-out requests that loaded it, before and after; there is one for each skill."""

SIBLINGS_DIGEST: Final = "Siblings-Digest"
"""Trailer with the digest of the descriptions that were installed beside."""

_WIDTH: Final = 72
_LONGEST_REQUEST: Final = 200


def description_body(trained: TrainedDescription, held_out: HeldOutTriggers) -> str:
    """Explain a new description to a reviewer: before, after, what held-out requests showed."""
    siblings = [
        f"- loaded {one.skill} when it should be: {_counted(one.before)}, now {_counted(one.after)}"
        for one in held_out.siblings
    ]
    shown = [
        "Only `description` in the frontmatter of SKILL.md changes.",
        f"Before:\n\n    {disarm(trained.before)}",
        f"After:\n\n    {disarm(trained.description)}",
        "\n".join(
            (
                f"{held_out.requests} held-out requests, not known to who wrote it, in {held_out.runs} runs of both:",
                f"- loaded when it should be: {_counted(held_out.recall_before)}, now {_rated(held_out.recall_after)}",
                f"- loaded when it should not: {_counted(held_out.false_before)}, now {_rated(held_out.false_after)}",
                *siblings,
            )
        ),
        fill(disarm(escape_terminal(trained.reason)), _WIDTH),
        f"Training requests that go right: {_counted(trained.train_before)}, now {_counted(trained.train_after)}.",
    ]
    return "\n\n".join(shown)


def _counted(rate: TriggerRate) -> str:
    return f"{rate.hits} of {rate.of}"


def _rated(rate: TriggerRate) -> str:
    return f"{_counted(rate)} (95% interval {rate.low:.0%} to {rate.high:.0%})"


def description_trailers(
    made: tuple[str, str],
    judged: tuple[Verdict, float],
    held_out: HeldOutTriggers,
    basis: TriggerBasis,
    cost: tuple[int, Usage],
) -> tuple[tuple[str, str], ...]:
    """List the trailers of a description by its skill and training, and the error spent since the one before."""
    (skill, training), (verdict, spent) = made, judged
    rollouts, usage = cost
    return (
        ("Skill", skill),
        ("Kind", DESCRIPTION),
        (TRIGGER_TRAINING, training),
        ("Gate", GateRule.SEQUENTIAL.value),
        *([(GRADE, verdict.grading.grade.value)] if verdict.grading else []),
        ("Recall-Before", _of(held_out.recall_before)),
        ("Recall-After", _of(held_out.recall_after)),
        ("False-Triggers-Before", _of(held_out.false_before)),
        ("False-Triggers-After", _of(held_out.false_after)),
        ("Held-Out", f"{held_out.requests} requests, {held_out.runs} runs"),
        ("Wins-Ties-Losses", f"{verdict.wins}/{verdict.ties}/{verdict.losses}"),
        ("Confidence", f"{verdict.confidence:.3f}"),
        (ERROR_SPENT, f"{spent:.4f}"),
        ("Rollouts", str(rollouts)),
        ("Cost-USD", "unknown" if usage.usd is None else f"{usage.usd:.2f}"),
        ("Harness", basis.target),
        ("Optimizer-Model", basis.model),
        ("Requests-Digest", basis.requests),
        (SIBLINGS_DIGEST, basis.siblings),
        (BEFORE, basis.descriptions[0]),
        *((SIBLING_RECALL, f"{one.skill} {_of(one.before)} {_of(one.after)}") for one in held_out.siblings),
        *((FIXED, _shortened(text)) for text in held_out.fixed),
        *((BROKEN, _shortened(text)) for text in held_out.broken),
    )


def _of(rate: TriggerRate) -> str:
    return f"{rate.hits}/{rate.of}"


def _shortened(request: str) -> str:
    """Write a request of a file for one line of a commit."""
    return disarm(truncate(mask(" ".join(request.split())), _LONGEST_REQUEST))
