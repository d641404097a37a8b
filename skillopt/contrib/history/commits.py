"""Candidates for tasks from the merged changes of a repository: those whose own tests tell them from what was before.

Newest first, a bounded number at a time; what was checked is remembered, so that the next call goes on behind it.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from skillopt.contrib.history.candidates import task_name
from skillopt.contrib.history.change_prompts import DraftedPrompt, draft_prompt, without_frame
from skillopt.contrib.history.changed_lines import read_patch
from skillopt.contrib.history.commit_checks import CheckedChange, TestCommand, prove_change, why_not
from skillopt.contrib.history.own_names import OwnNames
from skillopt.contrib.history.redaction import Redaction
from skillopt.safety.escaping import count_noun
from skillopt.suites.config_lines import put_file
from skillopt.suites.near_copies import is_near_copy, word_digests
from skillopt.suites.review_file import put_candidates
from skillopt.versions.history import MergedChange, is_shallow, merged_changes, merged_messages, patch_of
from skillopt.versions.repository import Repository

_MOST_COMMITS: Final = 5_000  # of a history without end; it is said where to go on
_MOST_CHECKED: Final = 200  # by one command, at seconds each; the next one goes on behind them
_MENTION: Final = re.compile(r"\s*\b(?:by|thanks to|from|via|cc) @[\w-]+", re.IGNORECASE)
_UNCOUNTED: Final = frozenset({"no change of tests", "the first commit of this clone"})

_RunAll = Callable[
    [Callable[["_Drafted"], CheckedChange], Sequence["_Drafted"]], Iterator[list[tuple[int, CheckedChange]]]
]
"""Runs checks side by side and yields (index, result) as they end."""


@dataclass(frozen=True, slots=True)
class _Drafted:
    change: MergedChange
    prompt: DraftedPrompt
    redacted: bool = False


@dataclass(slots=True)
class HarvestedCommits:
    """What was found: (id, why) of each candidate, and why others are none."""

    candidates: list[tuple[str, str]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    looked: int = 0
    with_tests: int = 0
    more: bool = False
    shallow: bool = False
    beyond: str = ""


def changes_with_tests(repository: Repository) -> int:
    """Count the newest thousand changes of the branch that HEAD is at which change code and tests."""
    if repository.head() is None:
        return 0
    return sum(not why_not(change) for change in merged_changes(repository, "HEAD", 1_000))


@dataclass(slots=True)
class CommitHarvest:
    """Makes candidates of merged changes that no task has yet, and remembers what was checked."""

    repository: Repository
    command: TestCommand
    without: tuple[str, ...]
    folder: Path
    redaction: Redaction
    known: list[AbstractSet[str]]
    run: _RunAll
    notice: Callable[[str], None]
    found: HarvestedCommits = field(default_factory=HarvestedCommits)
    seen: dict[str, str] = field(default_factory=dict)

    def harvest(self, skill: str, wanted: str, count: int) -> HarvestedCommits:
        """Check changes until there are so many candidates, or enough were checked; write each as it is found."""
        found, batch, checked = self.found, list[_Drafted](), 0
        found.shallow, self.seen = is_shallow(self.repository), self._seen()
        for change in merged_changes(self.repository, wanted, _MOST_COMMITS):
            found.looked += 1
            found.beyond = change.commit[:10] if found.looked == _MOST_COMMITS else ""
            reason = why_not(change)
            if reason in _UNCOUNTED:
                continue
            found.with_tests += 1
            if change.commit in self.seen:
                found.left_out["checked before"] += 1
                continue
            checked += 1
            drafted = None if reason else self._drafted(change)
            if reason := reason or (drafted.prompt.problem if drafted else ""):
                self._leave_out(change.commit, reason)
            elif drafted is not None:
                batch.append(drafted)
            if len(batch) >= min(12, 2 * (count - len(found.candidates))):
                self._check(skill, batch, count)
                batch.clear()
            if len(found.candidates) >= count or checked >= _MOST_CHECKED:
                found.more = True
                break
        self._check(skill, batch, count)
        return found

    def _drafted(self, change: MergedChange) -> _Drafted:
        messages = [change.message, *merged_messages(self.repository, change)]
        draft = draft_prompt(messages, read_patch(patch_of(self.repository, change)))
        self.redaction.learn(*messages)
        text, *notes = (self._masked(part, change.people) for part in (draft.text, *draft.left_out))
        shown = tuple(note[:400] for note in notes)
        return _Drafted(change, DraftedPrompt(text, shown, draft.problem), redacted=text != draft.text)

    def _masked(self, text: str, people: Sequence[tuple[str, str]]) -> str:
        text = self.redaction.text(_MENTION.sub("", text))
        for name, address in people:
            text = OwnNames(name, address).mask(text)
        return text

    def _check(self, skill: str, batch: Sequence[_Drafted], count: int) -> None:
        """Run the tests of a batch, newest first in what is written; a candidate too many is left for the next call."""
        found = self.found
        results = dict(one for group in self.run(self._checked, batch) for one in group)
        for at, one in enumerate(batch):
            checked, commit = results[at], one.change.commit
            if checked.task is None:
                self._leave_out(commit, checked.reason)
            elif is_near_copy(without_frame(one.prompt.text), self.known):
                self._leave_out(commit, "nearly the same as another, or as one that you dropped")
            elif len(found.candidates) < count:
                self.known.append(word_digests(without_frame(one.prompt.text)))
                why, notes = _why(one, checked), [f"left out of the message: {part}" for part in one.prompt.left_out]
                put_candidates(self.folder, (skill, "harvest"), [(checked.entry, why, notes)])
                found.candidates.append((checked.task.id, why))
                self._remember(commit, "")
            else:
                found.more = True
        if batch:
            done = f"{count_noun(found.with_tests, 'change')} with tests looked at"
            self.notice(f"{done}: {count_noun(len(found.candidates), 'candidate')}")

    def _checked(self, one: _Drafted) -> CheckedChange:
        name = f"{one.change.at[:10]}-{task_name(one.prompt.text)}"
        return prove_change(self.repository.root, one.change, self.command, self.without, (name, one.prompt.text))

    def _leave_out(self, commit: str, reason: str) -> None:
        self.found.left_out[reason] += 1
        self._remember(commit, reason)

    @property
    def _state(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.commits.json")

    def _seen(self) -> dict[str, str]:
        """Return the commits that were checked in this environment, with why each is no candidate."""
        try:
            state = json.loads(self._state.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        own = isinstance(state, dict) and state.get("tests") == self.command.identity
        return {str(commit): str(reason) for commit, reason in dict(state["commits"]).items()} if own else {}

    def _remember(self, commit: str, reason: str) -> None:
        self.seen[commit] = reason
        put_file(self._state, json.dumps({"tests": self.command.identity, "commits": self.seen}, indent=1) + "\n")


def _why(one: _Drafted, checked: CheckedChange) -> str:
    parts = [f"commit {one.change.commit[:10]} of {one.change.at[:10]}"]
    if checked.failed:
        parts.append(f"{checked.failed} of its tests fail before it and pass with it, {checked.kept} pass before too")
    else:
        parts.append("its tests fail before it and pass with it")
    if one.redacted:
        parts.append("secrets or personal data taken out: see that it still makes sense")
    return "; ".join(parts)
