"""A daemon whose pages are served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.waiting import until
from vsched.daemon.app import Daemon, DaemonSettings
from vsched.daemon.observe.settings import ObserveSettings
from vsched.daemon.options import Options
from vsched.framework.registry import Registry
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.settings.built_in import REGISTRY


@asynccontextmanager
async def serving(
    url: str, registry: Registry = REGISTRY, observing: ObserveSettings | None = None, **options: Any
) -> AsyncIterator[tuple[Daemon, str]]:
    """A daemon, and where its pages are."""
    addresses = {"listen_address": "127.0.0.1:0", "healthz_address": ""}
    async with ApiClient(Connection(url)) as client, asyncio.TaskGroup() as group:
        daemon = Daemon(
            Options(**{**addresses, **options}),
            client,
            registry,
            settings=DaemonSettings(observing=observing or ObserveSettings()),
        )
        task = group.create_task(daemon.run())
        try:
            await until(lambda: daemon.ports or task.done())
            scheme = "https" if "tls_cert_file" in options else "http"
            yield daemon, f"{scheme}://127.0.0.1:{daemon.ports['--listen-address']}"
        finally:
            daemon.stop()
            await asyncio.wait((task,), timeout=10.0)
            task.cancel()
