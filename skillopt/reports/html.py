"""Make an HTML page of a report's Markdown that needs nothing else: no network, no fonts, no scripts.

The parser is given our own words alone; texts from elsewhere are put in their places afterwards, escaped.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import count
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token

from skillopt.reports.markdown import replace_marked
from skillopt.safety.escaping import escape_hidden

_TOKEN: Final = re.compile("(<p>)?\x02(\\d+)\x03(?(1)</p>|)")
_FOLD: Final = re.compile(r"<details><summary>[^<>]*</summary>|</details>")
_RESULT: Final = re.compile(r"<td>(?:(pass)|(fail)(?: \d?\.\d+)?|\d+/\d+ pass)(?:, (fixed|broken))?</td>")
_SECTION: Final = re.compile("^## (.*)$", re.MULTILINE)


def print_page(heading: str, about: str, text: str, footer: str) -> str:
    """Make a page; what stands before the first heading of the second level stands in its head."""
    texts: list[tuple[str, str | None]] = []

    def keep(marked: str, language: str | None, _: str) -> str:
        texts.append((marked, language))
        return f"\x02{len(texts) - 1}\x03"

    head, *parts = _SECTION.split(replace_marked(text, keep))
    own = (_TOKEN.sub(str(at), name).lower() for at, name in enumerate(parts[::2]))  # the place tells tasks apart
    anchors = [re.sub("[^a-z0-9]+", "-", words).strip("-") for words in own]
    parser, tables = MarkdownIt("commonmark").enable("table"), count(1)
    for kind in ("html_block", "html_inline"):
        parser.add_render_rule(kind, _own_html)
    shown = [
        f'<section id="{anchor}" aria-labelledby="{anchor}-h">\n<h2 id="{anchor}-h">{parser.renderInline(name)}</h2>\n'
        f"{_styled(parser.render(body), tables)}</section>"
        for anchor, name, body in zip(anchors, parts[::2], parts[1::2], strict=True)
    ]
    links = "\n".join(
        f'<li><a href="#{anchor}">{parser.renderInline(name)}</a></li>'
        for anchor, name in zip(anchors, parts[::2], strict=True)
    )
    style = (files("skillopt.reports") / "report.css").read_text(encoding="utf-8")
    hashed = b64encode(sha256(style.encode()).digest()).decode()
    page = _PAGE.format(
        policy=f"default-src 'none'; img-src data:; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'",
        style=style,
        about=_shown(about),
        heading=_shown(heading),
        head=_styled(parser.render(head), tables),
        links=links,
        sections="\n".join(shown),
        footer=escape(footer),
    )
    return _TOKEN.sub(lambda found: _marked(*texts[int(found[2])], alone=bool(found[1])), page)


_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="skillopt">
<title>{heading}: {about}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<div class="page">
<header>
<p class="eyebrow">SkillOpt · <bdi>{about}</bdi></p>
<h1><bdi>{heading}</bdi></h1>
{head}</header>
<nav aria-label="Sections"><ol>
{links}
</ol></nav>
<main id="main">
{sections}
</main>
<footer>
<p>{footer} Texts of models, tasks and traces are shown as they are and can do nothing here; ⟨U+200B⟩ marks a character
that would not be seen.</p>
</footer>
</div>
</body>
</html>
"""


def _own_html(_: RendererProtocol, tokens: Sequence[Token], at: int, *_given: object) -> str:
    """Let through what folds a text away, and nothing else."""
    written = tokens[at].content
    return written if _FOLD.fullmatch(written.strip()) else escape(written)


def _styled(page: str, tables: "count[int]") -> str:
    """Give tables, results and boxes what the stylesheet knows them by; a table that scrolls can be reached by keys."""
    page = re.sub(
        "<table>",
        lambda _: f'<div class="scroll" role="region" aria-label="Table {next(tables)}" tabindex="0">\n<table>',
        page,
    )
    page = page.replace("</table>", "</table>\n</div>")
    page = re.sub(
        r"<blockquote>\n<p>\[!([A-Z]+)\]", lambda found: f'<blockquote class="{found[1].lower()}">\n<p>', page
    )
    return _RESULT.sub(_result, page)


def _result(found: "re.Match[str]") -> str:
    """Colour a cell that says how a task went."""
    kind = found[1] or found[2] or "part"
    classes = " ".join(filter(None, (kind, found[3])))
    return f'<td class="{classes}">{found[0].removeprefix("<td>")}'


def _shown(text: str) -> str:
    return escape(escape_hidden(text))


def _marked(text: str, language: str | None, *, alone: bool) -> str:
    """Show a text from elsewhere as it is; of a difference mark the lines."""
    if language is None:
        shown = f'<bdi class="mono">{_shown(text)}</bdi>'
        return f"<p>{shown}</p>" if alone else shown
    if language == "diff":
        return f'<pre class="diff" dir="auto">{"".join(map(_line, text.splitlines()))}</pre>'
    return f'<pre class="{language or "trace"}" dir="auto">{_shown(text)}</pre>'


def _line(line: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(line[:1], "")
    return f"<{tag}>{_shown(line)}</{tag}>\n" if tag else f"{_shown(line)}\n"
