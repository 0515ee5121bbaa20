"""Follows the file of devices: a change is published at once, a bad file is told and leaves everything as it was."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import KindRegistry
from vsched.errors import VschedError
from vsched.sim.client import LocalClient
from vsched.sim.controllers.devices.fleet import DeviceFleet
from vsched.sim.fleet.devices import DeviceDescription, read_devices
from vsched.sim.manifests import apply_all

log = logging.getLogger(__name__)

LOOK_MS = 1000
"""How often the file is looked at where the system does not tell of changes."""
_SETTLE_MS, _STEP_MS = 200, 50


class DeviceFile:
    """The devices of a file, from ``start`` to ``close``."""

    def __init__(self, path: Path) -> None:
        """Reads the file; raises BadInput."""
        self._path = path
        self._description = read_devices(path)
        self._text = path.read_bytes()
        self.fleet = DeviceFleet(tuple(self._description.pools), tuple(self._description.plugins))
        self._task: asyncio.Task[None] | None = None

    def start(self, client: LocalClient, registry: KindRegistry) -> None:
        """Creates the objects of the file, and follows it from now on; raises BadObject."""
        apply_all(client, registry, self._description.manifests)
        self._task = asyncio.get_running_loop().create_task(self._follow(client, registry), name="devices")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _follow(self, client: LocalClient, registry: KindRegistry) -> None:
        from watchfiles import awatch  # takes long to load

        watch = awatch(
            self._path.parent,
            watch_filter=None,
            recursive=False,
            step=_STEP_MS,
            debounce=_SETTLE_MS,
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        async for _ in watch:
            self.read_again(client, registry)

    def read_again(self, client: LocalClient, registry: KindRegistry) -> None:
        """Publishes what the file says now, if it changed."""
        try:
            text = self._path.read_bytes()
            if text == self._text:
                return
            self._text = text
            description = read_devices(self._path)
            apply_all(client, registry, description.manifests)
        except (VschedError, OSError) as error:
            log.error("%s: the devices stay as they were", error)
            return
        _remove_missing(client, registry, self._description, description)
        self._description = description
        self.fleet.replace(description.pools, description.plugins)


def _remove_missing(
    client: LocalClient, registry: KindRegistry, before: DeviceDescription, now: DeviceDescription
) -> None:
    """Deletes the objects that the file had and no longer has."""
    kept = {_identity(each.obj) for each in now.manifests}
    for each in before.manifests:
        kind = registry.of(each.obj["apiVersion"], each.obj["kind"])
        if kind is None or _identity(each.obj) in kept:
            continue
        metadata = each.obj["metadata"]
        namespace = metadata.get("namespace", "default") if kind.namespaced else ""
        with suppress(Failure):
            client.delete(kind.path, namespace, metadata["name"])


def _identity(obj: dict[str, object]) -> tuple[object, ...]:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    return obj["kind"], metadata.get("namespace", "default"), metadata["name"]
