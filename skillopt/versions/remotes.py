"""Git remotes: fetch, fast-forward and push the branches of skills.

Invariants:
1. The configuration of an untrusted repository starts no program here either: the remote is called by its
   address, so that none of its options apply, and ssh, credential helpers and the rest are given by us.
2. A branch, local or remote, is moved by compare-and-swap only, and only forwards: whatever a person has committed
   or pushed stays. A local branch follows one that a person rewrote on the remote, if it has nothing that the remote
   never had. A draft is replaced, but only one that training wrote.
3. A token is in no argument and no address, and goes to no host but its own.
"""

import os
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from skillopt.errors import RemoteError, UsageError, VersionConflictError
from skillopt.safety.credentials import mask
from skillopt.versions.branches import (
    DRAFT_BRANCHES,
    VERSION_BRANCHES,
    DraftBranch,
    people_commits,
)
from skillopt.versions.commit_message import single_line
from skillopt.versions.git_process import disabled_hooks, read_config, try_git
from skillopt.versions.history import is_shallow
from skillopt.versions.records import RECORDS, add_records
from skillopt.versions.refusals import REFUSALS, add_refusals, all_lines, object_at
from skillopt.versions.repository import Repository

_SSH: Final = "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ServerAliveCountMax=4"
_SETTINGS: Final = (
    *("credential.helper=", "http.sslVerify=true", "http.lowSpeedLimit=1", "http.lowSpeedTime=60"),
    *("fetch.recurseSubmodules=false", "push.recurseSubmodules=no", "submodule.recurse=false", "push.pushOption="),
    *("gc.auto=0", "maintenance.auto=false", "fetch.writeCommitGraph=false"),
)
_TRUSTED: Final = ("GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH")
_PLACE: Final = re.compile(r"https://|ssh://|file://|(?:[\w.-]+@)?[\w.-]+:(?!:|//)|(?!-)[^:]*\Z")
_FETCHED_BY: Final = "--upload-pack=git-upload-pack"
"""Else a configuration could name another program, for the address too."""

_PUSH: Final = (
    "--receive-pack=git-receive-pack",
    "--porcelain",
    "--no-verify",
    "--no-follow-tags",
    "--no-signed",
    "--no-recurse-submodules",
)
_FETCH: Final = (_FETCHED_BY, "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--refmap=")
_JOINED: Final = {REFUSALS: add_refusals, RECORDS: add_records}
"""How lines below a prefix of refs, which no clone brings by itself, join those that are here."""

_DETOUR: Final = r"^(http\..*(proxy|sslverify|sslcainfo|sslcapath|cookiefile|savecookies)|url\..*insteadof)$"
_DENIED: Final = re.compile(r"\b(401|403)\b|[Aa]uthentication failed|[Pp]ermission|could not read Username")


@dataclass(frozen=True, slots=True)
class RemoteLogin:
    """Credentials of a remote: a token, and the prefix of the URLs it is for, such as `https://github.com/`."""

    scope: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Tips:
    """Newest commits of a remote's default branch and of the branches of skills, by their full names."""

    default_branch: str
    default: str
    branches: Mapping[str, str]

    @property
    def all(self) -> tuple[str, ...]:
        """All of them, that of the default branch first."""
        return (self.default, *self.branches.values())

    def of(self, branches: str, skill: str) -> str:
        """Return the commit of a skill's branch below a prefix; empty for none."""
        return self.branches.get(f"{branches}{skill}", "")


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote of a repository."""

    repository: Repository
    name: str
    url: str
    login: RemoteLogin | None = None

    @classmethod
    def find(cls, repository: Repository, name: str, login: RemoteLogin | None = None) -> "Remote | None":
        """Find a remote by its name, None when it is not configured."""
        found = dict(read_config(repository.root, rf"^remote\.{re.escape(name)}\.url$"))
        url = next(iter(found.values()), "")
        if not url:
            return None
        if not _PLACE.match(url):
            raise UsageError(
                f"remote {name!r}: expected an address with https, ssh or file, or a path, found "
                f"{mask(single_line(url))!r}; change it with `git remote set-url {name} ADDRESS`"
            )
        return cls(repository, name, url, login)

    @staticmethod
    def names(repository: Repository) -> tuple[str, ...]:
        """List the remotes that are configured."""
        found = read_config(repository.root, r"^remote\..*\.url$")
        return tuple(dict.fromkeys(key.removeprefix("remote.").removesuffix(".url") for key, _ in found))

    def fetch_tips(self) -> Tips:
        """Fetch its default branch and the branches of skills, and give their newest commits."""
        patterns = ("HEAD", *(f"{prefix}*" for prefix in (VERSION_BRANCHES, DRAFT_BRANCHES)))
        listed = self._reach(["ls-remote", _FETCHED_BY, "--symref", "--", self.url, *patterns]).splitlines()
        rows = [row.split("\t", 1) for row in listed if "\t" in row]
        heads = [value.removeprefix("ref: refs/heads/") for value, ref in rows if ref == "HEAD" and " " in value]
        tips = {ref: value for value, ref in rows if " " not in value}
        if not heads or "HEAD" not in tips:
            raise RemoteError(f"{self._shown}: expected a default branch, found none; push one there, run this again")
        default = tips.pop("HEAD")
        self._reach(["fetch", *_FETCH, "--", self.url, f"refs/heads/{heads[0]}", *tips])
        found = Tips(heads[0], default, tips)
        if any(self.repository.ref_tip(sha) is None for sha in found.all):
            raise RemoteError(f"{self._shown} changed while it was read; run this again")
        return found

    def fetch_commit(self, commit: str, tips: Tips) -> None:
        """Fetch all of the default branch where a shallow clone lacks a commit."""
        if is_shallow(self.repository) and self.repository.ref_tip(commit) is None:
            self._reach(["fetch", "--unshallow", *_FETCH, "--", self.url, f"refs/heads/{tips.default_branch}"])

    def fast_forward(self, skill: str, tip: str) -> None:
        """Move a skill's local branch to a commit of the remote's, empty for none; one that is ahead stays.

        Where a person rewrote the remote's branch, the local one follows if all that it has was on the remote before.
        """
        repository, ref = self.repository, f"{VERSION_BRANCHES}{skill}"
        here, name = repository.ref_tip(ref), ref.removeprefix("refs/heads/")
        if not tip or (here is not None and repository.contains(here, tip)):
            return
        if here not in (None, repository.ref_tip(_seen(ref))) and not repository.contains(tip, here):
            raise VersionConflictError(
                f"{name} has diverged: {here[:10]} here, {tip[:10]} on {self.name}; neither was touched. To go on from "
                f"theirs, run `git fetch {self.name} {name}` and then `git branch -f {name} {tip}`"
            )
        repository.move_branch(ref, here, tip)
        self._note_seen(ref, tip)

    def follow(self, skill: str, here: str, there: str) -> None:
        """Move a skill's local branch from a commit that the remote never had to the remote's."""
        ref = f"{VERSION_BRANCHES}{skill}"
        if self.repository.ref_tip(ref) == here:
            self.repository.move_branch(ref, here, there)
        self._note_seen(ref, there)

    def push(self, skill: str, tips: Tips) -> bool:
        """Push a skill's branch, if the remote lacks something of it."""
        here, there = self.repository.branch_tip(skill), tips.of(VERSION_BRANCHES, skill)
        name = f"skillopt/{skill}"
        if here is None or here == there:
            return False
        self._check_base(skill, name, here, tips, there)
        if there and not self.repository.contains(here, there):
            raise VersionConflictError(_moved(name, self.name))
        self._push(f"refs/heads/{name}", here, there)
        self._note_seen(f"{VERSION_BRANCHES}{skill}", here)
        return True

    def push_draft(self, branch: DraftBranch, tips: Tips) -> bool:
        """Push a skill's draft in place of the remote's, or remove that where there is none here."""
        here, there = branch.tip or "", tips.of(DRAFT_BRANCHES, branch.skill)
        if here == there:
            return False
        if there and not branch.is_ours(there):
            raise VersionConflictError(
                f"{branch.name} on {self.name} has commits of people ({there[:10]}); it was left alone"
            )
        if here:
            self._check_base(branch.skill, branch.name, here, tips, tips.of(VERSION_BRANCHES, branch.skill))
        self._push(f"refs/heads/{branch.name}", here, there)
        return True

    def _push(self, ref: str, commit: str, there: str) -> None:
        """Put a commit in the place of a ref of the remote, which fails if that has moved since."""
        name = ref.removeprefix("refs/heads/")
        self._reach(["push", *_PUSH, f"--force-with-lease={ref}:{there}", "--", self.url, f"{commit}:{ref}"], name)

    def fetch_lines(self) -> None:
        """Fetch what people refused of all skills, and the records of their texts, and join it with what is here."""
        self._reach(["fetch", *_FETCH, "--prune", "--", self.url, *(f"+{refs}*:{_seen(refs)}*" for refs in _JOINED)])
        for refs, join in _JOINED.items():
            for skill, lines in all_lines(self.repository, _seen(refs)).items():
                join(self.repository, skill, lines)

    def push_lines(self, skill: str) -> None:
        """Push what people refused of a skill, and its record, joined with what another clone pushed meanwhile."""
        for left in reversed(range(3)):  # a night on two machines collides once, rarely twice
            rows = [
                (refs, *(object_at(self.repository, f"{one}{skill}") for one in (refs, _seen(refs))))
                for refs in _JOINED
            ]
            waiting = [row for row in rows if row[1] not in ("", row[2])]
            if not waiting:
                return
            try:
                for refs, here, there in waiting:
                    self._push(f"{refs}{skill}", here, there)
            except VersionConflictError:
                if not left:
                    raise
            self.fetch_lines()

    def _note_seen(self, ref: str, commit: str) -> None:
        """Note that the remote has, or had, a branch's commit, so that a rewritten branch can be followed."""
        self.repository.move_branch(_seen(ref), self.repository.ref_tip(_seen(ref)), commit)

    def _check_base(self, skill: str, branch: str, tip: str, tips: Tips, there: str) -> None:
        """Refuse to publish, with a branch, commits of people that the remote does not have."""
        known = [tips.default, *filter(None, [there])]
        if strangers := people_commits(self.repository, skill, tip, "--not", *known):
            raise VersionConflictError(
                f"{branch} is based on commits that {self.name} does not have ({len(strangers)}), such as "
                f"{strangers[0][:10]}; it was not pushed. Push those first, or train from {tips.default_branch}"
            )

    @property
    def _shown(self) -> str:
        return f"remote {self.name} ({mask(single_line(self.url))})"

    def _reach(self, arguments: Sequence[str], branch: str = "") -> str:
        env, secrets = self._environment()
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        status, out, problem = try_git(self.repository.root, [*settings, *arguments], env=env, secrets=secrets)
        text = os.fsdecode(out)
        if status == 0:
            return text
        if "(stale info)" in text or "(fetch first)" in text or "(non-fast-forward)" in text:
            raise VersionConflictError(_moved(branch, self.name))
        refusal = next((row.split("\t")[-1] for row in text.splitlines() if row.startswith("!")), "")
        said, advice = mask(single_line(f"{refusal} {problem}")), "give this machine a key that may push there"
        if not _DENIED.search(said):
            advice = "mend that and run this again; what was trained is kept"
        elif self.url.startswith("https://"):
            scope = self.login.scope if self.login else "its host"
            advice = f"set GITHUB_TOKEN to a token for {scope} that may write contents"
        raise RemoteError(f"git could not {arguments[0]} with {self._shown}: {said}; {advice}")

    def _environment(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return git's variables, and those with a token, which the repository may lead nowhere else, or unchecked."""
        env = {"GIT_ALLOW_PROTOCOL": "file:https:ssh", "GIT_ASKPASS": "", "GIT_SSH_COMMAND": _SSH}
        env |= {name: os.environ[name] for name in _TRUSTED if os.environ.get(name)}
        env |= disabled_hooks(self.repository.root)
        if self.login is None:
            return env, {}
        listed = try_git(self.repository.root, ["config", "--local", "--name-only", "--get-regexp", _DETOUR])[1]
        if keys := sorted(set(os.fsdecode(listed).split())):
            message = f"expected no detour for a token in the configuration of {self.repository.root}, found {keys[0]}"
            raise RemoteError(f"{message}; move it to your own configuration (git config --global), if it is yours")
        # An empty value first: two headers, ours and one that a checkout left behind, would be refused.
        first, key = int(env["GIT_CONFIG_COUNT"]), f"http.{self.login.scope}.extraHeader"
        env |= {f"GIT_CONFIG_KEY_{first}": key, f"GIT_CONFIG_VALUE_{first}": "", f"GIT_CONFIG_KEY_{first + 1}": key}
        env["GIT_CONFIG_COUNT"] = str(first + 2)
        packed = b64encode(f"x-access-token:{self.login.token}".encode()).decode()
        return env, {f"GIT_CONFIG_VALUE_{first + 1}": f"Authorization: Basic {packed}"}


def _seen(ref: str) -> str:
    return f"refs/skillopt/seen/{ref.removeprefix('refs/heads/').removeprefix('refs/skillopt/')}"


def _moved(branch: str, name: str) -> str:
    return f"someone moved {branch} on {name} meanwhile; it was left alone, run this again to see what is there"


_PASSWORD: Final = re.compile(r"https?://[^/@\s]*:[^/@\s]+@")


def find_stored_credentials(repository: Repository) -> tuple[str, ...]:
    """List the keys of git's configuration that hold a login: headers, and addresses with a password."""
    headers = [
        key
        for key, value in read_config(repository.root, r"^http\..*extraheader$")
        if value.casefold().lstrip().startswith("authorization:")
    ]
    addresses = [
        key for key, value in read_config(repository.root, r"^remote\..*\.(push)?url$") if _PASSWORD.match(value)
    ]
    return (*headers, *addresses)
