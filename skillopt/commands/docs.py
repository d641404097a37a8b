"""The command `docs`: the pages of the documentation, in the terminal."""

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from skillopt.commands.options import JsonOption
from skillopt.commands.output import show
from skillopt.errors import UsageError

_AROUND = Path(__file__).resolve().parents[2]
_FOLDERS = (_AROUND / "skillopt_docs", _AROUND / "docs")
"""Where the wheel puts the pages, and where a checkout has them."""

_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def docs(
    page: Annotated[
        str | None, typer.Argument(metavar="[PAGE]", help="Name of a page; without it, all are listed.")
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Read the documentation, which comes with the program."""
    pages = read_pages()
    if page is None:
        width = max(map(len, pages))
        lines = [f"{name:{width}}  {_title(name, text)}" for name, text in pages.items()]
        listed = {"pages": [_row(name, text) for name, text in pages.items()]}
        show(listed, lambda _: "\n".join([*lines, "read one: skillopt docs first-skill"]), as_json=as_json)
        return
    wanted = Path(page).name.removesuffix(".md")
    if wanted not in pages:
        near = get_close_matches(wanted, pages, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"pages: {', '.join(pages)}"
        raise UsageError(f"expected the name of a page, found {page!r}; {hint}")
    show(_row(wanted, pages[wanted]), lambda found: found["text"].rstrip(), as_json=as_json, folds=False)


def read_pages() -> dict[str, str]:
    """Read the Markdown of all pages by name."""
    folder = next((folder for folder in _FOLDERS if (folder / "training.md").is_file()), None)
    if folder is None:
        raise UsageError("expected the documentation beside the program, found none; install skillopt-mcp again")
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}


def _row(name: str, text: str) -> dict[str, str]:
    return {"name": name, "title": _title(name, text), "text": text}


def _title(name: str, text: str) -> str:
    found = _TITLE.search(text)
    return found[1] if found else name
