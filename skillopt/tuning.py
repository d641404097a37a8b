"""Searching for settings with Optuna: ask for some, measure them case by case, tell what they came to.

Owns Optuna, the journal that a study is kept in, and the order "measure, record, then go on". Does not own what is
measured (the caller), when an attempt is given up (racing) or which one is best (attempts).

Resuming is rerunning, as everywhere: what is asked for next depends on the seed, on the attempt's number and on the
attempts before it alone, and each case's result is on disk before it is used. So a study that was interrupted at any
point and goes on is the study that was never interrupted.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from json import dumps
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, assert_never

from filelock import FileLock, Timeout

from skillopt.attempts import Attempt, Result, estimated
from skillopt.errors import BusyError, UsageError
from skillopt.racing import Race
from skillopt.search_space import Choices, Range, Space, Value, nearest
from skillopt.tasks import digest_of

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

__all__ = ["Measure", "Search", "Study", "check_optuna", "open_study", "tune"]

Measure = Callable[[Mapping[str, Value], Sequence[str]], Generator[Result, None, None]]
"""Measures settings in some cases, one after the other, in the order given; closed when the rest is not wanted."""

_DIRECTIONS: Final = ("maximize", "minimize")
_NAME: Final = "skillopt"
_TRIES: Final = 20
"""How often to ask again for settings that were not tried before."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched; the same search goes on where it was interrupted, another one is another study.

    Args:
        title: All that decides a result besides the dials, such as suite, target and settings.
        space: The dials.
        start: What the dials are set to at first.
        cases: Names of the cases, in the order in which they are measured.
        seed: Of what is asked for.
        error: Probability of giving up an attempt that is no worse than those it races; 0 never gives up.
    """

    title: str
    space: Space
    start: Mapping[str, Value]
    cases: tuple[str, ...]
    seed: int = 0
    error: float = 0.1

    @property
    def digest(self) -> str:
        """Identify the search."""
        dials = [[name, type(dial).__name__, repr(dial)] for name, dial in self.space.items()]
        return digest_of(dumps([self.title, dials, self.start, self.cases, self.seed, self.error], sort_keys=True))


@dataclass(slots=True)
class Study:
    """A study that is open; made by `open_study`."""

    search: Search
    journal: "optuna.Study"
    attempts: list[Attempt] = field(default_factory=list)
    recorded: dict[str, Result] = field(default_factory=dict)

    def measured(
        self, values: Mapping[str, Value], cases: Sequence[str], measure: Measure
    ) -> Generator[Result, None, None]:
        """Give the results of settings in some cases, measuring those that are not recorded as they are wanted."""
        keys = [_key(values, case) for case in cases]
        missing = [case for key, case in zip(keys, cases, strict=True) if key not in self.recorded]
        with closing(measure(values, missing)) as fresh:
            for key in keys:
                if key not in self.recorded:
                    result = next(fresh)
                    self.journal.set_user_attr(key, [result.score, result.rollouts])
                    self.recorded[key] = result
                yield self.recorded[key]

    def add(self, attempt: Attempt) -> None:
        """Record an attempt that has ended."""
        told = {
            "number": attempt.number,
            "values": dict(attempt.values),
            "results": {case: [one.score, one.rollouts] for case, one in attempt.results.items()},
            "given_up": attempt.given_up,
        }
        self.journal.add_trial(_trial(self.search.space, attempt, self.attempts, told))
        self.attempts.append(attempt)


def check_optuna() -> None:
    """Refuse to begin without Optuna, before anything is spent.

    Raises:
        UsageError: It is not installed.
    """
    _optuna()


@contextmanager
def open_study(file: Path, search: Search) -> Iterator[Study]:
    """Open the study kept in a file, or begin it; only one process may.

    Args:
        file: The journal of Optuna; its folder is made.
        search: What is searched.

    Raises:
        UsageError: The file holds another search, or Optuna is not installed.
        BusyError: Another process has it open.
    """
    _optuna()
    from optuna.storages import JournalStorage  # noqa: PLC0415 - an optional dependency
    from optuna.storages.journal import JournalFileBackend  # noqa: PLC0415 - as above

    lock = FileLock(f"{file}.writer", timeout=0)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        message = f"another process works on {file}; wait for it or end it, then run this again"
        raise BusyError(message) from error
    except OSError as error:
        message = f"cannot write {file}: {error.strerror or error}; make its folder writable"
        raise UsageError(message) from error
    try:
        _mend(file)
        journal = _load(JournalStorage(JournalFileBackend(str(file))), file, search)
        yield _read(journal, search)
    finally:
        lock.release()


def tune(study: Study, attempts: int, measure: Measure, told: Callable[[str], None]) -> tuple[Attempt, ...]:
    """Go on with a study until it has so many attempts; the first one is where the search starts.

    Args:
        study: The study; attempts that are there count.
        attempts: How many in all, ≥ 1.
        measure: Measures settings.
        told: Takes a line about every attempt, and an indented one about every case.

    Returns:
        All attempts of the study, which may be more.
    """
    while len(study.attempts) < attempts:
        number = len(study.attempts)
        values = dict(study.search.start) if number == 0 else _ask(study.search, study.attempts, number)
        told(f"attempt {number + 1} of {attempts}: {', '.join(f'{name}={value}' for name, value in values.items())}")
        attempt = _run(study, number, values, measure, told)
        study.add(attempt)
        told(
            f"attempt {number + 1}: score {attempt.score:.3f}, {attempt.rollouts:.0f} rollouts, "
            f"{'given up after ' if attempt.given_up else ''}{len(attempt.results)} of {len(study.search.cases)} cases"
        )
    return tuple(study.attempts)


def _run(
    study: Study, number: int, values: Mapping[str, Value], measure: Measure, told: Callable[[str], None]
) -> Attempt:
    """Measure one attempt case by case, until it is done or has lost."""
    search = study.search
    race = Race([list(one.results.values()) for one in study.attempts if not one.given_up])
    results: dict[str, Result] = {}
    with closing(study.measured(values, search.cases, measure)) as found:
        for case, result in zip(search.cases, found, strict=True):
            results[case] = result
            race.add(result)
            told(f"  {case}: score {result.score:.3f}, {result.rollouts} rollouts")
            if race.is_lost(search.error) and len(results) < len(search.cases):
                return Attempt(number, values, results, given_up=True)
    return Attempt(number, values, results)


def _ask(search: Search, attempts: Sequence[Attempt], number: int) -> dict[str, Value]:
    """Ask for settings, if possible not tried before, by what the attempts so far came to."""
    optuna = _optuna()
    dials = _distributions(search.space)
    finished = [_trial(search.space, attempt, attempts[:at]) for at, attempt in enumerate(attempts)]
    tried = [attempt.values for attempt in attempts]
    values: dict[str, Value] = {}
    for again in range(_TRIES):
        # A sampler of its own for each question: the answer depends on nothing that a rerun could not repeat.
        seed = int(digest_of(str(search.seed), str(number), str(again))[:8], 16)
        study = optuna.create_study(directions=_DIRECTIONS, sampler=optuna.samplers.TPESampler(seed=seed))
        study.add_trials(finished)
        asked = study.ask(dials).params
        values = {name: round(value, 10) if isinstance(value, float) else value for name, value in asked.items()}
        if values not in tried:
            break
    return values


def _trial(
    space: Space, attempt: Attempt, before: Sequence[Attempt], told: Mapping[str, Any] | None = None
) -> "optuna.trial.FrozenTrial":
    """Say an attempt in Optuna's words; where it is off the dials, as the nearest settings that are on them."""
    made: optuna.trial.FrozenTrial = _optuna().trial.create_trial(
        values=estimated(attempt, before),
        params={name: nearest(dial, attempt.values[name]) for name, dial in space.items()},
        distributions=_distributions(space),
        user_attrs=dict(told or {}),
    )
    return made


def _distributions(space: Space) -> "dict[str, BaseDistribution]":
    from optuna import distributions  # noqa: PLC0415 - an optional dependency

    found: dict[str, BaseDistribution] = {}
    for name, dial in space.items():
        match dial:
            case Choices():
                found[name] = distributions.CategoricalDistribution(dial.options)
            case Range() if dial.whole:
                low, high, step = int(dial.low), int(dial.high), int(dial.step or 1)
                found[name] = distributions.IntDistribution(low, high - (high - low) % step, log=dial.log, step=step)
            case Range():
                found[name] = distributions.FloatDistribution(dial.low, dial.high, log=dial.log, step=dial.step)
            case _:
                assert_never(dial)
    return found


def _key(values: Mapping[str, Value], case: str) -> str:
    """Give the name under which a result is recorded: what was measured, and in which case."""
    return f"case {digest_of(dumps(dict(values), sort_keys=True))[:16]} {case}"


def _load(storage: "optuna.storages.JournalStorage", file: Path, search: Search) -> "optuna.Study":
    library, opened = _optuna(), {"study_name": _NAME, "storage": storage}
    # Not `load_if_exists`, which writes to a journal that may be another search's.
    begun = _NAME in library.study.get_all_study_names(storage)
    begin = library.load_study if begun else partial(library.create_study, directions=_DIRECTIONS)
    journal: optuna.Study = begin(**opened)
    known = journal.user_attrs.get("search")
    if known is None:
        journal.set_user_attr("search", search.digest)
    elif known != search.digest:
        message = f"{file} holds a search over something else; choose another name, or remove it to begin anew"
        raise UsageError(message)
    return journal


def _read(journal: "optuna.Study", search: Search) -> Study:
    cases = {key: value for key, value in journal.user_attrs.items() if key.startswith("case ")}
    attempts = [
        Attempt(
            told["number"],
            told["values"],
            {case: Result(*one) for case, one in told["results"].items()},
            given_up=told["given_up"],
        )
        for told in (trial.user_attrs for trial in journal.get_trials())
    ]
    return Study(search, journal, attempts, {key: Result(*one) for key, one in cases.items()})


def _mend(file: Path) -> None:
    """Take away what a process that was killed while writing has left: half a line, and Optuna's lock."""
    Path(f"{file}.lock").unlink(missing_ok=True)
    if file.exists():
        content = file.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            aside = file.with_name(f"{file.name}.new")
            aside.write_bytes(whole)
            aside.replace(file)


@cache
def _optuna() -> "ModuleType":
    """Import Optuna, which is an extra, and keep it from writing about its own doings."""
    try:
        import optuna  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        message = (
            "expected Optuna, which searches for settings, found none; install it: pip install 'skillopt-mcp[tune]'"
        )
        raise UsageError(message) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
