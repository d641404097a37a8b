"""Hand-off: a person or another agent answers prompts in a folder, between two runs of one command."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.errors import AnswersPendingError, UsageError
from skillopt.rollouts import Reply, Usage
from skillopt.tasks import digest_of

_ASKED: Final = "prompt.md"
_ANSWER: Final = "answer.md"


def forget_unanswered(path: Path) -> None:
    """Remove what nobody answered in a folder of prompts: what is still wanted is asked again."""
    for place in path.glob("prompts/*"):
        if not (place / _ANSWER).exists():
            shutil.rmtree(place, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class HandoffModel:
    """Answers prompts by handing them off."""

    folder: Path

    def __post_init__(self) -> None:
        """Refuse answers to what was never asked: they are misplaced, and would be waited for in vain."""
        for place in sorted(self.folder.glob("prompts/*")):
            if not (place / _ASKED).is_file():
                raise UsageError(
                    f"{place}: expected a folder that holds {_ASKED}, found an answer to what was never asked; move it "
                    f"beside its {_ASKED}"
                )

    @property
    def identity(self) -> str:
        """Say that somebody does it; who is not known here."""
        return "handoff"

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:  # noqa: ARG002 - whatever is asked, we pay nothing
        """Bound a call: nothing is paid through us."""
        return Usage(calls=1)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Return the answer, or hand the prompt off."""
        place = self.folder / "prompts" / digest_of(system, prompt)[:20]
        answered = place / _ANSWER
        try:
            text = answered.read_text(encoding="utf-8")
        except FileNotFoundError:
            place.mkdir(parents=True, exist_ok=True)
            # The prompt is written last: a folder with one is whole.
            for name, asked in (("system.md", system), ("schema.json", schema), (_ASKED, prompt)):
                if asked or name == _ASKED:
                    (place / name).write_bytes(asked.encode("utf-8", "replace"))
            raise AnswersPendingError(
                f"answer each {_ASKED} below {self.folder} that has no {_ANSWER} beside it, by itself and with text "
                f"alone, by its schema.json where there is one; then run the same command again"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{answered}: expected an answer in UTF-8, found {error}; correct the file") from error
        if not text.strip():
            raise UsageError(f"{answered}: expected an answer, found an empty file; write it, or remove the file")
        return Reply(text, Usage(calls=1, usd=None))
