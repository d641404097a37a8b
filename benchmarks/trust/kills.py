"""Commands that are ended by a signal at any point of their work, and run again until they are through.

They must come to what an undisturbed run comes to, pay for no recorded call again and leave nothing behind.
"""

import shutil
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.trust.classes import ClassResult, Found
from benchmarks.trust.counted import count_calls
from benchmarks.trust.forked import Command, Ended, Kill, load_all, run_forked
from benchmarks.trust.mcp_kills import run_job, run_server
from benchmarks.trust.places import Place
from benchmarks.trust.projects import OPTIMIZE, skillopt
from skillopt.commands.entry import main

_SEED: Final = 20261122
_WORKERS: Final = 4
"""As many calls a kill may cost: those under way."""
_SIGNALS: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_A_PLACE: Final = 5
"""Kills of one project, one run after the other."""
_TRAIN: Final = (
    "nightly",
    "train",
    "--state",
    "../state.json",
    "--output",
    "../night",
    "--quiet",
    "--set",
    "workers=4",
)
_OFFER: Final = ("nightly", "offer", "../night", "--json")

_Work = Callable[[Place, Kill | None], Ended]
"""Does some work in a place, ended by a signal or not."""


@dataclass(slots=True)
class _Tally:
    """What was found over many kills."""

    kills: int = 0
    lost: int = 0
    paid_twice: int = 0
    again: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def try_kills_of_training(*, quick: bool) -> Found:
    """End `optimize` at points that are spread over its work, and run it again."""
    return _try("optimize", (_command(OPTIMIZE),), 9 if quick else 100)


def try_kills_of_nights(*, quick: bool) -> Found:
    """End `nightly train` and `nightly offer` in the same way."""
    return _try("nightly train, offer", (_command(_TRAIN), _command(_OFFER)), 6 if quick else 60)


def try_kills_of_mcp(*, quick: bool) -> Found:
    """End jobs of the MCP server, who starts them, and the server; the client asks again."""
    job, server = _try("MCP job", (run_job,), 3 if quick else 50), _try("MCP server", (run_server,), 3 if quick else 40)
    return (*job[0], *server[0]), [*job[1], *server[1]]


def _try(name: str, works: Sequence[_Work], most: int) -> Found:
    load_all()
    count_calls()
    with TemporaryDirectory(prefix="trust-kills-") as root:
        start = Place.make(Path(root) / "start")
        checked = skillopt(start.clone, "nightly", "check", "--output", "../state.json")
        if checked.returncode:
            return (ClassResult(f"kills: {name}", 0, 0),), [f"nightly check: {checked.stderr}"]
        row, failures = _kill_all(name, start, works, most)
    return (row,), failures


def _command(arguments: Sequence[str]) -> _Work:
    def run(place: Place, kill: Kill | None) -> Ended:
        return run_forked(Command(main, place.clone, arguments, place.environment), kill)

    return run


def _kill_all(name: str, start: Place, works: Sequence[_Work], most: int) -> tuple[ClassResult, list[str]]:
    random, tally = Random(_SEED), _Tally()
    with TemporaryDirectory(prefix="trust-kills-") as root:
        whole = start.copy(Path(root) / "whole")
        ends = [work(whole, None) for work in works]
        if any(end.code for end in ends):
            return ClassResult(name, 0, 0), [f"{name}: undisturbed: {whole.last_words()}"]
        number = 0
        while tally.kills < most and len(tally.failures) < 20:  # noqa: PLR2004 - more say nothing new
            number += 1
            place = start.copy(Path(root) / f"place{number}")
            _go_through(place, list(zip(works, ends, strict=True)), random, tally)
            if place.branches() != whole.branches():
                tally.lost += 1
                tally.failures.append(f"other branches: {place.branches()}")
            tally.failures += [f"left behind: {left}" for left in place.leftovers()]
            shutil.rmtree(place.folder)
    again = f"{sum(tally.again) / len(tally.again):.1f}, at most {max(tally.again)}"
    row = ClassResult(f"kills: {name}", tally.kills, len(tally.failures), tally.lost, tally.paid_twice, again=again)
    return row, [f"{name}: {failure}" for failure in tally.failures]


def _go_through(place: Place, works: Sequence[tuple[_Work, Ended]], random: Random, tally: _Tally) -> None:
    """Do work after work until each is through, with kills on the way."""
    for work, whole in works:
        for attempt in range(_A_PLACE + 1):
            before, sent = place.recorded(), _SIGNALS[tally.kills % len(_SIGNALS)]
            kill = Kill(sent, random.randint(1, max(1, whole.points))) if attempt < _A_PLACE else None
            ended = work(place, kill)
            twice, unrecorded = len(before.intersection(ended.paid)), len({*ended.paid} - place.recorded())
            tally.paid_twice += twice
            tally.kills += ended.sent
            tally.again += [unrecorded] * ended.sent
            if ended.left or twice or unrecorded > _WORKERS * ended.sent:
                tally.failures.append(
                    f"{kill}: {ended.left} processes left, {twice} calls paid again, {unrecorded} not recorded"
                )
            if ended.code == 0:
                break
            if kill is None or ended.code not in (-sent, 130):
                tally.failures.append(f"{kill}: ended with {ended.code}: {place.last_words()}")
