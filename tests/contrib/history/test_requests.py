"""Requests of sessions, what was said against their results, and repeated failures."""

from skillopt.contrib.history.past_session import PastSession, PastTurn, SessionKind
from skillopt.contrib.history.requests import is_correction, session_requests


def session(*turns: PastTurn, name: str = "a") -> PastSession:
    return PastSession("claude-code", name, SessionKind.PERSON, "/w", "2026-11-20T10:00:00Z", "main", "", turns)


def test_words_against_a_result_are_corrections_and_new_requests_are_none() -> None:
    against = (
        *("No, use commas.", "That's not what I asked for", "undo that", "It still fails with a KeyError"),
        *("You forgot the header", "Actually, sort by date", "the dates should have been ISO", "Nein, mit Komma"),
        *("不对, 用逗号", "this doesn't work"),
    )
    new = (
        *("Now add a test for it.", "Thanks, that is great!", "No problem, go on with the next table"),
        *("Notify the team when it is done", "Write a stopwatch in Python", "Noah's table needs the same"),
    )
    assert [text for text in against if not is_correction(text)] == []
    assert [text for text in new if is_correction(text)] == []


def test_a_correction_belongs_to_the_request_before_it() -> None:
    found = session_requests(
        session(
            PastTurn("Clean the table of vendors", ("rows",), ("KeyError: 'a'",), ("a.csv",)),
            PastTurn("No, use commas", paths=("b.csv",)),
            PastTurn("It still fails", failures=("exit status 17",)),
            PastTurn("Thanks!"),
            PastTurn("Write a poem on the rain"),
        )
    )

    assert [(one.text, one.corrections) for one in found] == [
        ("Clean the table of vendors", ("No, use commas", "It still fails")),
        ("Write a poem on the rain", ()),
    ]
    assert (found[0].paths, found[0].failures) == (("a.csv", "b.csv"), ("KeyError: 'a'", "exit status 17"))
    assert [one.after for one in found] == [0, 1]


def test_what_was_asked_of_this_program_or_is_hardly_a_request_is_none() -> None:
    assert (
        session_requests(
            session(
                PastTurn("Improve my skill rows with the tools", own=True),
                PastTurn("/compact and all that follows"),
                PastTurn("go on"),
                PastTurn("word " * 3_000),
            )
        )
        == ()
    )
