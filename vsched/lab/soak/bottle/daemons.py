"""The daemons of a bottle: restarted whenever they end, as a supervisor would, and killed or paused on purpose."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from vsched.clock import Clock
from vsched.daemon.app import Daemon, DaemonSettings
from vsched.daemon.loop.callouts import Caller
from vsched.daemon.observe.settings import AdvisorSettings, ObserveSettings
from vsched.daemon.options import Options
from vsched.daemon.policy.reload import PolicyInForce
from vsched.files import DISK
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.lease.candidate import LeaseLost
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.disks import DaemonLog, Disk
from vsched.lab.soak.bottle.extenders import BottleExtender, caller_of
from vsched.lab.soak.bottle.loop import BottleLoop
from vsched.lab.soak.bottle.processes import Process
from vsched.lab.soak.outcomes import Violations
from vsched.settings import Settings
from vsched.settings.installed import registry
from vsched.settings.load import load_file
from vsched.together import first_error

AGAIN_SECONDS = 1.0
"""Until a daemon that has ended is restarted."""
OBSERVING = ObserveSettings(advice=AdvisorSettings(jobs_per_round=1, simulations=12))
"""Elsewhere processor time bounds how long advice is looked for; here a search takes none."""


class PolicyAsRead(PolicyInForce):
    """The policy of a file, as it was when the daemon began; the built-in one without a file."""

    def __init__(self, path: Path | None, clock: Clock) -> None:
        self._path = path
        super().__init__(registry(), clock)

    def _load(self, generation: int) -> Settings:
        return super()._load(generation) if self._path is None else load_file(self._path, self._registry)


class BottleDaemon:
    """A daemon, and the process that it runs in at present."""

    def __init__(
        self,
        name: str,
        url: str,
        options: Options,
        process: Callable[[str], Process],
        violations: Violations,
        policy: Path | None = None,
        extender: BottleExtender | None = None,
    ) -> None:
        """``extender`` is the service that a plugin of the policy asks, wherever that says it is."""
        self.name = name
        self.agent = f"vsched/{name}"
        """How it calls itself to the API server."""
        self._url, self._options, self._policy = url, options, policy
        self._new_process, self._violations, self._extender = process, violations, extender
        self.disk = Disk()
        """What its files are on."""
        self.log = DaemonLog(self.disk)
        self.daemon: Daemon | None = None
        self.process: Process | None = None
        self.starts = 0
        self._killed: asyncio.Event = asyncio.Event()
        self._burials: set[asyncio.Task[None]] = set()

    @property
    def record(self) -> Path | None:
        """The folder where it records the work."""
        return self._options.record_work

    @property
    def listening(self) -> Connection:
        """Where it answers questions."""
        return Connection(f"http://{self._options.listen_address}")

    async def run(self) -> None:
        """Keep it running."""
        while True:
            self.starts += 1
            self._killed = asyncio.Event()
            self.process = process = self._new_process(self.name)
            process.context.run(DISK.set, self.disk.open)
            task = process.start(self._run(process))
            killed = asyncio.ensure_future(self._killed.wait())
            await asyncio.wait((task, killed), return_when=asyncio.FIRST_COMPLETED)
            killed.cancel()
            if task.done() and (error := task.exception()) is not None:
                self._died(error)
            self.process = None
            process.kill()
            burial = asyncio.ensure_future(process.bury())
            self._burials.add(burial)
            burial.add_done_callback(self._burials.discard)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _run(self, process: Process) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, BottleLoop)
        async with ApiClient(Connection(self._url, agent=self.agent)) as client:
            policy = PolicyAsRead(self._policy, process)
            caller = Caller if self._extender is None else partial(caller_of, self._extender, process.monotonic)
            settings = DaemonSettings(observing=OBSERVING, listen=loop.listening_sockets, caller=caller)
            self.daemon = Daemon(self._options, client, registry(), clock=process, policy=policy, settings=settings)
            await self.daemon.run()

    def _died(self, error: BaseException) -> None:
        found = first_error(error) if isinstance(error, BaseExceptionGroup) else error
        if not isinstance(found, LeaseLost):
            self._violations.add(words.DAEMON_DIED, f"{self.name}: {type(found).__name__}: {found}")

    def kill(self) -> None:
        """End it between two of its steps."""
        if self.process is not None:
            self.process.kill()
            self._killed.set()
