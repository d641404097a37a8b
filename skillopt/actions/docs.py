"""Read the pages of the documentation that come with the program."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from skillopt.errors import UsageError

__all__ = ["DocsPage", "DocsPages", "list_pages", "read_page"]

_AROUND = Path(__file__).resolve().parents[2]
_FOLDERS = (_AROUND / "skillopt_docs", _AROUND / "docs")
"""Where the wheel puts the pages, and where a checkout has them."""

_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DocsPage:
    """A page: its name, its title, and its Markdown."""

    name: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class DocsPages:
    """All pages, by name."""

    pages: tuple[DocsPage, ...]


def list_pages() -> DocsPages:
    """List the pages by name."""
    folder = next((folder for folder in _FOLDERS if (folder / "training.md").is_file()), None)
    if folder is None:
        raise UsageError("expected the documentation beside the program, found none; install skillopt-mcp again")
    return DocsPages(tuple(_read(path) for path in sorted(folder.glob("*.md"))))


def read_page(name: str) -> DocsPage:
    """Read one page."""
    pages = {page.name: page for page in list_pages().pages}
    wanted = Path(name).name.removesuffix(".md")
    if wanted not in pages:
        near = get_close_matches(wanted, pages, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"pages: {', '.join(pages)}"
        raise UsageError(f"expected the name of a page, found {name!r}; {hint}")
    return pages[wanted]


def _read(path: Path) -> DocsPage:
    text = path.read_text(encoding="utf-8")
    title = _TITLE.search(text)
    return DocsPage(path.stem, title[1] if title else path.stem, text)
