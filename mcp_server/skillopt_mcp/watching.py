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

from skillopt.errors import RepositoryError, SettingsError
from skillopt.versions.snapshot import Snapshot, snapshot_of
from skillopt_mcp.catalogue import ServedSkill, catalogue_at, skill_address

__all__ = ["OlderClients", "VersionWatcher"]

_log = logging.getLogger(__name__)
_MOST_SESSIONS = 256
_MOST_SUBSCRIPTIONS = 1024
_BACKLOG = 1024
_Context = ServerRequestContext[Any, Any]


class VersionWatcher:
    """The listeners, and what the branch tips were when they were last looked at."""

    def __init__(self, folder: Path, every: float) -> None:
        self._folder = folder
        self._every = every
        self._seen: Snapshot | None = None
        self._begun = False
        self._listeners: dict[object, Callable[[ServerEvent], None]] = {}
        self._wanted = anyio.Event()

    async def begin(self) -> None:
        """Record the tips as they are; later changes are notified."""
        if not self._begun:
            self._seen = await to_thread.run_sync(_look_at, self._folder)
            self._begun = True

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
            now = await to_thread.run_sync(_look_at, self._folder)
            before, begun = self._seen, self._begun
            self._seen, self._begun = now, True
            if not begun or before == now:
                return
            uris = await to_thread.run_sync(_changed, before, now)
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


def _look_at(folder: Path) -> Snapshot | None:
    """Read the tips; None where there is no repository."""
    try:
        return snapshot_of(folder)
    except RepositoryError:
        return None


def _changed(before: Snapshot | None, after: Snapshot | None) -> list[str]:
    """List the addresses of files that are not what they were."""
    old, new = (_served(snapshot, _names_that_may_differ(before, after)) for snapshot in (before, after))
    uris = []
    for name in sorted({*old, *new}):
        was, now = _digests(old.get(name)), _digests(new.get(name))
        paths = [path for path in sorted({*was, *now}) if was.get(path) != now.get(path)]
        uris += [str(skill_address(name, path)) for path in paths]
    return uris


def _names_that_may_differ(before: Snapshot | None, after: Snapshot | None) -> Callable[[str], bool]:
    """Tell by its name whether what is served of a skill can have changed."""
    if before is None or after is None or before.default != after.default:
        return lambda _: True
    old, new = before.tips, after.tips
    return lambda name: old.get(name) != new.get(name)


def _served(snapshot: Snapshot | None, wanted: Callable[[str], bool]) -> dict[str, ServedSkill]:
    """Read what is served of some skills of a snapshot."""
    if snapshot is None:
        return {}
    try:
        catalogue = catalogue_at(snapshot)
        found = catalogue.newest_of([name for name in catalogue.names if wanted(name)])
    except (RepositoryError, SettingsError):
        return {}
    return {name: skill for name, skill in found.items() if isinstance(skill, ServedSkill)}


def _digests(skill: ServedSkill | None) -> Mapping[str, str]:
    return {file.path: file.digest for file in skill.files} if skill else {}
