"""A webhook, served for as long as a test takes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.sim.webhooks.hooks import DATA, Hook, serve


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    hook = Hook()
    runner = await serve(hook, DATA / "server.pem", DATA / "server.key")
    yield hook
    await runner.cleanup()
