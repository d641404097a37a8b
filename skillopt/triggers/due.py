"""Whether a description is due for training: it never was trained, or something changed that its training rested on."""

from collections.abc import Iterable, Sequence

from skillopt.skills.document import Skill
from skillopt.skills.frontmatter import listed_description
from skillopt.storage.notes import TriggerBasis
from skillopt.tasks import digest_of
from skillopt.triggers.message import BEFORE, SIBLINGS_DIGEST
from skillopt.triggers.version import description_of, list_descriptions
from skillopt.versions.repository import Repository

__all__ = ["committed_bases", "description_digest", "siblings_digest", "why_description_due"]


def description_digest(text: str) -> str:
    """Identify a description."""
    return digest_of(text)[:16]


def siblings_digest(beside: Iterable[Skill]) -> str:
    """Identify the descriptions that are installed beside a skill, whatever their order."""
    rows = sorted((one.name, listed_description(one.document)) for one in beside)
    return digest_of(*(part for row in rows for part in row))


def committed_bases(repository: Repository, skill: str, path: str) -> tuple[TriggerBasis, ...]:
    """Read what the committed descriptions of a skill were trained on, newest first."""
    return tuple(
        TriggerBasis(
            tuple(filter(None, (one.trailer(BEFORE), description_digest(description_of(repository, one.sha, path))))),
            *(one.trailer(key) for key in ("Harness", "Optimizer-Model", SIBLINGS_DIGEST, "Requests-Digest")),
        )
        for one in list_descriptions(repository, skill)
    )


def why_description_due(now: TriggerBasis, trained: Sequence[TriggerBasis]) -> str:
    """Return why a description is due for training; empty when it is not.

    What an earlier training does not tell counts as unchanged.
    """
    reasons = [_difference(now, one) for one in trained]
    if not all(reasons):
        return ""
    return reasons[0] if reasons else "its description was never trained"


def _difference(now: TriggerBasis, then: TriggerBasis) -> str:
    found = (
        (now.descriptions[0] not in then.descriptions, "its description was changed since it was trained"),
        (then.target not in ("", now.target), f"its description was trained for {then.target}, now it is {now.target}"),
        (then.model not in ("", now.model), f"its description was written by {then.model}, now it is {now.model}"),
        (then.siblings not in ("", now.siblings), "descriptions of other skills changed since its own was trained"),
        (then.requests not in ("", now.requests), "its trigger set changed since its description was trained"),
    )
    return next((reason for holds, reason in found if holds), "")
