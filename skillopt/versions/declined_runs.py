"""Which runs people declined: those whose newest version, or draft, they refused."""

from collections.abc import Callable, Iterable, Mapping

from skillopt.errors import SkilloptError
from skillopt.versions.decisions import Decisions
from skillopt.versions.histories import read_histories
from skillopt.versions.repository import Repository

__all__ = ["declined_runs"]

_RUN = "Skillopt-Run"


def declined_runs(find: Callable[[], Repository], skills: Iterable[str]) -> Mapping[str, str]:
    """Say of each run whose text people declined who did, and why, in one line, by the run's id."""
    found: dict[str, str] = {}
    try:
        repository = find()
        wanted = frozenset(skills)
        tips = {skill: tip for skill, tip in repository.tips().items() if skill in wanted}
        for versions in read_histories(repository.root, tips).values():
            for sha, word in Decisions(versions).declined_by.items():
                if repository.ref_tip(sha) is None:  # a draft that this clone does not have
                    continue
                found[repository.commit(sha).trailer(_RUN)] = f"declined{word.signature}"
    except SkilloptError:
        return found
    return found
