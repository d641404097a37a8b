"""Train a skill document the way you train weights: rollouts, bounded edits, a gate, versions.

The Python API, imported on use so that `import skillopt` stays quick. See `skillopt docs python-api`.
"""

TYPE_CHECKING = False  # `typing` takes long to load, and a command listens to Ctrl-C only after this module
if TYPE_CHECKING:
    from skillopt.api import compare, evaluate, load_skill, optimize
    from skillopt.errors import SkilloptError
    from skillopt.gate.decide import Verdict
    from skillopt.loop.events import (
        BaselineMeasured,
        DraftChanged,
        DraftGraded,
        EditRefused,
        EditScreened,
        EditUnreadable,
        Event,
        GateDecided,
        HeldOutTestMeasured,
        LinesReviewed,
        PatchTested,
        PromptSkipped,
        ReleaseCheckWithheld,
        RunEnded,
        RunStarted,
        StepFailed,
        StepStarted,
        TasksSetAside,
        TextScreened,
        TrainMeasured,
        VerifierSuspected,
        VersionAccepted,
    )
    from skillopt.protocols import Harness, Model, Verifier
    from skillopt.rollouts import Rollout, Score
    from skillopt.settings import Settings
    from skillopt.skills.document import Skill
    from skillopt.skills.edits import Edit
    from skillopt.suites import load_suite
    from skillopt.tasks import Split, Suite, Task, VerifierSpec

__all__ = [
    "BaselineMeasured",
    "DraftChanged",
    "DraftGraded",
    "Edit",
    "EditRefused",
    "EditScreened",
    "EditUnreadable",
    "Event",
    "GateDecided",
    "Harness",
    "HeldOutTestMeasured",
    "LinesReviewed",
    "Model",
    "PatchTested",
    "PromptSkipped",
    "ReleaseCheckWithheld",
    "Rollout",
    "RunEnded",
    "RunStarted",
    "Score",
    "Settings",
    "Skill",
    "SkilloptError",
    "Split",
    "StepFailed",
    "StepStarted",
    "Suite",
    "Task",
    "TasksSetAside",
    "TextScreened",
    "TrainMeasured",
    "Verdict",
    "Verifier",
    "VerifierSpec",
    "VerifierSuspected",
    "VersionAccepted",
    "__version__",
    "compare",
    "evaluate",
    "load_skill",
    "load_suite",
    "optimize",
]

__version__ = "0.1.0"

_EVENTS = "skillopt.loop.events"  # of all other names
_MODULES = {
    "skillopt.api": ("compare", "evaluate", "load_skill", "optimize"),
    "skillopt.errors": ("SkilloptError",),
    "skillopt.gate.decide": ("Verdict",),
    "skillopt.protocols": ("Harness", "Model", "Verifier"),
    "skillopt.rollouts": ("Rollout", "Score"),
    "skillopt.settings": ("Settings",),
    "skillopt.skills.document": ("Skill",),
    "skillopt.skills.edits": ("Edit",),
    "skillopt.suites": ("load_suite",),
    "skillopt.tasks": ("Split", "Suite", "Task", "VerifierSpec"),
}


if not TYPE_CHECKING:  # else a misspelt name would have a type

    def __getattr__(name: str) -> object:
        """Import what is asked for, once."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - as above

        module = next((module for module, names in _MODULES.items() if name in names), _EVENTS)
        globals()[name] = found = getattr(import_module(module), name)
        return found


def __dir__() -> list[str]:
    """List the API, imported or not."""
    return __all__
