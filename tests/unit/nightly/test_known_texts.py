"""What git knows of many skills, read together, is what it knows of each of them read alone."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from skillopt.execution.recording import config_of
from skillopt.nightly.known_texts import DefaultBranch, read_many_texts, read_texts
from skillopt.nightly.skill_state import read_skill_state
from skillopt.project import Project, Selection
from skillopt.settings import Settings
from skillopt.skills.folder import encode_skill
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.tasks import File
from skillopt.versions.repository import NewVersion, Repository
from tests.fakes.projects import git

pytestmark = pytest.mark.process

_TASKS: Final = "".join(
    f'{{"id": "{split}", "split": "{split}", "prompt": "Do {split}.", '
    '"verifier": {"kind": "exact", "file": "a.txt", "value": "a"}}\n'
    for split in ("train", "val", "test")
)


def text(name: str, rules: int) -> bytes:
    return f"---\nname: {name}\ndescription: Cleans.\n---\n# Rules\n\n{'- Trim.' * rules}\n".encode()


def version(repository: Repository, name: str, rules: int, *more: tuple[str, str]) -> None:
    tip = repository.branch_tip(name)
    new = NewVersion(
        skill=name,
        path=f"skills/{name}",
        files=(File("SKILL.md", text(name, rules)),),
        subject=f"{name}: add a rule",
        body="",
        trailers=(("Skill", name), ("Val-After", "0.9"), ("Harness", "h"), *more),
        at="2026-01-02T03:04:05+00:00",
        parent=tip or repository.head() or "",
        expected_tip=tip,
    )
    repository.commit_version(new)


def never_trained(repository: Repository, name: str) -> None:
    """Leave it as it is."""


def trained(repository: Repository, name: str) -> None:
    version(repository, name, 2)
    version(repository, name, 3)


def changed_here(repository: Repository, name: str) -> None:
    trained(repository, name)
    (repository.root / "skills" / name / "SKILL.md").write_bytes(text(name, 9))


def declined(repository: Repository, name: str) -> None:
    trained(repository, name)
    version(repository, name, 1, ("Declined", repository.branch_tip(name) or ""))


def changed_by_people(repository: Repository, name: str) -> None:
    trained(repository, name)
    branch = f"refs/heads/skillopt/{name}"
    above = git(repository.root, "commit-tree", "-p", branch, "-m", "By hand", f"{branch}^{{tree}}")
    git(repository.root, "update-ref", branch, above)


def with_private_file(repository: Repository, name: str) -> None:
    trained(repository, name)
    (repository.root / "skills" / name / "private.log").write_text("mine\n", encoding="utf-8")


def with_link(repository: Repository, name: str) -> None:
    trained(repository, name)
    (repository.root / "skills" / name / "link.md").symlink_to("../../elsewhere.md")


def broken(repository: Repository, name: str) -> None:
    (repository.root / "skills" / name / "SKILL.md").unlink()


def on_default_branch(repository: Repository, name: str) -> None:
    trained(repository, name)
    (repository.root / "skills" / name / "SKILL.md").write_bytes(text(name, 3))


def diverged(repository: Repository, name: str) -> None:
    changed_here(repository, name)


_STATES: Final[tuple[Callable[[Repository, str], None], ...]] = (
    never_trained,
    trained,
    changed_here,
    declined,
    changed_by_people,
    with_private_file,
    with_link,
    broken,
    on_default_branch,
    diverged,
)
_COMMITTED: Final = (with_link, on_default_branch, diverged)


def make_library(root: Path) -> dict[str, Callable[[Repository, str], None]]:
    """Make a repository with two skills in each state, of which the second has an unfinished run."""
    states = {f"{made.__name__.replace('_', '-')}-{number}": made for made in _STATES for number in (1, 2)}
    for name in states:
        (root / "skills" / name).mkdir(parents=True)
        (root / "skills" / name / "SKILL.md").write_bytes(text(name, 1))
    (root / "tasks.jsonl").write_text(_TASKS, encoding="utf-8")
    (root / "elsewhere.md").write_text("Elsewhere.\n", encoding="utf-8")
    (root / ".gitignore").write_text("*.log\n.skillopt/\n", encoding="utf-8")
    tables = (f'[skills.{name}]\npath = "skills/{name}"\nsuite = "tasks.jsonl"\n' for name in states)
    (root / "skillopt.toml").write_text('harness = "demo"\nmodel = "demo"\n' + "".join(tables), encoding="utf-8")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "Begin")
    repository = Repository.find(root)
    for name, made in states.items():
        made(repository, name)
    git(root, "add", *(f"skills/{name}" for name, made in states.items() if made in _COMMITTED))
    git(root, "commit", "--quiet", "-m", "Merge")
    return states


def begin_run(ledger: Ledger, project: Project, name: str) -> None:
    target = project.target(Selection(name, folder=project.root))
    config, start = config_of(Settings(), ("demo", "model")), encode_skill(target.skill())
    ledger.begin_run(RunRecord(f"run-{name}", name, f"skills/{name}", config, "c", "s", start, "", 0))


def test_many_skills_read_together_are_what_each_is_alone(tmp_path: Path) -> None:
    states = make_library(tmp_path)
    project, repository = Project.find(tmp_path), Repository.find(tmp_path)
    default = DefaultBranch("main", repository.head() or "")
    targets = {name: project.target(Selection(name, folder=tmp_path)) for name in states}

    found = read_many_texts(repository, list(targets.values()), default)

    apart = {name for name, made in states.items() if made in (broken, with_private_file)}
    assert found.keys() == states.keys() - apart
    assert found == {name: read_texts(repository, targets[name], default) for name in found}
    assert found["never-trained-1"].branch == ""
    assert len(found["trained-1"].versions) == 2
    assert len(found["declined-1"].versions) == 3
    assert found["changed-here-1"].here not in found["changed-here-1"].known
    assert found["on-default-branch-1"].default == found["on-default-branch-1"].tip
    assert found["diverged-1"].default not in found["diverged-1"].known
    assert found["with-link-1"].default == found["with-link-1"].here
    now = datetime.now(UTC)
    with closing(Ledger.open(tmp_path)) as ledger:
        for name in found:
            if name.endswith("-2"):
                begin_run(ledger, project, name)
        for name, texts in found.items():
            if (texts.default or texts.here) not in {*texts.known, texts.here}:
                continue  # refused: the default branch has a text that is neither here nor on the branch
            selection = Selection(name, folder=tmp_path)
            assert read_skill_state(selection, default, ledger, now, texts) == read_skill_state(
                selection, default, ledger, now
            )
