"""Commands in comments and boxes in texts: what is read of them, whatever else stands there."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.nightly.people_commands import (
    AskedCommand,
    Verb,
    handled_mark,
    read_asked,
    read_checklist,
    read_closing,
    read_commands,
)
from skillopt.protocols import Comment, PullRequest

KEY = "0123456789ab"
BODY = f"""- [x] **1** Write dates. <!-- skillopt edit: {KEY}/1 -->
- [ ] **2** Lower case. <!-- skillopt edit: {KEY}/2 -->
- [X] **3** Trim. <!-- skillopt edit: {KEY}/3 -->
"""


def comment(body: str, identity: int = 5, *, may_write: bool = True) -> Comment:
    return Comment(identity, "anna", body, f"2026-01-02T03:04:{identity:02d}Z", "https://forge/c", may_write)


def request(body: str = BODY) -> PullRequest:
    return PullRequest(7, "https://forge/7", "open", "", "Title", body)


def test_each_verb_is_read_with_what_belongs_to_it() -> None:
    text = "Thanks.\n/skillopt drop 7 8, #9: too strict\n/skillopt ignore\n/skillopt unignore: again"
    assert read_commands(text) == (
        AskedCommand(Verb.DROP, (7, 8, 9), "too strict"),
        AskedCommand(Verb.IGNORE),
        AskedCommand(Verb.UNIGNORE, reason="again"),
    )


@pytest.mark.parametrize("line", ["/skillopt dorp 2", "/skillopt drop", "/skillopt", "/skillopt ignore rows"])
def test_a_command_that_is_not_understood_is_given_as_it_stands(line: str) -> None:
    assert read_commands(f"Hm.\n{line}\r\nPlease.") == (AskedCommand(None, reason=line),)


@pytest.mark.parametrize("block", ["```\n{}\n```", "````sh\n```\n{}\n````", "~~~\n{}\n```\n~~~", "  ```\n{}"])
def test_a_line_in_a_block_of_code_is_no_command(block: str) -> None:
    assert read_commands(block.format("/skillopt drop 1")) == ()
    after = "```\n/skillopt drop 1\n```\n```not a fence```\n/skillopt drop 2"
    assert read_commands(after) == (AskedCommand(Verb.DROP, (2,)),)


def test_commands_of_people_who_may_not_write_and_those_answered_before_are_left_out() -> None:
    said = [
        comment("/skillopt drop 1", 4),
        comment("/skillopt drop 3: why", 6),
        comment("/skillopt drop 1", 9, may_write=False),
    ]
    asked = read_asked(request(f"{BODY}\n\n{handled_mark(4)}\n"), said)
    assert [(one.verb, one.edits, one.by, one.reason) for one in asked] == [
        (Verb.DROP, (f"{KEY}/2",), "", ""),
        (Verb.DROP, (f"{KEY}/3",), "anna", "why"),
    ]


def test_the_reason_of_a_closed_one_is_what_was_said_by_who_may_write_when_it_was_closed() -> None:
    closed = replace(request(), state="closed", closed_at="2026-01-02T03:04:10+00:00")
    said = [comment("Too\nstrict.", 4), comment("Spam", 6, may_write=False), comment("/skillopt drop 2: long", 8)]
    found = read_closing(closed, said)
    assert (found.by, found.reason) == ("anna", "Too strict.")
    for at in ("2026-01-03T03:04:10+00:00", ""):
        assert read_closing(replace(closed, closed_at=at), [comment("Great work!", 4)]).reason == ""


def test_what_is_no_command_is_nothing() -> None:
    texts = ("> /skillopt drop 1", "see /skillopt drop 1", "/skillopt/drop 1", "/skilloptdrop 1")
    assert [read_commands(text) for text in texts] == [()] * len(texts)


@given(st.text(max_size=2000))
def test_no_text_breaks_reading_it(text: str) -> None:
    assert len(read_commands(f"/skillopt drop 1 {text}")) <= 20
    assert len(read_checklist(text)) <= len(text)
