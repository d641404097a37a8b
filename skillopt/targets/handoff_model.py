"""Model `handoff`: a person or another agent answers prompts between two runs of the same command."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.rollouts import Reply, Usage
from skillopt.targets.handoff_folder import HandoffFolder
from skillopt.tasks import File, digest_of

__all__ = ["HandoffModel"]

_TITLE: Final = 100
"""Characters of a prompt's first line that are shown as what it is about."""


@dataclass(frozen=True, slots=True)
class HandoffModel:
    """Answers prompts by handing them off."""

    folder: Path

    def __post_init__(self) -> None:
        """Refuse answers to prompts that were never asked."""
        HandoffFolder(self.folder).check()

    @property
    def identity(self) -> str:
        """Name the model; who answers is not known here."""
        return "handoff"

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:  # noqa: ARG002 - whatever is asked, we pay nothing
        """Bound a call: nothing is paid through us."""
        return Usage(calls=1)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Return the answer, or hand the prompt off."""
        texts = {"prompt.md": prompt, "system.md": system, "schema.json": schema}
        files = [File(name, text.encode("utf-8", "replace")) for name, text in texts.items() if text]
        about = prompt.lstrip().partition("\n")[0][:_TITLE]
        answer = HandoffFolder(self.folder).answer("prompts", digest_of(system, prompt), files, about=about)
        return Reply(answer, Usage(calls=1, usd=None))
