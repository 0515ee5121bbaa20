"""What the tests of the wire share: a scripted server and a way to wait without sleeping blindly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.kube.stub_server import StubServer

Eventually = Callable[[Callable[[], object]], Awaitable[None]]


@pytest.fixture
async def server() -> AsyncIterator[StubServer]:
    async with StubServer() as running:
        yield running


@pytest.fixture
def eventually() -> Eventually:
    async def wait(condition: Callable[[], object]) -> None:
        async with asyncio.timeout(5.0):
            while not condition():  # noqa: ASYNC110 - any condition can be waited for, also of what knows no events
                await asyncio.sleep(0.002)

    return wait
