"""Print blocks as Markdown, as GitHub reads it; texts from elsewhere stand in code that they cannot leave.

A report is read three times: as Markdown, as the HTML that comes of it, where `@name` and `#1` become links outside of
code, and as it is written, by bots that look for `@bot` or `/command` and by git, when a squash merge makes a commit
message of it. So untrusted text stands in `<code>` or `<pre>`, and all punctuation that means something to any of the
three is written as a character reference. References are hexadecimal: in `&#35;` the commit message would refer to
issue 35.
"""

import re
from collections.abc import Callable, Sequence
from typing import assert_never

from skillopt.reports.blocks import (
    Box,
    Bullets,
    Commands,
    Details,
    Diff,
    Facts,
    Grid,
    Heading,
    MarkdownText,
    Paragraph,
    ReportBlock,
    Sides,
    Table,
    Text,
    replace_quoted,
)
from skillopt.safety.escaping import escape_hidden
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import diff_documents

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


def print_markdown(blocks: Sequence[ReportBlock], *, readable: bool = False) -> str:
    """Print blocks; `readable` writes texts in backticks where nothing in them acts, instead of as references."""
    return _Printer(readable=readable).blocks(blocks) + "\n"


class _Printer:
    def __init__(self, *, readable: bool) -> None:
        self._quote: Callable[[str], str] = code_span if readable else inline_code
        self._text: Callable[[str, str], str] = text_block if readable else code_block

    def blocks(self, blocks: Sequence[ReportBlock]) -> str:
        return "\n\n".join(filter(None, map(self._block, blocks)))

    def _words(self, words: str) -> str:
        return replace_quoted(words, self._quote)

    def _block(self, block: ReportBlock) -> str:
        match block:
            case Heading():
                return f"{'#' * block.level} {self._words(block.words)}"
            case Paragraph():
                return self._words(block.words)
            case Bullets():
                return "\n".join(f"- {self._words(item)}" for item in block.items)
            case Facts():
                return "\n".join(f"- {name}: {self._words(words)}" for name, words in block.rows)
            case Box() | Details() | Sides():
                return self._nested(block)
            case _:
                return self._shown(block)

    def _nested(self, block: Box | Details | Sides) -> str:
        match block:
            case Box():
                lines = [f"[!{block.kind.upper()}]", *self.blocks(block.blocks).split("\n")]
                return "\n".join(f"> {line}".rstrip() for line in lines)
            case Details():
                # Backticks mean nothing inside of HTML.
                summary = replace_quoted(block.summary, inline_code)
                return f"<details><summary>{summary}</summary>\n\n{self.blocks(block.blocks)}\n\n</details>"
            case Sides():
                return "\n\n".join(f"{name}:\n\n{self.blocks(blocks)}" for name, blocks in block.sides)
            case _:
                assert_never(block)

    def _shown(self, block: Table | Grid | Text | Diff | Commands | MarkdownText) -> str:
        match block:
            case Table():
                return _table(block.columns, block.rows)
            case Grid():
                return _table(block.table.columns, block.table.rows)
            case Text():
                return self._text(block.text, block.language)
            case Diff():
                found = diff_documents(SkillDocument(block.before), SkillDocument(block.after))
                return code_block(found, "diff") if found.strip() else ""
            case Commands():
                return shell_block(block.lines)
            case MarkdownText():
                return block.text
            case _:
                assert_never(block)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join([_row(columns), "|" + "---|" * len(columns), *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    shown = (replace_quoted(cell, inline_code) for cell in cells)
    return "".join(f"| {cell} " if cell else "| " for cell in shown) + "|"
