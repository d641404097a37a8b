"""Untrusted text made inert for people's eyes: what every medium shares, and terminals and logs.

Owns that nothing in such a text hides, and that on a terminal or in a log it stays on its line and steers nothing.
Does not own Markdown (reports.inert_markdown), HTML (reports.html.inert_html), or what is shown (reports, cli).
"""

import re
from collections.abc import Iterator

from skillopt.safety.hidden_unicode import hidden_runs

__all__ = ["clip", "log_line", "plain", "plain_lines", "visible", "visible_pieces"]

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_MOST_NAMES = 12
"""Hidden characters of a run that are named; a run can be a hundred thousand long."""


def visible(text: str) -> str:
    r"""Write hidden characters as their code points, in brackets that are hardly met elsewhere.

    >>> visible("safe\u202etxt.exe")
    'safe⟨U+202E⟩txt.exe'

    Args:
        text: Any text; line breaks and tabs stay.
    """
    return "".join(f"⟨{piece}⟩" if hidden else piece for hidden, piece in visible_pieces(text))


def visible_pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Split a text into what is seen and the names of what is not; `True` marks names."""
    for hidden, piece in _pieces(text):
        names = " ".join(f"U+{ord(character):04X}" for character in piece[:_MOST_NAMES]) if hidden else piece
        more = len(piece) - _MOST_NAMES if hidden else 0
        yield hidden, f"{names} and {more} more" if more > 0 else names


def clip(text: str, most: int) -> str:
    """Keep the beginning of a text, and say that there is more.

    Args:
        text: Any text.
        most: Most characters that are kept, ≥ 1.
    """
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}\u2026"


def plain(text: str) -> str:
    r"""Show a text on one line of a terminal, hidden characters and control characters as escapes.

    >>> print(plain("a\n\x1b[31mred"))
    a\n\x1b[31mred
    """
    shown = ("".join(map(_escape, piece)) if hidden else piece for hidden, piece in _pieces(text))
    return _CONTROL.sub(lambda match: _escape(match[0]), "".join(shown))


def plain_lines(text: str) -> str:
    """Show a text with its lines and tabs as they are, all else as `plain` does."""
    return "\n".join("\t".join(map(plain, line.split("\t"))) for line in text.splitlines())


def log_line(line: str) -> str:
    r"""Show a line in the log of a job so that it is no command to the service that runs the job.

    >>> print(log_line("::stop-commands::x"))
    \::stop-commands::x
    """
    line = line.replace("##[", "##\\[")
    return f"\\{line}" if line.lstrip().startswith("::") else line


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Split a text into what is seen and what is not."""
    # Where a text begins a byte order mark is none; where it is shown it is hidden text like any other.
    shifted, position = f"x{text}", 1
    for run in hidden_runs(shifted):
        yield False, shifted[position : run.start]
        yield True, run.text
        position = run.start + len(run.text)
    yield False, shifted[position:]


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")
