"""Every query of the ledger goes by an index, so that it takes as long with a million rollouts as with a thousand."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from skillopt.rollouts import Reply, Rollout, Score, Status, Trajectory
from skillopt.storage.ledger import Ledger, RunRecord

RECORD = RunRecord("abc123", "rows", "skills/rows", "[]", "c", "s", b"start", "base", 7)
ROLLOUT = Rollout("t0", "d", 0, Trajectory((), "done"), Status.OK, Score(1.0, passed=True))
BIG = re.compile(r"SCAN (calls|events|failures)\b(?! USING COVERING INDEX)")


class Noting(sqlite3.Connection):
    """A connection that notes what it is asked."""

    def noted(self) -> list[str]:
        asked: list[str] = []
        self.set_trace_callback(asked.append)
        return asked


def test_no_query_of_the_ledger_reads_all_payloads(tmp_path: Path) -> None:
    Ledger.open(tmp_path).close()
    path = tmp_path / ".skillopt" / "ledger.db"
    with closing(sqlite3.connect(path, isolation_level=None, factory=Noting)) as database:
        asked = database.noted()
        ledger = Ledger(path, database, lambda: "2026-01-01T00:00:00+00:00")
        ledger.begin_run(RECORD)
        ledger.store_rollouts("abc123", [("k", ROLLOUT)], "demo")
        ledger.store_replies("abc123", [("r", Reply("x"))], "model")
        ledger.store_failures("abc123", [("f", ROLLOUT)])
        ledger.failures("abc123", ["f"])
        ledger.append_event("abc123", 0, "Kind", "{}")
        ledger.events("abc123")
        ledger.rollouts(["k"])
        ledger.replies(["r"])
        ledger.run_results("abc123", ["d"], "demo")
        ledger.target_results("demo")
        ledger.counts()
        ledger.spending("abc123")
        ledger.was_billed()
        ledger.unfinished_bases()
        ledger.end_run("abc123", "finished", "")
        ledger.mean_cost("reply", "model")
        ledger.mean_seconds("demo")
        database.set_trace_callback(None)
        scans = {
            (query, row[3])
            for query in asked
            if query.lstrip().startswith(("SELECT", "UPDATE", "INSERT", "DELETE"))
            for row in database.execute(f"EXPLAIN QUERY PLAN {query}")
            if BIG.search(row[3])
        }
    # One row is read of those that were billed.
    assert {plan for _, plan in scans} <= {"SCAN calls USING INDEX calls_billed"}
    assert all(query.endswith("LIMIT 1") for query, _ in scans)
