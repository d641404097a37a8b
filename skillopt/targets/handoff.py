"""Hand-off: a person or another agent does tasks and answers prompts in a folder, between two runs of one command."""

import json
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from skillopt.errors import AnswersPendingError, UsageError
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Message, Reply, Trajectory, Usage
from skillopt.sandbox.workspace import Unreadable, changed_files, read_workspace_file
from skillopt.tasks import File, digest_of

_LARGEST: Final = 50_000_000
_TITLE: Final = 100
"""Characters of a prompt's first line that are shown as what it is about."""

_HOW_TO_ANSWER: Final = """\
A `prompt` is answered with text alone, as the prompt says, by its schema where it has one.
A `rollout` is one task. Read the SKILL.md or AGENTS.md beside it, if any, and follow it; work only in its `workspace/`.
The answer to a rollout is what you would say at the end; if all is in files, say so.
Do each by itself, without looking at earlier answers. A task may come again: that shows how far chance goes.
""".splitlines()
"""What whoever answers is told, once for all items."""

_ASKED: Final = "prompt.md"
_ANSWER: Final = "answer.md"
_READ: Final = "read"
_MANIFEST: Final = "manifest.json"
_KINDS: Final = ("prompts", "rollouts")
_ID: Final = re.compile(r"(?:prompts|rollouts)/\w+")
"""An item's id: files of another program or repository name no folder outside."""

_lock = Lock()


@dataclass(frozen=True, slots=True)
class HandoffFolder:
    """The folder of one project."""

    path: Path

    def check(self) -> None:
        """Refuse answers to what was never asked: they are misplaced, and would be waited for in vain."""
        for place in self._places():
            if not (place / _ASKED).is_file():
                raise UsageError(
                    f"{place}: expected a folder that holds {_ASKED}, found an answer to what was never "
                    f"asked; move it to the folder that {self.path / _MANIFEST} names"
                )

    def answer(self, kind: str, key: str, files: Sequence[File], *, about: str, same: str = "") -> str:
        """Return the answer to a piece of work, or ask for it."""
        folder = self.path / kind / key[:20]
        answered = folder / _ANSWER
        try:
            text = answered.read_text(encoding="utf-8")
        except FileNotFoundError:
            self._ask(folder, files, {"about": about, "same": same})
            raise AnswersPendingError(
                f"open {self.path / _MANIFEST}: for each entry do what its {_ASKED} says and write {_ANSWER} "
                "beside it, then run the same command again"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{answered}: expected an answer in UTF-8, found {error}; correct the file") from error
        if not text.strip():
            raise UsageError(f"{answered}: expected an answer, found an empty file; write it, or remove the file")
        (folder / _READ).touch()
        return text

    def begin(self) -> None:
        """Begin the list of open work anew: what is asked from now on is listed."""
        (self.path / _MANIFEST).unlink(missing_ok=True)

    def clean(self) -> None:
        """Remove what was read and is recorded by now, and what is asked no more."""
        listed = {entry["folder"] for entry in self._manifest()}
        for place in self._places():
            is_open = place.relative_to(self.path).as_posix() in listed
            if (place / _READ).exists() or not (is_open or (place / _ANSWER).exists()):
                shutil.rmtree(place, ignore_errors=True)

    def _ask(self, folder: Path, files: Iterable[File], entry: dict[str, str]) -> None:
        with _lock:
            place = folder.relative_to(self.path).as_posix()
            others = (other for other in self._manifest() if not (self.path / other["folder"] / _ANSWER).is_file())
            if entry["same"] and any(other["same"] == entry["same"] and other["folder"] != place for other in others):
                return
            if not (folder / _ASKED).is_file():
                for file in sorted(files, key=lambda file: file.path == _ASKED):
                    written = folder / file.path
                    written.parent.mkdir(parents=True, exist_ok=True)
                    written.write_bytes(file.content)
                if folder.parent.name == _KINDS[1]:
                    (folder / "workspace").mkdir(exist_ok=True)
            self._list(folder, entry)

    def _list(self, folder: Path, entry: dict[str, str]) -> None:
        kind, name = folder.parent.name.removesuffix("s"), folder.relative_to(self.path).as_posix()
        entries = {listed["folder"]: listed for listed in self._manifest()}
        entries[name] = {"kind": kind, "folder": name, **entry}
        still = [entries[key] for key in sorted(entries) if not (self.path / key / _ANSWER).is_file()]
        staged = self.path / f"{_MANIFEST}.new"
        manifest = {"how": _HOW_TO_ANSWER, "read": _ASKED, "write": _ANSWER, "open": still}
        staged.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        staged.replace(self.path / _MANIFEST)

    def _manifest(self) -> list[dict[str, str]]:
        try:
            listed = json.loads((self.path / _MANIFEST).read_text(encoding="utf-8"))["open"]
        except (OSError, ValueError, KeyError, TypeError):
            return []
        known = (entry for entry in listed if _ID.fullmatch(entry["folder"]))
        return [entry for entry in known if (self.path / entry["folder"] / _ASKED).is_file()]

    def _places(self) -> list[Path]:
        return [place for kind in _KINDS for place in sorted(self.path.glob(f"{kind}/*"))]


@dataclass(frozen=True, slots=True)
class _Handoff:
    folder: Path

    def __post_init__(self) -> None:
        """Refuse answers to what was never asked."""
        HandoffFolder(self.folder).check()

    @property
    def identity(self) -> str:
        """Say that somebody does it; who is not known here."""
        return "handoff"


class HandoffModel(_Handoff):
    """Answers prompts by handing them off."""

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


class HandoffHarness(_Handoff):
    """Runs tasks by handing them off."""

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - whatever is asked, we pay nothing
        """Bound a rollout: nothing is paid through us."""
        return Usage(calls=1)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Take back what was done, or hand it off."""
        skill, task = request.skill, request.task
        key = digest_of(request.digest, task.digest, str(request.repeat))
        files = [File("prompt.md", task.prompt.encode("utf-8", "replace"))]
        files += [File(f"workspace/{file.path}", file.content) for file in task.placed]
        if skill:
            files += [File(f"skill/{skill.name}/{file.path}", file.content) for file in skill.shipped]
        same = digest_of(request.digest, task.digest)
        handed = HandoffFolder(self.folder)
        answer = handed.answer("rollouts", key, files, about=task.id, same=same).strip()
        done = handed.path / "rollouts" / key[:20] / "workspace"
        for path in changed_files(str(done), task.placed):
            _take_back(str(done), path, Path(workspace, path))
        messages = (Message("user", task.prompt), Message("assistant", answer))
        changed = changed_files(workspace, task.placed)
        return Trajectory(messages, answer, changed, usage=Usage(calls=1, usd=None))


def _take_back(done: str, path: str, place: Path) -> None:
    content = read_workspace_file(done, path, _LARGEST)
    if isinstance(content, Unreadable):
        place.unlink(missing_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
