"""Hand-off: a person or another agent answers prompts in a folder, between two runs of one command."""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from skillopt.errors import AnswersPendingError, UsageError
from skillopt.rollouts import Reply, Usage
from skillopt.tasks import digest_of

_TITLE: Final = 100
"""Characters of a prompt's first line that are shown as what it is about."""

_HOW_TO_ANSWER: Final = """\
Answer a prompt with text alone, as the prompt says, by its schema where it has one.
Answer each by itself, without looking at earlier answers.
""".splitlines()
"""What whoever answers is told, once for all items."""

_ASKED: Final = "prompt.md"
_ANSWER: Final = "answer.md"
_READ: Final = "read"
_MANIFEST: Final = "manifest.json"
_ID: Final = re.compile(r"prompts/\w+")
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

    def answer(self, key: str, texts: Mapping[str, str], about: str) -> str:
        """Return the answer to a prompt, or ask for it."""
        folder = self.path / "prompts" / key[:20]
        answered = folder / _ANSWER
        try:
            text = answered.read_text(encoding="utf-8")
        except FileNotFoundError:
            self._ask(folder, texts, about)
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

    def _ask(self, folder: Path, texts: Mapping[str, str], about: str) -> None:
        with _lock:
            if not (folder / _ASKED).is_file():
                folder.mkdir(parents=True, exist_ok=True)
                for name in sorted(texts, key=lambda name: name == _ASKED):
                    (folder / name).write_bytes(texts[name].encode("utf-8", "replace"))
            self._list(folder, about)

    def _list(self, folder: Path, about: str) -> None:
        name = folder.relative_to(self.path).as_posix()
        entries = {listed["folder"]: listed for listed in self._manifest()}
        entries[name] = {"folder": name, "about": about}
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
        return sorted(self.path.glob("prompts/*"))


@dataclass(frozen=True, slots=True)
class HandoffModel:
    """Answers prompts by handing them off."""

    folder: Path

    def __post_init__(self) -> None:
        """Refuse answers to what was never asked."""
        HandoffFolder(self.folder).check()

    @property
    def identity(self) -> str:
        """Say that somebody does it; who is not known here."""
        return "handoff"

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:  # noqa: ARG002 - whatever is asked, we pay nothing
        """Bound a call: nothing is paid through us."""
        return Usage(calls=1)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Return the answer, or hand the prompt off."""
        named = {_ASKED: prompt, "system.md": system, "schema.json": schema}
        texts = {name: text for name, text in named.items() if text or name == _ASKED}
        about = prompt.lstrip().partition("\n")[0][:_TITLE]
        answer = HandoffFolder(self.folder).answer(digest_of(system, prompt), texts, about)
        return Reply(answer, Usage(calls=1, usd=None))
