"""Files that a command writes its report to.

Owns that a report is whole or not there, the words when it cannot be written, and cutting what is too long for a
place. Does not own what is in it (reports).
"""

from pathlib import Path
from typing import Final

from skillopt.errors import UsageError

__all__ = ["append_report", "cut_report", "write_report"]

_CUT: Final = "\nThe rest is left out here; the reports of the job have all of it.\n"


def append_report(path: Path, text: str, option: str) -> None:
    """Add a report to a file to which others add theirs.

    Args:
        path: The file; it need not exist.
        text: The report.
        option: What named the file, for the error.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}; choose another {option}"
        raise UsageError(message) from error


def cut_report(text: str, most: int) -> str:
    r"""Keep the first lines of a Markdown text where only so many bytes are shown, and say that there is more.

    >>> cut_report("one\ntwo\n", 8) == "one\ntwo\n", cut_report("word\n" * 30, 80).count("word")
    (True, 2)

    Args:
        text: The report; no block of it may reach over several lines.
        most: Most bytes in UTF-8, at least a hundred.
    """
    if len(text.encode()) <= most:
        return text
    kept = text.encode()[: most - len(_CUT)].decode("utf-8", "ignore")
    return kept[: kept.rfind("\n") + 1] + _CUT


def write_report(path: Path, text: str, option: str = "--output") -> None:
    """Write a report aside and put it in place.

    Args:
        path: The file.
        text: The report.
        option: What named the file, for the error.

    Raises:
        UsageError: The file cannot be written.
    """
    aside = path.with_name(f"{path.name}.new")
    try:
        aside.write_text(text.removesuffix("\n") + "\n", encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}; choose another {option}"
        raise UsageError(message) from error
