"""A provider that answers a few requests and holds all others until it may go on."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Event, Semaphore

from tools.fake_providers import fake_anthropic as messages
from tools.fake_providers.loopback import Answer, Body

__all__ = ["HeldProvider", "read_until"]


@dataclass
class HeldProvider:
    """Follows the skill: answers the first `left` requests at once, and all others when it may."""

    left: int
    asked: Semaphore = field(default_factory=lambda: Semaphore(0))
    may: Event = field(default_factory=Event)

    def __call__(self, body: Body) -> Answer:
        if self.left > 0:
            self.left -= 1
        else:
            self.asked.release()
            self.may.wait(60)
        return messages.follow_skill(body)


def read_until(errors: Iterable[str], words: str) -> None:
    """Read what a process says up to some words."""
    said = []
    for line in errors:
        said.append(line)
        if words in line:
            return
    raise AssertionError("".join(said))
