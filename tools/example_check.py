"""Two pictures of the change gate: a change that is refused, and one that no task notices, as a reviewer sees them.

The text in them is what `git show` and `skillopt gate --summary` write; no language model is behind the loopback API.
An SVG holds the page as HTML, which browsers draw.
"""

import os
import re
from html import escape
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from markdown_it import MarkdownIt

from benchmarks.review_demo import run
from tools.fake_providers.dose_model import NAME, answer_dose, write_skill
from tools.fake_providers.fake_anthropic import fake_anthropic

_CONFIG: Final = (
    'harness = "chat/anthropic/claude-haiku-4-5"\nmodel = "anthropic/claude-haiku-4-5"\nretry_seconds = 0\n'
)
_BEGIN: Final = (
    "git init --quiet --initial-branch=main",
    "git config user.name Robin && git config user.email robin@localhost",
    "git add . && git commit --quiet -m Begin",
    "git clone --quiet --bare . ../remote.git && git remote add origin ../remote.git && git fetch --quiet origin",
)
_CHANGES: Final = {
    "check.svg": (("25 mg/kg", "15 mg/kg"), ("- Never give aspirin to a child.\n", ""), 860),
    "unnoticed.svg": (("every 8 hours", "every 4 hours"), ("- Never give aspirin to a child.\n", ""), 600),
}
"""What each change replaces, and the height of its picture."""

_STYLE: Final = """\
div{font:15px/1.45 -apple-system,"Segoe UI","Noto Sans",Helvetica,Arial,sans-serif;color:#1f2328;background:#fff;\
padding:1px 24px}
h2,h3{border-bottom:1px solid #d1d9e0;padding-bottom:5px;margin:14px 0 10px} h2{font-size:22px} h3{font-size:18px}
p,ul,pre,table,blockquote,details{margin:0 0 10px} ul{padding-left:26px}
code,pre{font:12.5px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;background:#f0f1f3;border-radius:5px}
code{padding:2px 4px} pre{padding:8px 12px} pre code{padding:0}
i,s{display:block;font-style:normal;text-decoration:none}
i{background:#dafbe1} s{background:#ffebe9}
blockquote{border-left:4px solid #d1242f;padding:2px 14px} blockquote p:first-child{color:#d1242f}
table{border-collapse:collapse} th,td{border:1px solid #d1d9e0;padding:5px 10px;text-align:left}
"""
_WIDTH: Final = 980


def make_check(folder: Path) -> dict[str, str]:
    """Make a record of a text, gate two changes of it, and give the pictures by name."""
    clone, pictures = folder / "clone", {}
    write_skill(clone)
    (clone / "skillopt.toml").write_text(_CONFIG, encoding="utf-8")
    for command in _BEGIN:
        run(clone, command)
    with fake_anthropic(answer_dose) as model:
        os.environ |= {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
        run(clone, "skillopt nightly --record only --quiet")
        skill = clone / "skills" / NAME / "SKILL.md"
        for name, (*replaced, height) in _CHANGES.items():
            branch = name.partition(".")[0]
            run(clone, f"git checkout --quiet -b {branch} main")
            text = skill.read_text(encoding="utf-8")
            for before, after in replaced:
                text = text.replace(before, after)
            skill.write_text(text, encoding="utf-8")
            shown = run(clone, "git commit --quiet -am 'Bring the doses up to date' && git show --format= -U0")
            run(clone, f"skillopt gate main --quiet --summary ../{branch}.md")
            summary = (folder / f"{branch}.md").read_text(encoding="utf-8")
            pictures[name] = _draw(shown.printed, summary, height)
        for variable in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"):
            del os.environ[variable]
    return pictures


def _draw(diff: str, summary: str, height: int) -> str:
    """Draw the changed lines and the summary below them."""
    marks = {"+": "i", "-": "s"}
    changed = (line for line in diff.splitlines() if re.match(r"[-+](?![-+]{2})", line))
    shown = "".join(f"<{marks[line[0]]}>{escape(line)}</{marks[line[0]]}>" for line in changed)
    steady = re.sub(r"\b\d{4}-\d\d-\d\d\b", "DATE", re.sub(r"\b[0-9a-f]{12}\b", "RUN", summary))
    steady = re.sub(r"\b[0-9a-f]{10}\b", "COMMIT", steady.replace("> [!CAUTION]", "> ⛔ **Caution**\n>"))
    parser = MarkdownIt("commonmark", {"html": True, "xhtmlOut": True}).enable("table")
    page = f"<h2>Bring the doses up to date</h2><pre>{shown}</pre>{parser.render(steady)}"
    page = page.replace("<details>", '<details open="">', 1)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="A pull request and what the change gate says of it"><style>{_STYLE}</style>'
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/><foreignObject width="{_WIDTH}" height="{height}">'
        f'<div xmlns="http://www.w3.org/1999/xhtml">{page}</div></foreignObject></svg>\n'
    )
    ET.fromstring(svg)  # noqa: S314 - our own; a browser draws nothing of what is not well-formed
    return svg
