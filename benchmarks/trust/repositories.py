"""Repositories made to harm who looks at them: nothing of theirs may run, nothing outside be read, nothing hang."""

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.trust.projects import OPTIMIZE, git, make_project, skillopt
from benchmarks.trust.table import ClassResult, Found

__all__ = ["try_repositories"]

_READING: Final = (("status",), ("log", "rows"), ("diff", "rows", "HEAD", "worktree"), ("gate", "HEAD"))
_SECRET: Final = "text-from-outside-of-the-project"  # noqa: S105 - looks for it in what is printed
_SECONDS: Final = 60
_SKILLS: Final = 10_000


def try_repositories(*, quick: bool) -> Found:
    """Make repositories of each kind and run commands in them."""
    kinds: list[Callable[[Path], list[str]]] = [_running, _outside, _links]
    if not quick:
        kinds += [_odd_refs, _collisions, _submodule, _many_skills]
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


def _running(folder: Path) -> list[str]:
    """Configure every program that git runs by itself."""
    project, trap, sprung = make_project(folder / "project"), folder / "trap", folder / "sprung"
    trap.write_text(f"#!/bin/sh\necho \"$0 $*\" >>'{sprung}'\ncat\n", encoding="utf-8")
    trap.chmod(0o755)
    hooks = folder / "hooks"
    hooks.mkdir()
    for hook in (
        "pre-commit",
        "post-commit",
        "reference-transaction",
        "post-checkout",
        "pre-push",
        "post-index-change",
    ):
        (hooks / hook).symlink_to(trap)
    for key in (
        *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy"),
        *("diff.external", "diff.evil.textconv", "diff.evil.command", "merge.evil.driver"),
        *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "gpg.program", "credential.helper"),
        *(
            "pager.log",
            "pager.diff",
            "pager.show",
            "interactive.diffFilter",
            "sequence.editor",
            "uploadpack.packObjectsHook",
        ),
    ):
        git(project, "config", key, str(trap))
    git(project, "config", "core.hooksPath", str(hooks))
    git(project, "config", "commit.gpgSign", "true")
    for alias in ("log", "show", "status", "diff", "rev-parse", "cat-file"):
        git(project, "config", f"alias.{alias}", f"!{trap}")
    (project / ".git" / "info").mkdir(exist_ok=True)
    (project / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil merge=evil\n", encoding="utf-8")
    skill = project / "skills" / "rows" / "SKILL.md"
    skill.write_text(skill.read_text(encoding="utf-8") + "- Sort.\n", encoding="utf-8")
    failures = _check(project, *_READING, OPTIMIZE, ("log", "rows"), ("diff", "rows"))
    if sprung.exists():
        failures.append(f"ran: {sprung.read_text(encoding='utf-8', errors='replace')[:600]}")
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
        failures += _check(project, ("log", "rows"), OPTIMIZE)
        ended = skillopt(project, *OPTIMIZE)
        if ended.returncode != 2 or "Traceback" in ended.stderr:  # noqa: PLR2004 - as documented
            failures.append(f"path {path!r} ended with {ended.returncode}: {ended.stderr[-300:]}")
    return failures


def _links(folder: Path) -> list[str]:
    """Put links to files outside into a skill and a suite; hard ones into the suite alone, for git carries none."""
    secret = folder / "secret.txt"
    secret.write_text(_SECRET, encoding="utf-8")
    failures = []
    for link in (Path.symlink_to, Path.hardlink_to):
        project = make_project(folder / link.__name__)
        if link == Path.symlink_to:
            link(project / "skills" / "rows" / "notes.md", secret)
        link(project / "suites" / "notes.jsonl", secret)
        config = project / "skillopt.toml"
        failures += _check(project, *_READING, ("optimize", "rows", "--set", "seed=1", "--start", "worktree"))
        config.write_text(config.read_text(encoding="utf-8").replace("rows.jsonl", "notes.jsonl"), encoding="utf-8")
        failures += _check(project, ("suite", "show", "rows"), ("suite", "check", "rows"), OPTIMIZE)
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


def _collisions(folder: Path) -> list[str]:
    """Have skills and files whose names differ in case or in Unicode form alone."""
    project = make_project(folder / "project")
    text = (project / "skills" / "rows" / "SKILL.md").read_text(encoding="utf-8")
    for name in ("Rows", "ROWS", "caf\u00e9", "cafe\u0301"):
        (project / "skills" / name).mkdir(exist_ok=True)
        (project / "skills" / name / "SKILL.md").write_text(text, encoding="utf-8")
    (project / "skills" / "rows" / "skill.md").write_text(text, encoding="utf-8")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "Collide")
    return _check(project, *_READING, OPTIMIZE)


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


def _many_skills(folder: Path) -> list[str]:
    """List ten thousand skills."""
    project = make_project(folder / "project")
    text = (project / "skills" / "rows" / "SKILL.md").read_text(encoding="utf-8")
    for number in range(_SKILLS):
        skill = project / "skills" / f"s{number}"
        skill.mkdir()
        (skill / "SKILL.md").write_text(text.replace("name: rows", f"name: s{number}"), encoding="utf-8")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "Many")
    failures = []
    for command in (("status",), ("log", "s5000")):
        begun = os.times()
        at = time.monotonic()
        failures += _check(project, command)
        ended = os.times()
        used = ended.children_user + ended.children_system - begun.children_user - begun.children_system
        if used > _SECONDS:
            failures.append(f"{command}: {used:.0f} s of processor time, {time.monotonic() - at:.0f} s")
    return failures
