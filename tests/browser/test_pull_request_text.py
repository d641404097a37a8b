"""The text of a pull request as GitHub would show it: one screen, boxes, links, and no escapes that a person sees."""

from dataclasses import replace
from pathlib import Path

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from skillopt.reports.offer import OfferView, offer_body
from tests.browser.chromium import Page
from tests.fakes.offers import offer
from tests.fakes.views import make_view

pytestmark = pytest.mark.browser

_LINE = 24
"""Pixels of a line of GitHub's text."""

_STYLE = """
body { margin: 0; font: 14px/1.5 "Noto Sans", "Liberation Sans", Arial, sans-serif; color: #1f2328; background: #fff }
main { box-sizing: border-box; max-width: 900px; margin: 0 auto; padding: 16px; overflow-wrap: break-word }
code { font: 85% "Liberation Mono", monospace; background: #818b981f; padding: .2em .4em; border-radius: 6px }
pre { background: #f6f8fa; padding: 16px; overflow: auto; border-radius: 6px; line-height: 1.45 }
pre code { background: none; padding: 0 }
blockquote { margin: 0 0 16px; padding: 0 1em; border-left: .25em solid #d1d9e0 }
ul { padding-left: 2em } p, pre, ul, details, table { margin: 0 0 16px }
table { display: block; overflow: auto; border-collapse: collapse }
td, th { border: 1px solid #d1d9e0; padding: 6px 13px }
"""

WIDTHS = (390, 1280)


def shown(tab: Page, folder: Path, view: OfferView) -> None:
    """Open the text as GitHub's own parser renders it."""
    body = cmarkgfm.github_flavored_markdown_to_html(offer_body(view), options=Options.CMARK_OPT_UNSAFE)
    path = folder / "pull-request.html"
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>x</title>'
    page = f'<!doctype html><html lang="en">{head}<style>{_STYLE}</style>'
    path.write_text(f"{page}<main>{body}</main></html>", encoding="utf-8")
    tab.open(path.as_uri())


@pytest.fixture
def view() -> OfferView:
    """Make an offer with many edits, code in their texts, a person's line, and a red box."""
    texts = [
        f"Write {name} as `{name.upper()}-{at:04}`, never as `{at}`." for at, name in enumerate("abcdefghijklmnopqrst")
    ]
    made = offer(*texts, by_people="Sort rows by `name`.")
    return replace(made, run=make_view(), flags=("line 12 adds the URL 'https://a.example'",))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_reviewer_sees_boxes_and_code_as_it_reads(tab: Page, view: OfferView, width: int, tmp_path: Path) -> None:
    shown(tab, tmp_path, view)
    tab.look(width=width)
    text = tab.evaluate("document.body.innerText")
    assert "`A-0000`, never as `0`." in text
    assert "&#" not in text
    assert "skillopt edit:" not in text
    assert tab.evaluate("document.querySelectorAll('li > input[type=checkbox]:checked').length") == 20
    assert tab.evaluate("document.documentElement.scrollWidth") == width


def test_all_that_is_not_folded_fits_on_about_one_screen(tab: Page, view: OfferView, tmp_path: Path) -> None:
    shown(tab, tmp_path, view)
    tab.look(width=1280)
    assert tab.evaluate("document.querySelectorAll('details').length") >= 3
    assert tab.evaluate("document.querySelector('main').getBoundingClientRect().height") <= 60 * _LINE
