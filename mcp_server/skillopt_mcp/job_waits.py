"""Wait for news of a job and tell its progress meanwhile, without a thread that would outlive the client."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import anyio
from anyio import to_thread

from skillopt.runs.job_report import glance
from skillopt_mcp.job_tools import JobAnswer

__all__ = ["answer_with_news"]

_EVERY: Final = 0.25
"""Seconds between two looks at a job, which read a few small files."""

_SETTLING: Final = 3.0
"""Seconds after a verdict in which the job often ends, too; one answer then tells both."""

_Tell = Callable[[float, float | None, str | None], Awaitable[None]]


async def answer_with_news(answer: JobAnswer, tell: _Tell, known: dict[str, int]) -> str:
    """Wait until a job has ended or has a verdict, at the latest as long as the answer may, and write the answer."""
    with anyio.move_on_after(answer.seconds):
        await _wait(answer, tell, known.get(answer.job_id, 0))
    look = partial(to_thread.run_sync, partial(glance, answer.job_id, folder=answer.root))
    known[answer.job_id] = (await look()).news
    return await to_thread.run_sync(answer.text)


async def _wait(answer: JobAnswer, tell: _Tell, known: int) -> None:
    look = partial(to_thread.run_sync, partial(glance, answer.job_id, folder=answer.root))
    seen = await look()
    told = ""
    while seen.running and seen.news == known:
        if seen.line != told:
            told = seen.line
            await tell(seen.done, seen.total or None, told)
        await anyio.sleep(_EVERY)
        seen = await look()
    with anyio.move_on_after(_SETTLING):
        while seen.running:
            await anyio.sleep(_EVERY)
            seen = await look()
