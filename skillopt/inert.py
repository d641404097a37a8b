"""Untrusted text made inert for people's eyes: terminals, logs, Markdown.

Owns that such a text stays on its line, shows what is hidden in it, and steers no terminal and no renderer. Does not
own what is shown (reports, console).
"""

import re

from skillopt.hidden_unicode import hidden_runs

__all__ = ["log_line", "markdown_code", "plain", "plain_lines"]

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ELLIPSIS = "…"


def plain(text: str, limit: int = 0) -> str:
    r"""Show a text on one line, hidden characters and control characters as escapes.

    >>> print(plain("a\n\x1b[31mred"))
    a\n\x1b[31mred

    Args:
        text: Untrusted.
        limit: Most characters, 0 for no limit.
    """
    shown = _escaped(text, _CONTROL)
    return shown if not limit or len(shown) <= limit else shown[: limit - 1] + _ELLIPSIS


def plain_lines(text: str) -> str:
    """Show a text with its lines and tabs as they are, all else as `plain` does."""
    return "\n".join("\t".join(_escaped(cell, _CONTROL) for cell in line.split("\t")) for line in text.splitlines())


def markdown_code(text: str, limit: int = 0) -> str:
    r"""Show a text as inline code that it cannot leave, also in the cell of a table.

    >>> print(markdown_code("a `b` <c>|@d"))
    ``a `b` <c>\|@d``

    Args:
        text: Untrusted.
        limit: Most characters, 0 for no limit.
    """
    flat = plain(text, limit).replace("|", "\\|")
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") or not flat else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"


def log_line(line: str) -> str:
    r"""Show a line in the log of a job so that it is no command to the service that runs the job.

    >>> print(log_line("::stop-commands::x"))
    \::stop-commands::x
    """
    line = line.replace("##[", "##\\[")
    return f"\\{line}" if line.lstrip().startswith("::") else line


def _escaped(text: str, control: re.Pattern[str]) -> str:
    pieces, position = [], 0
    for run in hidden_runs(text):
        pieces += [text[position : run.start], "".join(map(_escape, run.text))]
        position = run.start + len(run.text)
    return control.sub(lambda match: _escape(match[0]), "".join([*pieces, text[position:]]))


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")
