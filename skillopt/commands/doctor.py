"""The user action `doctor`: check what a run needs; each failing row names the fix."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from skillopt.errors import SkilloptError
from skillopt.harnesses import load_harness
from skillopt.ledger import Ledger
from skillopt.models import load_model
from skillopt.project import Project, Selection
from skillopt.tasks import Split
from skillopt.validation import Severity, validate
from skillopt.versions import Repository

__all__ = ["Check", "Diagnosis", "doctor"]


@dataclass(frozen=True, slots=True)
class Check:
    """One row: what was checked, whether it is well, what was found or how to mend it."""

    name: str
    ok: bool
    found: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All rows; `healthy` when every one is well."""

    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Tell whether every check is well."""
        return all(check.ok for check in self.checks)


def doctor(*, folder: Path | None = None) -> Diagnosis:
    """Check Python, git, the ledger, and every configured skill with its suite, harness and model."""
    folder = folder or Path.cwd()
    return Diagnosis(tuple(_checks(folder)))


def _checks(folder: Path) -> Iterator[Check]:
    yield Check("python", ok=True, found=sys.version.split()[0])
    yield _check("git", lambda: _repository(folder))
    try:
        project = Project.find(folder)
    except SkilloptError as error:
        yield Check("configuration", ok=False, found=str(error))
        return
    yield _check("ledger", lambda: _ledger(project))
    if not project.entries:
        yield Check("skills", ok=False, found=f"none configured in {project.config}; run `skillopt init`")
    for name in project.entries:
        yield _check(f"skill {name}", lambda name=name: _skill(project, name))  # type: ignore[misc]  # default binds the loop variable
        yield _check(f"suite {name}", lambda name=name: _suite(project, name))  # type: ignore[misc]  # as above
        yield _check(f"target {name}", lambda name=name: _drivers(project, name))  # type: ignore[misc]  # as above


def _check(name: str, probe: Callable[[], str]) -> Check:
    try:
        return Check(name, ok=True, found=probe())
    except SkilloptError as error:
        return Check(name, ok=False, found=str(error))


def _repository(folder: Path) -> str:
    repository = Repository.find(folder)
    return f"{repository.git_version}, repository {repository.root}, commits as {repository.identity}"


def _ledger(project: Project) -> str:
    with closing(Ledger.open(project.root)) as ledger:
        return f"{ledger.path}, {len(ledger.runs())} runs"


def _skill(project: Project, name: str) -> str:
    skill = project.target(Selection(name)).skill()
    findings = validate(skill)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        message = f"SKILL.md:{errors[0].line}: {errors[0].message}"
        raise SkilloptError(message)
    return f"valid, {len(findings)} warnings"


def _suite(project: Project, name: str) -> str:
    suite = project.target(Selection(name)).suite()
    return ", ".join(f"{len(suite.tasks(split))} {split.value}" for split in Split)


def _drivers(project: Project, name: str) -> str:
    settings = project.target(Selection(name)).settings
    harness, model = (
        load_harness(settings.harness, settings.seed, settings.skill_mode),
        load_model(settings.model, settings.seed),
    )
    return f"harness {harness.identity}, optimizer model {model.identity}"
