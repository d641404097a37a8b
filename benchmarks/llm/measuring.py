"""Measure contestants with a real model: no skill, start, a text written by hand, one shot, and training.

A contestant's text answers the 20 held-out tasks, which no step of any of them saw. The optimizer model answers by
hand-off: who answers gets the prompt file and nothing else. Replies are kept in `replies` by prompt, so that a row is
measured again without a key and without anybody; a prompt that has changed is asked anew.
"""

import difflib
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks.llm.gepa_row import train_by_gepa
from benchmarks.llm.houses import House
from benchmarks.llm.rows import FOLDER, Row
from benchmarks.published.run import handed_over
from skillopt import Settings, Skill, evaluate, optimize
from skillopt.execution.calls import EvaluateResult, OptimizeResult
from skillopt.loop.events import Event, GateDecided, PatchTested
from skillopt.protocols import Model
from skillopt.reports.lines import event_line
from skillopt.settings import Preset
from skillopt.skills.edits import apply_edits
from skillopt.targets.handoff import HandoffModel
from skillopt.tasks import Split, Suite

CONTEXTS: Final = 2
_ANSWER_TOKENS: Final = 60
TIMES_ONE_SHOT: Final = 3
"""Cap of a training, in rollouts of one shot: what the goals of the loop are set for."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """One model on one suite; `by` is who answers for the optimizer model."""

    house: House
    model: str
    base_url: str
    store: Path
    by: str = ""

    def fixed(self) -> Iterator[Row]:
        """Measure what is not trained."""
        yield self._row("no skill", None)
        yield self._row("start", self.house.skill("start"))
        yield self._row("written by hand", self.house.skill("by_hand"))

    def trained(self, seed: int, preset: Preset = Preset.DEFAULT, times: int = TIMES_ONE_SHOT) -> Iterator[Row]:
        """Train by hand-off and measure what is handed over, and what the first patch makes of the start: one shot."""
        default = preset is Preset.DEFAULT
        name = "trained" if default else f"trained, {preset} preset"
        name += "" if times == TIMES_ONE_SHOT else f", {times} times one shot"
        result, row = self._train(name, HandoffModel(FOLDER / "replies"), seed, preset, times)
        if default and times == TIMES_ONE_SHOT:
            yield replace(self._one_shot(result, seed), by=self.by)
        yield replace(row, by=self.by)

    def trained_by_itself(self, seed: int) -> Row:
        """Train with the target as optimizer model, so that nobody answers."""
        model = f"openai-compatible/{self.model}"
        return self._train("trained, target as optimizer", model, seed, Preset.DEFAULT, TIMES_ONE_SHOT)[1]

    def trained_by_gepa(self, seed: int) -> Row:
        """Train by GEPA with as many rollouts, by hand-off."""
        settings, began = Settings.model_validate(self._settings), time.monotonic()

        def run(skill: Skill, suite: Suite) -> EvaluateResult:
            return evaluate(skill, suite, split=Split.VAL, settings=settings, store=self.store)

        model, most = HandoffModel(FOLDER / "replies"), TIMES_ONE_SHOT * self._learnt
        found = train_by_gepa(self.house.skill("start"), self.house.suite(), model, run, most, seed)
        minutes = round((time.monotonic() - began) / 60, 1)
        row = self._row("trained by GEPA", found.skill, seed)
        return replace(row, rollouts=found.rollouts, calls=found.calls, minutes=minutes, by=self.by)

    @property
    def _learnt(self) -> int:
        return sum(split is Split.TRAIN for split, _ in self.house.suite().splits)

    @property
    def _settings(self) -> Mapping[str, object]:
        named = {"harness": f"chat/openai-compatible/{self.model}", "base_url": self.base_url, "workers": CONTEXTS}
        return {**named, "rollout_tokens": _ANSWER_TOKENS}

    def _row(self, contestant: str, skill: Skill | None, seed: int = 0) -> Row:
        settings = Settings.model_validate(self._settings)
        found = evaluate(skill, self.house.suite(), split=Split.TEST, settings=settings, store=self.store)
        return Row(self.model, self.house.name, seed, contestant, passed=found.passed, tasks=found.measured)

    def _one_shot(self, result: OptimizeResult, seed: int) -> Row:
        start = self.house.skill("start")
        first = next((event.edits for event in result.events if isinstance(event, PatchTested)), ())
        text = start.with_document(apply_edits(start.document, first).document)
        return replace(self._row("one shot", text, seed), rollouts=self._learnt, calls=1)

    def _train(
        self, name: str, model: Model | str, seed: int, preset: Preset, times: int
    ) -> tuple[OptimizeResult, Row]:
        """Train on the tasks that are not held out."""
        start, suite, began = self.house.skill("start"), self.house.suite(), time.monotonic()
        learnt = replace(suite, splits=tuple(row for row in suite.splits if row[0] is not Split.TEST))
        chosen = {**self._settings, "seed": seed, "preset": preset, "max_rollouts": times * self._learnt}
        result = optimize(start, learnt, model=model, settings=chosen, store=self.store, on_event=show)
        # Where rollouts were recorded before, the time says nothing.
        minutes = round((time.monotonic() - began) / 60, 1) * (result.paid_rollouts == result.rollouts)
        text, grade = handed_over(result)
        learnt_lines = difflib.ndiff(start.text.splitlines(keepends=True), text.text.splitlines(keepends=True))
        print("What was learnt:\n" + "".join(line for line in learnt_lines if line[0] in "+-"), file=sys.stderr)
        row = replace(self._row(name, text, seed), rollouts=result.rollouts, calls=result.calls)
        return result, _stating(replace(row, grade=grade, minutes=minutes), result, text)


def _stating(row: Row, result: OptimizeResult, text: Skill) -> Row:
    """Add the gain that the run states of the text that it hands over."""
    decided = (event for event in reversed(result.events) if isinstance(event, GateDecided))
    verdict = next((event.verdict for event in decided if event.text == text.document.text), None)
    return replace(row, gain=verdict.gain, low=verdict.low, high=verdict.high) if verdict else row


def show(event: Event) -> None:
    """Print what happens to stderr."""
    if line := event_line(event):
        print(line, file=sys.stderr, flush=True)
