"""What a call of the Python API works with: settings, drivers and a ledger, in a folder or a temporary one."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import BaseModel

from skillopt.errors import SuiteError, UsageError
from skillopt.execution.drivers import Drivers, Given, load_drivers
from skillopt.execution.metering import expect, shown
from skillopt.execution.recording import Recording, config_of, record_of
from skillopt.execution.results import Scoring
from skillopt.execution.runner import RunObserver
from skillopt.loop.events import Event
from skillopt.protocols import Harness, Model, VerifierFactory
from skillopt.settings import PresetConstants, Settings, make_settings
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Suite
from skillopt.verifiers import VERIFIERS

__all__ = ["Session", "open_session", "own_drivers", "settings_of"]

_LOG = logging.getLogger("skillopt")


@dataclass(frozen=True, slots=True)
class Session:
    """What is open while a call lasts."""

    root: Path
    ledger: Ledger
    drivers: Drivers
    settings: Settings

    def begin(self, skill: Skill, suite: Suite, on_event: Callable[[Event], None] | None) -> tuple[Recording, bool]:
        """Record a run, or take up the one of the same text, suite, settings and drivers; say whether it goes on."""
        drivers, settings = self.drivers, self.settings
        identities = tuple(one.identity for one in (drivers.harness, drivers.model, drivers.judge) if one is not None)
        record = record_of(skill, suite, config_of(settings, identities), settings.seed)
        known = self.ledger.find_run(record.id) is not None
        return Recording(self.ledger, self.ledger.begin_run(record), drivers, settings, _Events(on_event)), known

    def scoring(self) -> Scoring:
        """Measure outside of any run."""
        return Scoring(self.ledger, self.drivers, self.settings, _Events())


@contextmanager
def open_session(
    store: Path | str | None, settings: Settings, suite: Suite, given: Given, *, optimizer: bool = False
) -> Iterator[Session]:
    """Make the drivers, check what can be checked for nothing, and open the ledger."""
    expect(Suite, suite, "read one with load_suite")
    _expect_named(settings, given, optimizer=optimizer)
    with ExitStack() as stack:
        if store is None:
            root = Path(stack.enter_context(TemporaryDirectory(prefix="skillopt-")))
        else:
            root = Path(store).parent if Path(store).name == ".skillopt" else Path(store)
            with suppress(OSError):  # the ledger says it better
                root.mkdir(parents=True, exist_ok=True)
        drivers = load_drivers(settings, suite, root, given, optimizer=optimizer)
        _check_verifiers(suite, drivers)
        yield Session(root, stack.enter_context(closing(Ledger.open(root))), drivers, settings)


def _check_verifiers(suite: Suite, drivers: Drivers) -> None:
    """Make each verifier once: a wrong kind or option costs no rollout."""
    for _, task in suite.splits:
        try:
            verifier = drivers.verifier(task.verifier)
        except SuiteError as error:
            own = "" if task.verifier.kind in VERIFIERS else "; a kind of your own is passed as verifiers={'KIND': …}"
            raise SuiteError(f"task {task.id!r}: {error}{own}") from error
        if not hasattr(verifier, "score"):
            raise UsageError(f"expected a verifier of kind {task.verifier.kind!r} with score, found {shown(verifier)}")


def own_drivers(
    harness: Harness | str | None,
    model: Model | str | None,
    judge: Model | str | None,
    verifiers: Mapping[str, VerifierFactory] | None,
) -> Given:
    """Take the drivers of a call that are objects, checked in plain words; those that are names are left to be made."""
    for role, found, members in (("model", model, "reply"), ("judge", judge, "reply"), ("harness", harness, "run")):
        if found is not None and not isinstance(found, str):
            _check(role, found, ("identity", "worst_case", members))
    _check_kinds({} if verifiers is None else verifiers)
    return Given(
        None if isinstance(harness, str) else harness,
        None if isinstance(model, str) else model,
        None if isinstance(judge, str) else judge,
        verifiers or {},
    )


def _check_kinds(verifiers: Mapping[str, VerifierFactory]) -> None:
    if not isinstance(verifiers, Mapping):
        raise UsageError(f"expected verifiers by their kind, found {shown(verifiers)}; pass {{'my-kind': MyVerifier}}")
    for kind, factory in verifiers.items():
        if kind in VERIFIERS:
            raise UsageError(f"expected a kind of verifier that is not built in, found {kind!r}; choose another name")
        if not callable(factory):
            raise UsageError(
                f"expected what makes a verifier of kind {kind!r} of its VerifierSpec, found {shown(factory)}; pass "
                "its class or a function"
            )


def _check(role: str, found: object, members: tuple[str, ...]) -> None:
    listed = f"expected as {role} an object with {', '.join(members)}"
    if isinstance(found, type):
        raise UsageError(f"{listed}, found the class {found.__name__}; pass an object of it")
    missing = [name for name in members if not hasattr(found, name)]
    if missing:
        raise UsageError(f"{listed}, found {shown(found)} without {', '.join(missing)}; see skillopt.protocols")
    identity = getattr(found, members[0])
    if not isinstance(identity, str) or not identity:
        raise UsageError(
            f"expected as identity of the {role} a text that names all that can change what it does, found {identity!r}"
        )


def settings_of(settings: Settings | Mapping[str, object] | None, **drivers: object) -> Settings:
    """Put settings together with the drivers that are named in the call."""
    given = {} if settings is None else _values(settings) if isinstance(settings, Settings) else settings
    if not isinstance(given, Mapping):
        raise UsageError(f"expected Settings, found {given!r}; pass Settings(max_usd=5) or {{'max_usd': 5}}")
    named = {role: name for role, name in drivers.items() if isinstance(name, str)}
    constants = {name: value for name, value in given.items() if name in PresetConstants.model_fields}
    known = {name: value for name, value in given.items() if name not in constants}
    return make_settings(("settings", known), ("arguments", named)).model_copy(update=constants)


def _values(settings: BaseModel) -> dict[str, object]:
    """Return what was set, by name, whatever its table."""
    found: dict[str, object] = {}
    for name in settings.model_fields_set:
        value = getattr(settings, name)
        found |= _values(value) if isinstance(value, BaseModel) else {name: value}
    return found


def _expect_named(settings: Settings, given: Given, *, optimizer: bool) -> None:
    """Refuse a call that names no target or no optimizer model: the demo is never used in silence."""
    wanted = [("harness", given.harness, "claude-code"), ("model", given.model, "anthropic/MODEL")]
    for role, found, example in wanted if optimizer else wanted[:1]:
        if found is None and role not in settings.model_fields_set:
            raise UsageError(
                f'expected a {role}, found none; pass {role}="{example}", an object of your own, or "demo", the '
                "offline stand-in"
            )


class _Events(RunObserver):
    """Hands events to a callback and notices to the log."""

    def __init__(self, on_event: Callable[[Event], None] | None = None) -> None:
        self._on_event = on_event

    def event(self, event: Event) -> None:
        """Call back."""
        if self._on_event is not None:
            self._on_event(event)

    def notice(self, text: str) -> None:
        """Log what the user should know."""
        _LOG.warning(text)
