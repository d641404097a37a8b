"""Places of calls that several runs share, so that together they make no more calls at a time than one would."""

from threading import Condition

from skillopt.errors import InfrastructureError

__all__ = ["CallPlaces"]


class CallPlaces:
    """So many calls at a time, whichever run makes them."""

    def __init__(self, many: int) -> None:
        self._free = many
        self._closed = False
        self._changed = Condition()

    def take(self) -> None:
        """Wait for a place and take it."""
        with self._changed:
            while not (self._free or self._closed):
                self._changed.wait()
            if self._closed:
                raise InfrastructureError("a call was not made, for Ctrl-C was pressed")
            self._free -= 1

    def give_back(self) -> None:
        """Let another call have the place."""
        with self._changed:
            self._free += 1
            self._changed.notify()

    def close(self) -> None:
        """Let no more calls begin."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
