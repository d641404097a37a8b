"""What the ledger tells of money, and what a damaged answer is."""

import sqlite3
import zlib
from contextlib import closing

import pytest

from skillopt.errors import LedgerError
from skillopt.rollouts import Reply, Rollout, Score, Status, Trajectory, Usage
from skillopt.storage.ledger import Ledger


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
        "optimizer": Usage(2, 14, 6, None, at_least=1.0),
    }
    assert ledger.spending("other") == {}


def test_the_mean_of_what_a_target_took_counts_its_judge_and_an_unknown_price_stays_unknown(ledger: Ledger) -> None:
    done = [("a", rollout(Usage(2, 10, 5, 0.25), Usage(3, 100, 20, 0.5))), ("b", rollout(Usage(1, 5, 0, 0.25)))]
    ledger.store_rollouts("run", done, "target")
    ledger.store_replies(
        "run", [("c", Reply("x", Usage(1, 7, 3, None))), ("d", Reply("y", Usage(1, 7, 5, 1.0)))], "model"
    )
    assert ledger.mean_cost("rollout", "target") == (2, 70.0, 0.5)
    assert ledger.mean_cost("reply", "model") == (2, 11.0, None)
    assert ledger.mean_cost("rollout", "model") == (0, 0.0, None)


def test_a_cut_payload_is_reported_as_damage(ledger: Ledger) -> None:
    ledger.store_rollouts("run", [("k1", rollout(Usage()))], "demo")
    with closing(sqlite3.connect(ledger.path)) as database:
        whole = zlib.compress(b"{}" * 99)
        database.execute("UPDATE calls SET payload = ? WHERE key = 'k1'", [whole[:-3]])
        database.commit()
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.rollouts(["k1"])
