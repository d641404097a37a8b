"""Levels, power and calibration of gate, release check, grades and change gate, in simulation.

    python -m benchmarks.verdicts [--runs RUNS] [--first SEED] [TABLE ...]

Tables: gate, uneven, families, partial, nights, release, here, later, change; all by
default, 400 runs a cell, in ten minutes.
Everything here is simulated: a task fails or passes under the incumbent with even odds, the candidate mends or breaks a
share of them, and a share of all outcomes turns out the other way round. `docs/statistics.md` has some.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import fmean

from skillopt.gate.decide import Outcome
from skillopt.gate.gate import Gate
from skillopt.gate.grades import Grade
from skillopt.loop.decision import Released, check_release
from skillopt.loop.events import HeldOutTestMeasured
from skillopt.protocols import RolloutRequest
from skillopt.review.gate import ChangeGate, Demand
from skillopt.review.result import Standing
from skillopt.rollouts import Rollout
from skillopt.settings import Metric, Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored

OLD = Skill("words", SkillDocument("old"))


@dataclass(frozen=True, slots=True)
class Change:
    """What a candidate does: the share of the failing tasks that it mends, and of the passing ones that it breaks."""

    name: str
    mends: float = 0.0
    breaks: float = 0.0

    def draw(self, tasks: int, flips: float, random: Random) -> list[tuple[float, float]]:
        """Draw tasks: the chance of each to pass before and after."""
        drawn = []
        for _ in range(tasks):
            before = random.random() < 0.5  # noqa: PLR2004 - even odds
            after = random.random() >= self.breaks if before else random.random() < self.mends
            drawn.append((abs(before - flips), abs(after - flips)))
        return drawn


def simulated_tasks(count: int) -> list[Task]:
    """Make tasks whose ids are their numbers."""
    return [Task(str(number), f"task {number}", VerifierSpec("exact")) for number in range(count)]


def runner_of(world: Sequence[tuple[float, float]], random: Random, sticky: float = 0.0) -> ScriptedRunner:
    """Run tasks that pass with the chance that the old text, or any other, gives them, or as last time if sticky."""
    last: dict[tuple[str, str], float] = {}

    def score(request: RolloutRequest) -> Rollout:
        rate, key = world[int(request.task.id)][request.skill != OLD], (request.digest, request.task.id)
        if key not in last or random.random() >= sticky:
            last[key] = float(random.random() < rate)
        return scored(request, last[key])

    return ScriptedRunner(score, str)


_SIZES = (8, 12, 20, 40)
_GATES = 5
_NIGHTS = 52
_NEW = Skill("words", SkillDocument("new"))
_NULLS = (Change("same text"), Change("mends 20%, breaks 20%", 0.4, 0.4))
_GAINS = (Change("mends 25%, breaks 5%", 0.5, 0.1), Change("mends 40%", 0.8))
_FAMILY = 4
"""Tasks of a template that fail and pass together."""

_STICKY = 0.7
"""Share of repeats of a task under a text that turn out as the run before."""

_CRITERIA = 5
_LATER = (
    Change("changes nothing"),
    Change("mends 10%", 0.5),
    Change("breaks 10%", 0.0, 0.125),
    Change("breaks 20%", 0.0, 0.25),
)
_RARE_LOSSES = ((0.45, 0.1, 0.5), (0.96, 0.04, 0.96))
"""Loss, share of tasks with it, and score before: all other tasks gain just so much that nothing is gained."""

_Draw = Callable[[Random], list[tuple[float, float]]]
"""Draws tasks: the chance of each to pass, before and after."""


@dataclass(frozen=True, slots=True)
class GateRates:
    """Share of runs with an `accept`, with one by the first gate, and mean rollouts of the first gate."""

    any: float
    first: float
    rollouts: float

    def __str__(self) -> str:
        """Write them for a table."""
        return f"{self.any:.3f} / {self.first:.3f} @{self.rollouts:.0f}"


def gate_rates(draw: _Draw, tasks: int, runs: range, sticky: float = 0.0) -> GateRates:
    """Gate new candidates until one is accepted, five at most."""
    accepted = first = rollouts = 0
    for run in runs:
        random = Random(f"{run}/{tasks}")
        gate, runner, world = _gate(tasks, run, random, sticky=sticky)
        for number in range(_GATES):
            world[:] = draw(random)
            found = gate.decide("here", OLD, _candidate(number)).outcome is Outcome.ACCEPT
            first += found and number == 0
            rollouts += len(runner.requests) if number == 0 else 0
            if found:
                accepted += 1
                break
    return GateRates(accepted / len(runs), first / len(runs), rollouts / len(runs))


def night_rate(tasks: int, flips: float, runs: range) -> float:
    """Return the share of years in which some night accepts, where each gates two candidates that change nothing."""
    accepted = 0
    for run in runs:
        random, spent = Random(f"{run}/{tasks}/nights"), 0.0
        for night in range(_NIGHTS):
            gate, _, world = _gate(tasks, run * _NIGHTS + night, random, spent)
            found = False
            for number in range(2):
                world[:] = _NULLS[0].draw(tasks, flips, random)
                found = found or gate.decide("here", OLD, _candidate(number)).outcome is Outcome.ACCEPT
            spent += gate.error_spent
            if found:
                accepted += 1
                break
    return accepted / len(runs)


def release_rate(tasks: int, runs: range, score: Callable[[RolloutRequest, Random], float]) -> float:
    """Return the share of versions that are released."""
    released = 0
    for run in runs:
        random = Random(f"{run}/{tasks}/release")

        def rollout(request: RolloutRequest, random: Random = random) -> Rollout:
            return scored(request, score(request, random))

        runner = ScriptedRunner(rollout, str)
        (event,) = check_release(runner, Released(OLD), _NEW, simulated_tasks(tasks), _settings(run))
        released += isinstance(event, HeldOutTestMeasured) and event.verdict.outcome is Outcome.ACCEPT
    return released / len(runs)


def here_rates(draw: _Draw, tasks: int, runs: range) -> tuple[float, float]:
    """Return the shares of drafts that end as `proven` and as `proven here` when four rounds are affordable."""
    grades = []
    for run in runs:
        random = Random(f"{run}/{tasks}/here")
        gate, _, world = _gate(tasks, run, random)
        world[:] = draw(random)
        grades.append(gate.grade("here", OLD, _NEW, rounds=4).grading.grade)
    return grades.count(Grade.PROVEN) / len(runs), grades.count(Grade.PROVEN_HERE) / len(runs)


def later_rate(change: Change, tasks: int, runs: range, flips: float = 0.1) -> tuple[float, float]:
    """Return the share of drafts on an accepted version that are accepted as well, and their mean rollouts."""
    accepted, asked = [], []
    for run in runs:
        random = Random(f"{run}/{tasks}/later")
        texts = [OLD.document.text, "version", _NEW.document.text]
        first = [random.random() < 0.5 for _ in range(tasks)]  # noqa: PLR2004 - even odds
        newest = [works or random.random() < 0.6 for works in first]  # noqa: PLR2004 - it mends 30% of all tasks
        draft = [random.random() >= change.breaks if works else random.random() < change.mends for works in newest]
        world = dict(zip(texts, (first, newest, draft), strict=True))

        def rollout(request: RolloutRequest, world: dict[str, list[bool]] = world, random: Random = random) -> Rollout:
            works = world[request.skill.document.text if request.skill else ""][int(request.task.id)]
            return scored(request, float(works is not (random.random() < flips)))

        runner = ScriptedRunner(rollout, str)
        gate = Gate(simulated_tasks(tasks), _settings(run), runner)
        version = Skill("words", SkillDocument("version"))
        if gate.decide("here", OLD, version).outcome is Outcome.ACCEPT:
            before = len(runner.requests)
            verdict = gate.decide_later("here", OLD, version, _NEW)
            accepted.append(verdict.outcome is Outcome.ACCEPT)
            asked.append(len(runner.requests) - before)
    return fmean(accepted), fmean(asked)


def family_rate(tasks: int, runs: range) -> float:
    """Return the share of first gates that accept where families of near copies are mended and broken alike."""
    words = "carefully read what stands below and answer with one number in the unit that is asked for"
    accepted = 0
    for run in runs:
        random = Random(f"{run}/{tasks}/families")
        topics = [" ".join(random.choice("abcdefghij") * 3 for _ in range(12)) for _ in range(tasks)]
        made = [
            replace(task, prompt=f"{topics[number // _FAMILY]} {words}: {number}")
            for number, task in enumerate(simulated_tasks(tasks))
        ]
        moves = [random.choice((1, -1)) if random.random() < 0.4 else 0 for _ in range(tasks)]  # noqa: PLR2004 - share that moves
        world = []
        for number in range(tasks):
            move = moves[number // _FAMILY]
            before = random.random() < 0.5 if move == 0 else move < 0  # noqa: PLR2004 - even odds
            world.append((abs(before - 0.1), abs((before if move == 0 else move > 0) - 0.1)))
        gate = Gate(made, _settings(run), runner_of(world, random))
        accepted += gate.decide("here", OLD, _NEW).outcome is Outcome.ACCEPT
    return accepted / len(runs)


def partial_rate(gain: float, tasks: int, runs: range) -> float:
    """Return the share of first gates that accept where each of five criteria, met in half of all runs, gains."""
    accepted = 0
    for run in runs:
        random = Random(f"{run}/{tasks}/partial")

        def rollout(request: RolloutRequest, random: Random = random) -> Rollout:
            chance = 0.5 + (gain if request.skill != OLD else 0.0)
            return scored(request, sum(random.random() < chance for _ in range(_CRITERIA)) / _CRITERIA)

        gate = Gate(simulated_tasks(tasks), _settings(run), ScriptedRunner(rollout, str))
        accepted += gate.decide("here", OLD, _NEW).outcome is Outcome.ACCEPT
    return accepted / len(runs)


_ANSWERS = Standing.PASSED, Standing.REFUSED, Standing.CANNOT_TELL


def change_rates(tasks: int, broken: float, runs: range, flips: float = 0.1) -> tuple[dict[Standing, float], float]:
    """Gate changes that break a share of the passing half of the tasks; give shares of answers, and mean rollouts."""
    answers, asked = dict.fromkeys(_ANSWERS, 0), 0
    suite = Suite("simulated", tuple((Split.VAL, task) for task in simulated_tasks(tasks)))
    for run in runs:
        before = [number % 2 == 0 for number in range(tasks)]
        after = [works and number >= broken * tasks for number, works in enumerate(before)]
        world = [(abs(one - flips), abs(other - flips)) for one, other in zip(before, after, strict=True)]
        runner = runner_of(world, Random(f"{run}/{tasks}/{broken}/change"))
        gate = ChangeGate(OLD, _NEW, suite, _settings(run), runner, Demand())
        list(gate.events())
        if gate.judged is not None:
            answers[gate.judged.answer] += 1
        asked += len(runner.requests)
    return {answer: count / len(runs) for answer, count in answers.items()}, asked / len(runs)


def _gate(
    tasks: int, run: int, random: Random, spent: float = 0.0, sticky: float = 0.0
) -> tuple[Gate, ScriptedRunner, list[tuple[float, float]]]:
    """Make a gate, its runner, and the chances that the runner goes by, which may be replaced."""
    world: list[tuple[float, float]] = []
    runner = runner_of(world, random, sticky)
    return Gate(simulated_tasks(tasks), _settings(run), runner, looked=[spent]), runner, world


def _settings(run: int) -> Settings:
    return Settings(seed=run, metric=Metric.SOFT)


def _candidate(number: int) -> Skill:
    return Skill("words", SkillDocument(f"new {number}"))


def _drawn(change: Change, tasks: int, flips: float) -> _Draw:
    return lambda random: change.draw(tasks, flips, random)


def _uniform(tasks: int) -> _Draw:
    """Each task passes with a chance of its own, whatever the text."""
    return lambda random: [(chance, chance) for chance in (random.random() for _ in range(tasks))]


def _uneven(tasks: int, share: float) -> _Draw:
    """A share always breaks, all others gain a little, nothing on average."""
    gain = share / (1 - share)
    return lambda random: [(1.0, 0.0) if random.random() < share else (0.9 - gain, 0.9) for _ in range(tasks)]


def _row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def _head(title: str, *cells: object) -> None:
    print(f"\n{title}\n")
    _row(*cells)
    print("|" + "---|" * len(cells))


def _show_gate(runs: range) -> None:
    _head("Gate: any accept in five / by the first @its rollouts", "candidate", "flips", *_SIZES)
    for change in (*_NULLS, *_GAINS):
        for flips in (0.1, 0.3):
            _row(change.name, flips, *(gate_rates(_drawn(change, size, flips), size, runs) for size in _SIZES))
    rates = (gate_rates(_drawn(_NULLS[0], size, 0.3), size, runs, _STICKY) for size in _SIZES)
    _row(f"same text, {_STICKY:.0%} of repeats as before", 0.3, *rates)
    _row("same text, any chance to pass", "-", *(gate_rates(_uniform(size), size, runs) for size in _SIZES))


def _show_uneven(runs: range) -> None:
    _head("Gate where some tasks always break and all others gain a little", "share that breaks", *_SIZES)
    for share in (0.05, 0.1, 0.2):
        _row(share, *(gate_rates(_uneven(size, share), size, runs) for size in _SIZES))


def _show_nights(runs: range) -> None:
    _head("Years of nights without a gain that accept", "flips", *_SIZES)
    for flips in (0.1, 0.3):
        _row(flips, *(f"{night_rate(size, flips, runs):.3f}" for size in _SIZES))


def _show_release(runs: range) -> None:
    _head("Release check: released", "version", *_SIZES)
    for loss, share, before in _RARE_LOSSES:
        _row(
            f"-{loss:g} in {share:.0%}, as much gained by all others",
            *(f"{release_rate(size, runs, _rare_loss(loss, share, before)):.3f}" for size in _SIZES),
        )
    for change in (*_NULLS, *_GAINS):
        _row(change.name, *(f"{release_rate(size, runs, _flipping(change)):.3f}" for size in _SIZES))


def _rare_loss(loss: float, share: float, before: float) -> Callable[[RolloutRequest, Random], float]:
    def score(request: RolloutRequest, random: Random) -> float:
        if request.skill == OLD:
            return before
        return before - loss if random.random() < share else before + loss * share / (1 - share)

    return score


def _flipping(change: Change) -> Callable[[RolloutRequest, Random], float]:
    """Draw each pair at its second side; the first is even odds whatever the task."""
    known: dict[str, tuple[float, float]] = {}

    def score(request: RolloutRequest, random: Random) -> float:
        if request.skill == OLD:
            known[request.task.id] = change.draw(1, 0.1, random)[0]
        return float(random.random() < known[request.task.id][request.skill != OLD])

    return score


def _show_here(runs: range) -> None:
    _head("Grade with four rounds: proven, proven here", "candidate", "flips", 4, *_SIZES[:3])
    for change in (_NULLS[0], *_GAINS):
        for flips in (0.0, 0.1, 0.3):
            cells = (here_rates(_drawn(change, size, flips), size, runs) for size in (4, *_SIZES[:3]))
            _row(change.name, flips, *(f"{proven:.2f}, {here:.2f}" for proven, here in cells))


def _show_later(runs: range) -> None:
    _head("Drafts on an accepted version, flips .1: accepted @rollouts", "of all tasks, it", *_SIZES)
    for change in _LATER:
        rates = (later_rate(change, size, runs) for size in _SIZES)
        _row(change.name, *(f"{share:.3f} @{asked:.0f}" for share, asked in rates))


def _show_families(runs: range) -> None:
    _head("First gate where families of four near copies move together, 20% up and 20% down", "candidate", *_SIZES)
    _row("nothing on average", *(f"{family_rate(size, runs):.3f}" for size in _SIZES))


def _show_partial(runs: range) -> None:
    _head("First gate with five criteria a task", "gain in each task", *_SIZES)
    for gain in (0.0, 0.2, 0.4):
        _row(f"{gain:+.1f}", *(f"{partial_rate(gain, size, runs):.3f}" for size in _SIZES))


def _show_change(runs: range) -> None:
    titles = ("val tasks", "of the passing tasks, the change breaks", *_ANSWERS, "rollouts")
    _head("Change gate, half of the tasks pass, flips .1", *titles)
    for size in (8, 12, 24, 48):
        for broken in (0.0, 0.2, 0.3, 0.5, 1.0):
            shares, asked = change_rates(size, broken, runs)
            _row(size, f"{broken:.0%}", *(f"{share:.2f}" for share in shares.values()), f"{asked:.0f}")


_TABLES: dict[str, Callable[[range], None]] = {
    "gate": _show_gate,
    "uneven": _show_uneven,
    "families": _show_families,
    "partial": _show_partial,
    "nights": _show_nights,
    "release": _show_release,
    "here": _show_here,
    "later": _show_later,
    "change": _show_change,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("tables", nargs="*", choices=[*_TABLES, []], metavar="TABLE")
    parser.add_argument("--runs", type=int, default=400, help="a cell")
    parser.add_argument(
        "--first", type=int, default=5000, help="seed of the first run; settings were chosen below 1000"
    )
    asked = parser.parse_args(arguments)
    for name, show in _TABLES.items():
        if not asked.tables or name in asked.tables:
            show(range(asked.first, asked.first + asked.runs))


if __name__ == "__main__":
    main()
