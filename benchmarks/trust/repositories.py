"""Repositories made to harm who looks at them: nothing of theirs may run, nothing outside be read, nothing hang."""

import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.trust.classes import ClassResult, Found
from benchmarks.trust.projects import OPTIMIZE, git, make_project, skillopt

_READING: Final = (("status",), ("log", "rows"), ("diff", "rows", "HEAD", "worktree"), ("gate", "HEAD"))
_SECRET: Final = "text-from-outside-of-the-project"  # noqa: S105 - looks for it in what is printed


def try_repositories(*, quick: bool) -> Found:
    """Make repositories of each kind and run commands in them."""
    kinds: list[Callable[[Path], list[str]]] = [_outside, *([] if quick else [_odd_refs, _submodule])]
    failures = list[str]()
    with TemporaryDirectory(prefix="trust-repositories-") as root:
        for kind in kinds:
            folder = Path(root) / kind.__name__
            folder.mkdir()
            failures += [f"repository, {kind.__name__.strip('_')}: {failure}" for failure in kind(folder)]
    return (ClassResult("hostile repositories", len(kinds), len(failures)),), failures


def _check(project: Path, *commands: tuple[str, ...]) -> list[str]:
    """Run commands; tell of tracebacks and of text from outside."""
    failures = []
    for command in commands:
        try:
            ended = skillopt(project, *command)
        except subprocess.TimeoutExpired:
            failures.append(f"{command} hangs")
            continue
        if "Traceback" in ended.stderr or ended.returncode not in (0, 1, 2, 3):
            failures.append(f"{command} ended with {ended.returncode}: {ended.stderr[-400:]}")
        if _SECRET in ended.stdout + ended.stderr:
            failures.append(f"{command} printed a file from outside")
    return failures


def _outside(folder: Path) -> list[str]:
    """Name paths out of the project in its settings."""
    failures = []
    (folder / "secret.md").write_text(f"---\nname: secret\ndescription: x\n---\n{_SECRET}\n", encoding="utf-8")
    for number, path in enumerate(("../x", "/etc", "skills/../../x", "skills/rows/../../../x")):
        place = folder / str(number)
        (place / "x").mkdir(parents=True)
        (place / "x" / "SKILL.md").write_text((folder / "secret.md").read_text(encoding="utf-8"), encoding="utf-8")
        project = make_project(place / "project")
        config = project / "skillopt.toml"
        config.write_text(f'[skills.rows]\npath = "{path}"\nsuite = "suites/rows.jsonl"\n', encoding="utf-8")
        failures += _check(project, ("log", "rows"))
        ended = skillopt(project, *OPTIMIZE)
        said = ended.stdout + ended.stderr
        if ended.returncode != 2 or "Traceback" in said or _SECRET in said:  # noqa: PLR2004 - as documented
            failures.append(f"path {path!r} ended with {ended.returncode}: {said[-300:]}")
    return failures


def _odd_refs(folder: Path) -> list[str]:
    """Have refs whose names mean something else to git, and refs to what is no commit."""
    project = make_project(folder / "project")
    head = git(project, "rev-parse", "HEAD")
    blob = git(project, "rev-parse", "HEAD:skillopt.toml")
    for name, target in (
        *((f"refs/heads/{name}", head) for name in ("HEAD", "-x", "--all", "a'b\"c", "worktree", "draft", "x" * 200)),
        ("refs/tags/skillopt/rows", head),
        ("refs/tags/blob", blob),
        ("refs/remotes/origin/skillopt/rows", blob),
        ("refs/heads/skillopt/rows/below", head),
        ("refs/heads/skillopt-draft/rows", head),
    ):
        with suppress(subprocess.CalledProcessError):
            git(project, "update-ref", name, target)
    (project / ".git" / "refs" / "heads" / "broken").write_text("no commit\n", encoding="ascii")
    return _check(project, *_READING, ("log", "rows"), ("gate", "--", "--all"), ("gate", "blob"), OPTIMIZE)


def _submodule(folder: Path) -> list[str]:
    """Have a skill that is a submodule, whose address is a command."""
    project = make_project(folder / "project")
    head = git(project, "rev-parse", "HEAD")
    git(project, "update-index", "--add", "--cacheinfo", f"160000,{head},skills/other")
    address = f'[submodule "x"]\n\tpath = skills/other\n\turl = ext::sh -c touch% {folder}/ran\n'
    (project / ".gitmodules").write_text(address, encoding="utf-8")
    git(project, "add", ".gitmodules")
    git(project, "commit", "--quiet", "-m", "Submodule")
    failures = _check(project, *_READING, OPTIMIZE)
    return [*failures, "the address of a submodule was run"] if (folder / "ran").exists() else failures
