"""The git branch `skillopt-trigger/<skill>`, here or as fetched: accepted descriptions, and what people decided."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from textwrap import fill
from typing import Final

from skillopt.contrib.triggers.description import with_description
from skillopt.contrib.triggers.loading import HeldOutTriggers, TriggerRate
from skillopt.contrib.triggers.training import TrainedDescription
from skillopt.errors import UsageError, VersionConflictError
from skillopt.gate.decide import Verdict
from skillopt.gate.error_budget import ERROR_SPENT
from skillopt.gate.grades import GRADE, Against
from skillopt.rollouts import Usage
from skillopt.safety.credentials import mask
from skillopt.safety.escaping import escape_terminal, truncate
from skillopt.settings import GateRule
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import SKILL_FILE
from skillopt.skills.frontmatter import listed_description
from skillopt.storage.notes import TriggerBasis
from skillopt.tasks import File, digest_of
from skillopt.versions.branches import DESCRIPTION_BRANCHES, DESCRIPTION_DRAFTS, description_commits
from skillopt.versions.commit_message import (
    DECLINED,
    DECLINED_DESCRIPTION,
    DESCRIPTION,
    DESCRIPTION_DRAFT,
    UNDECLINED,
    UNDECLINED_DESCRIPTION,
    Version,
    disarm,
)
from skillopt.versions.decisions import PULL_REQUEST, Decisions, PersonsWord
from skillopt.versions.merging import default_tip
from skillopt.versions.repository import NewVersion, Repository
from skillopt.versions.revisions import find_skill_folder, read_revision_file

TRIGGER_TRAINING: Final = "Trigger-Training"
NON_INFERIORITY: Final = "non-inferiority"
"""The gate of a shorter description: no loss instead of a gain."""

_BEFORE: Final = "Description-Before"
_SIBLINGS: Final = "Siblings-Digest"
"""Trailers of a description: id of its training, digest of the one before, and of those that were installed beside."""

_FETCHED: Final = "refs/remotes/origin/skillopt-trigger/"
_WIDTH: Final = 72
_LONGEST_REQUEST: Final = 200

_Trailers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DescriptionBranch:
    """The branch of a skill's descriptions."""

    repository: Repository
    skill: str
    path: str

    @property
    def name(self) -> str:
        """The name of the branch."""
        return f"skillopt-trigger/{self.skill}"

    @property
    def draft_name(self) -> str:
        """The name of the branch of its draft."""
        return f"{DESCRIPTION_DRAFTS.removeprefix('refs/heads/')}{self.skill}"

    @property
    def tip(self) -> str | None:
        """The newest commit of the branch, here or as it was fetched; None where there is neither."""
        repository = self.repository
        here, fetched = (repository.ref_tip(f"{prefix}{self.skill}") for prefix in (DESCRIPTION_BRANCHES, _FETCHED))
        if here is None or fetched is None:
            return here or fetched
        return fetched if repository.contains(fetched, here) else here

    @property
    def line(self) -> tuple[Version, ...]:
        """What was committed for the description, newest first; it ends with the first commit of a person."""
        tip = self.tip
        return description_commits(self.repository, self.skill, tip) if tip else ()

    @property
    def trained(self) -> tuple[Version, ...]:
        """The descriptions that training committed, newest first, declined ones too."""
        return tuple(one for one in self.line if one.trailer("Kind") == DESCRIPTION)

    @property
    def declined(self) -> dict[str, PersonsWord]:
        """Who declined a description that stays declined, and why, by its commit; oldest first."""
        return Decisions(self.line).declined_by

    @property
    def declined_last(self) -> tuple[tuple[str, ...], str]:
        """The descriptions declined last, newest first, and where; none where another was committed since."""
        kinds = (DESCRIPTION, DECLINED_DESCRIPTION)
        newest = next((one for one in self.line if one.trailer("Kind") in kinds), None)
        gone = self.declined
        wanted = tuple(sha for sha in newest.values(DECLINED) if sha in gone) if newest else ()
        return wanted, newest.trailer(PULL_REQUEST) if newest and wanted else ""

    def offered(self, onto: str) -> tuple[Version, ...]:
        """List the descriptions that the default branch's commit lacks and nobody declined, newest first."""
        gone, there = self.declined, self.text(onto) if onto else ""
        found: list[Version] = []
        for one in self.trained:
            if self.text(one.sha) == there:
                break
            if one.sha not in gone:
                found.append(one)
                if self.before(one) == there:
                    break
        return tuple(found)

    def text(self, commit: str) -> str:
        """Read the description that the skill has in a commit; empty where it has none."""
        found = self._skill_file(commit, self.path)
        if found is None:
            earlier = find_skill_folder(self.repository, commit, self.repository.commit(commit).trailer("Skill"))
            found = self._skill_file(commit, earlier) if earlier else None
        return listed_description(SkillDocument.parse(found or b""))

    def before(self, version: Version) -> str:
        """Read the description that a commit of a description was trained from, empty for none."""
        there = self
        if self._skill_file(version.sha, self.path) is None:
            path = find_skill_folder(self.repository, version.sha, version.trailer("Skill"))
            there = DescriptionBranch(self.repository, self.skill, path or self.path)
        found = [there.text(sha) for sha in (version.parent, version.merged) if sha]
        # One that merges what was checked out may have begun with what people had written there.
        began = (text for text in found if description_digest(text) == version.trailer(_BEFORE))
        return next(began, found[0] if found else "")

    def newest_of(self, skill: Skill) -> Skill:
        """Return a skill with the newest description of its branch, unless people have written another one since."""
        here, line = listed_description(skill.document), self.line
        newest = self.text(line[0].sha) if line else here
        if newest != here and any(self.before(version) == here for version in line):
            return skill.with_document(with_description(skill.document, newest))
        return skill

    def bases(self) -> tuple[TriggerBasis, ...]:
        """Read what the committed descriptions were trained on, newest first."""
        return tuple(
            TriggerBasis(
                tuple(filter(None, (one.trailer(_BEFORE), description_digest(self.text(one.sha))))),
                *(one.trailer(key) for key in ("Harness", "Optimizer-Model", _SIBLINGS, "Requests-Digest")),
            )
            for one in self.trained
        )

    def expect_free(self) -> None:
        """Refuse a branch that cannot be moved."""
        tip = self.tip
        if tip is not None and not self.line:
            raise VersionConflictError(
                f"{self.name} has commits of people ({tip[:10]}); it was left alone. Rename it to keep them: git "
                f"branch -m {self.name} MY-NAME"
            )
        self.repository.check_branch(self.name)

    def publish(self, description: str, body: str, trailers: _Trailers, at: str) -> str:
        """Commit a description on the newest one, fetched ones included, and merge HEAD where that has moved on."""
        head, tip = self.repository.head() or "", self.tip
        behind = tip is not None and head != "" and not self.repository.contains(tip, head)
        shorter = ("Gate", NON_INFERIORITY) in trailers
        message = f"a {'shorter ' if shorter else ''}description that loads it when it should", body
        # Neither files that nobody committed nor an older checkout's body are part of it.
        return self._commit(description, message, trailers, at, head if behind else "")

    def save_draft(self, description: str, body: str, at: str) -> str:
        """Keep a description that too few requests could judge on a branch of its own; the next one replaces it."""
        message = "a description that waits for more requests", body
        return self._commit(description, message, (("Kind", DESCRIPTION_DRAFT),), at, to=self.draft_name)

    def drop_draft(self) -> None:
        """Remove the draft, if training wrote it."""
        self.repository.put_branch(self.draft_name, None, self._is_draft)

    def _is_draft(self, tip: str) -> bool:
        return self.repository.commit(tip).trailer("Kind") == DESCRIPTION_DRAFT

    def decline(self, word: PersonsWord, at: str, onto: str = "") -> tuple[str, tuple[str, ...]]:
        """Commit that a person refused the descriptions that the default branch lacks; the one before them is back."""
        offered = self.offered(onto or default_tip(self.repository))
        if not offered:
            raise UsageError(f"skill {self.skill!r} has no description to decline; see `skillopt log {self.skill}`")
        names = ", ".join(one.sha[:10] for one in offered)
        message = (
            f"decline the description {names}",
            f"{names} was declined. The description before it is back, and training starts from it.",
        )
        shas = tuple(one.sha for one in offered)
        trailers = (("Kind", DECLINED_DESCRIPTION), *((DECLINED, sha) for sha in shas), *word.trailers(DECLINED))
        return self._commit(self.before(offered[-1]), message, trailers, at), shas

    def undecline(self, word: PersonsWord, at: str) -> tuple[str, tuple[str, ...]]:
        """Commit that a person wants after all what was declined last: that description is the newest again."""
        skill, (shas, _) = self.skill, self.declined_last
        if not shas:
            raise UsageError(f"expected a declined description of {skill!r}, found none; see `skillopt log {skill}`")
        names = ", ".join(sha[:10] for sha in shas)
        message = f"bring the description {names} back", f"{names} was declined, and is wanted after all."
        trailers = (("Kind", UNDECLINED_DESCRIPTION), *((UNDECLINED, sha) for sha in shas), *word.trailers(UNDECLINED))
        return self._commit(self.text(shas[0]), message, trailers, at), shas

    def _commit(
        self, text: str, message: tuple[str, str], trailers: _Trailers, at: str, merges: str = "", to: str = ""
    ) -> str:
        repository, (subject, body) = self.repository, message
        parent = self.tip or repository.head() or ""
        new = NewVersion(
            skill=self.skill,
            path=self.path,
            files=_described(repository.read_folder(merges or parent, self.path), text),
            at=at,
            parent=parent,
            merges=merges,
            subject=f"{self.skill}: {subject}",
            body=body,
            trailers=(("Skill", self.skill), *trailers),
        )
        commit = repository.write_commit(new)
        repository.put_branch(to or self.name, commit, self._is_draft if to else lambda _: bool(self.line))
        return commit

    def _skill_file(self, commit: str, path: str) -> bytes | None:
        return read_revision_file(self.repository, commit, (PurePosixPath(path) / SKILL_FILE).as_posix())


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
        (ERROR_SPENT, f"{spent:.4f}"),
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
    return disarm(truncate(mask(" ".join(request.split())), _LONGEST_REQUEST))


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
