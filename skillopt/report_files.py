"""Files that a command writes its report to.

Owns that a report is whole or not there, and the words when it cannot be written. Does not own what is in it (reports).
"""

from pathlib import Path

from skillopt.errors import UsageError

__all__ = ["append_report", "write_report"]


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
