"""A daemon as a program: run until a signal ends it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from vsched.daemon.app import Daemon
from vsched.daemon.options import Options
from vsched.framework.registry import Registry
from vsched.kube.client import ApiClient
from vsched.kube.connection import Connection


async def serve(
    options: Options, connection: Connection, registry: Registry, on_listed: Callable[[], None] = lambda: None
) -> None:
    """Run a daemon until a signal ends it; SIGHUP reads the policy file again."""
    async with ApiClient(connection) as client:
        daemon = Daemon(options, client, registry, on_listed=on_listed)
        loop = asyncio.get_running_loop()
        reactions = {signal.SIGTERM: daemon.stop, signal.SIGINT: daemon.stop, signal.SIGHUP: daemon.policy.nudge}
        for number, react in reactions.items():
            loop.add_signal_handler(number, react)
        try:
            await daemon.run()
        finally:
            for number in reactions:
                loop.remove_signal_handler(number)
