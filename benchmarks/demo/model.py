"""Model `demo`: a program that answers the optimizer's prompts. It is NOT a language model.

It reads the failing cells in the evidence and writes rules in words: most help, some are irrelevant, some do harm, by
a seeded draw, so that a gate has real work without a key or a network.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from typing import Final

from benchmarks.demo.advice import Symptom
from benchmarks.demo.diagnosis import diagnose
from benchmarks.demo.prompts import EditProposal, Prompt, read_prompt, tasks_counted
from benchmarks.demo.proposals import advise, spare_lines
from benchmarks.demo.skill_choice import propose_description
from skillopt.rollouts import Reply, Usage
from skillopt.skills.document import estimate_tokens

_VERSION = "demo-1"
_GUIDANCE_RULES: Final = 8
_MEMORY_LINES: Final = 10
_SPARE: Final = 0.2
"""How often a look at successes proposes to delete a line that changes nothing."""

_JUDGEMENT: Final = 0.6
"""How often ranking notices that an edit sweeps too far."""

_SWEEPING = re.compile(
    r"\b(?:all|every|any)\b[^.]*\b(?:text|cells?|commas|separators?|numbers)\b|\bround\b|\b0\b|empty cell|"
    r"missing values",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DemoModel:
    """Answers the prompts of every stage by rule; a program, not a language model."""

    seed: int = 0

    @property
    def identity(self) -> str:
        """Name the program's version and its seed."""
        return f"{_VERSION} seed={self.seed}"

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound a call, which costs nothing."""
        return Usage(1, estimate_tokens(prompt + system), 0, 0.0)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:  # noqa: ARG002 - it reads prompts only
        """Answer a prompt with the JSON it asks for; the same prompt always gets the same answer."""
        text = json.dumps(self._answer(read_prompt(prompt)), ensure_ascii=False)
        return Reply(text, Usage(1, estimate_tokens(prompt), estimate_tokens(text), 0.0))

    def _answer(self, prompt: Prompt) -> Mapping[str, object]:
        answers: dict[str, Callable[[Prompt], Mapping[str, object]]] = {
            "reflect on failures": self._reflect,
            "reflect on successes": self._spare,
            "merge proposals": _merge,
            "rank edits": self._rank,
            "write durable guidance": self._guide,
            "write optimizer memory": _remember,
            "write a description": _describe,
        }
        answer = answers.get(prompt.task)
        return {"reasoning": f"I do not know the task {prompt.task!r}."} if answer is None else answer(prompt)

    def _draw(self, prompt: Prompt) -> Random:
        data = "\0".join((str(self.seed), *prompt.substance)).encode("utf-8", "surrogatepass")
        return Random(int.from_bytes(blake2b(data, digest_size=8).digest(), "big"))

    def _reflect(self, prompt: Prompt) -> Mapping[str, object]:
        findings = diagnose(prompt.feedback)
        edits = advise(prompt, findings, self._draw(prompt))
        seen = "; ".join(f"{finding.symptom} in {len(finding.tasks)} tasks" for finding in findings)
        return {"diagnosis": seen or "No cause found in the feedback.", "edits": [_shown(edit) for edit in edits]}

    def _spare(self, prompt: Prompt) -> Mapping[str, object]:
        draw = self._draw(prompt)
        lines = spare_lines(prompt) if draw.random() < _SPARE else []
        tasks = tuple(feedback.task for feedback in prompt.feedback)
        edits = [EditProposal("delete", anchor=line, rationale="No task needed it.", tasks=tasks) for line in lines[:1]]
        return {"diagnosis": "The rules that apply are followed.", "edits": [_shown(edit) for edit in edits]}

    def _rank(self, prompt: Prompt) -> Mapping[str, object]:
        """Order edits by the tasks that their reasons count; most of those that sweep too far go last."""
        draw = self._draw(prompt)
        swept = {
            name: draw.random() < _JUDGEMENT and _SWEEPING.search(text) is not None for name, text in prompt.listed
        }
        ranked = sorted(prompt.listed, key=lambda item: (swept[item[0]], -tasks_counted(item[1])))
        return {"reasoning": "Most tasks concerned first.", "order": [name for name, _ in ranked]}

    def _guide(self, prompt: Prompt) -> Mapping[str, object]:
        """Keep the guidance so far and add at most two rules for what keeps failing."""
        edits = advise(prompt, diagnose(prompt.feedback), self._draw(prompt))
        new = [edit.content for edit in edits if edit.op == "add"][:2]
        guidance = "\n".join([*prompt.guidance, *new][-_GUIDANCE_RULES:])
        return {"reasoning": "What keeps failing needs a rule.", "guidance": guidance}


def _merge(prompt: Prompt) -> Mapping[str, object]:
    """Join edits with one topic or one anchor: the one with more tasks stays, and cites its twins' tasks."""
    kept: list[EditProposal] = []
    for edit in sorted(prompt.edits, key=lambda edit: -len(edit.tasks)):
        topic, anchor = _topic(edit), edit.anchor
        same = (_topic(other) == topic or (anchor and other.anchor == anchor) for other in kept)
        twin = next((at for at, is_same in enumerate(same) if is_same), None)
        if twin is None:
            kept.append(edit)
        elif kept[twin].content == edit.content:
            kept[twin] = kept[twin].citing(edit.tasks)
    return {"reasoning": "Joined edits that say the same.", "edits": [_shown(edit) for edit in kept]}


def _remember(prompt: Prompt) -> Mapping[str, object]:
    half = _MEMORY_LINES // 2
    accepted = [f"Accepted: {line}" for line in prompt.accepted][-half:]
    rejected = [f"Not kept: {line}" for line in prompt.rejected][-half:]
    return {"reasoning": "What was tried.", "memory": "\n".join([*accepted, *rejected])}


def _describe(prompt: Prompt) -> Mapping[str, object]:
    """Add the words of requests that were missed, and say what those of false triggers are not for."""
    text = propose_description(
        prompt.part("description"), prompt.lines("missed"), prompt.lines("false"), prompt.lines("right")
    )
    return {"reasoning": "The words that people use.", "description": text}


def _shown(edit: EditProposal) -> dict[str, object]:
    """Write an edit as the prompt asks for it, without empty parts."""
    parts = {"op": edit.op, "anchor": edit.anchor, "section": edit.section, "content": edit.content}
    return {name: part for name, part in parts.items() if part} | {
        "rationale": edit.rationale,
        "tasks": list(edit.tasks),
    }


def _topic(edit: EditProposal) -> str:
    """Name what an edit is about: the symptom that its rationale speaks of."""
    return next((symptom for symptom in Symptom if f" {symptom}." in f" {edit.rationale}"), edit.content or edit.anchor)
