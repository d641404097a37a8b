"""Parse the optimizer's prompts: the task line, the fences `<<<kind tag … kind tag>>>`, the budget.

All that depends on the layout of prompts is here.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from benchmarks.demo.diagnosis import Feedback, read_feedback
from skillopt.prompts.failure_groups import OTHER_VALUES, SAME_FEEDBACK
from skillopt.prompts.tried_edits import HEADINGS, EditFate

_FENCED = re.compile(r"<<<(\w+) ([0-9a-f]{12})\n(.*?)\n\1 \2>>>", re.DOTALL)
_TASK = re.compile(r"Task: (.+)")
_BUDGET = re.compile(r"\bat most (\d+)(?: edits|\.)|Only (\d+) of them", re.IGNORECASE)
_HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
_ROLLOUT = re.compile(r"^### Task (\S+)$", re.MULTILINE)
_COMPARED = re.compile(r"^(?:regressed|keeps failing): task (\S+), score .*$", re.MULTILINE)
_STABLE = re.compile(r"^(?:improved|stable): task .*$", re.MULTILINE)
_LISTED = re.compile(r"^\[([^\]]+)\] (.*)$", re.MULTILINE)
_REMARK = re.compile(r" \[[^\]]*\]$")
_COUNT = re.compile(r"why: (\d+) tasks?")
_SAME = re.compile(rf"^{re.escape(SAME_FEEDBACK)}(.+)$", re.MULTILINE)
_ROW = re.compile(r"^- (\S+?)(?: \(also ([^)]*)\))?: (.*)$", re.MULTILINE)
_REGION = re.compile(r"<!--\s*skillopt:begin.*?(?:skillopt:end\s+[\w-]+\s*-->|\Z)", re.DOTALL)
_FRONTMATTER = re.compile(r"\A\ufeff?---[ \t]*\n.*?\n---[ \t]*\n", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EditProposal:
    """An edit as a reply states it."""

    op: str
    anchor: str = ""
    section: str = ""
    content: str = ""
    rationale: str = ""
    tasks: tuple[str, ...] = ()

    def citing(self, tasks: tuple[str, ...]) -> "EditProposal":
        """Return the same edit with more tasks."""
        return replace(self, tasks=tuple(dict.fromkeys((*self.tasks, *tasks))))


@dataclass(frozen=True)
class Prompt:
    """A prompt that can be asked for its parts; parts it does not have are empty."""

    text: str

    @cached_property
    def task(self) -> str:
        """What the first line asks for."""
        found = _TASK.match(self.text)
        return found[1].strip() if found else ""

    @cached_property
    def budget(self) -> int:
        """The greatest number of edits, 1 when none is said."""
        found = _BUDGET.search(self.text)
        return int(found[1] or found[2]) if found else 1

    @cached_property
    def _fenced(self) -> dict[str, str]:
        """Fenced texts by the heading above them, else by kind."""
        parts = {}
        for found in _FENCED.finditer(self.text):
            headings = _HEADING.findall(self.text[: found.start()])
            parts[found[1]] = found[3]
            if headings:
                parts[headings[-1].strip()] = found[3]
        return parts

    def part(self, kind: str) -> str:
        """Return the fenced text of a kind, empty when there is none."""
        return self._fenced.get(kind, "")

    def lines(self, kind: str) -> tuple[str, ...]:
        """List the items of a fenced list, without a remark in brackets at their end."""
        items = (line.removeprefix("- ") for line in self.part(kind).splitlines() if line.startswith("- "))
        return tuple(_REMARK.sub("", item) for item in items)

    @property
    def substance(self) -> tuple[str, ...]:
        """List what is asked and the data it is about, so that another wording of the rest changes no answer."""
        return (self.task, str(self.budget), *self._fenced.values())

    @cached_property
    def skill(self) -> str:
        """The skill document's body."""
        return _FRONTMATTER.sub("", self._fenced.get("skill", ""))

    @cached_property
    def open_lines(self) -> tuple[str, ...]:
        """List the body's lines that an edit may touch: outside protected regions, occurring once."""
        text = _REGION.sub("", self.skill)
        return tuple(line for line in text.splitlines() if line.strip() and self._fenced["skill"].count(line) == 1)

    @cached_property
    def sections(self) -> tuple[str, ...]:
        """List the titles of the skill's sections."""
        return tuple(title.strip() for title in re.findall(r"^#{2,6} (.+)$", self.skill, re.MULTILINE))

    @cached_property
    def guidance(self) -> tuple[str, ...]:
        """List the lines of the guidance so far."""
        text = self._fenced.get("guidance", "")
        return tuple(line for line in text.splitlines() if line.strip().startswith("-"))

    @cached_property
    def rejected(self) -> tuple[str, ...]:
        """List what was tried or refused; what still waits for a trial is not among it."""
        known = (HEADINGS[fate] for fate in (EditFate.PEOPLE, EditFate.TRIED, EditFate.REFUSED))
        return tuple(line for heading in (*known, "Not accepted") for line in self._lines(heading))

    @cached_property
    def accepted(self) -> tuple[str, ...]:
        """List what was accepted."""
        return self._lines("Accepted")

    @cached_property
    def memory(self) -> str:
        """The notes of earlier epochs."""
        return self._fenced.get("memory", "")

    @cached_property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """List (task id, text) of the rollouts in the evidence, or of the tasks that went wrong in a comparison.

        Tasks that are only named beside one with the same feedback have its text.
        """
        if "evidence" in self._fenced:
            parts = list(_cut(_ROLLOUT, self._fenced["evidence"]))
            return tuple(
                shown
                for task, whole in parts
                for text, _, rows in [whole.partition(f"\n{OTHER_VALUES}\n")]
                for shown in (*((name, text) for name in (task, *_others(text))), *_rows(rows))
            )
        return tuple(_cut(_COMPARED, _STABLE.sub("", self._fenced.get("comparison", ""))))

    @cached_property
    def feedback(self) -> tuple[Feedback, ...]:
        """Read the feedback of the tasks that are shown."""
        return tuple(read_feedback(task, text) for task, text in self.shown)

    @cached_property
    def edits(self) -> tuple[EditProposal, ...]:
        """Read the edits of all proposals that are to be merged."""
        return tuple(_edits(self._fenced.get("proposals", "")))

    @cached_property
    def listed(self) -> tuple[tuple[str, str], ...]:
        """List ids and descriptions of edits that are to be ranked or counted."""
        return tuple(_LISTED.findall(self._fenced.get("edits", "")))

    def _lines(self, heading: str) -> tuple[str, ...]:
        lines = self._fenced.get(heading, "").splitlines()
        return tuple(line.removeprefix("- ") for line in lines if line.startswith("- "))


def read_prompt(text: str) -> Prompt:
    """Read a prompt; a request to repair a reply is read as the prompt it repeats."""
    if text.startswith("Task: repair a reply"):
        _, _, original = text.partition("\n## Prompt\n")
        return read_prompt(original.lstrip())
    return Prompt(text.strip())


def tasks_counted(description: str) -> int:
    """Return the number of tasks that the reason of an edit names, 0 when it names none."""
    found = _COUNT.search(description)
    return int(found[1]) if found else 0


def _cut(mark: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    """Yield (task id, text up to the next mark)."""
    found = list(mark.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)]
    for start, end in zip(found, ends, strict=False):
        yield start[1], text[start.end() : end]


def _rows(text: str) -> Iterator[tuple[str, str]]:
    """Yield (task id, text) of the tasks that are shown by what differs, each line of it on its own."""
    for first, others, told in _ROW.findall(text):
        lines = re.sub(r"(?:^|; )(prompt|feedback|answer): ", r"\n\1:\n", told).replace(" | ", "\n")
        yield from ((name, lines) for name in (first, *filter(None, others.split(", "))))


def _others(text: str) -> tuple[str, ...]:
    """List the tasks with the same feedback."""
    found = _SAME.search(text)
    return tuple(found[1].split(", ")) if found else ()


def _edits(text: str) -> Iterator[EditProposal]:
    """Yield edits that stand as one JSON object on a line; other lines are passed over."""
    for line in text.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and isinstance(found.get("op"), str):
            words = {name: str(found.get(name, "")) for name in ("op", "anchor", "section", "content", "rationale")}
            yield EditProposal(**words, tasks=tuple(map(str, found.get("tasks", ()))))
