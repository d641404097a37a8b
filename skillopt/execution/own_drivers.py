"""Models, harnesses and verifiers that a user of the Python API passes as objects, checked in plain words."""

from collections.abc import Mapping
from functools import partial
from typing import Final, TypeVar

from skillopt.errors import UsageError
from skillopt.execution.drivers import PlainDrivers
from skillopt.execution.wrappers import HarnessWrapper, ModelWrapper
from skillopt.protocols import Harness, Model, RolloutRequest, VerifierFactory
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
    own: dict[str, Model] = {}
    for role, found in (("model", model), ("judge", judge)):
        if found is not None and not isinstance(found, str):
            _check(role, found, ("identity", "worst_case", "reply"))
            own[role] = _OwnModel(found)
    own_harness = None
    if harness is not None and not isinstance(harness, str):
        _check("harness", harness, ("identity", "worst_case", "run"))
        own_harness = _OwnHarness(harness)
    return PlainDrivers(own_harness, own.get("model"), own.get("judge"), _checked_verifiers(verifiers or {}))


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
    return {kind: partial(_OwnVerifier, kind, factory) for kind, factory in verifiers.items()}


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


class _OwnModel(ModelWrapper):
    """A model whose answers are looked at before they are recorded."""

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        return expect(Usage, self.inner.worst_case(prompt, system=system), f"worst_case of {self.identity!r} gives it")

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        found = self.inner.reply(prompt, system=system, schema=schema)
        return expect(Reply, found, f"reply of {self.identity!r} gives it")


class _OwnHarness(HarnessWrapper):
    """A harness whose trajectories are looked at before they are scored."""

    def worst_case(self, request: RolloutRequest) -> Usage:
        return expect(Usage, self.inner.worst_case(request), f"worst_case of {self.identity!r} gives it")

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        return expect(Trajectory, self.inner.run(request, workspace), f"run of {self.identity!r} gives it")


class _OwnVerifier:
    """A verifier whose scores are looked at before they count."""

    def __init__(self, kind: str, factory: VerifierFactory, spec: VerifierSpec) -> None:
        self._verifier = factory(spec)
        self._advice = f"score of verifier {kind!r} gives it"
        if not hasattr(self._verifier, "score"):
            raise UsageError(f"expected a verifier of kind {kind!r} with score, found {_shown(self._verifier)}")

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        return expect(Score, self._verifier.score(trajectory, workspace), self._advice)
