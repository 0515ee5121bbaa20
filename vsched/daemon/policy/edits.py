"""When a file may have changed.

Its directory is watched rather than the file, because editors and ConfigMap volumes replace files and links. The file
is also to be read every few seconds, as not every file system reports changes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio._backends._asyncio  # noqa: F401 - else anyio would, at its first use: that held the event loop for 25 ms
from watchfiles import awatch

LOOK_MS = 5_000
"""How often a file is to be read without a reported change."""
SETTLE_MS = 100
"""Changes are gathered for this long: an editor writes a file in several steps."""


async def edits_of(path: Path, look_ms: int = LOOK_MS) -> AsyncIterator[None]:
    """Yields whenever a file may have changed, and from time to time."""
    watch = awatch(
        path.parent,
        watch_filter=None,
        recursive=False,
        step=50,
        debounce=SETTLE_MS,
        rust_timeout=look_ms,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )
    async for _ in watch:
        yield None
