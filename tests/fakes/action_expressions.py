"""Expressions of workflows, as far as the action uses them; what is not known here is an error.

Owns names of contexts, texts, `==`, `!=`, `&&`, `||`, and the functions always, success and format.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["evaluate", "fill"]

_TOKEN = re.compile(r"\s*(?:'((?:[^']|'')*)'|([A-Za-z_][\w.-]*)|(==|!=|&&|\|\||[(),]))")


def fill(text: str, context: Mapping[str, Any], *, failed: bool) -> str:
    """Fill the expressions of a text."""
    return re.sub(r"\$\{\{(.+?)\}\}", lambda found: _shown(evaluate(found[1], context, failed=failed)), text)


def _shown(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def evaluate(text: str, context: Mapping[str, Any], *, failed: bool) -> Any:  # noqa: ANN401 - any value of a context
    """Evaluate an expression: `||` binds less than `&&`, that less than a comparison."""
    tokens: list[tuple[str, str]] = []
    position = 0
    text = text.strip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        assert found, text[position:]
        kind = "text" if found[1] is not None else "name" if found[2] else "sign"
        tokens.append((kind, (found[1] or "").replace("''", "'") if kind == "text" else found[2] or found[3]))
        position = found.end()
    return _Expression(tokens, context, failed).value()


class _Expression:
    def __init__(self, tokens: list[tuple[str, str]], context: Mapping[str, Any], failed: bool) -> None:  # noqa: FBT001 - a value, not a switch
        self._tokens = tokens
        self._context = context
        self._functions: dict[str, Callable[..., Any]] = {
            "always": lambda: True,
            "success": lambda: not failed,
            "format": lambda form, *values: form.format(*values),
        }

    def value(self) -> Any:  # noqa: ANN401 - as above
        found = self._either()
        assert not self._tokens, self._tokens
        return found

    def _either(self) -> Any:  # noqa: ANN401 - as above
        found = self._both()
        while self._next("||"):
            other = self._both()
            found = found or other
        return found

    def _both(self) -> Any:  # noqa: ANN401 - as above
        found = self._compared()
        while self._next("&&"):
            other = self._compared()
            found = found and other
        return found

    def _compared(self) -> Any:  # noqa: ANN401 - as above
        found = self._one()
        if self._next("=="):
            return _shown(found) == _shown(self._one())
        if self._next("!="):
            return _shown(found) != _shown(self._one())
        return found

    def _one(self) -> Any:  # noqa: ANN401 - as above
        kind, text = self._tokens.pop(0)
        if kind == "text":
            return text
        if self._next("("):
            values = []
            while not self._next(")"):
                values.append(self._either())
                self._next(",")
            return self._functions[text](*values)
        found: Any = self._context
        for name in text.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    def _next(self, sign: str) -> bool:
        if self._tokens and self._tokens[0] == ("sign", sign):
            self._tokens.pop(0)
            return True
        return False
