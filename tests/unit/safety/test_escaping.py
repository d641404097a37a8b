"""Untrusted text shown to people: nothing hides in it, and it stays where it is put."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.safety.disguised_text import hidden_runs
from skillopt.safety.escaping import escape_hidden, escape_log_line, escape_terminal, escape_terminal_lines, truncate

TEXT = st.one_of(st.text(), st.text(alphabet="a\u202e\u200b\ufeff\x1b\x00\n\t\r\u2028 :#["))


@given(TEXT)
def test_nothing_that_is_shown_is_hidden(text: str) -> None:
    for shown in (escape_hidden(text), escape_terminal_lines(text)):
        assert [run for run in hidden_runs(f"x{shown}") if run.text.strip()] == []


@given(TEXT)
def test_plain_text_is_one_line_without_control_characters(text: str) -> None:
    assert len(escape_terminal(text).splitlines()) <= 1
    assert not [character for character in escape_terminal(text) if character < " " or "\x7f" <= character <= "\x9f"]


def test_of_a_long_run_of_hidden_characters_some_are_named_and_the_others_counted() -> None:
    assert escape_hidden("a" + "\u200b" * 14) == f"a⟨{' '.join(['U+200B'] * 12)} and 2 more⟩"


def test_a_clipped_text_says_that_there_is_more_and_a_short_one_stays() -> None:
    assert truncate("a long text", 6) == "a lon\u2026"
    assert truncate("short", 5) == "short"


@given(TEXT)
def test_no_line_is_a_command_to_the_service_that_runs_the_job(text: str) -> None:
    for line in escape_terminal_lines(text).splitlines():
        assert not escape_log_line(line).lstrip().startswith("::")
        assert "##[" not in escape_log_line(line)
