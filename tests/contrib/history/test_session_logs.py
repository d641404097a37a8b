"""Sessions as the clients keep them, in every form, whole or damaged."""

import json
import os
from pathlib import Path

import pytest

from skillopt.contrib.history.claude_sessions import ClaudeSessions
from skillopt.contrib.history.codex_sessions import CodexSessions
from skillopt.contrib.history.past_session import (
    LONGEST_SESSION_LINE,
    LineTally,
    PastSession,
    PastTurn,
    SessionKind,
    find_logs,
    read_log,
)
from tests.fakes.past_sessions import Said, claude_log, codex_log, write_log

TURNS = (
    Said("Clean data/vendors.csv for the import", skill="rows", path="data/vendors.csv", failed="KeyError: 'name'"),
    Said("No, use commas", interrupted=True),
)


def read(path: Path, tally: LineTally | None = None, *, codex: bool = False) -> PastSession:
    tally = tally or LineTally()
    reader = CodexSessions({}, Path("/nobody")) if codex else ClaudeSessions({}, Path("/nobody"))
    return reader.read(read_log(path, tally), tally, lambda *_: True)


def test_a_session_of_claude_code_gives_words_skills_paths_failures_and_interruptions(tmp_path: Path) -> None:
    session = read(write_log(tmp_path / "a.jsonl", claude_log("/home/ann/shop", TURNS)))

    assert (session.id, session.cwd, session.branch, session.kind) == (
        "one",
        "/home/ann/shop",
        "main",
        SessionKind.PERSON,
    )
    assert session.turns == (
        PastTurn(
            "Clean data/vendors.csv for the import",
            ("rows",),
            ("KeyError: 'name'",),
            ("data/vendors.csv", "/home/ann/shop/data/vendors.csv"),
        ),
        PastTurn("No, use commas", interrupted=True),
    )


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        (claude_log("/w", TURNS, entrypoint="sdk-cli"), SessionKind.HEADLESS),
        (claude_log("/w", TURNS, promptSource="sdk"), SessionKind.HEADLESS),
        (claude_log("/w", TURNS, isSidechain=True), SessionKind.SUBAGENT),
        (codex_log("/w", TURNS, originator="codex_exec"), SessionKind.HEADLESS),
        (codex_log("/w", TURNS, source="mcp"), SessionKind.HEADLESS),
        (codex_log("/w", TURNS, source={"subagent": "review"}), SessionKind.SUBAGENT),
    ],
)
def test_sessions_without_a_person_are_told(tmp_path: Path, rows: list[dict[str, object]], kind: SessionKind) -> None:
    session = read(write_log(tmp_path / "a.jsonl", rows), codex="payload" in rows[0])

    assert session.kind is kind


def test_what_sub_agents_and_the_client_say_is_not_taken_for_words_of_the_person(tmp_path: Path) -> None:
    rows = claude_log("/w", [Said("Before <system-reminder>Be kind</system-reminder>after"), Said("/compact")])
    rows += claude_log("/w", [Said("Look at all the files")], isSidechain=True)
    rows += claude_log("/w", [Said("Summary of it all")], isCompactSummary=True)
    session = read(write_log(tmp_path / "a.jsonl", rows))

    assert [turn.text for turn in session.turns] == ["Before after", "/compact"]


def test_damaged_lines_are_counted_and_the_others_read(tmp_path: Path) -> None:
    good = json.dumps(claude_log("/w", [Said("Clean the table")])[2]).encode()
    huge = b'{"type":"user","message":{"content":"' + b"x" * LONGEST_SESSION_LINE + b'"}}'
    path, tally = tmp_path / "a.jsonl", LineTally()
    broken = [b"\xff\xfe\x00 no text", b"42", b"[" * 5_000, b'"text"', huge, good[:40]]
    path.write_bytes(b"\n".join([good, b"", good.replace(b"Clean", b"Cl\xffan"), *broken]))
    session = read(path, tally)

    assert [turn.text for turn in session.turns] == ["Clean the table", "Cl\ufffdan the table"]
    assert (tally.lines, tally.long, tally.broken) == (7, 1, 5)


def test_links_and_special_files_are_counted_and_not_followed(tmp_path: Path) -> None:
    outside, folder, tally = tmp_path / "outside", tmp_path / "logs", LineTally()
    write_log(outside / "a.jsonl", claude_log("/w", TURNS))
    write_log(folder / "b.jsonl", claude_log("/w", TURNS))
    (folder / "linked").symlink_to(outside)
    (folder / "c.jsonl").symlink_to(outside / "a.jsonl")
    os.mkfifo(folder / "d.jsonl")
    found = list(find_logs(folder, tally))

    assert [path.name for path in found] == ["b.jsonl", "d.jsonl"]
    assert tally.links == 2
    assert [list(read_log(path, tally)) != [] for path in found] == [True, False]
    assert (tally.files, tally.links) == (1, 3)


def test_a_log_of_another_folder_is_read_no_further_than_its_folder(tmp_path: Path) -> None:
    tally = LineTally()
    path = write_log(tmp_path / "a.jsonl", claude_log("/elsewhere", TURNS * 100))
    session = ClaudeSessions({}, Path("/n")).read(read_log(path, tally), tally, lambda cwd, _: cwd == "/here")

    assert session.turns == ()
    assert tally.lines <= 2


def test_a_long_session_is_kept_in_bounds(tmp_path: Path) -> None:
    said = [Said(f"Request number {number} " + "word " * 4_100) for number in range(410)]
    session = read(write_log(tmp_path / "a.jsonl", claude_log("/w", said)))

    assert len(session.turns) <= 400
    assert max(len(turn.text) for turn in session.turns) <= 20_000
