"""Train the shop-desk skill for a real language model, and measure what came of it on questions nobody trained on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.llm.proposer import ListedProposer
from benchmarks.published.run import handed_over
from skillopt import Settings, Skill, compare, load_skill, load_suite, optimize
from skillopt.execution.calls import CompareResult, OptimizeResult, open_session
from skillopt.execution.drivers import Given
from skillopt.loop.events import Event, GateDecided
from skillopt.settings import Preset
from skillopt.shrink.shrinking import shrink
from skillopt.skills.document import SkillDocument

HARNESS: Final = "chat/openai-compatible/smollm2"
_FOLDER: Final = Path(__file__).parent
MOST_ROLLOUTS: Final = 250
_MOST_MINUTES: Final = 20.0
_ANSWER_TOKENS: Final = 32


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training came to."""

    start: Skill
    handed_over: Skill
    grade: str
    result: OptimizeResult
    held_out: CompareResult


def train_skill(
    base_url: str,
    store: Path,
    on_event: Callable[[Event], None] | None = None,
    *,
    preset: str = "default",
    seed: int = 0,
) -> Trained:
    """Train on a server that answers at temperature 0, so that the same machine gives the same run."""
    settings = _settings(base_url, seed, preset=Preset(preset), max_rollouts=MOST_ROLLOUTS, max_minutes=_MOST_MINUTES)
    start = load_skill(_FOLDER / "shop-desk")
    questions, held_out = (load_suite(_FOLDER / f"{name}.yaml") for name in ("questions", "held_out"))
    result = optimize(start, questions, model=ListedProposer(), settings=settings, store=store, on_event=on_event)
    after, grade = handed_over(result)
    unlimited = settings.model_copy(update={"max_rollouts": None})
    return Trained(start, after, grade, result, compare(start, after, held_out, settings=unlimited, store=store))


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What shortening a text came to: why it ended, both texts, rollouts, and both on the held-out questions."""

    reason: str
    before: Skill
    after: Skill
    rollouts: int
    held_out: CompareResult


def shrink_skill(base_url: str, store: Path, seed: int = 0) -> Shrunk:
    """Shrink a text with 10 facts and 18 lines that say nothing, by the questions that `train_skill` learns from."""
    settings, start = _settings(base_url, seed), load_skill(_FOLDER / "shop-desk-long")
    questions, held_out = (load_suite(_FOLDER / f"{name}.yaml") for name in ("questions", "held_out"))
    with open_session(store, settings, questions, Given()) as session:
        recording, _ = session.begin(start, questions, None)
        events, ended = recording.drive(shrink(start, questions, settings, recording.runner))
    judged = next((event for event in reversed(events) if isinstance(event, GateDecided)), None)
    after = start.with_document(SkillDocument(judged.text)) if judged else start
    compared = compare(start, after, held_out, settings=settings, store=store)
    return Shrunk(ended.reason, start, after, ended.rollouts, compared)


def _settings(base_url: str, seed: int, **more: object) -> Settings:
    named = {"harness": HARNESS, "base_url": base_url, "seed": seed, "rollout_tokens": _ANSWER_TOKENS}
    return Settings.model_validate({**named, **more})
