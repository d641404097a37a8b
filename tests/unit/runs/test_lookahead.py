"""Looking ahead: what most guesses come to ask is asked ahead, and what rests on a guess is not."""

from collections.abc import Iterator
from random import Random

import pytest

from skillopt.loop.events import Event, RunEnded
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Reply, Rollout, Score, Status, Trajectory, Usage
from skillopt.runs.lookahead import look_ahead
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Task, VerifierSpec

SKILL = Skill("rows", SkillDocument("---\nname: rows\ndescription: Rows.\n---\n# Rows\n"))
TASKS = [Task(f"t{number}", f"Do {number}.", VerifierSpec("exact")) for number in range(6)]


class Answers:
    """Recorded answers, none at first."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, int], bool] = {}
        self.said: dict[str, str] = {}

    def rollout(self, request: RolloutRequest) -> Rollout | None:
        passed = self.known.get((request.task.id, request.repeat))
        if passed is None:
            return None
        score = Score(float(passed), passed=passed, feedback="" if passed else f"wrong {request.task.id}")
        return Rollout(request.task.id, SKILL.digest, request.repeat, Trajectory(), Status.OK, score)

    def reply(self, prompt: str) -> Reply | None:
        return Reply(self.said[prompt], Usage(calls=1)) if prompt in self.said else None


def requests(first: int, last: int, repeat: int = 0) -> list[RolloutRequest]:
    return [RolloutRequest(SKILL, task, repeat) for task in TASKS[first:last]]


def asked(run: object, answers: Answers) -> tuple[list[tuple[str, int]], list[str], int]:
    ahead = look_ahead(run, answers, "seed")  # type: ignore[arg-type]  # a generator function of a runner
    return [(one.task.id, one.repeat) for one in ahead.rollouts], [text for text, _ in ahead.prompts], ahead.batches


def test_batches_that_do_not_depend_on_each_other_are_asked_together() -> None:
    def run(runner: Runner) -> Iterator[Event]:
        runner.rollouts(requests(0, 2))
        runner.rollouts(requests(2, 4))
        yield RunEnded("", 0, 4, 0)

    rollouts, prompts, batches = asked(run, Answers())
    assert (rollouts, prompts, batches) == ([("t0", 0), ("t1", 0), ("t2", 0), ("t3", 0)], [], 2)


def test_what_only_a_rare_outcome_would_ask_is_not_asked() -> None:
    def run(runner: Runner) -> Iterator[Event]:
        found = runner.rollouts(requests(0, 6))
        if all(one.score and one.score.passed for one in found):
            runner.rollouts(requests(0, 6, repeat=1))
        yield RunEnded("", 0, 4, 0)

    answers = Answers()
    answers.known = {(f"t{number}", 7): False for number in range(6)}
    assert {repeat for _, repeat in asked(run, answers)[0]} == {0}


def test_a_prompt_about_guessed_rollouts_is_not_asked_and_one_about_recorded_ones_is() -> None:
    def run(runner: Runner) -> Iterator[Event]:
        (guessed,) = runner.rollouts(requests(0, 1))
        (known,) = runner.rollouts(requests(1, 2))
        for one in (guessed, known):
            runner.replies([f"Task: mend {one.task_id} {one.trajectory.answer}"])
        yield RunEnded("", 0, 2, 2)

    answers = Answers()
    answers.known = {("t1", 0): False}
    rollouts, prompts, batches = asked(run, answers)
    assert (rollouts, prompts, batches) == ([("t0", 0)], ["Task: mend t1 "], 3)


def test_texts_with_guessed_edits_are_run_by_nobody() -> None:
    def run(runner: Runner) -> Iterator[Event]:
        runner.rollouts(requests(0, 1))
        (reply,) = runner.replies(["Task: mend t0"])
        edited = SKILL.with_document(SkillDocument(SKILL.document.text + reply.text))
        runner.rollouts([RolloutRequest(edited, TASKS[1])])
        runner.rollouts(requests(2, 3))
        yield RunEnded("", 0, 2, 1)

    answers = Answers()
    answers.known = {("t0", 0): False}
    assert asked(run, answers)[:2] == ([("t2", 0)], ["Task: mend t0"])


@pytest.mark.parametrize("seed", range(3))
def test_the_same_seed_and_answers_look_ahead_alike(seed: int) -> None:
    def run(runner: Runner) -> Iterator[Event]:
        found = runner.rollouts(requests(0, 6))
        left = [task for task, one in zip(TASKS, found, strict=True) if one.score and not one.score.passed]
        runner.rollouts([RolloutRequest(SKILL, task, 1) for task in left])
        yield RunEnded("", 0, 2, 1)

    answers = Answers()
    answers.known = {(f"t{number}", 7): Random(seed).random() < 0.5 for number in range(6)}
    assert asked(run, answers) == asked(run, answers)
