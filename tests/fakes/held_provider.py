"""A provider that answers a few requests and holds all others until it may go on, and commands that wait for it."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Semaphore
from typing import IO

import pytest

from tools.fake_providers import fake_anthropic as messages
from tools.fake_providers.loopback import Answer, Body

_WORKERS = 4
HELD = ("--set", "harness=chat/anthropic/fake", "--set", "model=anthropic/fake", "--set", f"workers={_WORKERS}")
"""Options of a command whose provider is held."""
_PROVEN = 2
"""The probe of the optimizer model and the first rollout, which is made alone."""


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


@dataclass(frozen=True)
class HeldRun:
    """A command whose calls are all under way and wait for the provider."""

    process: "subprocess.Popen[str]"
    provider: HeldProvider
    errors: IO[str]


@contextmanager
def held_run(folder: Path, monkeypatch: pytest.MonkeyPatch, *command: str, **environment: str) -> Iterator[HeldRun]:
    """Start a command in a process group of its own and wait until its rollouts are under way."""
    provider = HeldProvider(_PROVEN)
    with messages.fake_anthropic(provider) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        with subprocess.Popen(
            [sys.executable, "-m", "skillopt", *command, *HELD],
            cwd=folder,
            env={**os.environ, **environment},
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr is not None
            try:
                assert all(provider.asked.acquire(timeout=120) for _ in range(_WORKERS))
                yield HeldRun(process, provider, process.stderr)
            finally:
                provider.may.set()
                process.kill()


def read_until(errors: Iterable[str], words: str) -> None:
    """Read what a process says up to some words."""
    said = []
    for line in errors:
        said.append(line)
        if words in line:
            return
    raise AssertionError("".join(said))
