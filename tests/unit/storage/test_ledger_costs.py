"""What the ledger tells of money, and how small it keeps what it was given."""

import sqlite3
import zlib
from contextlib import closing

import pytest

from skillopt.errors import LedgerError
from skillopt.rollouts import Message, Reply, Rollout, Score, Status, Trajectory, Usage
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


def large(number: int) -> Rollout:
    words = "".join(f"{word * 7919 % 10007} " for word in range(300))
    trajectory = Trajectory((Message("user", f"{words} order {number}"),), str(number))
    return Rollout(f"t{number}", "d" * 64, 0, trajectory, Status.OK, Score(0.5, passed=False))


def sizes(ledger: Ledger) -> list[int]:
    with closing(sqlite3.connect(ledger.path)) as database:
        return [size for (size,) in database.execute("SELECT length(payload) FROM calls ORDER BY key")]


def test_later_rollouts_of_a_target_take_a_fraction_of_what_they_take_alone(ledger: Ledger) -> None:
    known = {f"k{number}": large(number) for number in range(3)}
    for pair in known.items():
        ledger.store_rollouts("run", [pair], "demo")
    ledger.store_rollouts("run", [("k9", large(9))])
    *against, alone = sizes(ledger)
    assert max(against) < alone / 3
    assert ledger.rollouts(list(known)) == known


def test_a_missing_dictionary_and_a_cut_payload_are_reported_as_damage(ledger: Ledger) -> None:
    ledger.store_rollouts("run", [("k0", large(0)), ("k1", large(1))], "demo")
    with closing(sqlite3.connect(ledger.path)) as database:
        whole = zlib.compress(b"{}" * 99)
        database.execute("UPDATE calls SET payload = ? WHERE key = 'k1'", [whole[:-3]])
        database.execute("DELETE FROM dictionaries")
        database.commit()
    for key in ("k0", "k1"):
        with pytest.raises(LedgerError, match="is damaged"):
            ledger.rollouts([key])
