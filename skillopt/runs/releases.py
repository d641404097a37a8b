"""The released version of a skill, how often the held-out test was used to replace it, and the text before any version.

All are read from git and the ledger, so that a rerun gets the same as the first run did.
"""

from collections.abc import Sequence

from skillopt.execution.recording import earlier_looks
from skillopt.loop.release_check import Released
from skillopt.runs.lineage import starting_commit
from skillopt.runs.plan import RunPlan, read_version
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import decode_skill
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.versions.commit_message import Version, commit_kind
from skillopt.versions.repository import Repository

__all__ = ["first_text", "released_of"]


def released_of(plan: RunPlan, ledger: Ledger, record: RunRecord) -> Released:
    """Find the released text that a run is compared with on the held-out test.

    For a run that continues the skill's branch it is the text that the versions there began from; for one that begins
    with another text, such as one that people wrote meanwhile, it is that text.
    """
    name, repository = plan.target.name, plan.repository
    skill = decode_skill(name, record.start)
    versions = repository.versions(name, record.base) if record.base else ()
    if versions:
        newest, first = versions[0].sha, starting_commit(versions)
        on_branch = read_version(repository, name, newest, record.skill_path, missing_ok=True)
        if on_branch.digest == skill.digest:
            skill = read_version(repository, name, first, record.skill_path, missing_ok=True)
    before = first_text(repository, name, versions, record.skill_path)
    return Released(skill, earlier_looks(ledger, record, skill.digest), before)


def first_text(repository: Repository, skill: str, versions: Sequence[Version], path: str) -> SkillDocument | None:
    """Read the text before the first version, so that a leak in pieces of several runs or proposals is seen whole."""
    oldest = next((one for one in reversed(versions) if commit_kind(one) in ("accepted", "taken")), None)
    if oldest is None:
        return None
    if not oldest.parent:
        return SkillDocument("")
    return read_version(repository, skill, oldest.parent, path, missing_ok=True).document
