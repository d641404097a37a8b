"""What breaks first on the way to 10^6 rollouts a night, and at which figure: computed from what was measured.

What one rollout takes is measured (`benchmarks.scale.constants`) or typical (tokens and seconds, as `skillopt estimate`
takes them where nothing is recorded); what there is of everything is an example that is stated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from annotated_types import Le

from benchmarks.scale.constants import Constants, Program
from benchmarks.scale.constants import measure as measure_constants
from benchmarks.scale.page import paragraph, read_parts
from benchmarks.scale.plotted import Panel, Plot, Series
from skillopt.prices import cost_of, find_price
from skillopt.settings import ExecutorSettings

__all__ = [
    "ACCOUNT",
    "AGENT",
    "CHAT",
    "NIGHT",
    "Limit",
    "Million",
    "Supply",
    "Workload",
    "limits",
    "markdown",
    "measure",
    "plots",
]

NIGHT: Final = 8 * 3600
"""Seconds of a night."""

_GOAL: Final = 10**6
_USED: Final = 0.9
"""Share of a machine's memory that clients may take."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One rollout of a kind.

    Args:
        name: Of the kind.
        program: Of the client on this machine; empty for none.
        model: For its price.
        seconds: From start to end.
        requests: To the provider.
        uncached: Tokens that the provider reads and does not have in its cache.
        cached: Tokens that it has.
        written: Tokens that it writes.
    """

    name: str
    program: str
    model: str
    seconds: float
    requests: int
    uncached: int
    cached: int
    written: int

    @property
    def usd(self) -> float:
        """Give its price.

        Raises:
            LookupError: The model's is not known.
        """
        price = cost_of(find_price(self.model, {}), self.uncached, self.written, cache_read=self.cached)
        if price is None:
            raise LookupError(f"expected a price of {self.model!r}, found none")
        return price


@dataclass(frozen=True, slots=True)
class Supply:
    """What there is in one night: dollars, an account's limits a minute, one machine.

    Args:
        usd: Budget.
        requests: A minute.
        uncached: Tokens read a minute, those in the provider's cache aside.
        written: Tokens a minute.
        cores: Of the machine.
        gibibytes: Of its memory.
        disk: Free, in 10^9 bytes.
    """

    usd: float
    requests: int
    uncached: int
    written: int
    cores: int
    gibibytes: int
    disk: int


_FIRST, _GROWTH, _REQUESTS, _MISSED = 18_000, 1_500, 7, 0.1
_LATER: Final = sum(_FIRST + at * _GROWTH for at in range(1, _REQUESTS))

AGENT: Final = Workload(
    "agent",
    "claude",
    "claude-sonnet-5",
    70.0,
    _REQUESTS,
    _FIRST + round(_MISSED * _LATER),
    round((1 - _MISSED) * _LATER),
    2_500,
)
CHAT: Final = Workload("chat", "", "claude-sonnet-5", 10.0, 1, 2_000, 0, 800)
ACCOUNT: Final = Supply(1_000.0, 4_000, 4_000_000, 800_000, 16, 64, 500)


@dataclass(frozen=True, slots=True)
class Limit:
    """What ends the growth of a night at some figure.

    Args:
        what: It is.
        each: What a rollout takes of it.
        given: How much there is.
        most: Rollouts a night that this allows.
        needed: What 10^6 rollouts a night need.
    """

    what: str
    each: str
    given: str
    most: float
    needed: str


@dataclass(frozen=True, slots=True)
class Million:
    """The limits of each kind of rollout, the narrowest first."""

    agent: tuple[Limit, ...]
    chat: tuple[Limit, ...]


def measure(quick: bool) -> Million:  # noqa: FBT001 - the one argument of every measurement
    """Compute the limits from the constants in the results file; measure these first where there are none.

    Args:
        quick: Measure the constants anew, on few rollouts.
    """
    part = None if quick else read_parts().get("constants")
    constants = _constants(part.result) if part else measure_constants(quick)
    return Million(limits(constants, AGENT, ACCOUNT), limits(constants, CHAT, ACCOUNT))


def limits(constants: Constants, load: Workload, supply: Supply) -> tuple[Limit, ...]:
    """Give the limits of a night, the narrowest first.

    Args:
        constants: What our part of a rollout takes.
        load: The kind of rollout.
        supply: What there is.
    """
    found = [*_of_provider(load, supply), *_of_ours(constants, load, supply), *_of_program(constants, load, supply)]
    return tuple(sorted(found, key=lambda one: one.most))


def _of_provider(load: Workload, supply: Supply) -> list[Limit]:
    """Give what a provider allows, and asks for it."""
    minutes = NIGHT / 60
    found = [
        Limit("dollars", f"${load.usd:.3f}", f"${supply.usd:,.0f}", supply.usd / load.usd, f"${_GOAL * load.usd:,.0f}")
    ]
    for what, each, given in (
        ("requests to the provider", load.requests, supply.requests),
        ("tokens that the provider reads, cached ones aside", load.uncached, supply.uncached),
        ("tokens that the provider writes", load.written, supply.written),
    ):
        needed = f"{_GOAL * each / minutes:,.0f} a minute"
        found.append(Limit(what, f"{each:,}", f"{given:,} a minute", given * minutes / each, needed))
    return found


def _of_ours(constants: Constants, load: Workload, supply: Supply) -> list[Limit]:
    """Give what this program takes: workers, its processor, the ledger's transactions, memory and disk."""
    workers = _most_workers()
    size = constants.bytes_agent if load.program else constants.bytes_chat
    cpu, rate = constants.cpu_ms / 1000, _GOAL / NIGHT
    memory = supply.gibibytes * 2**30
    busy = f"{rate * cpu:.1%} of one core"
    return [
        Limit(
            "workers (the setting's bound)",
            f"{load.seconds:g} s",
            f"{workers}",
            workers * NIGHT / load.seconds,
            f"{rate * load.seconds:,.0f}",
        ),
        Limit("processor of the process that trains", f"{constants.cpu_ms:.2f} ms", "1 core", NIGHT / cpu, busy),
        Limit(
            "ledger, each rollout in its own transaction",
            "1",
            f"{constants.rows_singly:,.0f}/s",
            constants.rows_singly * NIGHT,
            f"{rate:.1f}/s",
        ),
        Limit(
            "disk for the ledger",
            f"{size:,.0f} bytes",
            f"{supply.disk} GB",
            supply.disk * 1e9 / size,
            f"{_GOAL * size / 1e9:,.1f} GB",
        ),
        Limit(
            "memory of the process that trains",
            f"{constants.held_bytes:,.0f} bytes",
            f"{supply.gibibytes} GiB",
            memory / max(1.0, constants.held_bytes),
            f"{_GOAL * constants.held_bytes / 2**30:,.2f} GiB",
        ),
    ]


def _of_program(constants: Constants, load: Workload, supply: Supply) -> list[Limit]:
    """Give what the programs of a client take of one machine; nothing where there are none."""
    program = next((one for one in constants.programs if one.name == load.program), None)
    if program is None:
        return []
    side_by_side = int(_USED * supply.gibibytes * 2**10 / program.mebibytes)
    needed = _GOAL / NIGHT * load.seconds * program.mebibytes / 2**10
    cores = _GOAL / NIGHT * program.cpu_seconds
    name = program.name
    return [
        Limit(
            f"memory for {name}",
            f"{program.mebibytes:,.0f} MiB",
            f"{supply.gibibytes} GiB, {side_by_side} at a time",
            side_by_side * NIGHT / load.seconds,
            f"{needed:,.0f} GiB, {needed / _USED / supply.gibibytes:.0f} machines",
        ),
        Limit(
            f"processors for {name}",
            f"{program.cpu_seconds:.2f} s",
            f"{supply.cores} cores",
            supply.cores * NIGHT / program.cpu_seconds,
            f"{cores:.0f} cores, {cores / supply.cores:.0f} machines",
        ),
    ]


def _most_workers() -> int:
    """Give the highest number of workers that the settings allow."""
    bounds = [one.le for one in ExecutorSettings.model_fields["workers"].metadata if isinstance(one, Le)]
    return int(str(bounds[0]))


def _constants(result: Mapping[str, Any]) -> Constants:
    """Read constants back from the results file."""
    return Constants(**dict(result) | {"programs": tuple(Program(**one) for one in result["programs"])})


def markdown(result: Million) -> str:
    """Write what breaks first and the tables."""
    have = ACCOUNT
    about = paragraph(
        f"A night of {NIGHT // 3600} hours.",
        f"What there is is an example: a budget of ${have.usd:,.0f}, one account with {have.requests:,} requests,",
        f"{have.uncached:,} tokens read and {have.written:,} tokens written a minute (yours: in its console),",
        f"and a machine with {have.cores} cores, {have.gibibytes} GiB and {have.disk} GB of free disk.",
        "Seconds and tokens of a rollout are typical ones, as `skillopt estimate` has them where nothing is recorded;",
        "prices are those of `skillopt/prices.py`; what our part takes was measured (above).",
    )
    parts = [about]
    for load, found in ((AGENT, result.agent), (CHAT, result.chat)):
        parts += [
            f"### {load.name}: {load.seconds:g} s, requests: {load.requests}, {load.model}",
            _breaks(found),
            _table(found),
        ]
    return "\n\n".join(parts)


def _breaks(found: tuple[Limit, ...]) -> str:
    """Say what breaks first, and what after that, up to the goal."""
    short = [one for one in found if one.most < _GOAL]
    if not short:
        return f"Nothing breaks below {_GOAL:,} rollouts a night."
    first, *later = short
    after = f" Then: {'; '.join(f'{one.what} at {_rounded(one.most)}' for one in later)}." if later else ""
    first_of_all = f"**First: {first.what}, at {_rounded(first.most)} rollouts a night.**"
    return paragraph(f"{first_of_all}{after} All else allows more than {_GOAL:,}.")


def _table(found: tuple[Limit, ...]) -> str:
    rows = [f"| {one.what} | {one.each} | {one.given} | {_rounded(one.most)} | {one.needed} |" for one in found]
    head = ["| what | a rollout | there is | allows a night | 10^6 a night need |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows])


def _rounded(count: float) -> str:
    """Write a count with two significant figures."""
    return f"{float(f'{count:.1e}'):,.0f}"


def plots(result: Million) -> list[Plot]:
    """Draw how many rollouts a night each limit allows."""
    panels = [
        Panel(
            name,
            "rollouts a night",
            "",
            [Series("", [one.what for one in found], [one.most for one in found], "bars")],
            "x",
        )
        for name, found in (("agent", result.agent), ("chat", result.chat))
    ]
    return [Plot("million", "Rollouts a night that each limit allows", panels)]
