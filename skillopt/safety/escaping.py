"""Write text for people: escape what is untrusted, truncate, and put numbers with their nouns.

Hidden characters are escaped for every medium, control characters for terminals and logs: nothing in an escaped text
hides, and on a terminal or in a log it stays on its line and steers nothing.
"""

import re
from collections.abc import Iterator

from skillopt.safety.disguised_text import hidden_runs

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_STEERING_JSON = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What JSON may hold as it is and a terminal may obey; JSON escapes the other control characters by itself."""

_MOST_NAMES = 12  # of a run of hidden characters, which can be a hundred thousand long


def escape_hidden(text: str) -> str:
    r"""Write hidden characters as their code points, in brackets; line breaks and tabs stay."""
    shown = []
    for hidden, piece in _pieces(text):
        names = " ".join(f"U+{ord(character):04X}" for character in piece[:_MOST_NAMES] if hidden)
        more = f" and {len(piece) - _MOST_NAMES} more" if len(piece) > _MOST_NAMES else ""
        shown.append(f"⟨{names}{more}⟩" if hidden else piece)
    return "".join(shown)


def truncate(text: str, most: int) -> str:
    """Truncate a text to a number of characters (at least 1), with an ellipsis where something is cut."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}\u2026"


def escape_terminal(text: str) -> str:
    r"""Show a text on one line of a terminal, hidden characters and control characters as escapes."""
    shown = ("".join(map(_escape, piece)) if hidden else piece for hidden, piece in _pieces(text))
    return _CONTROL.sub(lambda match: _escape(match[0]), "".join(shown))


def escape_terminal_lines(text: str) -> str:
    """Show a text with its lines and tabs as they are, all else as `escape_terminal` does."""
    return "\n".join("\t".join(map(escape_terminal, line.split("\t"))) for line in text.splitlines())


def escape_json(text: str) -> str:
    """Escape in JSON what it may hold as it is and a terminal may obey."""
    return _STEERING_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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


def escape_log_line(line: str) -> str:
    """Show a line in the log of a job so that it is no command to the service that runs the job."""
    line = line.replace("##[", "##\\[")
    return f"\\{line}" if line.lstrip().startswith("::") else line


def count_noun(number: int, noun: str, several: str = "") -> str:
    """Write a number with its noun.

    >>> count_noun(1, "task"), count_noun(1200, "task"), count_noun(2, "query", "queries")
    ('1 task', '1,200 tasks', '2 queries')
    """
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"
