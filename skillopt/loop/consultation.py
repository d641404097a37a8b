"""Ask the optimizer model: one repair of an unreadable reply, and no prompt that fails by itself ends a run."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from skillopt.errors import FailureKind, ProviderError, ReplyError
from skillopt.loop.caps import BudgetReached
from skillopt.loop.events import Event, LinesReviewed
from skillopt.prompts import fill
from skillopt.prompts.reviewing import REVIEW_SCHEMA, FlaggedLine, ask_reviews, read_reviews
from skillopt.prompts.stages import ask_repair
from skillopt.protocols import Runner
from skillopt.rollouts import Reply
from skillopt.tasks import digest_of

R = TypeVar("R")
C = TypeVar("C")

_AWAY: Final = frozenset(
    (FailureKind.AUTH, FailureKind.QUOTA, FailureKind.UNKNOWN_MODEL, FailureKind.MISSING_PROGRAM, FailureKind.NETWORK)
)
"""Failures that no other prompt would be spared."""

_PROBES: Final = 6
"""Questions after which a provider that answers none is taken to be away."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One kind of question to the optimizer model."""

    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class Answered(Generic[C, R]):
    """What came of asking about groups of items."""

    replies: list[R]
    skipped: list[tuple[Sequence[C], str]]


class Optimizer:
    """Asks the optimizer model, and notes which of its replies could be read."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.read = 0
        self.unread: dict[str, str] = {}
        """Replies that could be read, and by the digest of their prompt those that could not."""

    def consult(self, stage: Stage, prompt: str, read: Callable[[str], R]) -> R:
        """Ask and read the reply; one that cannot be read is asked for once more."""
        (answer,) = self._answers(stage, [prompt], read)
        if isinstance(answer, ReplyError):
            raise answer
        return answer

    def consult_in_halves(
        self, stage: Stage, groups: Sequence[Sequence[C]], write: Callable[[Sequence[C]], str], read: Callable[[str], R]
    ) -> Answered[C, R]:
        """Ask about groups of items; a group whose prompt fails is asked about in halves, and then skipped."""
        found: Answered[C, R] = Answered([], [])
        answers = self._answers(stage, [write(group) for group in groups], read)
        for group, answer in zip(groups, answers, strict=True):
            parts, told = [group], [answer]
            half = len(group) // 2
            if isinstance(answer, ReplyError) and half:
                parts = [group[:half], group[half:]]
                told = self._answers(stage, [write(part) for part in parts], read)
            for part, one in zip(parts, told, strict=True):
                if isinstance(one, ReplyError):
                    found.skipped.append((part, str(one)))
                else:
                    found.replies.append(one)
        return found

    def _answers(self, stage: Stage, prompts: Sequence[str], read: Callable[[str], R]) -> list[R | ReplyError]:
        """Ask and read; give for each prompt what its reply says, or why there is nothing."""
        replies = self._replies(stage, prompts)
        failed = [reply for reply in replies if isinstance(reply, ProviderError)]
        if failed and len(failed) == len(replies) and not self._alive(stage):
            raise failed[0]
        return [self._read(stage, prompt, reply, read) for prompt, reply in zip(prompts, replies, strict=True)]

    def _replies(self, stage: Stage, prompts: Sequence[str]) -> list[Reply | ProviderError]:
        """Ask all prompts together, and where that fails one by one, so that each fails for itself."""
        try:
            return list(self._runner.replies(prompts, stage.schema))
        except ProviderError as error:
            if error.kind in _AWAY:
                raise
            if len(prompts) == 1:
                return [error]
        return [reply for prompt in prompts for reply in self._replies(stage, [prompt])]

    def _read(
        self, stage: Stage, prompt: str, reply: Reply | ProviderError, read: Callable[[str], R]
    ) -> R | ReplyError:
        """Read a reply, or the one that a repair gives."""
        if isinstance(reply, ProviderError):
            return ReplyError(f"the prompt got no answer: {_words(reply)}")
        found = self._try_to_read(prompt, reply.text, read)
        if not isinstance(found, ReplyError):
            return found
        repair = ask_repair(prompt, reply.text, str(found))
        (again,) = self._replies(stage, [repair])
        if isinstance(again, ProviderError):
            return ReplyError(f"the reply could not be read, and its repair got no answer: {_words(again)}")
        return self._try_to_read(repair, again.text, read)

    def _try_to_read(self, prompt: str, text: str, read: Callable[[str], R]) -> R | ReplyError:
        """Read a reply, and note whether that was possible."""
        try:
            found = read(text)
        except ReplyError as error:
            self.unread[digest_of(prompt)] = text
            return error
        self.read += 1
        return found

    def _alive(self, stage: Stage) -> bool:
        """Find out whether the provider answers; who fails one prompt in four fails six in a row once in 4,000."""
        for number in range(1, _PROBES + 1):
            try:
                self._runner.replies([fill("probe", place=f"{stage.name}, {number}")])
            except ProviderError:
                continue
            return True
        return False


def review_text(
    runner: Runner, before: str, after: str, step: int, known: Sequence[FlaggedLine] = ()
) -> Generator[Event, None, tuple[FlaggedLine, ...]]:
    """Have the reviewer read the lines that a text adds and removes; return what it or an earlier reading flags."""
    prompts, found = ask_reviews(before, after), tuple[FlaggedLine, ...]()
    if not prompts:
        return tuple(known)
    try:
        replies = runner.replies(prompts, REVIEW_SCHEMA, review=True)
        found = read_reviews([reply.text for reply in replies], before, after)
    except BudgetReached as reached:
        found = (FlaggedLine("", f"not read: {reached}"),)
    except ProviderError as error:
        if error.kind in _AWAY:
            raise
        found = (FlaggedLine("", f"not read: {_words(error)}"),)
    flagged = {one.text: one for one in (*found, *(one for one in known if one.text))}
    yield LinesReviewed(step, tuple(flagged.values()))
    return tuple(flagged.values())


def _words(error: ProviderError) -> str:
    """Return the provider's own words, without the advice for somebody whose run has ended."""
    return str(error.__cause__ if isinstance(error.__cause__, ProviderError) else error)
