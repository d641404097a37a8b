"""Trained descriptions: an edit of the frontmatter on the branch of the skill's draft, until a person takes it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Final

from skillopt.contrib.triggers.description import with_description
from skillopt.contrib.triggers.loading import HeldOutTriggers, TriggerRate
from skillopt.contrib.triggers.looks import TriggerBasis
from skillopt.contrib.triggers.training import TrainedDescription
from skillopt.errors import UsageError
from skillopt.gate.decide import Verdict
from skillopt.gate.grades import GRADE, Against
from skillopt.rollouts import Usage
from skillopt.safety.credentials import mask
from skillopt.safety.escaping import escape_terminal, truncate
from skillopt.settings import GateRule
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Edit, Op
from skillopt.skills.folder import SKILL_FILE
from skillopt.skills.frontmatter import listed_description
from skillopt.tasks import File, digest_of
from skillopt.versions.branches import DraftBranch
from skillopt.versions.commit_message import DECLINED, DESCRIPTION, NEEDS_A_PERSON, Version, disarm
from skillopt.versions.decisions import edit_trailers
from skillopt.versions.repository import NewVersion

TRIGGER_TRAINING: Final = "Trigger-Training"
TRIGGER_ERROR: Final = "Trigger-Error-Spent"
NON_INFERIORITY: Final = "non-inferiority"
"""The gate of a shorter description: no loss instead of a gain."""

_BEFORE: Final = "Description-Before"
_SIBLINGS: Final = "Siblings-Digest"
"""Trailers of a description: its training, the error spent, digests of the one before and of those beside."""

_WIDTH: Final = 72  # of a commit's message

_Trailers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DescriptionDraft:
    """Where the trained description of a skill waits, and what was trained before."""

    branch: DraftBranch

    @property
    def waiting(self) -> Version | None:
        """The draft where it is a description that training wrote."""
        draft = self.branch.read()
        return draft if draft is not None and _is_description(draft) and self.branch.is_ours(draft.sha) else None

    @property
    def trained(self) -> tuple[Version, ...]:
        """The descriptions that training committed and this clone has: the one that waits, those taken and declined."""
        repository, skill = self.branch.repository, self.branch.skill
        versions = repository.versions(skill)
        shas = (sha for version in versions for sha in version.values(DECLINED))
        declined = [repository.commit(sha) for sha in dict.fromkeys(shas) if repository.ref_tip(sha) is not None]
        waiting = self.waiting
        return tuple(filter(_is_description, (*([waiting] if waiting else ()), *versions, *declined)))

    def expect_free(self) -> None:
        """Refuse to put a description in the place of a draft of something else."""
        name, skill = self.branch.name, self.branch.skill
        if self.branch.tip is not None and self.waiting is None:
            raise UsageError(
                f"expected no other draft of {skill!r}, found {name}; `skillopt take {skill}`, or refuse it with "
                f"`skillopt decline {skill} draft`, then run this again"
            )

    def text(self, commit: str) -> str:
        """Read the description that the skill has in a commit; empty where it has none."""
        files = self.branch.repository.read_folder(commit, self.branch.path)
        found = next((file.content for file in files if file.path == SKILL_FILE), b"")
        return listed_description(SkillDocument.parse(found))

    def bases(self) -> tuple[TriggerBasis, ...]:
        """Read what the committed descriptions were trained on."""
        return tuple(
            TriggerBasis(
                tuple(filter(None, (one.trailer(_BEFORE), description_digest(self.text(one.sha))))),
                *(one.trailer(key) for key in ("Harness", "Optimizer-Model", _SIBLINGS, "Requests-Digest")),
            )
            for one in self.trained
        )

    def publish(self, start: Skill, trained: TrainedDescription, body: str, trailers: _Trailers, at: str) -> str:
        """Commit a description on the newest text; the draft of an earlier one gives way."""
        branch = self.branch
        repository = branch.repository
        parent = repository.branch_tip(branch.skill) or repository.head() or ""
        what = "a shorter description" if ("Gate", NON_INFERIORITY) in trailers else "a description"
        old, new = (_field(start.document, text) for text in (trained.before, trained.description))
        edit = Edit(DESCRIPTION, Op.REPLACE, old, content=new, rationale=trained.reason)
        return branch.publish(
            NewVersion(
                skill=branch.skill,
                path=branch.path,
                files=_described(repository.read_folder(parent, branch.path), trained.description),
                at=at,
                parent=parent,
                subject=f"{branch.skill}: draft, {what} that loads it when it should",
                body=body,
                trailers=(
                    ("Skill", branch.skill),
                    *trailers,
                    (NEEDS_A_PERSON, "frontmatter, it changes the description"),
                    *edit_trailers([edit]),
                ),
            )
        )


def _is_description(version: Version) -> bool:
    return version.trailer("Kind") == DESCRIPTION


def _field(document: SkillDocument, text: str) -> str:
    """Return the line of the frontmatter that holds a description."""
    rows = with_description(document, text).text.splitlines()
    return next(row for row in rows if row.partition(":")[0].strip("\"' ") == "description")


def _described(files: tuple[File, ...], description: str) -> tuple[File, ...]:
    return tuple(
        File(file.path, with_description(SkillDocument.parse(file.content), description).render())
        if file.path == SKILL_FILE
        else file
        for file in files
    )


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
    training: str,
    judged: tuple[Verdict, float],
    held_out: HeldOutTriggers,
    basis: TriggerBasis,
    cost: tuple[int, Usage],
) -> _Trailers:
    """List the trailers of a description by its training, and the error spent since the one before."""
    (verdict, spent), (rollouts, usage) = judged, cost
    shorter = verdict.grading.against is Against.LONGER
    return (
        ("Kind", DESCRIPTION),
        (TRIGGER_TRAINING, training),
        ("Gate", NON_INFERIORITY if shorter else GateRule.SEQUENTIAL.value),
        (GRADE, verdict.grading.grade.value),
        ("Recall-Before", _of(held_out.recall_before)),
        ("Recall-After", _of(held_out.recall_after)),
        ("False-Triggers-Before", _of(held_out.false_before)),
        ("False-Triggers-After", _of(held_out.false_after)),
        ("Held-Out", f"{held_out.requests} requests, {held_out.runs} runs"),
        ("Wins-Ties-Losses", f"{verdict.wins}/{verdict.ties}/{verdict.losses}"),
        ("Confidence", f"{verdict.confidence:.3f}"),
        (TRIGGER_ERROR, f"{spent:.4f}"),
        ("Rollouts", str(rollouts)),
        ("Cost-USD", "unknown" if usage.usd is None else f"{usage.usd:.2f}"),
        ("Harness", basis.target),
        ("Optimizer-Model", basis.model),
        ("Requests-Digest", basis.requests),
        (_SIBLINGS, basis.siblings),
        (_BEFORE, basis.descriptions[0]),
        *(("Sibling-Recall", f"{one.skill} {_of(one.before)} {_of(one.after)}") for one in held_out.siblings),
        *(("Fixed-Request", _shortened(text)) for text in held_out.fixed),
        *(("Broken-Request", _shortened(text)) for text in held_out.broken),
    )


def _of(rate: TriggerRate) -> str:
    return f"{rate.hits}/{rate.of}"


def _shortened(request: str) -> str:
    return disarm(truncate(mask(" ".join(request.split())), 200))


def description_digest(text: str) -> str:
    """Identify a description."""
    return digest_of(text)[:16]


def siblings_digest(beside: Iterable[Skill]) -> str:
    """Identify the descriptions that are installed beside a skill, whatever their order."""
    rows = sorted((one.name, listed_description(one.document)) for one in beside)
    return digest_of(*(part for row in rows for part in row))


def why_description_due(now: TriggerBasis, trained: Sequence[TriggerBasis]) -> str:
    """Return why a description is due for training; empty when it is not."""
    reasons = [_difference(now, one) for one in trained]
    if not all(reasons):
        return ""
    return reasons[0] if reasons else "its description was never trained"


def _difference(now: TriggerBasis, then: TriggerBasis) -> str:
    found = (
        (now.descriptions[0] not in then.descriptions, "its description was changed since it was trained"),
        (then.target != now.target, f"its description was trained for {then.target}, now it is {now.target}"),
        (then.model != now.model, f"its description was written by {then.model}, now it is {now.model}"),
        (then.siblings != now.siblings, "descriptions of other skills changed since its own was trained"),
        (then.requests != now.requests, "its trigger set changed since its description was trained"),
    )
    return next((reason for holds, reason in found if holds), "")
