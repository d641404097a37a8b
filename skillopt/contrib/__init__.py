"""What the core works without: one row a package, in which every value is an import path that is imported on use.

The core reads this table and imports nothing below it. A package goes with its folder, tests, page and row.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

__all__ = ["CONTRIB", "Contribution", "find_driver"]


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a package adds to the core.

    Attributes:
        commands: Name of a command → its heading, the import path of its function, and its line in the help.
        formats: Name of a format of task files → its row, as in `suites/formats/formats.toml`.
        drivers: Name of a port of the core → the import path of what fills it.
    """

    commands: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    formats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    drivers: Mapping[str, str] = field(default_factory=dict)


CONTRIB: Final[Mapping[str, Contribution]] = {
    "formats": Contribution(
        formats={
            "promptfoo": {
                "files": [
                    *("evals/promptfooconfig.y*ml", "evals/promptfoo*.y*ml", "evals/promptfooconfig.json"),
                    *("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json"),
                ],
                "reader": "skillopt.contrib.formats.promptfoo:read_promptfoo",
                "commands": True,
            },
            "plugin-eval": {
                "files": ["evals/**/case.yaml", "evals/**/prompt.md"],
                "reader": "skillopt.contrib.formats.plugin_eval:read_plugin_eval",
            },
        }
    ),
    "harbor": Contribution(
        formats={
            "harbor": {
                "files": ["evals/**/task.toml"],
                "reader": "skillopt.contrib.harbor.task_folders:read_harbor",
                "executor": True,
            }
        },
        drivers={
            "roots": "skillopt.contrib.harbor.image_root:ImageRoots",
            "oracles": "skillopt.contrib.harbor.oracle:SolutionOracles",
        },
    ),
    "history": Contribution(
        commands={
            "harvest": ("Tasks", "skillopt.contrib.history.harvest:harvest", "Draft tasks from your past sessions.")
        },
        drivers={"changes_with_tests": "skillopt.contrib.history.commits:changes_with_tests"},
    ),
    "ray": Contribution(drivers={"cluster": "skillopt.contrib.ray.cluster:RayCluster"}),
    "triggers": Contribution(
        commands={
            "trigger": (
                "Measure",
                "skillopt.contrib.triggers.trigger:trigger",
                "Measure when the agent loads the skill, or train it.",
            )
        },
        drivers={"descriptions": "skillopt.contrib.triggers.descriptions:TriggerDescriptions"},
    ),
    "tune": Contribution(),  # runs as `python -m skillopt.contrib.tune`
}


def find_driver(port: str) -> Any | None:  # noqa: ANN401 - the caller names the protocol of its port
    """Import what fills a port of the core; None where no package does."""
    path = next((row.drivers[port] for row in CONTRIB.values() if port in row.drivers), "")
    module, _, name = path.partition(":")
    return getattr(import_module(module), name) if path else None
