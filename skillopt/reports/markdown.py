"""Markdown that reports are written in, and printed as GitHub reads it: texts from elsewhere stand in code.

A report is one Markdown text of our own words. A text from elsewhere stands between marks in it (`cited` on a line,
`quote_block` as a block), which no printer reads as Markdown: this one makes code of it, the others plain text.

Printed Markdown is read three times: as Markdown, as the HTML that comes of it, where `@name` and `#1` become links
outside of code, and as it is written, by bots that look for `@bot` or `/command` and by git, when a squash merge makes
a commit message of it. So untrusted text stands in `<code>` or `<pre>`, and all punctuation that means something to any
of the three is written as a character reference. References are hexadecimal: in `&#35;` the commit message would refer
to issue 35.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from skillopt.safety.capabilities import NOTHING, NewCapability, describe_difference
from skillopt.safety.escaping import escape_hidden, truncate

_OPEN, _BLOCK, _CLOSE = "\x02", "\x04", "\x03"
_MARKED: Final = re.compile(f"{_OPEN}(?:(\\w*){_BLOCK})?([^{_CLOSE}]*){_CLOSE}")
_SHOWN: Final = {ord(mark): f"⟨U+{ord(mark):04X}⟩" for mark in (_OPEN, _BLOCK, _CLOSE)}
_CODE: Final = re.compile("`([^`]*)`")
_COMMANDS: Final = "sh"

_ACTIVE = re.compile(r'[!"#$%&*/:<>@\[\\\]^_`{|}~]|(?<=\w)\.(?=\w)|(?<=[Gg][Hh])-(?=\d)')
_ACTS_AS_WRITTEN = re.compile(
    r"<!--|-->|</?details|@\w|#\d|\bgh-\d|://|\bwww\.|/(?:issues|pull|skillopt|commit)\b|(?<!\S)/\w|[\w.-]+/[\w.-]+#",
    re.IGNORECASE,
)
"""What bots, parsers of our own text, or a commit message made of it would act on, even in code."""

_BACKTICKS = re.compile("`+")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._~/%#?=&+-]*)?")
_COMMAND = re.compile(r"[\w ./=,'+-]+", re.ASCII)


def cited(text: str, most: int = 5000) -> str:
    """Mark an untrusted text within a line, cut to `most` characters; empty for a blank one."""
    shown = truncate(" ".join(text.split()), most).translate(_SHOWN)
    return f"{_OPEN}{shown}{_CLOSE}" if shown else ""


def quote_block(text: str, language: str = "") -> str:
    """Mark an untrusted text as a paragraph of its own, line by line, in a language such as `diff`."""
    shown = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").translate(_SHOWN)
    return f"{_OPEN}{language}{_BLOCK}{shown}{_CLOSE}"


def commands(lines: Iterable[str]) -> str:
    """Show commands to be copied."""
    return quote_block("\n".join(lines), _COMMANDS)


def replace_marked(text: str, show: Callable[[str, str | None, str], str]) -> str:
    """Replace each untrusted text by what a printer makes of it, its language (None within a line) and its line."""

    def replaced(found: "re.Match[str]") -> str:
        start = text.rfind("\n", 0, found.start()) + 1
        return show(found[2], found[1], text[start : found.start()])

    return _MARKED.sub(replaced, text)


def paragraphs(*parts: str) -> str:
    """Join the parts of a report that are not empty, each a paragraph, a list or a table."""
    return "\n\n".join(filter(None, parts))


def bullets(items: Iterable[str]) -> str:
    """Write a list."""
    return "\n".join(f"- {item}" for item in items)


def write_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; empty without rows."""
    shown = [_row(row) for row in rows]
    return "\n".join([_row(columns), "|" + "---|" * len(columns), *shown]) if shown else ""


def _row(cells: Sequence[str]) -> str:
    return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"


def details(summary: str, text: str) -> str:
    """Fold a text away under a summary; empty without text."""
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>" if text else ""


def box(kind: str, text: str) -> str:
    """Let a text without blocks from elsewhere stand out as a `caution` or a `note`."""
    return "\n".join(f"> {line}".rstrip() for line in [f"[!{kind.upper()}]", *text.split("\n")]) if text else ""


def list_names(names: Sequence[str], most: int = 1_000_000, longest: int = 200) -> str:
    """List untrusted names, and count those beyond the limit."""
    shown = ", ".join(cited(name, longest) for name in names[:most])
    left = len(names) - most
    return f"{shown}, {left} more" if left > 0 else shown or "—"


def tell_difference(found: Sequence[NewCapability]) -> str:
    """Tell a capability difference in a few lines, which stand before the text."""
    rows = [_CODE.sub(lambda said: cited(said[1]), line) for line in describe_difference(tuple(found))]
    told = "what this text drops and changes, and what it has that the text before had not." if rows else NOTHING
    return paragraphs(f"**Capability difference**: {told}", bullets(rows))


def tell_acts(lines: Sequence[str]) -> str:
    """Tell what agents did under a text and not under the one before, as the sandbox recorded it, in eight lines."""
    rows = [_CODE.sub(lambda said: cited(said[1]), line) for line in lines[:8]]
    rows += [f"{len(lines) - len(rows)} more: `skillopt report --json`"] if len(lines) > len(rows) else []
    told = "recorded by the sandbox under this text, and in no rollout under the text before."
    return paragraphs(f"**What the agent did that is new**: {told}", bullets(rows)) if rows else ""


def cut_middle(text: str, most: int) -> str:
    r"""Cut the middle of a text so that `most` characters of it remain, and say how many are gone.

    >>> cut_middle("abcdefghij", 4)
    'abc\n… 6 characters are left out here …\nj'
    """
    if len(text) <= most:
        return text
    tail = most // 4
    head = most - tail
    return f"{text[:head]}\n… {len(text) - most:,} characters are left out here …\n{text[len(text) - tail :]}"


def print_markdown(text: str, *, readable: bool = False) -> str:
    """Print a report for GitHub; `readable` writes texts in backticks where nothing in them acts."""

    def show(marked: str, language: str | None, line: str) -> str:
        if language == _COMMANDS:
            return shell_block(marked.split("\n"))
        if language is not None:
            return text_block(marked, language) if readable else code_block(marked, language)
        # In a cell `|` would end it, and inside of HTML backticks mean nothing.
        return code_span(marked) if readable and not line.startswith(("|", "<")) else inline_code(marked)

    return replace_marked(text, show) + "\n"


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
