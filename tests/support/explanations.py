"""Asking a daemon why something waits."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.asking import ask
from tests.support.waiting import PATIENCE_SECONDS, until
from vsched.daemon.app import Daemon


class Asking:
    """Asks a daemon to explain."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    async def why(self, path: str) -> dict[str, Any]:
        await until(lambda: self._daemon.ports)
        patiently = f"{path}{'&' if '?' in path else '?'}seconds=20"
        answer = await ask(f"http://127.0.0.1:{self._daemon.ports['--listen-address']}/{patiently}")
        assert isinstance(answer.body, dict)
        return answer.body

    async def until(self, path: str, **expected: object) -> dict[str, Any]:
        """Ask until it says so; every answer is of a session that began after the question."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                found = await self.why(path)
                if expected.items() <= found.items():
                    return found
                await asyncio.sleep(0.05)
