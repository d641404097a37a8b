"""A view in which every text from a model, a task or a tool attacks the reader, and what a parser makes of a report."""

from dataclasses import replace
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

from skillopt.reports.view import EditView, GateView, RunView

HOSTILE = (
    "</code></pre></details><script>alert(1)</script> @team fixes #12 octo/repo#3 GH-4 [x](javascript:alert(1)) "
    "![i](https://evil.example/p.png) www.evil.example a@b.example <!-- skillopt:rows --> `` ` ``` | a | b |\n"
    "# Heading\n\n---\n- [x] done\n/approve\n```js\nalert(1)\n```\n\u202eevil\u2066 \u200b\x1b[31mred\x00 ]]> &copy; 9%"
)


class _Reading(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(f"{tag} {attrs}" if attrs else tag)

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        self.text += data


def read(markdown: str) -> tuple[list[str], str]:
    """Return the tags and the text of what GitHub's own parser makes of Markdown, raw HTML included."""
    reading = _Reading()
    reading.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE))
    reading.close()
    return reading.tags, reading.text


def tags_of(markdown: str) -> list[str]:
    """List the tags, opening and closing."""
    return read(markdown)[0]


def attack(view: RunView, text: str = HOSTILE, *names: str) -> RunView:
    """Put a hostile text wherever a text of a model, a task or a tool stands, and in the fields that are named."""
    attacked = replace(
        view,
        reason=text,
        target=text,
        edits=tuple(_edit(edit, text) for edit in view.edits),
        gates=tuple(_gate(gate, text) for gate in view.gates),
        steps=tuple(replace(step, end=step.end and text) for step in view.steps),
        heat=tuple(replace(row, task=text) for row in view.heat),
        set_aside={text: (text,)},
        skipped=tuple(replace(one, reason=text, tasks=tuple(text for _ in one.tasks)) for one in view.skipped),
    )
    return replace(attacked, **dict.fromkeys(names, text))  # type: ignore[arg-type]  # all are texts


def _edit(view: EditView, text: str) -> EditView:
    edit = view.edit
    attacked = replace(edit, anchor=edit.anchor and text, content=edit.content and text, rationale=text)
    tasks = tuple(text for _ in view.tasks)
    return replace(view, edit=attacked, section=view.section and text, reason=text, tasks=tasks)


def _gate(gate: GateView, text: str) -> GateView:
    pairs = tuple(replace(pair, task=text) for pair in gate.verdict.pairs)
    return replace(gate, verdict=replace(gate.verdict, pairs=pairs, reason=text))
