"""How often a description is replaced that no other improves, when it is trained again and again.

    python -m benchmarks.trigger_error [--series 300] [--trainings 10] [--seed 1]

A simulated model loads the skill for a share of the requests, whatever the description says, so that every accepted
description is a false one. Each training writes descriptions of its own; what does better on the training requests, by
luck, goes to the gate. The trainings of a series share one error, as `skillopt trigger --train` lets them; beside it
stands what the same trainings do if each begins anew, on the same runs of the held-out requests.
"""

import argparse
import json
from collections.abc import Sequence
from functools import partial
from itertools import count
from random import Random

from skillopt.contrib.triggers.loading import trigger_rate, trigger_verifier
from skillopt.contrib.triggers.queries import Query
from skillopt.contrib.triggers.training import DescriptionTraining, train_description
from skillopt.gate.decide import Outcome
from skillopt.gate.error_budget import ErrorSpent
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Score, Status, Trajectory, loading_note
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.testing import ScriptedRunner

_START = Skill("rows", SkillDocument("---\nname: rows\ndescription: Cleans tables.\n---\n# Rows\n"))
_TRAIN = 10
_HELD_OUT = 14
_NOT_FOR_IT = 2
_LOADED = 0.5


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the share of series with a false accept."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--series", type=int, default=300)
    parser.add_argument("--trainings", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    promised = 1.0 - Settings().confidence
    print(f"{given.series} series of {given.trainings} trainings on null data; promised: at most {promised:.2f}\n")
    print("| one error shared (95% interval) | each training anew |\n| --- | --- |")
    seeds = [f"{given.seed}/{number}" for number in range(given.series)]
    shared, anew = (sum(false_accept(seed, given.trainings, shared=both) for seed in seeds) for both in (True, False))
    rate = trigger_rate(shared, given.series)
    print(f"| {shared / given.series:.3f} ({rate.low:.3f} to {rate.high:.3f}) | {anew / given.series:.3f} |")
    return 0


def false_accept(seed: str, trainings: int, *, shared: bool) -> bool:
    """Train a description some times on null data; say whether any training accepted one."""
    train = [Query(f"train {number}", "rows", "x:1") for number in range(_TRAIN)]
    held_out = [
        Query(f"held out {number}", "" if number < _NOT_FOR_IT else "rows", "x:1") for number in range(_HELD_OUT)
    ]
    spent: list[ErrorSpent] = []
    for number in range(trainings):
        runner = ScriptedRunner(partial(_by_luck, seed=seed), partial(_another, number, count()))
        settings = Settings(seed=Random(f"{seed}/{number}").randrange(10**6))
        training = DescriptionTraining(
            tuple(train),
            tuple(held_out),
            (),
            1,
            runner,
            settings,
            number=number if shared else 0,
            earlier=tuple(spent) if shared else (),
        )
        verdict = train_description(_START, training).verdict
        if verdict is not None and verdict.outcome is Outcome.ACCEPT:
            return True
        spent += [ErrorSpent(verdict.error_spent)] if verdict is not None else []
    return False


def _another(number: int, texts: "count[int]", _prompt: str) -> str:
    """Write a description that no training wrote before."""
    return json.dumps({"description": f"Text {number} {next(texts)}."})


def _by_luck(request: RolloutRequest, seed: str) -> Rollout:
    """Load the skill or not, whatever its description says."""
    digest = request.skill.digest if request.skill else ""
    loaded = Random(f"{seed}/{digest}/{request.task.id}/{request.repeat}").random() < _LOADED
    trajectory = Trajectory((loading_note(["rows"] if loaded else []),))
    score: Score = trigger_verifier(request.task.verifier).score(trajectory, "")
    return Rollout(request.task.id, digest, request.repeat, trajectory, Status.OK, score)


if __name__ == "__main__":
    raise SystemExit(main())
