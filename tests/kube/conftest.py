"""What the tests of the wire share: a scripted server and a way to wait without sleeping blindly."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.kube.stub_server import StubServer
from tests.support.waiting import until

Eventually = Callable[[Callable[[], object]], Awaitable[None]]


@pytest.fixture
async def server() -> AsyncIterator[StubServer]:
    async with StubServer() as running:
        yield running


@pytest.fixture
def eventually() -> Eventually:
    return until
