"""A provider that fails: a quarter of its answers are errors, or a fifth are halves or resets."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.trust.classes import ClassResult, Found
from benchmarks.trust.projects import OPTIMIZE, git, make_project, skillopt
from tools.fake_providers.fake_anthropic import failure, fake_anthropic, follow_skill
from tools.fake_providers.loopback import Answer, Body

_SEED: Final = 20261122
_LOUD: Final = tuple(word for word in OPTIMIZE if word != "--quiet")
_COMMAND: Final = (*_LOUD, "--harness", "chat/anthropic/fake", "--model", "anthropic/fake", "--yes")
_KEY: Final = "key-for-loopback-only"
_Fault = Callable[[Answer, Random], Answer]


class _Provider:
    """Answers well, or with a fault in so many of a hundred cases."""

    def __init__(self, fault: _Fault, share: int) -> None:
        self._fault, self._share, self._random, self._lock = fault, share, Random(_SEED), threading.Lock()
        self.good, self.bad = 0, 0

    def __call__(self, body: Body) -> Answer:
        answer = follow_skill(body)
        with self._lock:
            if self._random.randrange(100) >= self._share:
                self.good += 1
                return answer
            self.bad += 1
            return self._fault(answer, self._random)


def _broken(answer: Answer, random: Random) -> Answer:
    if random.randrange(2):
        return replace(answer, hang_up=True)
    return replace(answer, content=answer.content[: len(answer.content) // 2], cut=True)


_FAULTS: Final[dict[str, tuple[_Fault, int]]] = {
    "HTTP 500": (lambda *_: failure(500, "api_error", "The server had an error of its own."), 25),
    "HTTP 429": (lambda *_: failure(429, "rate_limit_error", "Slow down.", {"retry-after": "1"}), 25),
    "half answers and resets": (_broken, 20),
}


def try_network(*, quick: bool) -> Found:
    """Train over HTTP where the provider fails in one way after the other."""
    rows, failures = [], list[str]()
    with TemporaryDirectory(prefix="trust-network-") as root:
        start = make_project(Path(root) / "start", tasks=8)
        whole = _train(start, Path(root) / "whole", _broken, 0)
        for name, (fault, share) in list(_FAULTS.items())[-1 if quick else 0 :]:
            made, good, bad, said = _train(start, Path(root) / name.replace(" ", "-"), fault, share)
            twice = max(0, good - whole[1])
            found = [f"network, {name}: {said}"] if made != whole[0] or twice else []
            rows.append(ClassResult(f"network: {name}", bad, len(found), paid_twice=twice))
            failures += found
    return tuple(rows), failures


def _train(start: Path, folder: Path, fault: _Fault, share: int) -> tuple[str, int, int, str]:
    """Train, and return the tree of the skill, how many answers were good and bad, and what was said."""
    git(start.parent, "clone", "--quiet", str(start), str(folder))
    provider = _Provider(fault, share)
    with fake_anthropic(provider) as server:
        ended = skillopt(folder, *_COMMAND, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY=_KEY)
    tree = "" if ended.returncode else git(folder, "rev-parse", "skillopt/rows^{tree}")
    return (
        tree,
        provider.good,
        provider.bad,
        f"exit code {ended.returncode}, {provider.good} good: {ended.stderr[-600:]}",
    )
