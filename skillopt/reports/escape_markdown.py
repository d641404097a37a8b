"""Escape untrusted text for Markdown as GitHub reads it: pull requests, comments, summaries of jobs.

A report is read three times: as Markdown, as the HTML that comes of it, where `@name` and `#1` become links outside of
code, and as it is written, by bots that look for `@bot` or `/command` and by git, when a squash merge makes a commit
message of it. So untrusted text stands in `<code>` or `<pre>`, and all punctuation that means something to any of the
three is written as a character reference. References are hexadecimal: in `&#35;` the commit message would refer to
issue 35.
"""

import re
from collections.abc import Sequence

from skillopt.safety.escaping import escape_hidden

__all__ = [
    "code_block",
    "code_span",
    "comment_marker",
    "inline_code",
    "shell_block",
    "text_block",
    "web_link",
]

_ACTIVE = re.compile(r'[!"#$%&*/:<>@\[\\\]^_`{|}~]|(?<=\w)\.(?=\w)|(?<=[Gg][Hh])-(?=\d)')
_ACTS_AS_WRITTEN = re.compile(
    r"<!--|-->|@\w|#\d|\bgh-\d|://|\bwww\.|/(?:issues|pull|skillopt|commit)\b|(?<!\S)/\w|[\w.-]+/[\w.-]+#",
    re.IGNORECASE,
)
"""What bots, parsers of our own text, or a commit message made of it would act on, even in code."""

_BACKTICKS = re.compile("`+")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._~/%#?=&+-]*)?")
_COMMAND = re.compile(r"[\w ./=,'+-]+", re.ASCII)


def inline_code(text: str) -> str:
    """Show untrusted text on one line of Markdown, in code that it cannot leave.

    >>> inline_code("@team merge")
    '<code><!-- -->&#x40;team merge</code>'
    """
    flat = " ".join(escape_hidden(text).split())
    return f"<code>{_escaped(flat)}</code>" if flat else ""


def code_span(text: str) -> str:
    r"""Show untrusted text on one line as a person reads it: between more backticks than it holds itself.

    Text that something would act on as it is written is shown by `inline_code`. Not for cells of tables and not inside
    HTML tags, where backticks mean nothing.

    >>> code_span("write `12.50` so"), code_span("ask @team")
    ('`` write `12.50` so ``', '<code>ask <!-- -->&#x40;team</code>')
    """
    flat = " ".join(escape_hidden(text).split())
    if not flat or _ACTS_AS_WRITTEN.search(flat):
        return inline_code(flat)
    fence = _fence(flat, 1)
    blank = " " if flat[0] == "`" or flat[-1] == "`" or len(fence) > 1 else ""
    return f"{fence}{blank}{flat}{blank}{fence}"


def text_block(text: str, language: str = "") -> str:
    """Show untrusted text as a block between more backticks than it holds; as `code_block` where it could act."""
    shown = "\n".join(escape_hidden(line).expandtabs(4) for line in text.splitlines())
    if _ACTS_AS_WRITTEN.search(shown):
        return code_block(shown, language)
    fence = _fence(shown, 3)
    return f"{fence}{language}\n{shown}\n{fence}"


def web_link(address: str, words: str) -> str:
    """Link to a page that a forge named; an address that is none is shown as code."""
    return f"[{words}]({address})" if _ADDRESS.fullmatch(address) else inline_code(address)


def code_block(text: str, language: str = "") -> str:
    """Show untrusted text as a block of its own, line by line; none begins with a word for bots."""
    lines = escape_hidden(text.replace("\r\n", "\n").replace("\r", "\n")).expandtabs(4).split("\n")
    opening = f'<pre lang="{language}">' if language else "<pre>"
    shown = (_reference(line[0]) + _escaped(line[1:]) if line else "" for line in lines)
    return f"{opening}<code>" + "\n".join(shown) + "</code></pre>"


def shell_block(lines: Sequence[str]) -> str:
    """Show commands to be copied; an escaped block where a value in one of them could do something."""
    text = "\n".join(lines)
    return f"```sh\n{text}\n```" if all(map(_COMMAND.fullmatch, lines)) else code_block(text)


def comment_marker(skill: str) -> str:
    """Return the hidden line by which the pull request or comment of a skill is found again."""
    return f"<!-- skillopt:{re.sub(r'[^a-z0-9-]', '', skill)} -->"


def _fence(text: str, least: int) -> str:
    return "`" * max(least, 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))


def _escaped(line: str) -> str:
    return _ACTIVE.sub(lambda found: _reference(found[0]), line)


def _reference(character: str) -> str:
    """Write a character as a reference; text is cut before an `@`, or GitHub makes an e-mail address of it."""
    return f"{'<!-- -->' if character == '@' else ''}&#x{ord(character):x};"
