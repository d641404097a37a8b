"""Harness `demo`: a small rule-following program. It is NOT a language model.

It does table tasks by the sentences of a skill: it recognises operations by patterns, overlooks some rules by a seeded
draw (more in a longer document), misreads vague ones, and really reads and writes the CSV files in its workspace. It
exists so that training a skill can be tried, tested and measured without a key or a network; what it scores says
nothing about any real model. The task's prompt is not understood: without rules the table is written as it was read.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.demo.rule_reading import Rule, read_rules
from benchmarks.demo.skill_choice import choose_skill
from benchmarks.demo.table_operations import apply_operations, settle
from benchmarks.demo.tables import DemoTable, Operation
from skillopt.errors import SettingsError
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Message, ToolCall, Trajectory, Usage, loading_note
from skillopt.skills.document import Skill, estimate_tokens
from skillopt.skills.frontmatter import listed_description

_INPUT: Final = "input.csv"
_OUTPUT: Final = "output.csv"
_PREVIEW_LINES = 4
_VERSION = "demo-1"
_HASTY: Final = "hasty"
_HASTY_RULES: Final = 16


def ignore_probability(tokens: int) -> float:
    """Return the probability with which each rule of a document of so many tokens is overlooked."""
    return min(0.25, 0.01 + 0.00003 * max(0, tokens - 150))


@dataclass(frozen=True, slots=True)
class DemoHarness:
    """Does table tasks by the rules it recognises in a skill; a program, not a language model.

    As `demo/hasty` it reads the first sixteen sentences only: another target for the same text.
    """

    seed: int = 0
    model: str = ""

    def __post_init__(self) -> None:
        """Refuse a variant that there is not."""
        if self.model not in ("", _HASTY):
            raise SettingsError(f"expected demo or demo/{_HASTY}, found demo/{self.model}; leave out '/{self.model}'")

    @property
    def identity(self) -> str:
        """Name the program's version, its variant and its seed."""
        return f"{_VERSION}{f' {self.model}' if self.model else ''} seed={self.seed}"

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Clean `input.csv` of the workspace into `output.csv`.

        The trajectory and the file depend on the seed, the skill, the task and the repeat alone.
        """
        folder = Path(workspace)
        asked = Message("user", request.task.prompt)
        if request.discovery is not None:
            return self._choose(request, asked)
        try:
            text = (folder / _INPUT).read_bytes().decode("utf-8-sig", "replace")
            table = DemoTable.parse(text)
        except (FileNotFoundError, csv.Error) as problem:
            answer = f"There is no table to clean in {_INPUT}: {problem.__class__.__name__}."
            return Trajectory((asked, Message("assistant", answer)), answer, usage=self._usage(request, "", answer))
        followed = self._followed(request, request.skill) if request.skill else []
        result = apply_operations(table, settle((op, rule.clear) for rule, reading in followed for op in reading))
        output = result.render()
        (folder / _OUTPUT).write_bytes(output.encode("utf-8", "replace"))
        answer = f"Wrote {_OUTPUT} with {len(result.rows)} rows and {len(result.header)} columns."
        messages = (
            asked,
            Message("assistant", f"I read {_INPUT} first.", (ToolCall("read_file", _INPUT, _preview(text)),)),
            Message("assistant", _explain(followed)),
            Message("assistant", answer, (ToolCall("write_file", _OUTPUT, f"{len(output)} characters written"),)),
        )
        usage = self._usage(request, text, output + messages[2].text)
        return Trajectory(messages, answer, (_OUTPUT,), usage=usage)

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound a rollout, which costs nothing: no rule makes a table much longer."""
        read = estimate_tokens("".join(file.content.decode("utf-8", "replace") for file in request.task.files))
        return Usage(1, self._usage(request, "", "").input_tokens + read, 4 * read + 1_000, 0.0)

    def _choose(self, request: RolloutRequest, asked: Message) -> Trajectory:
        """Load the skill whose description has most words of the request, and end."""
        chosen = choose_skill(
            request.task.prompt, [(one.name, listed_description(one.document)) for one in request.installed]
        )
        answer = f"I load the skill {chosen}." if chosen else "I need no skill for this."
        note = loading_note([chosen] if chosen else [])
        return Trajectory((asked, note, Message("assistant", answer)), answer, usage=self._usage(request, "", answer))

    def _followed(self, request: RolloutRequest, skill: Skill) -> "list[tuple[Rule, tuple[Operation, ...]]]":
        """Draw which rules of a skill are followed and how each is read."""
        body = skill.document.body
        rules = read_rules(body)[: _HASTY_RULES if self.model else None]
        if not rules:
            return []
        overlooked = ignore_probability(_tokens(body))
        key = f"{self.seed}\0{skill.digest}\0{request.task.id}\0{request.repeat}"
        draw = Random(int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"))
        followed = []
        for rule in rules:
            ignored, choice = draw.random() < overlooked, draw.random()
            if rule.readings and not ignored:
                followed.append((rule, rule.readings[int(choice * len(rule.readings))]))
        return followed

    def _usage(self, request: RolloutRequest, read: str, written: str) -> Usage:
        skill = _tokens(request.skill.document.body) if request.skill else 0
        return Usage(1, skill + estimate_tokens(request.task.prompt + read), estimate_tokens(written), 0.0)


@lru_cache(maxsize=512)
def _tokens(body: str) -> int:
    return estimate_tokens(body)


def _preview(text: str) -> str:
    lines = text.splitlines()
    more = [f"... {len(lines) - _PREVIEW_LINES} more lines"] if len(lines) > _PREVIEW_LINES else []
    return "\n".join(lines[:_PREVIEW_LINES] + more)


@lru_cache(maxsize=8192)
def _line(sentence: str, reading: tuple[Operation, ...]) -> str:
    return f"- {sentence!r}: {', '.join(map(str, reading)) or 'unclear, left alone'}"


def _explain(followed: "Sequence[tuple[Rule, tuple[Operation, ...]]]") -> str:
    """Return which sentences were followed and as what."""
    if not followed:
        return "No rule told me to change anything, so I keep the table as it is."
    return "\n".join(["I follow these rules:", *(_line(rule.sentence, reading) for rule, reading in followed)])
