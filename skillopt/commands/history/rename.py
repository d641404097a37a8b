"""The user action `rename`: give the history of a skill to the name that its folder has now.

What was committed stays as it is: a commit on the branch of the new name says what the skill was called before.
"""

import re
import tomllib
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final

from skillopt.errors import RepositoryError, UsageError, VersionConflictError
from skillopt.project import CONFIG, Project, Selection, Target
from skillopt.skills.folder import SKILL_FILE, is_shipped
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.storage.trigger_looks import rename_notes
from skillopt.triggers.renamed import RenamedDescriptions
from skillopt.triggers.version import trigger_branch
from skillopt.versions.commit_kind import RENAMED_FROM
from skillopt.versions.draft_branch import (
    DESCRIPTION_BRANCHES,
    DRAFT_BRANCHES,
    FILES_DIGEST,
    VERSION_BRANCHES,
    DraftBranch,
)
from skillopt.versions.repository import RENAMED_PATH, NewVersion, Repository
from skillopt.versions.revisions import find_skill_folder

__all__ = ["RenamedSkill", "orphaned_branches", "rename"]

_ALIKE: Final = 0.5
"""Likeness from which on a new folder is taken for an old one that was renamed, as git does."""

_MOST_COMPARED: Final = 200_000


@dataclass(frozen=True, slots=True)
class RenamedSkill:
    """A skill whose history has its new name.

    Args:
        old: What it was called.
        new: What it is called.
        branch: The branch of its versions, empty when it has none.
        draft: The branch of its draft, empty when it has none.
        descriptions: The branch of its trained descriptions, empty when it has none.
        runs: How many recorded runs are its own now.
        table: Whether its table in skillopt.toml was renamed.
    """

    old: str
    new: str
    branch: str
    draft: str
    descriptions: str
    runs: int
    table: bool


def rename(
    old: str,
    new: str,
    *,
    folder: Path | None = None,
    now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
) -> RenamedSkill:
    """Move the branches, the table and the runs of a skill to the name of its renamed folder.

    What an earlier call that was ended half-way has moved already stays, and the rest follows.

    Args:
        old: The name that its branch has.
        new: Its name or folder now.
        folder: Where the command is given; the current folder when None.
        now: Gives the time of the commit.

    Raises:
        UsageError: The old name is still in use, or has no history; the new one has, or has no folder.
        VersionConflictError: A branch is checked out, or its draft has commits of people.
    """
    project = Project.find(folder or Path.cwd())
    repository = project.repository()
    target = _renamed_target(project, old, new)
    config = _renamed_table(project, old, target)
    with ExitStack() as locks:
        for name in sorted((old, target.name)):
            locks.enter_context(writer_lock(project.root, name))
        _check_free(repository, old, target.name)
        described = RenamedDescriptions(repository, old, target.name, repository.relative(target.folder))
        described.check()
        branch, place = _move_versions(repository, old, target, now())
        draft = _move_draft(repository, old, target, place)
        descriptions = described.move(now())
        rename_notes(project.root, old, target.name)
        with closing(Ledger.open(project.root)) as ledger:
            runs = ledger.rename_skill(old, target.name, repository.relative(target.folder))
        if config:
            aside = project.config.with_suffix(".toml.new")
            aside.write_text(config, encoding="utf-8")
            aside.replace(project.config)
    return RenamedSkill(old, target.name, branch, draft, descriptions, runs, bool(config))


def orphaned_branches(project: Project) -> dict[str, str]:
    """Find the skills whose branch is there and whose folder is not: the old name, and the new one where it is known.

    Raises:
        RepositoryError: There is no repository.
    """
    repository, names = project.repository(), project.skill_names()
    tips = repository.tips()
    gone = [name for name in tips if name not in names.values()]
    without = {name: path for path, name in names.items() if name not in tips}
    return {old: _likely_name(repository, tips[old], old, project.root, without) for old in gone}


def _likely_name(repository: Repository, tip: str, old: str, root: Path, names: dict[str, str]) -> str:
    """Find the skill without a branch whose text is most like that of a branch without a skill."""
    place = find_skill_folder(repository, tip, old)
    files = repository.read_folder(tip, place) if place else ()
    text = next((file.content for file in files if file.path == SKILL_FILE), b"")[:_MOST_COMPARED].splitlines()
    found = []
    for name, path in names.items():
        other = (root / path / SKILL_FILE).read_bytes()[:_MOST_COMPARED].splitlines()
        matcher = SequenceMatcher(None, text, other, autojunk=False)
        if matcher.real_quick_ratio() >= _ALIKE and matcher.quick_ratio() >= _ALIKE:
            found.append((matcher.ratio(), name))
    ratio, name = max(found, default=(0.0, ""))
    return name if ratio >= _ALIKE else ""


def _renamed_target(project: Project, old: str, new: str) -> Target:
    """Find the skill by its new name, and refuse what is no renaming."""
    repository, names = project.repository(), project.skill_names()
    here = next((path for path, name in names.items() if name == old), None)
    if here is not None and (project.root / here / SKILL_FILE).is_file():
        message = f"expected the folder of {old!r} renamed, found {here}; run `git mv {here} NEW-FOLDER` first"
        raise UsageError(f"{message}, and change `name:` in its {SKILL_FILE}")
    unlisted = Project(project.root, {name: entry for name, entry in project.entries.items() if name != old}, {})
    target = Target(*_place(unlisted, new), None, project.settings())
    draft = _old_draft(repository, old)
    begun = _moved_versions(repository, old, target.name)
    described = RenamedDescriptions(repository, old, target.name, repository.relative(target.folder))
    if not (repository.branch_tip(old) or draft or begun or described.tip or old in project.entries):
        raise UsageError(f"expected a skill with versions, a draft or a table in {CONFIG}, found nothing of {old!r}")
    taken = [f"branch skillopt/{target.name}"] if repository.branch_tip(target.name) and not begun else []
    taken += [f"branch skillopt-draft/{target.name}"] if _is_other_draft(repository, draft, target.name) else []
    taken += [f"branch {trigger_branch(target.name)}"] if described.is_other else []
    taken += [f"[skills.{target.name}] in {CONFIG}"] if {old, target.name} <= project.entries.keys() else []
    if taken:
        raise UsageError(f"expected no history of {target.name!r} yet, found {' and '.join(taken)}; remove one of both")
    return target


def _moved_versions(repository: Repository, old: str, new: str) -> str:
    """Give the tip of the new name's branch where it is the history of the old name and nothing since, else nothing."""
    tip, before = repository.branch_tip(new), repository.branch_tip(old)
    if tip is None or repository.commit(tip).trailer(RENAMED_FROM) != old:
        return ""
    return tip if before is None or repository.contains(tip, before) else ""


def _is_other_draft(repository: Repository, draft: DraftBranch | None, new: str) -> bool:
    """Tell whether the new name has a draft that is not the old name's, written under the new one."""
    there = DraftBranch(repository, new, ".").read()
    if draft is None or there is None:
        return False
    return there.trailer(FILES_DIGEST) != repository.commit(draft.tip or "").trailer(FILES_DIGEST)


def _check_free(repository: Repository, old: str, new: str) -> None:
    """Refuse before anything is moved where a branch could not be.

    Raises:
        VersionConflictError: A work tree has one checked out.
    """
    for branch in (
        f"{start}{name}" for start in (VERSION_BRANCHES, DRAFT_BRANCHES, DESCRIPTION_BRANCHES) for name in (old, new)
    ):
        if place := repository.checked_out_in(branch):
            shown = branch.removeprefix("refs/heads/")
            message = f"expected branch {shown} free to move, found it checked out in {place}; nothing was moved"
            raise VersionConflictError(f"{message}. Switch to another branch there, then run this again")


def _place(project: Project, new: str) -> tuple[str, Path]:
    found = project.target(Selection(new, folder=project.root))
    if not (found.folder / SKILL_FILE).is_file():
        raise UsageError(f"expected a skill folder named {new!r}, found no {SKILL_FILE} in {found.folder}")
    return found.name, found.folder


def _move_versions(repository: Repository, old: str, target: Target, at: str) -> tuple[str, str]:
    """Move the branch of versions; give its new name and commit, empty for none."""
    tip, commit = repository.branch_tip(old), _moved_versions(repository, old, target.name)
    if tip is not None:
        commit = commit or _commit_renamed(repository, old, tip, target, at)
        if problem := repository.move_branch(f"{VERSION_BRANCHES}{old}", tip, None):
            raise RepositoryError(f"{problem}; mend that and run this again")
    return (f"skillopt/{target.name}", commit) if commit else ("", "")


def _commit_renamed(repository: Repository, old: str, tip: str, target: Target, at: str) -> str:
    """Commit the newest version under the new name, in its new folder."""
    before = find_skill_folder(repository, tip, old) or repository.relative(target.folder)
    path = repository.relative(target.folder)
    new = NewVersion(
        skill=target.name,
        path=path,
        files=tuple(file for file in repository.read_folder(tip, before) if is_shipped(file.path)),
        subject=f"{target.name}: the skill that was called {old}",
        body="Only its name and folder are new.",
        trailers=(("Skill", target.name), (RENAMED_FROM, old), (RENAMED_PATH, before)),
        at=at,
        parent=tip,
        expected_tip=None,
        moved_from="" if before in (path, ".") else before,
    )
    return repository.commit_version(new)


def _move_draft(repository: Repository, old: str, target: Target, version: str) -> str:
    """Write the draft again under its new name; give its branch, empty for none."""
    was = _old_draft(repository, old)
    if was is None:
        return ""
    branch, draft = (
        DraftBranch(repository, target.name, repository.relative(target.folder)),
        repository.commit(was.tip or ""),
    )
    kept = tuple((key, value) for key, value in draft.trailers if key not in ("Skill", FILES_DIGEST))
    files = repository.read_folder(draft.sha, was.path)
    branch.publish(
        NewVersion(
            skill=target.name,
            path=branch.path,
            files=tuple(file for file in files if is_shipped(file.path)),
            subject=draft.subject.replace(f"{old}:", f"{target.name}:", 1),
            body=draft.body,
            trailers=(("Skill", target.name), *kept),
            at=draft.at,
            parent=version or _with_skill(repository, branch.path) or draft.parent,
            expected_tip=None,
        )
    )
    was.remove()
    return branch.name


def _old_draft(repository: Repository, old: str) -> DraftBranch | None:
    """Find the draft under its old name.

    Raises:
        VersionConflictError: People have committed there.
    """
    tip = DraftBranch(repository, old, ".").tip
    if tip is None:
        return None
    branch = DraftBranch(repository, old, find_skill_folder(repository, tip, old) or ".")
    if not branch.is_ours(tip):
        raise VersionConflictError(f"{branch.name} has commits of people ({tip[:10]}); merge or rename it, then go on")
    return branch


def _with_skill(repository: Repository, path: str) -> str:
    """Give HEAD where it has the skill in its new folder."""
    head = repository.head() or ""
    return head if head and any(file.path == SKILL_FILE for file in repository.read_folder(head, path)) else ""


def _renamed_table(project: Project, old: str, target: Target) -> str:
    """Give skillopt.toml with the table renamed, empty when it has none of the old name.

    Raises:
        UsageError: The table is written in a way that this does not know.
    """
    if old not in project.entries:
        return ""
    text, path = (
        project.config.read_text(encoding="utf-8"),
        target.folder.relative_to(project.root.resolve()).as_posix(),
    )
    head = re.compile(
        rf"^(\s*\[\s*skills\s*\.\s*)(?:{re.escape(old)}|([\"']){re.escape(old)}\2)(\s*[\].])", re.MULTILINE
    )
    after = head.sub(rf"\g<1>{target.name}\g<3>", text)
    was = project.entries[old].get("path")
    line = f'path = "{path}"'
    if was is None:
        after = re.sub(
            rf"^(\[skills\.{re.escape(target.name)}\][^\n]*)$", rf"\1\n{line}", after, count=1, flags=re.MULTILINE
        )
    else:
        after = re.sub(rf"^path\s*=\s*([\"']){re.escape(str(was))}\1", line, after, count=1, flags=re.MULTILINE)
    wanted = {name: dict(entry) for name, entry in project.entries.items() if name != old}
    wanted[target.name] = {**project.entries[old], "path": path}
    if tomllib.loads(after).get("skills") != wanted:
        raise UsageError(f"{project.config}: rename [skills.{old}] to [skills.{target.name}] with {line} by hand first")
    return after
