"""The skills of a project, a page of them at a time, and what is missing for a first run."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from skillopt.errors import RepositoryError
from skillopt.project import FoundSkill, Project
from skillopt.versions.commit_message import Version
from skillopt.versions.decisions import Decisions
from skillopt_mcp.catalogue import Catalogue, catalogue_of

__all__ = ["Overview", "SkillRow", "overview"]

_SECONDS: Final = 2.0
"""After which the work tree is looked at again; commits and skillopt.toml are in the next answer."""


@dataclass(frozen=True, slots=True)
class SkillRow:
    """A skill of a project."""

    name: str
    path: str
    suite: str
    versions: tuple[Version, ...] = ()
    served: Version | None = None
    committed: str = ""

    @property
    def declined(self) -> int:
        """How many of its versions people declined."""
        return len(Decisions(self.versions).declined)


@dataclass(frozen=True, slots=True)
class Overview:
    """One page of the skills of a project."""

    repository: bool
    names: tuple[str, ...]
    trained: int
    rows: tuple[SkillRow, ...]


def overview(folder: Path, first: int, most: int) -> Overview:
    """List a page of the skills of a project; that something is missing is part of the answer, not an error."""
    try:
        catalogue = catalogue_of(folder)
    except RepositoryError:
        project = Project.find(folder)
        here = _in_work_tree(project, first, most)
        rows = tuple(SkillRow(one.name, one.path, one.suite) for one in here)
        return Overview(repository=False, names=tuple(sorted(project.skill_names().values())), trained=0, rows=rows)
    return _page(catalogue, first, most, int(time.monotonic() / _SECONDS))


# Catalogues are made anew for other commits and another skillopt.toml, and then differ.
@lru_cache(maxsize=16)
def _page(catalogue: Catalogue, first: int, most: int, moment: int) -> Overview:
    project, paths = catalogue.project, catalogue.paths_at(moment)
    names = tuple(sorted({*paths, *catalogue.names}))
    shown = names[first : first + most]
    here = {one.name: one for one in project.with_suites({paths[name]: name for name in shown if name in paths})}
    histories = catalogue.histories(shown)
    rows = []
    for name in shown:
        found, served = here.get(name, FoundSkill(name, "", "")), catalogue.chosen(name)
        committed = catalogue.default if served is None and name in catalogue.committed else ""
        path = found.path or catalogue.committed.get(name, "")
        rows.append(SkillRow(name, path, found.suite, histories[name], served, committed))
    return Overview(repository=True, names=names, trained=len(catalogue.tips), rows=tuple(rows))


def _in_work_tree(project: Project, first: int, most: int) -> Sequence[FoundSkill]:
    names = sorted((name, path) for path, name in project.skill_names().items())
    return project.with_suites({path: name for name, path in names[first : first + most]})
