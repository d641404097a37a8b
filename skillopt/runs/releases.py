"""The released version of a skill, and how often the held-out test was used to replace it.

Both are read from git and the ledger, so that a rerun gets the same as the first run did.
"""

from skillopt.loop.events import HeldOutTestMeasured, ReleaseCheckWithheld, decode_event
from skillopt.loop.release_check import Released
from skillopt.runs.lineage import starting_commit
from skillopt.runs.plan import RunPlan, read_version
from skillopt.skills.folder import decode_skill
from skillopt.storage.ledger import Ledger, RunRecord

__all__ = ["earlier_looks", "released_of"]

_KINDS = (HeldOutTestMeasured.__name__, ReleaseCheckWithheld.__name__)


def released_of(plan: RunPlan, ledger: Ledger, record: RunRecord) -> Released:
    """Find the released text that a run is compared with on the held-out test.

    For a run that continues the skill's branch it is the text that the versions there began from; for one that begins
    with another text, such as one that people wrote meanwhile, it is that text.

    Args:
        plan: Names the skill and its repository.
        ledger: Holds earlier looks.
        record: The run.
    """
    name, repository = plan.target.name, plan.repository
    skill = decode_skill(name, record.start)
    versions = repository.versions(name, record.base) if record.base else ()
    if versions:
        newest, first = versions[0].sha, starting_commit(versions)
        on_branch = read_version(repository, name, newest, record.skill_path, missing_ok=True)
        if on_branch.digest == skill.digest:
            skill = read_version(repository, name, first, record.skill_path, missing_ok=True)
    return Released(skill, earlier_looks(ledger, record, skill.digest))


def earlier_looks(ledger: Ledger, record: RunRecord, released: str) -> int:
    """Count the looks at the held-out test that earlier runs took for a released version.

    Args:
        ledger: Holds the runs.
        record: The run that asks; what it has recorded itself says which look it is.
        released: Digest of the released version.
    """
    own = [row for row in ledger.events(record.id) if row.kind in _KINDS]
    for row in own:
        event = decode_event(row.kind, row.payload)
        if isinstance(event, HeldOutTestMeasured | ReleaseCheckWithheld):
            return event.look - 1
    others = (
        run
        for run in ledger.runs()
        if (run.skill, run.suite_digest) == (record.skill, record.suite_digest) and run.id != record.id
    )
    rows = (row for run in others for row in ledger.events(run.id) if row.kind == HeldOutTestMeasured.__name__)
    looks = (decode_event(row.kind, row.payload) for row in rows)
    return sum(isinstance(event, HeldOutTestMeasured) and event.released == released for event in looks)
