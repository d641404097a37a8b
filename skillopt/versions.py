"""Accepted versions as git commits on `skillopt/<skill>`; the only module that knows git.

Owns writing a version without touching index, work tree, HEAD or hooks, and reading versions back.
Only plumbing commands are used, through GitPython's command interface, so that every object format
and index version works. Does not own what a commit says (publication).

Invariants:
1. The configuration of an untrusted repository starts no program: no hooks, filters, pagers,
   signatures, file system monitors or fetches of missing objects.
2. A branch is moved by compare-and-swap only; one that moved meanwhile, or is checked out, is left alone.
3. The commit is a function of the draft and the identity, so writing it again changes nothing.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path

from skillopt.commit_text import Version, compose_message, one_line, parse_commit
from skillopt.errors import InfrastructureError, RepositoryError, UsageError, VersionConflictError
from skillopt.skill_folder import ships
from skillopt.tasks import File

__all__ = ["Repository", "VersionDraft"]

_SAFE = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.fsync=all",
    "i18n.commitEncoding=UTF-8",
)
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # older git knows no other way to fetch nothing
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
}
_KEPT = ("GIT_CONFIG_", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")
_IDENTITY = (
    ("GIT_AUTHOR_NAME", "user.name", "SkillOpt"),
    ("GIT_AUTHOR_EMAIL", "user.email", "skillopt@localhost"),
)
_MOST_VERSIONS = 1000
_NOT_FOUND = 127
_NO_GIT = "expected git on the PATH, found none that runs; install git and run this again"
_CRUD = " .,:;<>\"\\'"  # what git strips from both ends of a name, so nothing may be left of one
_BRANCHES = "refs/heads/skillopt/"
_SKILL_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class VersionDraft:
    """A version to be written.

    Args:
        skill: Name of the skill; the branch is `skillopt/<skill>`.
        path: Folder of the skill in the repository, POSIX, `.` for its root.
        files: Files of the skill by their path in that folder; what does not ship stays as it is.
        subject: First line of the message.
        body: The message below it.
        trailers: (key, value) pairs at its end.
        at: Time of the commit, ISO 8601 with its offset.
        parent: The commit it is based on, empty for none.
        expected_tip: Where the branch must be, None when it must not exist.
    """

    skill: str
    path: str
    files: tuple[File, ...]
    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...]
    at: str
    parent: str
    expected_tip: str | None


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository, with or without a work tree.

    Args:
        root: The work tree's top folder; the git folder of a bare repository.
    """

    root: Path

    @classmethod
    def find(cls, path: Path) -> "Repository":
        """Find the repository around a folder.

        Raises:
            RepositoryError: There is none, git is missing, or git refuses it.
        """
        status, out, problem = _execute(path, ["rev-parse", "--show-toplevel"])
        if status and _execute(path, ["rev-parse", "--is-bare-repository"])[1] == b"true\n":
            status, out, problem = _execute(path, ["rev-parse", "--absolute-git-dir"])
        if status:
            advice = "run `git init` there"
            if "safe.directory" in problem:
                advice = "if you trust its owner, run `git config --global --add safe.directory` with its path"
            elif "not a git repository" not in problem:
                advice = "give a folder of a work tree or a bare repository"
            message = f"expected a git repository around {path}, found none ({one_line(problem)}); {advice}"
            raise RepositoryError(message)
        return cls(Path(os.fsdecode(out.removesuffix(b"\n"))))

    @property
    def git_version(self) -> str:
        """Give the version of git, as git says it."""
        return _git(self.root, "version").decode().strip()

    @property
    def identity(self) -> str:
        """Give the name and address that versions are committed under."""
        name, email = self._identity()
        return f"{name} <{email}>"

    def relative(self, folder: Path) -> str:
        """Give a folder's path in the repository.

        Raises:
            RepositoryError: It lies outside.
        """
        try:
            return folder.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError as error:
            message = f"{folder} lies outside the repository {self.root}; move the skill into it"
            raise RepositoryError(message) from error

    def head(self) -> str | None:
        """Give the commit that HEAD is at, None before the first commit."""
        return self._commit("HEAD")

    def branch_tip(self, skill: str) -> str | None:
        """Give the newest commit of a skill's branch, None when there is no branch."""
        return self._commit(_branch(skill))

    def tips(self) -> dict[str, str]:
        """Give the newest commit of every skill's branch, by the skill's name."""
        listed = _git(self.root, "for-each-ref", "--format=%(objectname) %(refname)", _BRANCHES)
        rows = (row.split(" ", 1) for row in os.fsdecode(listed).splitlines())
        found = ((name.removeprefix(_BRANCHES), sha) for sha, name in rows)
        return {name: sha for name, sha in found if _SKILL_NAME.fullmatch(name)}

    def moving_paths(self) -> tuple[Path, ...]:
        """List what git writes when a skill's branch moves or the repository changes; not all of it need exist."""
        found = os.fsdecode(_git(self.root, "rev-parse", "--git-dir", "--git-common-dir")).splitlines()
        own, common = (self.root / path for path in found)
        names = ("refs/heads/skillopt", "packed-refs", "reftable/tables.list", "config", "shallow")
        return (own / "HEAD", *(common / name for name in names))

    def resolve(self, text: str) -> str:
        """Turn what a user calls a version into a commit.

        Raises:
            UsageError: There is no such commit.
        """
        found = self._commit(text) if text.isprintable() and not text.startswith("-") else None
        if found is None:
            message = f"expected a version (a commit, branch or tag), found {text!r}; see `skillopt log`"
            raise UsageError(message)
        return found

    def ignored(self, paths: Sequence[Path]) -> frozenset[Path]:
        """Give those of some paths that git is told to ignore."""
        listed = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
        literal = {"GIT_LITERAL_PATHSPECS": "0"}  # `check-ignore` takes its paths as they are, and no such setting
        status, out, _ = _execute(self.root, ["check-ignore", "-z", "--stdin"], listed, literal)
        names = out.decode("utf-8", "surrogateescape").split("\0") if status == 0 else ()
        return frozenset(Path(name) for name in names if name)

    def read_folder(self, commit: str, path: str) -> tuple[File, ...]:
        """Read the regular files of a folder as a commit has them, sorted by path; none when it is not there."""
        prefix = "" if path == "." else f"{path}/"
        entries = [entry for entry in self._tree(commit, prefix) if entry[0].startswith("100")]
        contents = self._objects([sha for _, sha, _ in entries])
        files = (
            File(name.removeprefix(prefix), content) for (_, _, name), content in zip(entries, contents, strict=True)
        )
        return tuple(sorted(files, key=lambda file: file.path))

    def versions(self, skill: str, tip: str | None = None) -> tuple[Version, ...]:
        """List the versions of a skill, newest first: the commits of its branch that say so.

        Commits that people put between or on top of them are passed over. A `tip` that is known need not be looked up.
        """
        tip = tip or self.branch_tip(skill)
        if tip is None:
            return ()
        listed = _git(self.root, "rev-list", "--first-parent", f"--max-count={_MOST_VERSIONS}", tip)
        shas = listed.decode().split()
        commits = zip(shas, self._objects(shas), strict=True)
        found = (parse_commit(sha, content.decode("utf-8", "replace")) for sha, content in commits)
        return tuple(version for version in found if ("Skill", skill) in version.trailers)

    def check_branch(self, skill: str) -> None:
        """Refuse to move a branch that is checked out: its work tree would seem to undo each new version.

        Raises:
            VersionConflictError: A work tree has it checked out.
        """
        place = os.fsdecode(_git(self.root, "for-each-ref", "--format=%(worktreepath)", _branch(skill)).strip())
        if place:
            found = f"expected branch skillopt/{skill} free to move, found it checked out in {place}"
            message = f"{found}; switch to another branch there, then run this again"
            raise VersionConflictError(message)

    def commit_version(self, draft: VersionDraft) -> str:
        """Write a version and move the skill's branch to it; one that is on the branch already stays.

        Returns:
            The commit.

        Raises:
            VersionConflictError: The branch is not where it was expected, or is checked out; nothing was moved.
            InfrastructureError: The disk is full.
        """
        branch, env = _branch(draft.skill), self._hooks_off() | self._signature(draft.at)
        commit = self._write_commit(draft, self._write_tree(draft, env), env)
        tip = self.branch_tip(draft.skill)
        if tip is not None and _execute(self.root, ["merge-base", "--is-ancestor", commit, tip])[0] == 0:
            return commit
        if tip == draft.expected_tip:
            self.check_branch(draft.skill)
            move = ["update-ref", "-m", f"skillopt: {draft.skill}", branch, commit, tip or "0" * len(commit)]
            status, _, problem = _execute(self.root, move, env=env)
            if status == 0:
                return commit
            tip = self.branch_tip(draft.skill)
            if tip == draft.expected_tip:
                found = f"git could not move skillopt/{draft.skill}: {one_line(problem)}"
                message = f"{found}; mend that and run this again"
                raise RepositoryError(message)
        message = (
            f"expected branch skillopt/{draft.skill} at {draft.expected_tip or 'no commit'}, found it at "
            f"{tip or 'no commit'}; it was left alone, see `git log skillopt/{draft.skill}`"
        )
        raise VersionConflictError(message)

    def _identity(self) -> tuple[str, str]:
        configured = dict(self._configured(r"^user\.(name|email)$"))
        found = ((one_line(os.environ.get(name) or configured.get(key, "")), last) for name, key, last in _IDENTITY)
        name, email = (text.strip(_CRUD) or fallback for text, fallback in found)
        return name, email

    def _signature(self, at: str) -> dict[str, str]:
        """Give the variables that name author, committer and time."""
        name, email = self._identity()
        seconds = int(datetime.fromisoformat(at).timestamp())
        parts = {"NAME": name, "EMAIL": email, "DATE": f"@{seconds} +0000"}
        return {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in parts.items()}

    def _hooks_off(self) -> dict[str, str]:
        """Give the variables that switch off hooks defined in the configuration (git 2.54 and newer)."""
        hooks = {key.rpartition(".")[0] for key, _ in self._configured(r"^hook\..*\.")}
        first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
        off = {"GIT_CONFIG_COUNT": str(first + len(hooks))}
        for number, hook in enumerate(sorted(hooks), first):
            off |= {f"GIT_CONFIG_KEY_{number}": f"{hook}.enabled", f"GIT_CONFIG_VALUE_{number}": "false"}
        return off

    def _configured(self, pattern: str) -> list[tuple[str, str]]:
        """List the (key, value) pairs of the configuration whose key matches."""
        listed = os.fsdecode(_execute(self.root, ["config", "--null", "--get-regexp", pattern])[1])
        rows = (row.partition("\n") for row in listed.split("\0") if row)
        return [(key, value) for key, _, value in rows]

    def _commit(self, name: str) -> str | None:
        arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
        status, out, _ = _execute(self.root, arguments)
        return out.decode().strip() if status == 0 else None

    def _tree(self, commit: str, prefix: str) -> list[tuple[str, str, str]]:
        """List (mode, object, path) of all files below a prefix."""
        arguments = ["ls-tree", "-r", "-z", "--full-tree", commit, "--", *([prefix] if prefix else [])]
        listed = _git(self.root, *arguments).decode("utf-8", "surrogateescape")
        rows = (row.split("\t", 1) for row in listed.split("\0") if row)
        return [(meta.split()[0], meta.split()[2], name) for meta, name in rows]

    def _objects(self, shas: Sequence[str]) -> list[bytes]:
        """Read objects with one process."""
        if not shas:
            return []
        out = BytesIO(_git(self.root, "cat-file", "--batch", stdin="".join(f"{sha}\n" for sha in shas).encode()))
        contents = []
        for sha in shas:
            header = out.readline().split()
            if len(header) != 3:  # noqa: PLR2004 - object, type, size
                message = f"object {sha} is missing from {self.root}; fetch the full history"
                raise RepositoryError(message)
            contents.append(out.read(int(header[2])))
            out.readline()
        return contents

    def _write_tree(self, draft: VersionDraft, env: Mapping[str, str]) -> str:
        """Write the tree of a version with an index of its own."""
        prefix = "" if draft.path == "." else f"{draft.path}/"
        entries = self._tree(draft.parent, prefix) if draft.parent else []
        modes = {name: mode for mode, _, name in entries if mode.startswith("100")}
        with _writing(), tempfile.TemporaryDirectory(prefix="skillopt-git-") as folder:
            shas = self._write_blobs([file.content for file in draft.files], Path(folder))
            names = [prefix + file.path for file in draft.files]
            rows = [f"{modes.get(name, '100644')} {sha}\t{name}\0" for sha, name in zip(shas, names, strict=True)]
            gone = [name for name in modes if name not in set(names) and ships(name.removeprefix(prefix))]
            rows = [*(f"0 {'0' * len(draft.parent)}\t{name}\0" for name in gone), *rows]
            private = {**env, "GIT_INDEX_FILE": str(Path(folder) / "index")}
            _git(self.root, "read-tree", draft.parent or "--empty", env=private)
            listed = "".join(rows).encode("utf-8", "surrogateescape")
            _git(self.root, "update-index", "-z", "--index-info", stdin=listed, env=private)
            return _git(self.root, "write-tree", env=private).decode().strip()

    def _write_blobs(self, contents: Sequence[bytes], folder: Path) -> list[str]:
        """Write contents with one process."""
        places = [folder / f"blob-{number}" for number in range(len(contents))]
        for place, content in zip(places, contents, strict=True):
            place.write_bytes(content)
        listed = os.fsencode("".join(f"{place}\n" for place in places))
        return _git(self.root, "hash-object", "-w", "--no-filters", "--stdin-paths", stdin=listed).decode().split()

    def _write_commit(self, draft: VersionDraft, tree: str, env: Mapping[str, str]) -> str:
        text = compose_message(draft.subject, draft.body, draft.trailers)
        parent = ["-p", draft.parent] if draft.parent else []
        stdin = text.encode("utf-8", "replace")
        return _git(self.root, "commit-tree", *parent, "-F", "-", tree, stdin=stdin, env=env).decode().strip()


@contextmanager
def _writing() -> Iterator[None]:
    """Say in one line why temporary files cannot be written."""
    try:
        yield
    except OSError as error:
        message = f"cannot write temporary files: {error}; free some space or set TMPDIR, then run this again"
        raise InfrastructureError(message) from error


def _branch(skill: str) -> str:
    if not _SKILL_NAME.fullmatch(skill):
        message = f"expected a skill name of lower-case letters, digits and hyphens, found {skill!r}; rename its folder"
        raise UsageError(message)
    return f"{_BRANCHES}{skill}"


def _git(folder: Path, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
    """Run git and give its output; when it fails, the error's message is git's own."""
    status, out, problem = _execute(folder, arguments, stdin, env)
    if status:
        message = f"git {arguments[0]} failed in {folder}: {one_line(problem)}; mend that and run this again"
        raise RepositoryError(message)
    return out


def _execute(
    folder: Path, arguments: Sequence[str], stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> tuple[int, bytes, str]:
    """Run git in a safe environment; give its status, output and error text."""
    try:
        from git.cmd import Git  # noqa: PLC0415 - slow to import
    except ImportError as error:  # what GitPython makes of a missing git
        raise RepositoryError(_NO_GIT) from error
    options = [part for setting in _SAFE for part in ("-c", setting)]
    # Whoever calls us from inside a git hook has variables set that point at another index or repository.
    unset = [f"-u{name}" for name in os.environ if name.startswith("GIT_") and not name.startswith(_KEPT)]
    set_to = [f"{name}={value}" for name, value in (_ENVIRONMENT | dict(env or {})).items()]
    # The folder goes in by -C: GitPython would fall back to the current one when it is missing.
    command = ["env", *unset, *set_to, "git", "--no-pager", "-C", str(folder), *options, *arguments]
    with _writing(), tempfile.TemporaryFile() as source:
        source.write(stdin)
        source.seek(0)
        status, out, problem = Git().execute(
            command,
            istream=source,
            with_extended_output=True,
            with_exceptions=False,
            stdout_as_string=False,
            strip_newline_in_stdout=False,
        )
    if status == _NOT_FOUND:
        raise RepositoryError(_NO_GIT)
    return status, out, problem
