"""What a night does about the length of skills: it shrinks those that ask for it and whose text was not tried yet."""

from dataclasses import replace

from skillopt.errors import BusyError, SkilloptError, UsageError
from skillopt.nightly.night import SkillNight, Training
from skillopt.nightly.offers import Night
from skillopt.nightly.skill_state import SkillState
from skillopt.project import Selection
from skillopt.runs.plan import incumbent_of
from skillopt.runs.run import open_draft
from skillopt.shrink.run import shrink_skill
from skillopt.shrink.shrinking import SHRINK, Shortening
from skillopt.skills.folder import decode_skill

__all__ = ["shrink_night"]


def shrink_night(night: Night, selection: Selection, state: SkillState, row: SkillNight) -> SkillNight:
    """Shrink a skill where `[nightly] shrink` says so, after its training, within the remaining budget."""
    if not state.target.settings.nightly.shrink or row.training not in (Training.FINISHED, Training.NOT_DUE):
        return row
    waits = night.why_waiting() or _why_not(night, state)
    if waits is None:
        return row
    if waits:
        return replace(row, shrunk=f"not shrunk: {waits}")
    meter = night.remaining.meter_for(1.0)
    try:
        done = shrink_skill(selection, Shortening(), start=state.start, observer=night.observer, allowance=meter)
        row = replace(row, shrunk=f"shrink: {done.reason}", versions=row.versions + bool(done.version))
    except BusyError:
        raise
    except UsageError as error:
        return replace(row, shrunk=f"not shrunk: {error}")
    except SkilloptError as error:
        return replace(row, training=Training.FAILED, reason=str(error))
    finally:
        night.remaining.subtract(meter)
    return row.with_usage(meter)


def _why_not(night: Night, state: SkillState) -> str | None:
    """Return why a skill is not shrunk; empty where it is, None where this text was shrunk before on these tasks."""
    target, repository = state.target, night.repository
    text, suite = incumbent_of(target, repository, state.start).digest, target.suite().digest
    made = next((one for one in state.versions if one.sha == state.tip and one.trailer("Tokens-After")), None)
    runs = (run for run in night.ledger.runs(target.name) if run.kind == SHRINK and run.state == "finished")
    tried = {decode_skill(run.skill, run.start).digest for run in runs if run.suite_digest == suite}
    if text in tried or (made is not None and made.trailer("Suite-Digest") == suite):
        return None
    draft = open_draft(night.project.root, repository, target).tip
    return "its draft waits for a person, and a shorter text would take its place" if draft else ""
