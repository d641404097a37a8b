"""The handoff folder, through which a person or another agent gets work and returns answers.

One folder per piece of work holds what is asked and an `answer.md` when it is done; a manifest lists what is open.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from skillopt.errors import AnswersPendingError, UsageError
from skillopt.tasks import File

__all__ = ["HandoffFolder"]

_ASKED: Final = "prompt.md"
_ANSWER: Final = "answer.md"
_MANIFEST: Final = "manifest.json"
_KINDS: Final = ("prompts", "rollouts")
_lock = Lock()


@dataclass(frozen=True, slots=True)
class HandoffFolder:
    """The folder of one project.

    Args:
        path: Where it is; made when something is asked.
    """

    path: Path

    def check(self) -> None:
        """Refuse answers to what was never asked: they are misplaced, and would be waited for in vain.

        Raises:
            UsageError: There are some.
        """
        for kind in _KINDS:
            strangers = [place for place in sorted(self.path.glob(f"{kind}/*")) if not (place / _ASKED).is_file()]
            if strangers:
                raise UsageError(
                    f"{strangers[0]}: expected a folder that holds {_ASKED}, found an answer to what was never "
                    f"asked; move it to the folder that {self.path / _MANIFEST} names"
                )

    def answer(self, kind: str, key: str, files: Sequence[File]) -> str:
        """Give the answer to a piece of work, or ask for it.

        Args:
            kind: `prompts` or `rollouts`.
            key: Digest of all that is asked.
            files: What is asked, `prompt.md` among them.

        Raises:
            AnswersPendingError: There is no answer yet.
            UsageError: The answer is empty or no text.
        """
        folder = self.path / kind / key[:20]
        answered = folder / _ANSWER
        try:
            text = answered.read_text(encoding="utf-8")
        except FileNotFoundError:
            self._ask(folder, files)
            raise AnswersPendingError(
                f"open {self.path / _MANIFEST}: for each entry do what its {_ASKED} says and write {_ANSWER} "
                "beside it, then run the same command again"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{answered}: expected an answer in UTF-8, found {error}; correct the file") from error
        if not text.strip():
            raise UsageError(f"{answered}: expected an answer, found an empty file; write it, or remove the file")
        return text

    def _ask(self, folder: Path, files: Sequence[File]) -> None:
        """Write what is asked, its prompt last so that a folder with a prompt is whole, and the manifest."""
        with _lock:
            if not (folder / _ASKED).is_file():
                for file in sorted(files, key=lambda file: file.path == _ASKED):
                    place = folder / file.path
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(file.content)
            self._write_manifest()

    def _write_manifest(self) -> None:
        asked = (place.parent for kind in _KINDS for place in sorted(self.path.glob(f"{kind}/*/{_ASKED}")))
        entries = [
            {"kind": folder.parent.name.removesuffix("s"), "folder": folder.relative_to(self.path).as_posix()}
            for folder in asked
            if not (folder / _ANSWER).is_file()
        ]
        manifest = {"read": _ASKED, "write": _ANSWER, "open": entries}
        staged = self.path / f"{_MANIFEST}.new"
        staged.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        staged.replace(self.path / _MANIFEST)
