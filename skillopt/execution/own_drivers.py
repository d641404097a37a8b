"""Models, harnesses and verifiers that a user of the Python API passes as objects, checked in plain words."""

from collections.abc import Mapping
from typing import Final, TypeVar

from skillopt.errors import UsageError
from skillopt.execution.drivers import PlainDrivers
from skillopt.protocols import Harness, Model, RolloutRequest, Verifier, VerifierFactory
from skillopt.rollouts import Reply, Score, Trajectory, Usage
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import VERIFIERS

__all__ = ["expect", "own_drivers"]

T = TypeVar("T")

_SHOWN: Final = 80
"""Most characters of a wrong value that a message shows."""


def own_drivers(
    harness: Harness | str | None,
    model: Model | str | None,
    judge: Model | str | None,
    verifiers: Mapping[str, VerifierFactory] | None,
) -> PlainDrivers:
    """Take the drivers of a call that are objects; those that are names are left to be made."""
    return PlainDrivers(
        _checked_harness(harness),
        _checked_model("model", model),
        _checked_model("judge", judge),
        _checked_verifiers({} if verifiers is None else verifiers),
    )


def _checked_model(role: str, model: Model | str | None) -> Model | None:
    """Check a model that is an object."""
    if model is None or isinstance(model, str):
        return None
    _check(role, model, ("identity", "worst_case", "reply"))
    return _OwnModel(model)


def _checked_harness(harness: Harness | str | None) -> Harness | None:
    """Check a harness that is an object; a name, or none, gives None."""
    if harness is None or isinstance(harness, str):
        return None
    _check("harness", harness, ("identity", "worst_case", "run"))
    return _OwnHarness(harness)


def _checked_verifiers(verifiers: Mapping[str, VerifierFactory]) -> Mapping[str, VerifierFactory]:
    """Check own kinds of verifiers."""
    if not isinstance(verifiers, Mapping):
        raise UsageError(f"expected verifiers by their kind, found {_shown(verifiers)}; pass {{'my-kind': MyVerifier}}")
    for kind, factory in verifiers.items():
        if kind in VERIFIERS:
            raise UsageError(f"expected a kind of verifier that is not built in, found {kind!r}; choose another name")
        if not callable(factory):
            raise UsageError(
                f"expected what makes a verifier of kind {kind!r} of its VerifierSpec, found {_shown(factory)}; pass "
                "its class or a function"
            )
    return {kind: _OwnVerifiers(kind, factory) for kind, factory in verifiers.items()}


def expect(kind: type[T], found: object, advice: str) -> T:
    """Refuse a value of another type."""
    if isinstance(found, kind):
        return found
    raise UsageError(f"expected a {kind.__name__}, found {_shown(found)}; {advice}")


def _check(role: str, found: object, members: tuple[str, ...]) -> None:
    listed = f"expected as {role} an object with {', '.join(members)}"
    if isinstance(found, type):
        raise UsageError(f"{listed}, found the class {found.__name__}; pass an object of it")
    missing = [name for name in members if not hasattr(found, name)]
    if missing:
        raise UsageError(f"{listed}, found {_shown(found)} without {', '.join(missing)}; see skillopt.protocols")
    identity = getattr(found, members[0])
    if not isinstance(identity, str) or not identity:
        raise UsageError(
            f"expected as identity of the {role} a text that names all that can change what it does, found {identity!r}"
        )


def _shown(found: object) -> str:
    text = repr(found)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class _OwnModel:
    """A model whose answers are looked at before they are recorded."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def identity(self) -> str:
        return self._model.identity

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        return expect(Usage, self._model.worst_case(prompt, system=system), f"worst_case of {self.identity!r} gives it")

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        found = self._model.reply(prompt, system=system, schema=schema)
        return expect(Reply, found, f"reply of {self.identity!r} gives it")


class _OwnHarness:
    """A harness whose trajectories are looked at before they are scored."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    @property
    def identity(self) -> str:
        return self._harness.identity

    def worst_case(self, request: RolloutRequest) -> Usage:
        return expect(Usage, self._harness.worst_case(request), f"worst_case of {self.identity!r} gives it")

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        return expect(Trajectory, self._harness.run(request, workspace), f"run of {self.identity!r} gives it")


class _OwnVerifiers:
    """Makes verifiers of one kind, whose scores are looked at before they count."""

    def __init__(self, kind: str, factory: VerifierFactory) -> None:
        self._kind = kind
        self._factory = factory

    def __call__(self, spec: VerifierSpec) -> Verifier:
        made = self._factory(spec)
        if not hasattr(made, "score"):
            raise UsageError(f"expected a verifier of kind {self._kind!r} with score, found {_shown(made)}")
        return _OwnVerifier(made, f"score of verifier {self._kind!r} gives it")


class _OwnVerifier:
    def __init__(self, verifier: Verifier, advice: str) -> None:
        self._verifier = verifier
        self._advice = advice

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        return expect(Score, self._verifier.score(trajectory, workspace), self._advice)
