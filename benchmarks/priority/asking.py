"""Put a case to a model by the prompts of the real loop, and hold its replies against the truth.

Owns the two questions and their figures. Does not own prompts (stages) or correlations (correlation).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.landscapes.lines import read
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.priority.cases import Case
from benchmarks.priority.correlation import kendall, spearman
from skillopt.errors import ReplyError
from skillopt.loop.consultation import Stage, consult
from skillopt.prompts.evidence import ROLLOUT_TOKENS, render_rollouts
from skillopt.prompts.proposed_edits import read_reflection
from skillopt.prompts.stages import (
    EDITS_SCHEMA,
    RANKING_SCHEMA,
    REFLECTION_SCHEMA,
    Aim,
    Told,
    ask_ranking,
    ask_reflection,
    read_ranking,
)
from skillopt.protocols import Model
from skillopt.rollouts import Reply, Usage
from skillopt.settings import Settings
from skillopt.skills.edits import Edit, Op

__all__ = ["Answered", "answer"]

_KEPT = 4
"""Of the ranked edits, so many are said to be tried."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What the replies of one model to one case are worth.

    Args:
        model: Its name.
        world: Name of the world.
        seed: Of the case.
        ranked: Kendall's correlation of its order of the candidates with their true gains.
        ranked_spearman: The same by Spearman.
        reflected: Kendall's correlation of what it proposes, first things first and the rest tied, with
            the true gains of what helps.
        helpful: Share of the proposed edits that help.
        harmful: Share that do harm.
        proposed: Number of edits that it proposes.
        unreadable: Replies that could not be read, not even repaired; they count as saying nothing.
        usage: What it consumed.
    """

    model: str
    world: str
    seed: int
    ranked: float
    ranked_spearman: float
    reflected: float
    helpful: float
    harmful: float
    proposed: int
    unreadable: int
    usage: Usage


class _Asker(SimulatedRunner):
    """A runner that counts what the model consumes."""

    def __init__(self, case: Case, model: Model) -> None:
        super().__init__(Target(case.world, case.seed), model)
        self.usage = Usage()

    def replies(self, prompts: Iterable[str], schema: str = "") -> tuple[Reply, ...]:
        """Ask the model."""
        found = super().replies(prompts, schema)
        self.usage += Usage.total(reply.usage for reply in found)
        return found


def answer(case: Case, name: str, model: Model, settings: Settings) -> Answered:
    """Ask a model to rank the candidates of a case and to reflect on its failures.

    Args:
        case: What is asked.
        name: What to call the model.
        model: Is asked.
        settings: Edit budget and size of the evidence, as in a run.
    """
    asker, unreadable = _Asker(case, model), 0
    gains = [case.gains[edit.id] for edit in case.edits]
    places: dict[str, float] = {}
    prompt = ask_ranking(case.document, case.edits, budget=_KEPT, memory="")
    try:
        stage = Stage(asker, RANKING_SCHEMA, case.name)
        (order,) = consult(stage, [prompt], lambda reply: read_ranking(reply, case.edits))
        places = {edit.id: -float(at) for at, edit in enumerate(order)}
    except ReplyError:
        unreadable += 1
    predicted = [places.get(edit.id, 0.0) for edit in case.edits]
    try:
        proposed = _reflect(asker, case, settings)
    except ReplyError:
        proposed, unreadable = (), unreadable + 1
    worth = [case.gain(edit) or 0.0 for edit in proposed]
    return Answered(
        name,
        case.name,
        case.seed,
        kendall(predicted, gains),
        spearman(predicted, gains),
        kendall(*_actions(case, proposed)),
        sum(gain > 0 for gain in worth) / max(1, len(worth)),
        sum(gain < 0 for gain in worth) / max(1, len(worth)),
        len(proposed),
        unreadable,
        asker.usage,
    )


def _reflect(asker: _Asker, case: Case, settings: Settings) -> tuple[Edit, ...]:
    """Ask for edits, all failures in one prompt."""
    aim = Aim(failures=True, budget=settings.edit_budget, kinds=settings.name_failures)
    evidence = render_rollouts(case.failing, ROLLOUT_TOKENS)
    prompt = ask_reflection(case.document, evidence, aim, Told())
    stage = Stage(asker, REFLECTION_SCHEMA if aim.kinds else EDITS_SCHEMA, case.name)
    (reply,) = consult(stage, [prompt], read_reflection)
    return tuple(edit.named(f"p{number}") for number, edit in enumerate(reply.edits, 1))


def _actions(case: Case, proposed: Sequence[Edit]) -> tuple[list[float], list[float]]:
    """Give how early each thing that could be proposed is, 0 for not at all, and what it is worth, if it helps.

    Things to propose are the candidates of the case and deleting or changing any other line. What does not help
    should not be proposed at all, so it is worth 0 whatever harm it does.
    """
    first: dict[str, float] = {}
    for at, edit in enumerate(proposed):
        for what in _touched(edit):
            first.setdefault(what, float(len(proposed) - at))
    actions = {what: max(0.0, case.gain(edit) or 0.0) for edit in case.actions for what in _touched(edit)}
    return [first.get(what, 0.0) for what in actions], list(actions.values())


def _touched(edit: Edit) -> tuple[str, ...]:
    """Name what an edit is about: the line that goes, the rules that come; other new lines by their text."""
    gone = (edit.anchor.strip(),) if edit.op is not Op.ADD else ()
    rules = tuple(f"rule {rule}" for rule in sorted(read(edit.content).rules))
    return (*gone, *(rules or ((edit.content.strip(),) if edit.content.strip() else ())))
