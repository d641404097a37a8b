"""What the ledger tells of money: who spent it, and what a call costs in the mean."""

from contextlib import closing
from pathlib import Path

from skillopt.rollouts import Reply, Rollout, Score, Status, Trajectory, Usage
from skillopt.storage.ledger import Ledger
from skillopt.storage.mean_costs import mean_cost


def rollout(target: Usage, judge: Usage | None = None) -> Rollout:
    score = Score(1.0, passed=True, usage=judge or Usage())
    return Rollout("t", "", 0, Trajectory(usage=target), Status.OK, score)


def test_it_is_told_role_by_role_and_an_unknown_price_stays_unknown(ledger: Ledger) -> None:
    done = rollout(Usage(2, 10, 5, 0.25), Usage(3, 100, 20, 0.5))
    ledger.store_rollouts("run", [("a", done), ("b", done)], "someone")
    ledger.store_replies("run", [("c", Reply("x", Usage(1, 7, 3, None))), ("d", Reply("y", Usage(1, 7, 3, 1.0)))])
    assert ledger.spending("run") == {
        "target": Usage(2, 20, 10, 0.5),
        "judge": Usage(6, 240, 0, 1.0),
        "optimizer": Usage(2, 14, 6, None),
    }
    assert ledger.spending("other") == {}


def test_the_pace_is_the_time_between_records_without_pauses(tmp_path: Path) -> None:
    times = iter(["10:00:00", "10:00:20", "10:00:30", "12:00:00", "12:00:40"])
    with closing(Ledger.open(tmp_path, now=lambda: f"2026-01-01T{next(times)}+00:00")) as opened:
        for key in "ab":
            opened.store_rollouts("run", [(key, rollout(Usage()))], "target")
        opened.store_replies("run", [("c", Reply("x"))], "model")
        for key in "de":
            opened.store_rollouts("run", [(key, rollout(Usage()))], "target")
        rows = opened.costs()
    found = [mean_cost(rows, "rollout", "target"), mean_cost(rows, "reply", "model")]
    assert [one and one.pace for one in found] == [30, 10]
