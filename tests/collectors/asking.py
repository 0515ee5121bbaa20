"""The few words that tests of collectors are written in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from vsched.clock import Clock, SystemClock
from vsched.collectors.make import make_source
from vsched.collectors.poll import ask
from vsched.collectors.source import CollectedUsage, NodeTarget, Source, SourceError
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.settings.metrics import MetricsSource

SECONDS = 60.0
"""However slow the machine is that plays both parts."""


def targets(*names: str) -> list[NodeTarget]:
    return [NodeTarget(name, milli_cpu=4000, memory=16 << 30) for name in names]


async def collected(
    settings: MetricsSource,
    nodes: Sequence[NodeTarget],
    periods: Sequence[str] = ("5m",),
    *,
    cluster: str = "http://127.0.0.1:1",
    clock: Clock | None = None,
    seconds: float = SECONDS,
) -> CollectedUsage:
    """One round of the source that a policy describes."""
    async with ApiClient(Connection(cluster)) as client:
        source = made(settings, client, clock)
        try:
            return await ask(source, nodes, periods, seconds)
        finally:
            await source.close()


async def problem(settings: MetricsSource, *names: str, **more: Any) -> str:
    """What is said where a round fails: one line."""
    with pytest.raises(SourceError) as failed:
        await collected(settings, targets(*(names or ("n1",))), **more)
    text = str(failed.value)
    assert "\n" not in text
    return text


def made(settings: MetricsSource, client: ApiClient, clock: Clock | None = None) -> Source:
    source = make_source(settings, client, clock or SystemClock())
    assert source is not None
    return source
