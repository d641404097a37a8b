"""Find text that a model reads and that a reader of the rendered page does not see.

What is hidden is judged on the parsed page, so that HTML in code, which is shown, is none. Blanks, stacked marks,
joiners and rows of emoji, which can carry text, and control tokens of chats are found line by line.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from skillopt.safety.text_classes import LONGEST_LINE, LONGEST_TEXT, LintClass, TextMatch

_COMMENT: Final = re.compile(
    r"<!--(?!\s*skillopt:).*?(?:--!?>|\Z)|<(?!!(?i:doctype html)>)(?:![A-Za-z\[]|\?[A-Za-z])[^<>]*", re.DOTALL
)
_TAG: Final = re.compile(r"<(?P<closing>/?)(?P<name>[A-Za-z][A-Za-z0-9_.:-]{0,60})(?P<rest>[^<>]{0,2000})>?")
_HIDING: Final = re.compile(
    r"(?:^|[\s\"'/])(?:style|hidden|title|aria-[a-z]+|data-[\w-]+|on[a-z]{3,20}|class|id|srcdoc|slot|popover|inert|alt"
    r"|placeholder|value|content|label|summary|cite|datetime|color|size|face"
    r"|(?:width|height)\s{0,3}=\s{0,3}[\"']?[01](?:px)?(?![\d.]))(?![\w-])",
    re.IGNORECASE,
)
_UNSEEN_ELEMENTS: Final = re.compile(
    r"script|style|template|noscript|iframe|object|embed|svg|math|head|title|meta|link|base"
    r"|textarea|select|option|optgroup|datalist|dialog|canvas|audio|video|frame|frameset|xmp"
    r"|plaintext|noembed|noframes|param|source|track|area|map|form|input|button|slot|portal|rp"
    r"|rtc"
)
_WIDE_BLANK: Final = re.compile(r"(?<=\w)[ \t]{2,}(?=\w)")
_MOST_WIDE: Final = 2  # two typing slips are none
_UNSEEN_FORMULA: Final = re.compile(
    r"\\(?:[hv]?phantom\b|transparent\b|(?:text)?color[ \t]?\{(?:white|transparent|#f{3,6})\}|opacity\b|llap\b|rlap\b"
    r"|smash\b)[^\n]{0,200}",
    re.IGNORECASE,
)
_NOTE: Final = re.compile(r"^(?P<label>\[\^[^\]\s]{1,60}\]):.*", re.MULTILINE)
_MOST_INFO: Final = 3  # as in `python title=x linenos`
_FAR_BELOW: Final = re.compile(r"(?:(?<=\S)|\A)[ \t]*\n(?:[ \t]*\n){20,}[ \t]*(\S[^\n]{0,200})")  # most of a screen
_BLANK: Final = r"\t\u00a0\u2000-\u200a\u202f\u205f\u3000"
_ENDING: Final = rf"(?<=\S)(?:[ {_BLANK}]{{3,}}| {{0,2}}[{_BLANK}][ {_BLANK}]{{0,2}})\Z"
CHAT_MARK: Final = (
    r"<\|[^|<>\n]{1,60}\|>|<\uff5c[^<>\n]{1,60}\uff5c>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|</s>"
    r"|<(?:bos|eos|unk|pad|\|?(?:im_start|im_end|endoftext|eot_id|begin_of_text)\|?)>"
)
_ODD: Final = (  # odd spaces, runs of blanks, stacked marks
    r"[\u1680\u2000-\u2008\u200a\u205f]|[\u00a0\u2009\u202f]{2,}"
    r"|[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{4,}"
)
_CARRIERS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), what)
    for pattern, what in (
        (r"\S[ \t]{100,}\S", "text far to the right of"),
        (_ENDING, "blanks that end a line,"),
        (CHAT_MARK, "a control token of chats"),
        (_ODD, "characters that can carry hidden text,"),
        (
            r"(?:[^\W\d_][\u00a0\u2009\u202f](?=[^\W\d_])[^\u00a0\u2009\u202f]*){3}",
            "blanks that can carry hidden text, as in",
        ),
    )
)
_CODE: Final = re.compile(r"`[^`]{0,400}`")
_MOST_OPEN: Final = 100  # brackets without an end: the parser looks for each in all that follows


def find_unseen(body: str) -> Iterator[TextMatch]:
    """Find unseen text of the whole page: in HTML, links, definitions, tables, and at the ends of lines.

    The line of a match counts from 1 in the body.
    """
    for match, line in located(_FAR_BELOW, body, 1):
        yield _hidden(match[1], line, "many empty lines before")
    lines = body.splitlines()
    if body.count("[") - body.count("]") > _MOST_OPEN:
        yield _hidden("[", 1, f"over {_MOST_OPEN} brackets that nothing closes, as in")
    elif len(body) <= LONGEST_TEXT and max(map(len, lines), default=0) <= LONGEST_LINE:
        yield from _parsed(body, lines)
    else:
        yield from _comments(body, 1)


def _parsed(body: str, lines: Sequence[str]) -> Iterator[TextMatch]:
    """Find unseen text in the parsed page."""
    env: dict[str, Any] = {}
    tokens = page_parser().parse(body, env)
    line = 1
    for token in tokens:
        line = token.map[0] + 1 if token.map else line
        if token.type == "html_block":
            yield from _html(token.content, line)
        elif token.type == "inline":
            yield from _inline(token.children or [], line)
            yield from _plain(token, line, body)
        elif token.type == "fence" and len(token.info.split()) > _MOST_INFO:
            yield _hidden(token.info, line, "words beside a code fence, which are not shown,")
        elif token.type == "table_open" and token.map:
            yield from _table(lines[token.map[0] : token.map[1]], line)
    yield from _definitions(body, env)


@cache
def page_parser(*, inline: bool = True) -> MarkdownIt:
    """Return the parser of pages, which may leave the text of paragraphs alone."""
    parser = MarkdownIt("commonmark").enable("table")
    parser = parser if inline else parser.disable("inline")
    parser.parse("*a*")  # its rules are gathered by the first use, which threads may not do side by side
    return parser


def _hidden(text: str, line: int, what: str) -> TextMatch:
    return TextMatch(LintClass.HIDDEN_TEXT, text.strip() or text, line, text, what)


def located(pattern: re.Pattern[str], content: str, line: int) -> Iterator[tuple[re.Match[str], int]]:
    """Find a pattern with the lines of its matches."""
    position = 0
    for match in pattern.finditer(content):
        line += content.count("\n", position, match.start())
        position = match.start()
        yield match, line


def _comments(content: str, line: int) -> Iterator[TextMatch]:
    for match, at in located(_COMMENT, content, line):
        yield TextMatch(LintClass.HTML_COMMENT, match[0], at, match[0], "an HTML comment")


def _html(content: str, line: int) -> Iterator[TextMatch]:
    """Judge tags: what hides its content or carries text in attributes."""
    yield from _comments(content, line)
    content = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), content)
    for match, at in located(_TAG, content, line):
        if _UNSEEN_ELEMENTS.fullmatch(match["name"].lower()) or (
            _HIDING.search(match["rest"]) and not match["closing"]
        ):
            yield _hidden(match[0], at, "HTML that is not shown")


def _inline(children: Sequence[Token], line: int) -> Iterator[TextMatch]:
    """Judge the inline markup of one block."""
    shown: list[str] = []
    for token in children:
        if token.type == "html_inline":
            yield from _html(token.content, line)
        elif token.type in ("link_open", "image"):
            title, target = str(token.attrGet("title") or ""), str(token.attrGet("href") or token.attrGet("src") or "")
            if title:
                yield _hidden(title, line, "a link title, which is not shown")
            if token.type == "image" and not token.content.strip():
                yield _hidden(target, line, "an image without text")
            shown = [target] if token.type == "link_open" else [*shown, "image"]
        elif token.type == "link_close":
            if shown and not "".join(shown[1:]).strip():
                yield _hidden(shown[0], line, "a link without text")
            shown = []
        else:
            shown.append(token.content)


def _plain(block: Token, line: int, body: str) -> Iterator[TextMatch]:
    """Find what the plain text of one block hides: between its words, in formulas, in notes that nothing refers to."""
    texts = [token.content for token in block.children or () if token.type == "text"]
    blanks = [blank for text in texts for blank in _WIDE_BLANK.findall(text)]
    if len(blanks) > _MOST_WIDE:
        yield _hidden(" ".join(texts), line, "blanks between words that can carry hidden text in")
    for match in _UNSEEN_FORMULA.finditer(block.content):
        yield _hidden(match[0], line, "a formula that is not shown:")
    for match, at in located(_NOTE, block.content, line):
        if body.count(match["label"]) < 2:  # noqa: PLR2004 - the note is one
            yield _hidden(match[0], at, "a footnote that nothing refers to, which is not shown:")


def _table(rows: Sequence[str], line: int) -> Iterator[TextMatch]:
    """Find cells beyond the last column, which are left out of the page."""
    width = _cells(rows[0])
    for number, row in enumerate(rows[2:], 2):
        if _cells(_CODE.sub("", row)) > width:  # `a | b`: code is listed as it stands
            yield _hidden(row, line + number, "a table row with more cells than columns, which are not shown:")


def _cells(row: str) -> int:
    return row.strip().removeprefix("|").removesuffix("|").replace("\\|", "").count("|")


def _definitions(body: str, env: dict[str, Any]) -> Iterator[TextMatch]:
    """Find definitions of links that nothing refers to, or that have titles."""
    text = " ".join(body.upper().split())
    for label, found in env.get("references", {}).items():
        if found.get("title") or text.count(f"[{label}]") < 2:  # noqa: PLR2004 - the definition is one
            line = found["map"][0] + 1
            yield _hidden(
                f"[{label}]: {found['href']} {found.get('title')}", line, "a link definition that is not shown"
            )
    for found in env.get("duplicate_refs", ()):
        yield _hidden(f"{found['href']} {found['title']}", found["map"][0] + 1, "a second definition of a link")


def find_carriers(line: str) -> Iterator[TextMatch]:
    """Find on one line what may carry hidden text."""
    for pattern, what in _CARRIERS:
        if found := pattern.search(line):
            yield _hidden(found[0], 0, what)
