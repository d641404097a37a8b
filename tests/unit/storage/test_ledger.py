"""The ledger: what it was given lasts, whatever happens to the process or the disk."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import BusyError, LedgerError, LedgerFormatError, UsageError
from skillopt.rollouts import Message, Reply, Rollout, Score, Status, ToolCall, Trajectory, Usage
from skillopt.storage.ledger import Ledger, RunRecord, rollout_key
from skillopt.storage.locks import is_locked, writer_lock

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
USAGES = st.builds(
    Usage,
    st.integers(0, 2**40),
    st.integers(0, 2**62),
    st.integers(0, 2**62),
    st.none() | st.floats(0, 1e9, allow_nan=False),
)
TRAJECTORIES = st.builds(
    Trajectory,
    st.lists(
        st.builds(Message, TEXTS, TEXTS, st.lists(st.builds(ToolCall, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple)),
        max_size=3,
    ).map(tuple),
    TEXTS,
    st.lists(TEXTS, max_size=3).map(tuple),
    st.sampled_from(Status),
    TEXTS,
    USAGES,
)
SCORES = st.builds(Score, st.floats(0, 1), st.booleans(), TEXTS)
ROLLOUTS = st.builds(
    Rollout, TEXTS, TEXTS, st.integers(0, 2**31), TRAJECTORIES, st.just(Status.OK), SCORES, TEXTS
) | st.builds(Rollout, TEXTS, TEXTS, st.integers(0, 9), TRAJECTORIES, st.just(Status.INFRA_ERROR), st.none(), TEXTS)
RECORD = RunRecord("abc123", "rows", "skills/rows", "{}", "c", "s", b"start \x00\xff", "base", 7)


def rollout(number: int = 0, *, failed: bool = False) -> Rollout:
    trajectory = Trajectory((Message("assistant", f"Answer {number}. " * 200),), answer=str(number))
    if failed:
        return Rollout(f"t{number}", "digest", 0, trajectory, Status.INFRA_ERROR, None, "broke")
    return Rollout(f"t{number}", "digest", 0, trajectory, Status.OK, Score(0.5, passed=False, feedback="no"))


def with_id(run: str, **changes: str) -> RunRecord:
    values = {name: getattr(RECORD, name) for name in RunRecord.__dataclass_fields__}
    return RunRecord(**{**values, "id": run, **changes})


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    with closing(Ledger.open(tmp_path_factory.mktemp("large"))) as opened:
        yield opened


class TestCalls:
    @given(value=ROLLOUTS)
    def test_a_rollout_comes_back_as_it_was(self, large: Ledger, value: Rollout) -> None:
        key = rollout_key(str(asdict(value)), "task", "harness", 0)
        if value.score is None:
            large.store_failures("run", [(key, value)])
            assert large.failures("run", [key]) == {key: value}
        else:
            assert large.store_rollouts("run", [(key, value)]) == {key: value}
            assert large.rollouts([key]) == {key: value}

    def test_a_batch_is_stored_whole_or_not_at_all(self, ledger: Ledger) -> None:
        bad = Rollout("\ud800", "", 0, Trajectory(), Status.OK, Score(1.0, passed=True))
        with pytest.raises(ValueError, match="surrogates"):
            ledger.store_rollouts("run", [("good", rollout()), ("bad", bad)])
        assert ledger.rollouts(["good", "bad"]) == {}
        ledger.store_rollouts("run", [("good", rollout())])

    def test_the_first_record_stays_and_is_what_everyone_gets(self, ledger: Ledger) -> None:
        ledger.store_rollouts("one", [("a", rollout(1))])
        given = ledger.store_rollouts("two", [("a", rollout(2)), ("b", rollout(3))])
        assert given == ledger.rollouts(["a", "b"]) == {"a": rollout(1), "b": rollout(3)}
        ledger.store_replies("one", [("r", Reply("first"))])
        assert ledger.store_replies("two", [("r", Reply("second"))]) == {"r": Reply("first")}


class TestRunsAndEvents:
    @pytest.mark.parametrize(("kind", "payload"), [("Other", "{}"), ("Kind", "{ }")])
    def test_another_event_at_the_same_place_stops_the_replay(self, ledger: Ledger, kind: str, payload: str) -> None:
        ledger.begin_run(RECORD)
        ledger.append_event(RECORD.id, 0, "Kind", "{}")
        with pytest.raises(LedgerError, match="event 0 was Kind"):
            ledger.append_event(RECORD.id, 0, kind, payload)
        assert [(event.kind, event.payload) for event in ledger.events(RECORD.id)] == [("Kind", "{}")]

    def test_a_run_is_found_by_its_id_or_how_it_begins(self, ledger: Ledger) -> None:
        for run in ("abc", "abcd", "b%_"):
            assert ledger.begin_run(with_id(run)).id == run
        assert ledger.run("abc").id == "abc"
        assert ledger.run("abcd").id == "abcd"
        assert ledger.run("b").start == RECORD.start
        for beginning in ("ab", "x", "", "b_", "%"):
            with pytest.raises(UsageError, match="expected one run"):
                ledger.run(beginning)


class TestTheFile:
    def test_reading_leaves_no_file_behind_and_cannot_write(self, tmp_path: Path) -> None:
        with closing(Ledger.open(tmp_path)) as ledger:
            ledger.store_rollouts("run", [("a", rollout())])
        before = sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / ".skillopt").iterdir())
        with closing(Ledger.open(tmp_path, read_only=True)) as ledger:
            assert ledger.rollouts(["a"]) == {"a": rollout()}
            with pytest.raises(LedgerError, match="readonly"):
                ledger.store_rollouts("run", [("b", rollout())])
        assert sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / ".skillopt").iterdir()) == before

    @pytest.mark.parametrize("read_only", [True, False])
    def test_a_file_that_is_no_database_is_named_and_left_as_it_is(self, tmp_path: Path, *, read_only: bool) -> None:
        path = tmp_path / ".skillopt" / "ledger.db"
        path.parent.mkdir()
        path.write_bytes(b"not a database, " * 512)
        with pytest.raises(LedgerError, match=r"ledger\.db is damaged"):
            Ledger.open(tmp_path, read_only=read_only)
        assert path.read_bytes() == b"not a database, " * 512

    @pytest.mark.parametrize(
        ("damage", "read"),
        [
            ("UPDATE calls SET score = 0.25", lambda ledger: ledger.run_results("r", ["digest"], "demo")),
            ("UPDATE calls SET passed = 1", lambda ledger: ledger.target_results("demo")),
            ("UPDATE calls SET task = 't9'", lambda ledger: ledger.run_results(RECORD.id, [], "")),
            ("UPDATE calls SET input_tokens = 7", lambda ledger: ledger.spending(RECORD.id)),
            ("UPDATE runs SET config = '[\\q'", lambda ledger: ledger.runs()),
            ("UPDATE runs SET state = 'finishee'", lambda ledger: ledger.run(RECORD.id)),
            ("UPDATE events SET payload = '{'", lambda ledger: ledger.events(RECORD.id)),
            ("UPDATE events SET kind = 'Kine'", lambda ledger: ledger.append_event(RECORD.id, 0, "Kind", "{}")),
        ],
    )
    def test_a_row_that_changed_on_the_disk_is_damage_and_no_other_fact(
        self, tmp_path: Path, damage: str, read: Callable[[Ledger], object]
    ) -> None:
        with closing(Ledger.open(tmp_path)) as ledger:
            ledger.begin_run(RECORD)
            ledger.store_rollouts(RECORD.id, [("a", rollout())], "demo")
            ledger.append_event(RECORD.id, 0, "Kind", "{}")
            ledger.end_run(RECORD.id, "finished", "")
            read(ledger)
            with closing(sqlite3.connect(ledger.path, isolation_level=None)) as database:
                database.execute(damage)
            with pytest.raises(LedgerError, match="is damaged"):
                read(ledger)

    def test_a_full_disk_loses_nothing_that_was_stored(self, tmp_path: Path) -> None:
        with closing(Ledger.open(tmp_path)) as ledger:
            ledger.store_rollouts("run", [("a", rollout(1))])
        with closing(sqlite3.connect(ledger.path, isolation_level=None)) as database:
            (pages,) = database.execute("PRAGMA page_count").fetchone()
            database.execute(f"PRAGMA max_page_count = {pages + 1}")
            full = Ledger(ledger.path, database, lambda: "now")
            with pytest.raises(LedgerError, match="disk is full"):
                full.store_replies("run", [(str(n), Reply(Random(n).randbytes(9000).hex())) for n in range(9)])
            assert full.counts()["reply"] == 0
            database.execute(f"PRAGMA max_page_count = {pages + 999}")
            full.store_replies("run", [("b", Reply("x"))])
        with closing(Ledger.open(tmp_path, read_only=True)) as ledger:
            assert (ledger.rollouts(["a"]), ledger.replies(["b"])) == ({"a": rollout(1)}, {"b": Reply("x")})


WRITER = """
import sys
from pathlib import Path
from skillopt.storage.ledger import Ledger
from tests.unit.storage.test_ledger import rollout

ledger = Ledger.open(Path(sys.argv[1]))
for number in range(int(sys.argv[2]), 1_000_000_000, 10):
    ledger.store_rollouts("run", [(str(n), rollout(n)) for n in range(number, number + 10)])
    print(number, flush=True)
"""
HOLDER = """
import sys
from pathlib import Path
from skillopt.storage.locks import writer_lock

with writer_lock(Path(sys.argv[1]), "rows"):
    print("held", flush=True)
    sys.stdin.read()
"""


def start(program: str, *arguments: object) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "error", "-c", program, *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    return subprocess.Popen(command, **pipes)  # type: ignore[call-overload,no-any-return]  # the pipes of three tests


class TestProcesses:
    @pytest.mark.process
    def test_a_kill_loses_nothing_that_was_reported_as_stored(self, tmp_path: Path) -> None:
        stored = 0
        for lines in (1, 7, 20):
            with start(WRITER, tmp_path, stored) as writer:
                assert writer.stdout is not None
                for _ in range(lines):
                    stored = int(writer.stdout.readline()) + 10
                writer.kill()
            assert writer.returncode == -signal.SIGKILL
            with closing(Ledger.open(tmp_path)) as ledger:
                found = ledger.rollouts([str(number) for number in range(stored)])
                assert found == {str(number): rollout(number) for number in range(stored)}
                assert ledger.counts()["rollout"] % 10 == 0
                stored = ledger.counts()["rollout"]
            with closing(sqlite3.connect(tmp_path / ".skillopt" / "ledger.db")) as database:
                assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

    def test_two_writers_on_the_same_skill_are_one_too_many(self, tmp_path: Path) -> None:
        with start(HOLDER, tmp_path) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(BusyError, match=f"{holder.pid} is training 'rows'"):
                writer_lock(tmp_path, "rows").__enter__()
            with writer_lock(tmp_path, "other"):
                pass
            holder.kill()
        assert not is_locked(tmp_path, "rows")
        with writer_lock(tmp_path, "rows"), pytest.raises(BusyError), writer_lock(tmp_path, "rows"):
            pass


@pytest.fixture
def held_out(tmp_path: Path) -> Iterator[Path]:
    Ledger.open(tmp_path).close()
    folder = tmp_path / ".skillopt"
    folder.chmod(0o555)
    if os.access(folder, os.W_OK):
        pytest.skip("root may write everywhere")
    yield tmp_path
    folder.chmod(0o755)


def test_a_folder_that_nobody_may_write_to_is_read(held_out: Path) -> None:
    with closing(Ledger.open(held_out, read_only=True)) as ledger:
        assert ledger.runs() == []


def test_with_pages_of_an_interrupted_writer_is_refused_rather_than_read_without_them(held_out: Path) -> None:
    (held_out / ".skillopt").chmod(0o755)
    (held_out / ".skillopt" / "ledger.db-wal").write_bytes(b"pages")
    (held_out / ".skillopt").chmod(0o555)
    with pytest.raises(LedgerError, match="make it writable"):
        Ledger.open(held_out, read_only=True)


@pytest.mark.parametrize("version", [0, 5])
@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_of_another_format_is_refused_and_stays(tmp_path: Path, version: int, *, read_only: bool) -> None:
    path = tmp_path / ".skillopt" / "ledger.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(LedgerFormatError, match=f"format 6, found format {version}"):
        Ledger.open(tmp_path, read_only=read_only)
    assert path.read_bytes() == before
