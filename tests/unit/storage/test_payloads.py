"""What is recorded is compressed against the first answers of its target, and read back as it was."""

import sqlite3
import zlib
from contextlib import closing

import pytest

from skillopt.errors import LedgerError
from skillopt.rollouts import Message, Rollout, Score, Status, Trajectory
from skillopt.storage.ledger import Ledger


def rollout(number: int, text: str = "Read the vendor table input.csv, then write output.csv. " * 3) -> Rollout:
    words = "".join(f"{word * 7919 % 10007} " for word in range(300))
    trajectory = Trajectory((Message("user", f"{text} {words} order {number}"),), str(number))
    return Rollout(f"t{number}", "d" * 64, 0, trajectory, Status.OK, Score(0.5, passed=False))


def sizes(ledger: Ledger) -> list[int]:
    with closing(sqlite3.connect(ledger.path)) as database:
        return [size for (size,) in database.execute("SELECT length(payload) FROM calls ORDER BY key")]


def test_later_rollouts_of_a_target_take_a_fraction_of_what_they_take_alone(ledger: Ledger) -> None:
    known = {f"k{number}": rollout(number) for number in range(3)}
    for pair in known.items():
        ledger.store_rollouts("run", [pair], "demo")
    ledger.store_rollouts("run", [("k9", rollout(9))])
    *against, alone = sizes(ledger)
    assert max(against) < alone / 3
    assert ledger.rollouts(list(known)) == known


def test_a_missing_dictionary_and_a_cut_payload_are_reported_as_damage(ledger: Ledger) -> None:
    ledger.store_rollouts("run", [("k0", rollout(0)), ("k1", rollout(1))], "demo")
    with closing(sqlite3.connect(ledger.path)) as database:
        whole = zlib.compress(b"{}" * 99)
        database.execute("UPDATE calls SET payload = ? WHERE key = 'k1'", [whole[:-3]])
        database.execute("DELETE FROM dictionaries")
        database.commit()
    for key in ("k0", "k1"):
        with pytest.raises(LedgerError, match="is damaged"):
            ledger.rollouts([key])
