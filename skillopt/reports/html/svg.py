"""SVG elements as safe markup: names and numbers of our own, every text escaped.

Positions along the width are shares, written in percent, so that a drawing fits any width without its
letters growing or shrinking.
"""

from markupsafe import Markup, escape

__all__ = ["drawing", "element", "percent", "signed"]


def percent(share: float) -> str:
    """Write a share of the width.

    >>> percent(1 / 3)
    '33.33%'
    """
    return f"{round(share * 100, 2):g}%"


def signed(value: float, digits: int = 0) -> str:
    r"""Write a number with its sign, the minus as long as the plus.

    >>> signed(1234), signed(-0.25, 3) == "\N{MINUS SIGN}0.250"
    ('+1,234', True)
    """
    return f"{value:+,.{digits}f}".replace("-", "\N{MINUS SIGN}")


def element(name: str, *children: str, **attributes: str | float) -> Markup:
    """Make an element; `_` in the name of an attribute stands for `-`, and one at its end is left out.

    >>> print(element("text", "a < b", x="50%", y=3.14159, text_anchor="end", class_="tick"))
    <text x="50%" y="3.14" text-anchor="end" class="tick">a &lt; b</text>
    """
    pairs = (f' {key.rstrip("_").replace("_", "-")}="{_plain(value)}"' for key, value in attributes.items())
    inside = "".join(escape(child) for child in children)
    opened = f"<{name}{''.join(pairs)}"
    return Markup(f"{opened}>{inside}</{name}>" if inside else f"{opened}/>")  # noqa: S704 - each part is escaped above


def drawing(name: str, title: str, description: str, *children: str, height: int) -> Markup:
    """Make a drawing as wide as its place, which a screen reader announces by title and description."""
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", description, id=f"{name}-desc"),
        *children,
        class_="drawing",
        role="img",
        aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-desc",
        width="100%",
        height=height,
    )


def _plain(value: str | float) -> str:
    return str(escape(value)) if isinstance(value, str) else f"{round(value, 2):g}"
