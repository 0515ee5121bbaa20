"""One run of a bottle: an embedded cluster, daemons and users on virtual time, from one seed."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import structlog

from vsched.apimachinery.manifests.node_pools import pool_of
from vsched.daemon.options import Options
from vsched.daemon.words.log import BINDING_LOST, RIVAL
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.daemons import BottleDaemon
from vsched.lab.soak.bottle.faults import SERVER, ProcessFaultKind
from vsched.lab.soak.bottle.leases import LeaseChecks, are_lasting
from vsched.lab.soak.bottle.loop import BottleLoop
from vsched.lab.soak.bottle.misfortunes.happening import Misfortunes
from vsched.lab.soak.bottle.misfortunes.webhooks import DAEMONS
from vsched.lab.soak.bottle.named import says_which
from vsched.lab.soak.bottle.network import End
from vsched.lab.soak.bottle.processes import Process, current
from vsched.lab.soak.bottle.settings import BottleSettings
from vsched.lab.soak.bottle.users import BottleUsers
from vsched.lab.soak.outcomes import SoakOutcomes, Violations
from vsched.lab.soak.run import lease_of
from vsched.log import LEVELS
from vsched.sim.api.fault_plan import FaultInjector, FaultKind
from vsched.sim.api.server import Gate
from vsched.sim.cluster import Cluster
from vsched.sim.requests.request import ApiRequest

LOOK_SECONDS = 5.0
POOL = {"name": "more", "delay": "5s", "idle": "20s"}
"""The nodes that an autoscaler adds."""
CANCELLED_TIMES = 5
"""Some of what is cancelled goes on for a while, to end in order."""
LINES_KEPT = 20_000
"""Lines of the log that are kept where not all of it is wanted."""
PORT = 8080
"""Daemons answer at the ports after it."""


class Line(msgspec.Struct, frozen=True):
    """Something that happened."""

    at: float
    who: str
    what: str


class TimedViolations(Violations):
    """Broken promises, and when the first one was."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self.first_at: float | None = None

    def add(self, promise: str, what: str) -> None:
        super().add(promise, what)
        if self.first_at is None:
            self.first_at = self._loop.time()


class _OfLibraries(logging.Handler):
    """What libraries log with the standard module, such as errors of ours while a request is answered."""

    def __init__(self, hear: structlog.typing.Processor) -> None:
        super().__init__(logging.WARNING)
        self._hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        said: structlog.typing.EventDict = {"event": record.getMessage(), "logger": record.name}
        if record.exc_info:
            said["exc_info"] = repr(record.exc_info[1])
        with suppress(structlog.DropEvent):
            self._hear(None, record.levelname.lower(), said)


class Bottle:
    """A cluster in a bottle, and what happened in it."""

    def __init__(self, settings: BottleSettings, loop: BottleLoop | None = None) -> None:
        self._settings = settings
        wrong = settings.faults
        silent = any(rule.fault is FaultKind.WATCH_SILENT for rule in wrong.rules)
        self._sees_soon = not (wrong.processes or wrong.cluster or silent)
        """Whether daemons see all that is accepted before they doubt it."""
        self._random = Random(settings.seed)
        self.loop = loop or BottleLoop(self._new_random())
        self.loop.network.on_arrival.add(self._arrived)
        self.violations = TimedViolations(self.loop)
        self.lines: deque[Line] = deque(maxlen=None if settings.trace else LINES_KEPT)
        self.warned: Counter[str] = Counter()
        self._digest = sha256()
        self.outcomes: SoakOutcomes
        self.misfortunes: Misfortunes
        self.injector: FaultInjector
        self.daemons: list[BottleDaemon] = []
        self._processes: list[Process] = []
        self._is_over = False

    def run(self) -> dict[str, Any]:
        """Run it to its end; returns the result as one document."""
        before = structlog.get_config()
        structlog.configure(
            processors=[self._hear],
            wrapper_class=structlog.make_filtering_bound_logger(LEVELS["info"]),
            cache_logger_on_first_use=False,
        )
        libraries = _OfLibraries(self._hear)
        logging.getLogger().addHandler(libraries)
        try:
            asyncio.set_event_loop(self.loop)
            with self._folder() as folder:
                self.loop.run_until_complete(self._main(folder))
            return self.to_dict()
        finally:
            self._is_over = True
            self._drop()
            asyncio.set_event_loop(None)
            logging.getLogger().removeHandler(libraries)
            structlog.configure(**before)

    def _folder(self) -> AbstractContextManager[str]:
        """Where the daemons record the work, if their disks may be full; empty for nowhere."""
        settings = self._settings
        fills = any(rule.fault is ProcessFaultKind.FULL_DISK for rule in settings.faults.processes)
        if not fills or settings.shards > 1:  # shards have no record
            return nullcontext("")
        return TemporaryDirectory(prefix="vsched-bottle-", ignore_cleanup_errors=True)

    def _drop(self) -> None:
        """Clean up what killed processes have left: they come to life once more, and find everything cancelled."""
        for process in self._processes:
            process.alive = True
            process.go_on()
        for _ in range(CANCELLED_TIMES):
            if left := asyncio.all_tasks(self.loop):
                for task in left:
                    task.cancel()
                self.loop.run_until_complete(asyncio.wait(left, timeout=LOOK_SECONDS))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    # -- the log

    def _say(self, who: str, what: str) -> None:
        line = Line(round(self.loop.time(), 6), who, what)
        self.lines.append(line)
        self._digest.update(repr(line).encode())

    def _arrived(self, source: End, to: End, pieces: Iterable[bytes | None]) -> None:
        """All that is sent counts for the digest."""
        if self._is_over:
            return
        names = [end.process.name if end.process is not None else "" for end in (source, to)]
        self._digest.update(f"{self.loop.time():.9f} {names}".encode())
        for piece in pieces:
            self._digest.update(piece or b"")
            if self._settings.trace:
                text = "ends" if piece is None else piece.decode("utf-8", "backslashreplace")
                self.lines.append(Line(round(self.loop.time(), 6), f"{names[0]} to {names[1]}", text))

    def _hear(self, _: object, level: str, record: structlog.typing.EventDict) -> structlog.typing.EventDict:
        process = current()
        if self._is_over or (process is not None and not process.alive):
            raise structlog.DropEvent
        event, name = str(record.pop("event", "")), "" if process is None else process.name
        text = f"{level}: {event} " + " ".join(f"{key}={value}" for key, value in record.items())
        self._say(name, text)
        for daemon in self.daemons:
            if daemon.process is process and process is not None and not daemon.log.say(text):
                self.violations.add(words.LOST_IN_SILENCE, f"{name}: {event}")
        if level in ("error", "critical") or "exc_info" in record:
            self.violations.add(words.ERROR_IN_LOG, f"{name}: {event}")
        elif level == "warning":
            self.warned[event] += 1
            if event == BINDING_LOST and self._sees_soon:
                self.violations.add(words.ACCEPTED_AND_LOST, f"{name}: {record}")
            if event == RIVAL:
                self.violations.add(words.BOUND_BY_ANOTHER, f"{name}: {record}")
            if "rule" in record:
                self.violations.add(str(record["rule"]), f"{name}: {record.get('says')}")
        raise structlog.DropEvent

    # -- what is in it

    def _new_random(self) -> Random:
        return Random(self._random.getrandbits(64))

    def _process(self, name: str) -> Process:
        self._say(name, "starts")
        process = Process(name, self.loop, self._new_random())
        self._processes = [*(each for each in self._processes if not each.buried), process]
        return process

    async def _main(self, folder: str = "") -> None:
        settings, over = self._settings, asyncio.Event()
        self.injector = injector = FaultInjector(msgspec.structs.replace(settings.faults, user_agents=(DAEMONS,)))
        process = self._process(SERVER)
        self.misfortunes = misfortunes = Misfortunes(settings.faults, self._new_random(), process)
        misfortunes.on_fault.add(lambda kind, name: self._say("", f"{kind} {name}"))
        pools = [pool_of("bottle", POOL | {"max": settings.more_nodes})] if settings.more_nodes else ()
        gate, seed = self._looked_at(misfortunes.gate), self._random.getrandbits(32)
        cluster, server = await self._served(
            lambda: Cluster(settings.nodes, pools=pools, faults=injector, gate=gate, seed=seed), process, over
        )
        options = Options(
            arbitrate=settings.arbitrate,
            healthz_address="",
            verify=settings.verify,
            leader_elect=settings.daemons > 1,
            lease=lease_of(settings.lease_seconds),
            shards=settings.shards,
        )
        self.daemons = [
            BottleDaemon(
                f"daemon-{number}",
                cluster.url,
                msgspec.structs.replace(
                    options,
                    listen_address=f"127.0.0.1:{PORT + number}" if settings.asked else "",
                    record_work=Path(folder) / f"{number}" if folder else None,
                ),
                self._process,
                self.violations,
                settings.policy,
                misfortunes.extender,
            )
            for number in range(1, settings.daemons + 1)
        ]
        running = [self.loop.create_task(daemon.run()) for daemon in self.daemons]
        if settings.daemons > 1 and are_lasting(settings.faults.cluster):
            leases = LeaseChecks(cluster.client, self.daemons, self.violations, self.loop)
            running.append(self.loop.create_task(leases.run()))
        misfortunes.begin(self.daemons, self.loop.network)
        users = BottleUsers(settings, cluster, self.daemons, self.violations, self._new_random())
        self.outcomes = users.outcomes
        using = self._process("users").start(users.run(partial(misfortunes.begin_in, cluster), self._all_is_well))
        await self._watched([using, server, *running])
        over.set()
        misfortunes.end()
        await self._ended(self.daemons, running, server)

    def _looked_at(self, gate: Gate | None = None) -> Gate:
        """What stands before the API server: it sees that daemons say which objects they mean."""

        async def see(call: ApiRequest) -> None:
            if call.user_agent.startswith(DAEMONS) and not says_which(call):
                self.violations.add(words.NAMES_NO_OBJECT, f"{call.user_agent}: {call.method} {call.path}")
            if gate is not None:
                await gate(call)

        return see

    def _all_is_well(self) -> None:
        """Nothing goes wrong from now on."""
        self.injector.enabled = False
        self.misfortunes.end()
        self._say("", words.NOTHING_GOES_WRONG)

    async def _served(
        self, make: Callable[[], Cluster], process: Process, over: asyncio.Event
    ) -> tuple[Cluster, asyncio.Task[None]]:
        """The cluster once it is there, and the task in which its process makes it and serves it until ``over``."""
        ready: asyncio.Future[Cluster] = self.loop.create_future()

        async def serve() -> None:
            async with make() as cluster:
                ready.set_result(cluster)
                await over.wait()

        server = process.start(serve())
        await asyncio.wait((server, ready), return_when=asyncio.FIRST_COMPLETED)
        if server.done():
            server.result()
        return ready.result(), server

    async def _ended(
        self, daemons: Iterable[BottleDaemon], tasks: Iterable[asyncio.Task[None]], server: asyncio.Task[None]
    ) -> None:
        """End what still runs, the server as the last; note the steps that failed."""
        for task in tasks:
            task.cancel()
        for daemon in daemons:
            daemon.kill()
        await server
        for failure in self.loop.failures:
            self.violations.add(words.STEP_FAILED, f"{failure.get('message')}: {failure.get('exception')!r}")

    async def _watched(self, tasks: list[asyncio.Task[Any]]) -> None:
        """Wait for the end of the first, and of nothing else."""
        until = self._settings.until
        seconds = None if until is None else max(0.0, until - self.loop.time())
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    def to_dict(self) -> dict[str, Any]:
        """Everything that is known now."""
        outcomes = self.outcomes
        return {
            "seed": self._settings.seed,
            "seconds": round(self.loop.time(), 3),
            "created": outcomes.created,
            "bound": outcomes.bound,
            "finished": outcomes.finished,
            "starts": sum(daemon.starts for daemon in self.daemons),
            "warnings": dict(self.warned.most_common()),
            "violations": dict(self.violations.counts),
            "told": self.violations.first,
            "first_at": self.violations.first_at,
            "digest": self._digest.hexdigest(),
        }
