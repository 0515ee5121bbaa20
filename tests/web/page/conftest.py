"""One browser for all tests of the page that a worker has: starting one takes longer than most of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from tests.support.browser import chromium, needs_chromium


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncIterator[Any]:
    needs_chromium()
    async with chromium() as found:
        yield found
