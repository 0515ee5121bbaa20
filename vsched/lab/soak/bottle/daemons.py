"""The daemons of a bottle: restarted whenever they end, as a supervisor would, and killed or paused on purpose."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from vsched.daemon.app import Daemon
from vsched.daemon.options import Options
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.lease.candidate import LeaseLost
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.processes import Process
from vsched.lab.soak.outcomes import Violations
from vsched.settings.installed import registry
from vsched.together import first_error

AGAIN_SECONDS = 1.0
"""Until a daemon that has ended is restarted."""


class BottleDaemon:
    """A daemon, and the process that it runs in at present."""

    def __init__(
        self, name: str, url: str, options: Options, process: Callable[[str], Process], violations: Violations
    ) -> None:
        self.name = name
        self.agent = f"vsched/{name}"
        """How it calls itself to the API server."""
        self._url, self._options, self._new_process, self._violations = url, options, process, violations
        self.process: Process | None = None
        self.starts = 0
        self._killed: asyncio.Event = asyncio.Event()

    async def run(self) -> None:
        """Keep it running."""
        while True:
            self.starts += 1
            self._killed = asyncio.Event()
            self.process = process = self._new_process(self.name)
            task = process.start(self._run(process))
            killed = asyncio.ensure_future(self._killed.wait())
            await asyncio.wait((task, killed), return_when=asyncio.FIRST_COMPLETED)
            killed.cancel()
            if task.done() and (error := task.exception()) is not None:
                self._died(error)
            self.process = None
            await asyncio.sleep(AGAIN_SECONDS)

    async def _run(self, process: Process) -> None:
        async with ApiClient(Connection(self._url, agent=self.agent)) as client:
            await Daemon(self._options, client, registry(), clock=process).run()

    def _died(self, error: BaseException) -> None:
        found = first_error(error) if isinstance(error, BaseExceptionGroup) else error
        if not isinstance(found, LeaseLost):
            self._violations.add(words.DAEMON_DIED, f"{self.name}: {type(found).__name__}: {found}")

    def kill(self) -> None:
        """End it between two of its steps."""
        if self.process is not None:
            self.process.kill()
            self._killed.set()
