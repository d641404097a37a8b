"""Bases of harnesses and models that do something around those of others: identity and bounds stay theirs."""

from skillopt.execution.masking import Masking
from skillopt.protocols import Harness, Model, RolloutRequest
from skillopt.rollouts import Reply, Trajectory, Usage

__all__ = ["HarnessWrapper", "MaskedModel", "ModelWrapper"]


class HarnessWrapper:
    """A harness around another; what a subclass does not override is the other's."""

    def __init__(self, harness: Harness) -> None:
        self.inner = harness

    @property
    def identity(self) -> str:
        """Name the target."""
        return self.inner.identity

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound what a rollout consumes."""
        return self.inner.worst_case(request)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Do the task."""
        return self.inner.run(request, workspace)


class ModelWrapper:
    """A model around another; what a subclass does not override is the other's."""

    def __init__(self, model: Model) -> None:
        self.inner = model

    @property
    def identity(self) -> str:
        """Name the model."""
        return self.inner.identity

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound what a call consumes."""
        return self.inner.worst_case(prompt, system=system)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer one prompt."""
        return self.inner.reply(prompt, system=system, schema=schema)


class MaskedModel(ModelWrapper):
    """A model, such as the judge of raw answers, that is never sent a secret."""

    def __init__(self, model: Model, masking: Masking) -> None:
        super().__init__(model)
        self._masking = masking

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound what a call consumes."""
        return self.inner.worst_case(self._masking.text(prompt), system=system)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer one prompt, its secrets masked."""
        return self.inner.reply(self._masking.text(prompt), system=system, schema=schema)
