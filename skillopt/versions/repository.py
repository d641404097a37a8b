"""Commit accepted versions on the git branch `skillopt/<skill>`, and read them back.

Index, work tree, HEAD and hooks are not touched. Only plumbing commands are used, so that every object format and index
version works.

Invariants:
1. A branch is moved by compare-and-swap only; one that moved meanwhile, or is checked out, is left alone.
2. The commit is a function of the new version and the identity, so writing it again changes nothing.
"""

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Final

from skillopt.errors import RepositoryError, UsageError, VersionConflictError
from skillopt.skills.folder import is_shipped
from skillopt.skills.trained_files import SkillPlace
from skillopt.tasks import File
from skillopt.versions.commit_message import Version, compose_message, parse_commit, single_line
from skillopt.versions.git_process import (
    disabled_hooks,
    read_config,
    read_identity,
    run_git,
    translate_write_errors,
    try_git,
)
from skillopt.versions.objects import list_folders, read_found, read_objects, write_blobs

SKILL_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
"""What a skill's name must match in full to have a branch."""

_ROLES = ("AUTHOR", "COMMITTER")
_BRANCHES = "refs/heads/skillopt/"


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version to be committed."""

    skill: str
    path: str
    files: tuple[File, ...]
    at: str
    parent: str
    expected_tip: str | None = None
    merges: str = ""
    subject: str = ""
    body: str = ""
    trailers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository, with or without a work tree."""

    root: Path

    @classmethod
    def find(cls, path: Path) -> "Repository":
        """Find the repository around a folder."""
        status, out, problem = try_git(path, ["rev-parse", "--show-toplevel"])
        if status and try_git(path, ["rev-parse", "--is-bare-repository"])[1] == b"true\n":
            status, out, problem = try_git(path, ["rev-parse", "--absolute-git-dir"])
        if status:
            advice = "run `git init` there"
            if "safe.directory" in problem:
                advice = "if you trust its owner, run `git config --global --add safe.directory` with its path"
            elif "not a git repository" not in problem:
                advice = "give a folder of a work tree or a bare repository"
            raise RepositoryError(
                f"expected a git repository around {path}, found none ({single_line(problem)}); {advice}"
            )
        return cls(Path(os.fsdecode(out.removesuffix(b"\n"))))

    @property
    def git_version(self) -> str:
        """The version of git, as git says it."""
        return run_git(self.root, "version").decode().strip()

    @property
    def identity(self) -> str:
        """The name and address that versions are committed under."""
        return "{} <{}>".format(*read_identity(self.root))

    @property
    def user_name(self) -> str:
        """The name that versions are committed under."""
        return read_identity(self.root)[0]

    @property
    def configured_user(self) -> tuple[str, str]:
        """The name and address of the user as git is configured here; empty for what is not."""
        user = dict(read_config(self.root, r"^user\.(name|email)$"))
        return user.get("user.name", ""), user.get("user.email", "")

    def relative(self, folder: Path) -> str:
        """Return a folder's path in the repository."""
        try:
            return folder.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError as error:
            raise RepositoryError(
                f"{folder} lies outside the repository {self.root}; move the skill into it"
            ) from error

    def head(self) -> str | None:
        """Return the commit that HEAD is at, None before the first commit."""
        return self.ref_tip("HEAD")

    def branch_tip(self, skill: str) -> str | None:
        """Return the newest commit of a skill's branch, None when there is no branch."""
        if not SKILL_NAME.fullmatch(skill):
            raise UsageError(
                f"expected a skill name of lower-case letters, digits and hyphens, found {skill!r}; rename its folder"
            )
        return self.ref_tip(f"{_BRANCHES}{skill}")

    def ref_tip(self, name: str) -> str | None:
        """Return the commit that a branch, a tag or an abbreviation leads to, None for none."""
        arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
        status, out, _ = try_git(self.root, arguments)
        return out.decode().strip() if status == 0 else None

    def resolve(self, text: str) -> str:
        """Resolve the name of a version (a commit, branch or tag) to a commit."""
        found = self.ref_tip(text) if text.isprintable() and not text.startswith("-") else None
        if found is None:
            raise UsageError(f"expected a version (a commit, branch or tag), found {text!r}; see `skillopt log`")
        return found

    def ignored(self, paths: Sequence[Path]) -> frozenset[Path]:
        """Return those of some paths that git ignores."""
        listed = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
        literal = {"GIT_LITERAL_PATHSPECS": "0"}  # `check-ignore` takes its paths as they are, and no such setting
        status, out, _ = try_git(self.root, ["check-ignore", "-z", "--stdin"], listed, literal)
        names = out.decode("utf-8", "surrogateescape").split("\0") if status == 0 else ()
        return frozenset(Path(name) for name in names if name)

    def read_folder(self, commit: str, path: str) -> tuple[File, ...]:
        """Read the files at a place as a commit has them, sorted by path; links out of the repository are left out."""
        place = SkillPlace.parse(path)
        if place.free:
            texts = read_found(self.root, [f"{commit}:{name}" for name in place.trained])
            read = sorted(zip(place.trained, texts, strict=True))
            return tuple(File(name, content) for name, content in read if content is not None)
        (found,) = list_folders(self.root, [(commit, place.folder)])
        names = sorted(found)
        contents = read_objects(self.root, [found[name] for name in names])
        return tuple(File(name, content) for name, content in zip(names, contents, strict=True))

    def tree(self, commit: str, prefix: str) -> list[tuple[str, str, str]]:
        """List (mode, object, path) of all files of a commit below a prefix, which ends in a slash or is empty."""
        arguments = ["ls-tree", "-r", "-z", "--full-tree", commit, "--", *([prefix] if prefix else [])]
        listed = run_git(self.root, *arguments).decode("utf-8", "surrogateescape")
        rows = (row.split("\t", 1) for row in listed.split("\0") if row)
        return [(meta.split()[0], meta.split()[2], name) for meta, name in rows]

    def versions(self, skill: str, tip: str | None = None) -> tuple[Version, ...]:
        """List the versions of a skill, newest first; commits of people are left out."""
        tip = tip or self.branch_tip(skill)
        return read_histories(self.root, {skill: tip})[skill] if tip else ()

    def line(self, tip: str, base: str = "") -> tuple[Version, ...]:
        """List the newest commits to a tip that a base lacks, newest first, without those that came in by merges."""
        asked = ["rev-list", "--first-parent", f"--max-count={_LONGEST}", tip, *(["--not", base] if base else [])]
        shas = run_git(self.root, *asked).decode().split()
        contents = zip(shas, read_objects(self.root, shas), strict=True)
        return tuple(parse_commit(sha, content.decode("utf-8", "replace")) for sha, content in contents)

    def commit(self, sha: str) -> Version:
        """Read a commit, which need not be a version."""
        return parse_commit(sha, read_objects(self.root, [sha])[0].decode("utf-8", "replace"))

    def check_name(self, name: str) -> None:
        """Refuse a branch that git cannot make, because another one has its name for a folder or lies below it."""
        above = [f"refs/heads/{part}" for part in accumulate(name.split("/"), "{}/{}".format)][:-1]
        listed = run_git(self.root, "for-each-ref", "--format=%(refname)", *above, f"refs/heads/{name}/").decode()
        blocking = [ref for ref in listed.splitlines() if ref in above or ref.startswith(f"refs/heads/{name}/")]
        if blocking:
            found = blocking[0].removeprefix("refs/heads/")
            advice = f"rename that one: git branch -m {found} ANOTHER-NAME"
            raise VersionConflictError(f"expected no branch in the way of {name}, found {found}; {advice}")

    def check_branch(self, name: str) -> None:
        """Refuse to move a branch that is checked out: its work tree would seem to undo each new version."""
        self.check_name(name)
        asked = ("for-each-ref", "--format=%(worktreepath)", f"refs/heads/{name}")
        if place := os.fsdecode(run_git(self.root, *asked).strip()):
            found = f"expected branch {name} free to move, found it checked out in {place}"
            raise VersionConflictError(f"{found}; switch to another branch there, then run this again")

    def write_commit(self, new: NewVersion) -> str:
        """Write the commit of a version, which no branch leads to yet, and give it."""
        env = disabled_hooks(self.root) | self.signature(new.at)
        tree = self._version_tree(new, env)
        stdin = compose_message(new.subject, new.body, new.trailers).encode("utf-8", "replace")
        parents = [part for commit in (new.parent, new.merges) if commit for part in ("-p", commit)]
        return run_git(self.root, "commit-tree", *parents, "-F", "-", tree, stdin=stdin, env=env).decode().strip()

    def commit_version(self, new: NewVersion) -> str:
        """Write a version and move the skill's branch to it; one that is on the branch already stays."""
        branch, commit = f"{_BRANCHES}{new.skill}", self.write_commit(new)
        tip = self.branch_tip(new.skill)
        if tip is not None and self.contains(tip, commit):
            return commit
        if tip == new.expected_tip:
            try:
                self.move_branch(branch, tip, commit)
            except RepositoryError:
                if (tip := self.branch_tip(new.skill)) == new.expected_tip:
                    raise
            else:
                return commit
        raise VersionConflictError(
            f"expected branch skillopt/{new.skill} at {new.expected_tip or 'no commit'}, found it at "
            f"{tip or 'no commit'}; it was left alone, see `git log skillopt/{new.skill}`"
        )

    def contains(self, tip: str, commit: str) -> bool:
        """Return whether a commit is another one or one of its ancestors."""
        return try_git(self.root, ["merge-base", "--is-ancestor", commit, tip])[0] == 0

    def move_branch(self, branch: str, tip: str | None, commit: str | None) -> None:
        """Move a branch, or another ref, by compare-and-swap; remove it where there is no commit."""
        none = "0" * len(tip or commit or "")
        name = branch.removeprefix("refs/heads/")
        if name != branch:
            self.check_branch(name)
        move = ["update-ref", "-m", f"skillopt: {name.rpartition('/')[2]}", branch, commit or none, tip or none]
        if commit is None:
            move = ["update-ref", "-d", branch, tip or none]
        status, _, problem = try_git(self.root, move, env=disabled_hooks(self.root) | self._signer())
        if status:
            raise RepositoryError(f"git could not move {name}: {single_line(problem)}; mend that and run this again")

    def _signer(self) -> dict[str, str]:
        name, email = read_identity(self.root)
        parts = {"NAME": name, "EMAIL": email}
        return {f"GIT_{role}_{part}": value for role in _ROLES for part, value in parts.items()}

    def signature(self, at: str) -> dict[str, str]:
        """Return the variables that name author, committer and time, ISO 8601."""
        seconds = int(datetime.fromisoformat(at).timestamp())
        return self._signer() | {f"GIT_{role}_DATE": f"@{seconds} +0000" for role in _ROLES}

    def _version_tree(self, new: NewVersion, env: Mapping[str, str]) -> str:
        """Write the tree of a version; a file that is the same stays as it is, be it reached by a link."""
        place = SkillPlace.parse(new.path)
        base, prefix = new.merges or new.parent, place.prefix
        entries = self.tree(base, prefix) if base else []
        modes = {name: mode for mode, _, name in entries if mode.startswith("100") and place.holds(name)}
        known = list_folders(self.root, [(base, place.folder)])[0] if base and not place.free else {}
        kept = {prefix + file.path for file in new.files}
        gone = [name for name in modes if name not in kept and is_shipped(name.removeprefix(prefix))]
        with translate_write_errors(), tempfile.TemporaryDirectory(prefix="skillopt-git-") as folder:
            shas = write_blobs(self.root, [file.content for file in new.files], Path(folder))
            rows = [f"0 {'0' * len(base)}\t{name}\0" for name in gone]
            for sha, file in zip(shas, new.files, strict=True):
                name = prefix + file.path
                rows += [f"{modes.get(name, '100644')} {sha}\t{name}\0"] if known.get(file.path) != sha else []
            private = {**env, "GIT_INDEX_FILE": str(Path(folder) / "index")}
            run_git(self.root, "read-tree", base or "--empty", env=private)
            listed = "".join(rows).encode("utf-8", "surrogateescape")
            run_git(self.root, "update-index", "-z", "--index-info", stdin=listed, env=private)
            return run_git(self.root, "write-tree", env=private).decode().strip()


_LONGEST: Final = 1000  # commits of a line: a version a night for almost three years

_PARENT: Final = re.compile(rb"^tree \w+\nparent (\w+)\n")


def read_histories(root: Path, tips: Mapping[str, str]) -> dict[str, tuple[Version, ...]]:
    """List the versions of skills, newest first, without the commits of people between or on top of them."""
    if not tips:
        return {}
    # Branches share the history of the default branch, so that what they have in common is read once.
    few = (f"--max-count={_LONGEST}",) if len(tips) == 1 else ()
    asked = "".join(f"{tip}\n" for tip in tips.values()).encode()
    shas = run_git(root, "rev-list", "--first-parent", *few, "--stdin", stdin=asked).decode().split()
    contents = dict(zip(shas, read_objects(root, shas), strict=True))
    found: dict[str, list[Version]] = {skill: [] for skill in tips}
    for skill, tip in tips.items():
        sha = tip
        for _ in range(_LONGEST):
            if (content := contents.get(sha)) is None:
                break
            if b"\nSkill:" in content:
                version = parse_commit(sha, content.decode("utf-8", "replace"))
                found[skill] += [version] if skill in version.values("Skill") else []
            parent = _PARENT.search(content)
            sha = parent[1].decode() if parent else ""
    return {skill: tuple(versions) for skill, versions in found.items()}
