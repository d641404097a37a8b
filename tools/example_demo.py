"""The picture of `make demo` in the README: what its terminal shows, as an SVG."""

import html
import io
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

_CHECKOUT: Final = Path(__file__).resolve().parent.parent
_WIDTH: Final = 120  # columns
_STYLES: Final = {
    r"\$ ": "bold",
    r"gained|accepted as version": "bold green",
    r"\+": "green",
    r"-": "red",
    r"\[\d+ more lines\]": "dim",
}
# Rich's own format names fonts on another host; a picture in a README may fetch nothing.
_FORMAT: Final = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="TITLE in a terminal">
<style>
.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px; \
line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def make_demo(folder: Path) -> dict[str, str]:
    """Run the demo and give the picture of it by its name."""
    command = [sys.executable, "-m", "benchmarks.demo", "--folder", str(folder)]
    ended = subprocess.run(
        command, cwd=_CHECKOUT, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return {"demo.svg": draw_terminal(_steady(ended.stdout, folder), "make demo", "demo")}


def picture_text(picture: str) -> str:
    """Return back what the terminal in a picture shows, line by line."""
    rows = dict[str, str]()
    for row, text in re.findall(r'<text class="[a-z]+-r\d+"[^>]* y="([\d.]+)"[^>]*>([^<]*)</text>', picture):
        rows[row] = rows.get(row, "") + html.unescape(text).replace("\N{NO-BREAK SPACE}", " ")
    return "\n".join(line.rstrip() for line in rows.values())


def _steady(printed: str, folder: Path) -> list[str]:
    """Leave out what differs from run to run: times, ids, commits, and lines that are printed every half minute."""
    lines = [line for line in printed.splitlines() if not re.match(r"[a-z]+( \d+)?: (rollouts|calls), ", line)]
    named = [re.sub(r"\b[0-9a-f]{10,12}\b", "ID", line.replace(str(folder), ".demo/repository")) for line in lines]
    return ["$ make demo", *(re.sub(r"  \[\d+:\d\d, ", "  [", line) for line in named)]


def draw_terminal(lines: Sequence[str], title: str, name: str) -> str:
    """Draw a terminal that shows these lines."""
    # With a height beside the width, rich asks neither the terminal nor the environment.
    console = Console(
        record=True,
        width=_WIDTH,
        height=sum(-(-max(1, len(line)) // _WIDTH) for line in lines),
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    for line in lines:
        style = next((style for pattern, style in _STYLES.items() if re.match(pattern, line)), "")
        console.print(Text(line, style))
    return console.export_svg(title=title, code_format=_FORMAT.replace("TITLE", title), unique_id=name)
