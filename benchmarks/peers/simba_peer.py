"""DSPy's SIMBA from PyPI, through `dspy.SIMBA`.

Owns the adapter; runs in DSPy's own environment. Choices, for both configurations:

- The program is one `dspy.Predict` whose instructions are the document. It is answered by a rollout
  instead of a language model; the metric is that rollout's score, with its feedback as `dspy.Prediction`.
- The language model is asked one thing, the advice of SIMBA's `OfferFeedback`. The proposer that everybody
  has answers it, with one edit for the task of the worse trajectory; SIMBA appends advice to the
  instructions, so a deletion cannot be made and gives no advice.
- Defaults (32 tasks a step, or all that there are, 6 candidates), with one thread. The 8 steps of the
  default need about 3,750 rollouts; as many steps are made as fit into those allowed.
- SIMBA chooses on its trainset and has no other: it gets `train` alone, and `val` is never run. What it
  reports is the mean on `train`.
- SIMBA has something to hand over only when it is through: until then that is the first document. It has
  no gate.
  It gives advice only when the best and the worst tenth of a step differ, that is when between 10% and 90%
  of its rollouts succeed: from a start below 10% it begins by luck, or never.
- `simba`: at most 4 demonstrations, the default. A demonstration of a solved task does not change what this
  target does, so the half of SIMBA's moves that add one are lost here; with a real model they may help.
- `simba, rules only`: `max_demos=0`, so that every move adds advice.
"""

import json
import logging
import re
from typing import Any

import dspy  # type: ignore[import-not-found]  # installed in the peer's own environment only

from benchmarks.peers.exchange import Arena, Outcome

__all__ = ["train"]

_BATCH, _CANDIDATES, _STEPS = 32, 6, 8
_DEMONSTRATIONS = {"simba": 4, "simba, rules only": 0}
_INSTRUCTIONS = re.compile(r"Original Instructions: *\n(.*?)\n-{20,}", re.DOTALL)


def train(arena: Arena) -> None:
    """Let SIMBA make as many steps as fit.

    Args:
        arena: What it trains in.

    Raises:
        RuntimeError: DSPy caught an exception and went on.
    """
    terms, watch = arena.terms, _Watch()
    logging.getLogger("dspy").setLevel(logging.WARNING)
    logging.getLogger("dspy.teleprompt").addHandler(watch)
    batch = min(_BATCH, len(terms.train))
    step = batch * (2 * _CANDIDATES + 1)
    steps = min(_STEPS, (terms.rollouts - (_CANDIDATES + 1) * len(terms.train)) // step)
    if steps < 1:
        return
    program = _Program(arena)
    trainset = [dspy.Example(order=task).with_inputs("order") for task in terms.train]
    with dspy.context(lm=_Advisor(arena)):
        demos = _DEMONSTRATIONS[terms.peer]
        simba = dspy.SIMBA(metric=_metric, bsize=batch, max_steps=steps, max_demos=demos, num_threads=1)
        best = simba.compile(program, trainset=trainset, seed=terms.seed)
    arena.returns(best.answer.signature.instructions, best.candidate_programs[0]["score"])
    logging.getLogger("dspy.teleprompt").removeHandler(watch)
    if watch.trouble:
        raise RuntimeError(f"SIMBA went on after this: {watch.trouble}")


def _metric(_: object, prediction: Any) -> object:  # noqa: ANN401 - DSPy's type
    return dspy.Prediction(score=prediction.score, feedback=prediction.feedback)


class _Rollout(dspy.Predict):  # type: ignore[misc]  # a class of DSPy, which is not installed where types are checked
    """A predictor that is answered by a rollout."""

    arena: Arena

    def forward(self, **inputs: str) -> object:
        """Run the task with the instructions as they are."""
        (outcome,) = self.arena.run(self.signature.instructions, [inputs["order"]])
        prediction = dspy.Prediction(answer=outcome.feedback, score=outcome.score, feedback=outcome.feedback)
        dspy.settings.trace.append((self, {**inputs}, prediction))
        return prediction


class _Program(dspy.Module):  # type: ignore[misc]  # a class of DSPy, which is not installed where types are checked
    """One predictor, whose instructions are the document."""

    def __init__(self, arena: Arena) -> None:
        super().__init__()
        _Rollout.arena = arena  # programs are copied deeply, and the arena is one
        self.answer = _Rollout(dspy.Signature("order -> answer").with_instructions(arena.terms.start))

    def forward(self, order: str) -> object:
        """Do a work order."""
        return self.answer(order=order)


class _Advisor(dspy.BaseLM):  # type: ignore[misc]  # a class of DSPy, which is not installed where types are checked
    """The simulated optimizer model, for the one prompt of SIMBA."""

    def __init__(self, arena: Arena) -> None:
        super().__init__(model="simulated")
        self._arena = arena

    def __deepcopy__(self, _: object) -> "_Advisor":
        """Copy everything but the arena."""
        return _Advisor(self._arena)

    def __call__(self, prompt: str | None = None, messages: Any = None, **_: object) -> list[str]:  # noqa: ANN401 - DSPy's type
        """Advise from the worse trajectory, in the form that the prompt asks for."""
        text = (prompt or "") + "\n".join(message["content"] for message in messages or ())
        fields = dict(re.findall(r"\[\[ ## (\w+) ## \]\]\n(.*?)(?=\n\[\[ ## |\Z)", text, re.DOTALL))
        found = _INSTRUCTIONS.search(fields["modules_defn"])
        if found is None:
            raise ValueError(f"expected instructions in {fields['modules_defn']!r}, found none")
        document = "\n".join(line.removeprefix("\t\t") for line in found[1].lstrip("\n").split("\n"))
        task, worse = json.loads(fields["program_inputs"])["order"], json.loads(fields["worse_reward_info"])
        failing = [Outcome(task, 0.0, worse["feedback"])] if _is_failure(fields["worse_reward_value"]) else []
        made = self._arena.propose(document + "\n", failing, 1)
        lines = [edit.line for edit in made.edits if edit.op == "add"]
        advice = {"answer": lines[0]} if lines else {}
        return [
            f"[[ ## discussion ## ]]\n-\n\n[[ ## module_advice ## ]]\n{json.dumps(advice)}\n\n[[ ## completed ## ]]"
        ]


def _is_failure(value: str) -> bool:
    """Tell whether the worse trajectory failed; without one, its value is no number."""
    return value.strip().replace(".", "", 1).isdigit() and float(value) < 1


class _Watch(logging.Handler):
    """Keeps the first warning, since DSPy catches exceptions and goes on."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.trouble = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what is said."""
        self.trouble = self.trouble or record.getMessage()
