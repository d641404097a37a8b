"""Regular expressions that are compiled when they are first used.

The lists of wordings are long: compiling all of them took a quarter of a second of each start of a command, and
most commands look at no text.
"""

import re
from collections.abc import Callable, Iterator
from functools import cached_property

__all__ = ["LazyPattern"]


class LazyPattern:
    """A regular expression with the methods of `re.Pattern` that checks of text use.

    Args:
        source: The expression.
        flags: As for `re.compile`.
    """

    def __init__(self, source: str, flags: int | re.RegexFlag = 0) -> None:
        self._source, self._flags = source, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._source, self._flags)

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        """Find the first place, from `start` on."""
        return self._compiled.search(text, start)

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """Find it right at `start`."""
        return self._compiled.match(text, start)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Tell whether all of a text is it."""
        return self._compiled.fullmatch(text)

    def finditer(self, text: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
        """Find every place between two."""
        return self._compiled.finditer(text, start, len(text) if end is None else end)

    def findall(self, text: str) -> list[str]:
        """Give what stands in every place, or its one group."""
        return self._compiled.findall(text)

    def sub(self, new: str | Callable[[re.Match[str]], str], text: str) -> str:
        """Replace every place."""
        return self._compiled.sub(new, text)

    def split(self, text: str, maxsplit: int = 0) -> list[str]:
        """Cut a text at every place, or at the first few."""
        return self._compiled.split(text, maxsplit)
