"""Harness `handoff`: a person or another agent does the task in a folder, between two runs of the same command."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Message, Trajectory, Usage
from skillopt.sandbox.workspace import Unreadable, changed_files, read_workspace_file
from skillopt.skills.folder import files_of
from skillopt.targets.handoff_folder import HandoffFolder
from skillopt.tasks import File, digest_of

__all__ = ["HandoffHarness"]

_LARGEST: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class HandoffHarness:
    """Runs tasks by handing them off."""

    folder: Path

    def __post_init__(self) -> None:
        """Refuse answers to what was never asked."""
        HandoffFolder(self.folder).check()

    @property
    def identity(self) -> str:
        """Name the harness; who does the work is not known here."""
        return "handoff"

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - whatever is asked, we pay nothing
        """Bound a rollout: nothing is paid through us."""
        return Usage(calls=1)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Take back what was done, or hand it off."""
        skill, task = request.skill, request.task
        key = digest_of(request.digest, task.digest, str(request.repeat))
        files = [File("prompt.md", task.prompt.encode("utf-8", "replace"))]
        files += [File(f"workspace/{file.path}", file.content) for file in task.files]
        if skill:
            files += [File(f"skill/{skill.name}/{file.path}", file.content) for file in files_of(skill)]
        for one in request.beside:
            files += [File(f"beside/{one.name}/{file.path}", file.content) for file in files_of(one)]
        same = digest_of(request.digest, task.digest)
        handed = HandoffFolder(self.folder)
        answer = handed.answer("rollouts", key, files, about=task.id, same=same).strip()
        done = handed.path / "rollouts" / key[:20] / "workspace"
        for path in changed_files(str(done), task.files):
            _take_back(str(done), path, Path(workspace, path))
        messages = (Message("user", task.prompt), Message("assistant", answer))
        changed = changed_files(workspace, task.files)
        return Trajectory(messages, answer, changed, usage=Usage(calls=1, usd=None))


def _take_back(done: str, path: str, place: Path) -> None:
    content = read_workspace_file(done, path, _LARGEST)
    if isinstance(content, Unreadable):
        place.unlink(missing_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
