"""What the optimizer model is asked, one Markdown file per stage, and how its replies are read.

Asking it is done in execution, and what follows from a reply in loop.
"""

import re
from functools import cache
from importlib.resources import files

__all__ = ["fill"]

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def fill(name: str, **values: str) -> str:
    """Fill in a prompt in one pass, so that a value is never taken for a placeholder."""
    template = _template(name)
    wanted = set(_PLACEHOLDER.findall(template))
    if wanted != values.keys():
        raise ValueError(f"prompt {name!r} expects {sorted(wanted)}, found {sorted(values)}")
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


@cache
def _template(name: str) -> str:
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")
