"""What never changes and is therefore read once, as long as there is room.

Owns what is thrown away first: what was not asked for the longest. Does not own what is read.
"""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["ReadOnce"]

_Value = TypeVar("_Value")


class ReadOnce(Generic[_Value]):
    """Values by their keys, from any thread.

    Args:
        most: How large all of them may be together; a larger one alone is not kept.
        size: How large a value is.
    """

    def __init__(self, most: int, size: Callable[[_Value], int]) -> None:
        self._most = self._left = most
        self._size = size
        self._kept: OrderedDict[object, _Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: object, read: Callable[[], _Value]) -> _Value:
        """Give a value, read when it is not kept; two threads may both read it, and neither waits for the other."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        value = read()
        size = self._size(value)
        with self._lock:
            if key not in self._kept and size <= self._most:
                self._kept[key] = value
                self._left -= size
            while self._left < 0:
                self._left += self._size(self._kept.popitem(last=False)[1])
        return value
