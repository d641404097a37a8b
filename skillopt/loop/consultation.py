"""Ask the optimizer model: one repair of an unreadable reply, and no prompt that fails by itself ends a run."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from skillopt.errors import FailureKind, ProviderError, ReplyError
from skillopt.loop.caps import BudgetReached
from skillopt.loop.course import Course, ReplyRead, ask
from skillopt.loop.events import Event, LinesReviewed
from skillopt.prompts import fill
from skillopt.prompts.reviewing import REVIEW_SCHEMA, FlaggedLine, ask_reviews, read_reviews
from skillopt.prompts.stages import ask_repair
from skillopt.protocols import Runner
from skillopt.rollouts import Reply

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


def consult(stage: Stage, prompt: str, read: Callable[[str], R]) -> Course[R]:
    """Ask and read the reply; one that cannot be read is asked for once more."""
    (answer,) = yield from _answers(stage, [prompt], read)
    if isinstance(answer, ReplyError):
        raise answer
    return answer


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


def consult_in_halves(
    stage: Stage, groups: Sequence[Sequence[C]], write: Callable[[Sequence[C]], str], read: Callable[[str], R]
) -> Course[Answered[C, R]]:
    """Ask about groups of items; a group whose prompt fails is asked about in halves, and then skipped."""
    found: Answered[C, R] = Answered([], [])
    answers = yield from _answers(stage, [write(group) for group in groups], read)
    for group, answer in zip(groups, answers, strict=True):
        parts, told = [group], [answer]
        half = len(group) // 2
        if isinstance(answer, ReplyError) and half:
            parts = [group[:half], group[half:]]
            told = yield from _answers(stage, [write(part) for part in parts], read)
        for part, one in zip(parts, told, strict=True):
            if isinstance(one, ReplyError):
                found.skipped.append((part, str(one)))
            else:
                found.replies.append(one)
    return found


def _answers(stage: Stage, prompts: Sequence[str], read: Callable[[str], R]) -> Course[list[R | ReplyError]]:
    """Ask and read; give for each prompt what its reply says, or why there is nothing."""
    replies = yield from _replies(stage, prompts)
    failed = [reply for reply in replies if isinstance(reply, ProviderError)]
    if failed and len(failed) == len(replies) and not (yield from _alive(stage)):
        raise failed[0]
    found = []
    for prompt, reply in zip(prompts, replies, strict=True):
        found.append((yield from _read(stage, prompt, reply, read)))
    return found


def _replies(stage: Stage, prompts: Sequence[str]) -> Course[list[Reply | ProviderError]]:
    """Ask all prompts together, and where that fails one by one, so that each fails for itself."""
    try:
        return list((yield from ask(prompts, stage.schema)))
    except ProviderError as error:
        if error.kind in _AWAY:
            raise
        if len(prompts) == 1:
            return [error]
    found = []
    for prompt in prompts:
        found += yield from _replies(stage, [prompt])
    return found


def _read(stage: Stage, prompt: str, reply: Reply | ProviderError, read: Callable[[str], R]) -> Course[R | ReplyError]:
    """Read a reply, or the one that a repair gives."""
    if isinstance(reply, ProviderError):
        return ReplyError(f"the prompt got no answer: {_words(reply)}")
    found = yield from _try_to_read(prompt, reply.text, read)
    if not isinstance(found, ReplyError):
        return found
    repair = ask_repair(prompt, reply.text, str(found))
    (again,) = yield from _replies(stage, [repair])
    if isinstance(again, ProviderError):
        return ReplyError(f"the reply could not be read, and its repair got no answer: {_words(again)}")
    return (yield from _try_to_read(repair, again.text, read))


def _try_to_read(prompt: str, text: str, read: Callable[[str], R]) -> Course[R | ReplyError]:
    """Read a reply, and note whether that was possible."""
    try:
        found: R | ReplyError = read(text)
    except ReplyError as error:
        found = error
    yield ReplyRead(prompt, text if isinstance(found, ReplyError) else None)
    return found


def _words(error: ProviderError) -> str:
    """Return the provider's own words, without the advice for somebody whose run has ended."""
    return str(error.__cause__ if isinstance(error.__cause__, ProviderError) else error)


def _alive(stage: Stage) -> Course[bool]:
    """Find out whether the provider answers anything; who fails one prompt in four fails six in a row once in 4,000."""
    for number in range(1, _PROBES + 1):
        try:
            yield from ask([fill("probe", place=f"{stage.name}, {number}")])
        except ProviderError:
            continue
        return True
    return False
