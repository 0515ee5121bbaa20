"""Waits until an API server answers at the configured address."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.words import log as words
from vsched.errors import Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.errors import ApiError, UnexpectedAnswer

RETRY_SECONDS = 2.0
"""Between two attempts."""


async def reach(client: ApiClient, telemetry: Telemetry, stopping: asyncio.Event, turned: Callable[[], None]) -> None:
    """Wait for an API server, or for the stop; raises UnexpectedAnswer where something else answers."""
    telemetry.note("starting", server=client.connection.server, source=client.connection.source)
    while not stopping.is_set():
        turned()
        try:
            await client.get("/version")
        except UnexpectedAnswer:
            raise
        except Unavailable as error:
            telemetry.worry(words.API_SERVER_SILENT, problem=str(error), again_in_seconds=RETRY_SECONDS)
        except ApiError:
            return  # it answered; the watches find out which rights are missing
        else:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RETRY_SECONDS):
                await stopping.wait()
