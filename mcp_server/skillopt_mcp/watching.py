"""Notify clients of newly accepted versions, by watching the branch tips while somebody listens.

Clients of both kinds are notified: those that hold a `subscriptions/listen` stream (2026-07-28), and those that made
the older handshake.
"""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp_types import EmptyResult, NotificationParams, SubscribeRequestParams, UnsubscribeRequestParams

from skillopt.errors import UsageError
from skillopt_mcp.addresses import skill_address
from skillopt_mcp.catalogue import branch_tips, served_skill

__all__ = ["OlderClients", "VersionWatcher"]

_log = logging.getLogger(__name__)
_MOST_SESSIONS = 256
_MOST_SUBSCRIPTIONS = 1024
_BACKLOG = 1024
_Context = ServerRequestContext[Any, Any]


class VersionWatcher:
    """The listeners, and what the branch tips were when they were last looked at.

    Args:
        folder: A folder of the project.
        every: Seconds between two looks.
    """

    def __init__(self, folder: Path, every: float) -> None:
        self._folder = folder
        self._every = every
        self._tips: Mapping[str, str] | None = None
        self._listeners: dict[object, Callable[[ServerEvent], None]] = {}
        self._wanted = anyio.Event()

    async def begin(self) -> None:
        """Record the tips as they are; later changes are notified."""
        if self._tips is None:
            self._tips = await to_thread.run_sync(branch_tips, self._folder)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Add a listener; what is returned takes it away again."""
        token = object()
        self._listeners[token] = listener
        self._wanted.set()

        def leave() -> None:
            self._listeners.pop(token, None)

        return leave

    async def publish(self, event: ServerEvent) -> None:
        """Notify all listeners."""
        for listener in tuple(self._listeners.values()):
            listener(event)
        await anyio.lowlevel.checkpoint()

    async def run(self) -> None:
        """Look again and again while somebody listens; without listeners nothing is done."""
        while True:
            if not self._listeners:
                self._wanted = anyio.Event()
                await self._wanted.wait()
            await self._look()
            await anyio.sleep(self._every)

    async def _look(self) -> None:
        try:
            tips = await to_thread.run_sync(branch_tips, self._folder)
            before, self._tips = self._tips, tips
            if before is None or before == tips:
                return
            uris = await to_thread.run_sync(_changed, self._folder, before, tips)
        except Exception:  # noqa: BLE001 - a look that fails must not end the server; the next may work
            _log.exception("looking for accepted versions failed")
            return
        for uri in uris:
            await self.publish(ResourceUpdated(uri))
        await self.publish(ResourcesListChanged())


class OlderClients:
    """Clients that made the handshake of 2025-11-25 or before, and what they subscribed to."""

    def __init__(self, watch: VersionWatcher) -> None:
        self._watch = watch
        self._sessions: dict[str, ServerSession] = {}
        self._wanted: dict[str, set[str]] = {}
        self._send, self._events = anyio.create_memory_object_stream[ServerEvent](_BACKLOG)
        self._leave: Callable[[], None] | None = None

    async def joined(self, ctx: _Context, _: NotificationParams) -> None:
        """Take note of a client that ended its handshake."""
        await self._listen(ctx)

    async def subscribe(self, ctx: _Context, params: SubscribeRequestParams) -> EmptyResult:
        """Answer `resources/subscribe`."""
        wanted = self._wanted.setdefault(await self._listen(ctx), set())
        if len(wanted) < _MOST_SUBSCRIPTIONS:
            wanted.add(params.uri)
        return EmptyResult()

    async def unsubscribe(self, ctx: _Context, params: UnsubscribeRequestParams) -> EmptyResult:
        """Answer `resources/unsubscribe`."""
        self._wanted.get(_session_id(ctx), set()).discard(params.uri)
        return EmptyResult()

    async def run(self) -> None:
        """Bring events to the clients."""
        async for event in self._events:
            for key, session in tuple(self._sessions.items()):
                if isinstance(event, ResourcesListChanged):
                    await session.send_resource_list_changed()
                elif isinstance(event, ResourceUpdated) and event.uri in self._wanted.get(key, ()):
                    await session.send_resource_updated(event.uri)

    def close(self) -> None:
        """Stop listening."""
        if self._leave is not None:
            self._leave()
        self._send.close()
        self._events.close()

    async def _listen(self, ctx: _Context) -> str:
        await self._watch.begin()
        if self._leave is None:
            self._leave = self._watch.subscribe(self._deliver)
        key = _session_id(ctx)
        self._sessions[key] = ctx.session
        while len(self._sessions) > _MOST_SESSIONS:
            oldest = next(iter(self._sessions))
            del self._sessions[oldest]
            self._wanted.pop(oldest, None)
        return key

    def _deliver(self, event: ServerEvent) -> None:
        try:
            self._send.send_nowait(event)
        except anyio.WouldBlock:
            return  # nobody reads; the client will list again when it comes back


def _session_id(ctx: _Context) -> str:
    """Identify the session of an HTTP client; a pipe has one."""
    headers = getattr(ctx.request, "headers", {})
    return str(headers.get("mcp-session-id", ""))


def _changed(folder: Path, before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """List the addresses of files that are not what they were."""
    names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    return [uri for name in names for uri in _changed_files(folder, name, before.get(name))]


def _changed_files(folder: Path, name: str, before: str | None) -> list[str]:
    old, new = _digests(folder, name, before) if before else {}, _digests(folder, name, None)
    paths = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    return [str(skill_address(name, path)) for path in paths]


def _digests(folder: Path, name: str, version: str | None) -> dict[str, str]:
    """Give the digest of every file; none where nothing is served, so that all files of the other side differ."""
    try:
        return {file.path: file.digest for file in served_skill(folder, name, version).files}
    except UsageError:
        return {}
