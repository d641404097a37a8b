"""The command `docs`: the pages of the documentation, in the terminal."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import JsonOption
from skillopt.commands.output import show

if TYPE_CHECKING:
    from skillopt.actions.docs import DocsPages

__all__ = ["docs"]


def docs(
    page: Annotated[
        str | None, typer.Argument(metavar="[PAGE]", help="Name of a page; without it, all are listed.")
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Read the documentation, which comes with the program."""
    from skillopt.actions.docs import list_pages, read_page

    if page is None:
        show(list_pages(), _listed, as_json=as_json)
    else:
        show(read_page(page), lambda found: found.text.rstrip(), as_json=as_json)


def _listed(found: "DocsPages") -> str:
    width = max(len(page.name) for page in found.pages)
    return "\n".join(
        [*(f"{page.name:{width}}  {page.title}" for page in found.pages), "read one: skillopt docs first-skill"]
    )
