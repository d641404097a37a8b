"""Notify clients of newly accepted versions, by watching the branch tips while somebody listens.

Clients of both kinds are notified: those that hold a `subscriptions/listen` stream (2026-07-28), and those that made
the older handshake, which are told that the list of resources changed.
"""

import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp_types import NotificationParams, SubscriptionsListenRequestParams, SubscriptionsListenResult

from skillopt.errors import RepositoryError, SettingsError
from skillopt.versions.branches import Snapshot
from skillopt_mcp.catalogue import Catalogue, ServedSkill, project_snapshot, skill_address

_log = logging.getLogger(__name__)
_Context = ServerRequestContext[Any, Any]


class VersionWatcher:
    """The listeners, and what the branch tips were when they were last looked at."""

    def __init__(self, folder: Path, every: float) -> None:
        self._folder = folder
        self._every = every
        self._seen: Snapshot | None = None
        self._looked, self._wanted = anyio.Event(), anyio.Event()
        self._bus = InMemorySubscriptionBus()
        self._listening = ListenHandler(self._bus)
        self._older: ServerSession | None = None

    async def listen(self, ctx: _Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Answer `subscriptions/listen`: clients wait for less than a second, and the first look may take longer."""
        await self._begin()
        return await self._listening(ctx, params)

    async def joined(self, ctx: _Context, _: NotificationParams) -> None:
        """Take note of the client when it ended its handshake."""
        await self._begin()
        self._older = ctx.session

    async def run(self) -> None:
        """Record the tips as they are, then look again and again once somebody listens."""
        while True:
            await self._look()
            self._looked.set()
            await self._wanted.wait()
            await anyio.sleep(self._every)

    async def _begin(self) -> None:
        """Wait for the first look, which was made when the server started; later changes are notified."""
        await self._looked.wait()
        self._wanted.set()

    async def _look(self) -> None:
        try:
            now = None  # where there is no repository
            with suppress(RepositoryError):
                now = await to_thread.run_sync(project_snapshot, self._folder)
            before, self._seen = self._seen, now
            if before == now or not self._looked.is_set():
                return
            uris = await to_thread.run_sync(_changed, before, now)
        except Exception:  # noqa: BLE001 - a look that fails must not end the server; the next may work
            _log.exception("looking for accepted versions failed")
            return
        for uri in uris:
            await self._bus.publish(ResourceUpdated(uri))
        await self._bus.publish(ResourcesListChanged())
        if self._older is not None:
            await self._older.send_resource_list_changed()


def _changed(before: Snapshot | None, now: Snapshot | None) -> list[str]:
    """List the addresses of the files of skills that may have changed."""
    if now is None:
        return []
    catalogue = Catalogue(now)
    try:
        names = list(catalogue.names)
    except (RepositoryError, SettingsError):
        return []
    if before is not None and before.default == now.default:
        names = [name for name in names if before.tips.get(name) != now.tips.get(name)]
    served = [skill for skill in catalogue.newest_of(names).values() if isinstance(skill, ServedSkill)]
    return [str(skill_address(skill.name, file.path)) for skill in served for file in skill.files]
