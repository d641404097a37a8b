"""What is kept is not read again, and what is kept has room."""

import pytest

from skillopt.commands.read_once import ReadOnce


class Shelf:
    """Reads texts, and remembers which."""

    def __init__(self, most: int) -> None:
        self.kept = ReadOnce[str](most, len)
        self.read: list[str] = []

    def get(self, text: str) -> str:
        def read() -> str:
            self.read.append(text)
            return text

        return self.kept.get(text, read)


def test_a_value_is_read_once() -> None:
    shelf = Shelf(10)
    assert [shelf.get(text) for text in ("aa", "bb", "aa", "bb")] == ["aa", "bb", "aa", "bb"]
    assert shelf.read == ["aa", "bb"]


def test_what_was_not_asked_for_the_longest_goes_first() -> None:
    shelf = Shelf(6)
    for text in ("aa", "bb", "cc", "aa", "dd", "aa", "cc", "bb"):
        shelf.get(text)
    assert shelf.read == ["aa", "bb", "cc", "dd", "bb"]


def test_a_value_without_room_is_given_and_drives_out_nothing() -> None:
    shelf = Shelf(3)
    assert [shelf.get(text) for text in ("bb", "aaaa", "aaaa", "bb")] == ["bb", "aaaa", "aaaa", "bb"]
    assert shelf.read == ["bb", "aaaa", "aaaa"]


def test_a_failure_is_not_kept() -> None:
    kept = ReadOnce[str](9, len)
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: str(1 // 0))
    assert kept.get("a", lambda: "a") == "a"
