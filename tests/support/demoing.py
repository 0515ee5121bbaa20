"""``vsched demo`` as a process, for tests that look at its page."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

READY_SECONDS = 60.0


@asynccontextmanager
async def demo_page(*arguments: str, seconds: float = 600.0) -> AsyncIterator[str]:
    """The address of its page, with a slash at the end; interrupted when the block is left, if it still runs then."""
    command = (sys.executable, "-m", "vsched", "demo", "--headless", "--seconds", f"{seconds:g}", *arguments)
    demo = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, env=os.environ)
    assert demo.stderr is not None
    try:
        said = (await asyncio.wait_for(demo.stderr.readline(), READY_SECONDS)).decode()
        word, _, url = said.strip().partition(" ")
        assert word == "page:", said + (await demo.stderr.read()).decode()
        yield url
    finally:
        with suppress(ProcessLookupError):
            demo.terminate()
        try:
            await asyncio.wait_for(demo.wait(), 30.0)
        except TimeoutError:
            demo.kill()
            await demo.wait()
