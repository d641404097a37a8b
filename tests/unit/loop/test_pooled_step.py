"""Under much noise edits are judged by whole epochs of train tasks."""

from skillopt.loop.decision import gate_is_due
from skillopt.loop.evidence import TrainEvidence
from skillopt.loop.policy import Epochs
from skillopt.settings import Metric
from tests.fakes.worlds import World, drive, line, named

SIZES = (12, 12, 0)


def begun(tasks: int = 12, alpha: int = 6) -> tuple[TrainEvidence, Epochs]:
    """Return epochs of tasks of which so many lack a word."""
    needs = {f"train-{at}": ("alpha",) if at < alpha else () for at in range(tasks)}
    evidence = World(needs).evidence()
    evidence.rates.reruns, evidence.rates.gone = 40.0, 16.0
    epochs = Epochs(evidence, Metric.MIXED)
    drive(evidence, evidence.run(evidence.draft.skill, evidence.tasks))
    return evidence, epochs


def go_through(evidence: TrainEvidence, epochs: Epochs, word: str) -> bool | None:
    """Run an epoch under a draft that says a word."""
    evidence.draft.set([line(word, {})])
    return epochs.add(drive(evidence, evidence.run(evidence.draft.skill, epochs.next_batch(99))))


def test_batches_of_an_epoch_hold_every_task_once() -> None:
    evidence, epochs = begun()
    batches = [epochs.next_batch(5) for _ in range(3)]
    assert [len(batch) for batch in batches] == [5, 5, 2]
    assert sorted(name for batch in batches for name in batch) == sorted(evidence.tasks)


def test_an_epoch_says_whether_it_scored_higher_than_each_before() -> None:
    evidence, epochs = begun()
    assert [go_through(evidence, epochs, word) for word in ("omega", "alpha", "alpha")] == [True, True, False]


def test_the_gate_is_asked_when_an_epoch_has_scored_higher() -> None:
    run = World(named([("alpha",)], SIZES)).training(str, SIZES)
    run.policy.epochs.pooled = True
    run.draft.set([line("omega", {})])
    assert not gate_is_due(run)
    run.policy.epochs.rose = True
    assert gate_is_due(run)
