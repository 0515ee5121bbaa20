"""Waiting for a daemon in this process."""

from __future__ import annotations

import asyncio

from vsched.daemon.app import Daemon
from vsched.errors import Unavailable
from vsched.lab import words

POLL_SECONDS = 0.01


async def until_ready(daemon: Daemon, seconds: float) -> None:
    """Wait until a daemon is ready to schedule; raises Unavailable, with the problem, where that takes too long."""
    try:
        async with asyncio.timeout(seconds):
            while not daemon.health.ready().ok:  # noqa: ASYNC110  # health has no event to wait for
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        problems = [found.statistics.problem for found in daemon.reflectors.values()]
        problem = next(filter(None, problems), words.SAYS_NOTHING)
        raise Unavailable(words.not_ready(seconds, problem)) from None
