"""The benchmark of large libraries fills a ledger that the product reads like one of its own."""

from contextlib import closing
from pathlib import Path

from benchmarks.scale.library import Library, markdown
from benchmarks.scale.library_ledger import IDENTITY, Filled, fill_ledger, run_id, text_of
from skillopt.commands.prune import prune
from skillopt.storage.ledger import Ledger


def test_a_filled_ledger_holds_its_runs_and_whole_rollouts_of_each_text(tmp_path: Path) -> None:
    filled = fill_ledger(tmp_path, 2, 3, 600)
    assert filled.stored < filled.alone
    with closing(Ledger.open(tmp_path, read_only=True)) as ledger:
        assert (ledger.counts().rollouts, len(ledger.runs())) == (600, 6)
        rows = ledger.results([text_of(1, 2).digest], IDENTITY)
        assert [row.task for row in rows] == [f"task-{number:03}" for number in range(0, 100, 2)]
        of_run = ledger.run_results(run_id(1, 2), [], IDENTITY)
        assert [row.task for row in of_run] == [f"task-{number:03}" for number in range(100)]
        assert len(ledger.rollouts([row.key for row in of_run])) == 100


def test_prune_removes_of_it_the_drafts_of_old_runs_without_a_version(tmp_path: Path) -> None:
    fill_ledger(tmp_path, 1, 6, 60)
    assert prune(90, folder=tmp_path).answers.rollouts == 5  # of run 1; run 3 began 60 days ago, and run 5 today


def test_what_takes_longer_than_the_limit_is_said_to() -> None:
    found = Library(1, 1, 10, {"a": 2.0, "b": 2.1}, {"q": 0.5}, {"w": 9.0}, Filled(900.0, 300.0, 10_000), 5_000)
    said = markdown(found)
    assert "| a | 2.00 | yes |" in said
    assert "| b | 2.10 | **no** |" in said
    assert "| w | 9.0 |" in said
