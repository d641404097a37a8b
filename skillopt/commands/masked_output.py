"""Standard output and error of a command, in which secrets are masked, whoever writes there."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from skillopt.execution.masking import Masking, environment_masking

__all__ = ["MaskedStream", "masked_output"]


class MaskedStream:
    """A text stream that masks each text before it is written, and is the stream otherwise."""

    def __init__(self, stream: TextIO, masking: Masking) -> None:
        self._stream = stream
        self._masking = masking

    def write(self, text: str) -> int:
        """Write a text, masked; give the length that it had."""
        self._stream.write(self._masking.text(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write texts, each masked."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a text stream has
        """Return what the stream itself has."""
        return getattr(self._stream, name)


@contextmanager
def masked_output() -> Iterator[None]:
    """Mask what is printed inside."""
    before, masking = (sys.stdout, sys.stderr), environment_masking()
    sys.stdout, sys.stderr = (cast("TextIO", MaskedStream(stream, masking)) for stream in before)  # it is one by duck
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
