"""Waits until an API server answers at the configured address, and asks it once which API versions it serves."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import msgspec

from vsched.daemon.observe.telemetry import Telemetry
from vsched.errors import UNREADABLE, Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.errors import ApiError, UnexpectedAnswer

RETRY_SECONDS = 2.0
"""Between two attempts."""
DISCOVERY_SECONDS = 5.0
"""How long the start waits for the list of API groups."""


class _Version(msgspec.Struct):
    api_version: str = msgspec.field(name="groupVersion")


class _Group(msgspec.Struct):
    versions: list[_Version]


class _Groups(msgspec.Struct):
    """An APIGroupList, as far as it matters here."""

    groups: list[_Group]


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
            telemetry.worry("API server does not answer", problem=str(error), again_in_seconds=RETRY_SECONDS)
        except ApiError:
            return  # it answered; the watches find out which rights are missing
        else:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RETRY_SECONDS):
                await stopping.wait()


async def served_versions(client: ApiClient) -> frozenset[str] | None:
    """The ``group/version`` pairs that the API server serves, without the core group; None if it does not say.

    With them, a daemon does not list some thirty kinds at its start that the cluster does not have.
    """
    try:
        answer = await client.request("GET", "/apis", timeout_seconds=DISCOVERY_SECONDS, attempts=1)
        groups = msgspec.json.decode(answer.body, type=_Groups).groups
    except (ApiError, Unavailable, *UNREADABLE):
        return None
    return frozenset(version.api_version for group in groups for version in group.versions) or None
