"""A webhook, served for as long as a test takes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.hooks import Hook, webhook


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    async with webhook() as hook:
        yield hook
