"""Other vsched programs as child processes: started, waited for, measured, and ended by their process id.

Each is in a process group of its own, so that Ctrl-C at a terminal reaches the parent only, which ends them in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, Process
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from vsched.errors import Unavailable, VschedError
from vsched.kube.auth.config import load_connection
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.lab import words
from vsched.lab.sender import Sender
from vsched.together import first_error

T = TypeVar("T")

START_SECONDS = 30.0
END_SECONDS = 5.0
_POLL_SECONDS = 0.02
_HELD_MAX = 128
_HELD: deque[int] = deque()
"""The file descriptors of ports that are held."""


@dataclass(frozen=True, slots=True)
class Child:
    """A vsched program in a child process."""

    name: str
    process: Process
    errors: Path
    """The file with its standard error."""

    async def ended(self) -> None:
        """Wait for an unexpected end, and raise it as Unavailable."""
        await self.process.wait()
        raise self.death()

    def death(self) -> Unavailable:
        """The error for its end: the exit code and the last line of its standard error."""
        lines = self.errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        said = f": {lines[-1].removeprefix('vsched: ').removeprefix('Error: ')}" if lines else ""
        return Unavailable(words.ended(self.name, self.process.returncode, said))


@asynccontextmanager
async def child(
    name: str,
    arguments: tuple[str, ...],
    errors: Path,
    environment: Mapping[str, str] | None = None,
    output: Path | None = None,
    module: str = "vsched",
) -> AsyncIterator[Child]:
    """Run ``python -m vsched ARGUMENTS`` while the block runs; afterwards end it, or kill it if it does not end.

    Its standard output goes to the file ``output``, or nowhere; another ``module`` takes the same arguments.
    """
    with errors.open("wb") as log, (output or Path(os.devnull)).open("wb") as printed:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module, *arguments),
            stdin=DEVNULL,
            stdout=printed,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    try:
        yield Child(name, process, errors)
    finally:
        await _end(process)


async def _end(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        # Not wait_for: that can lose our own cancellation if the process ends at the same moment.
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
    except asyncio.CancelledError:
        process.kill()
        raise


@dataclass(frozen=True, slots=True)
class ClusterChild:
    """An embedded cluster in a process of its own."""

    child: Child
    kubeconfig: Path
    connection: Connection


@asynccontextmanager
async def cluster_child(
    nodes: int, directory: Path, *further: str, output: Path | None = None, events: bool = False
) -> AsyncIterator[ClusterChild]:
    """An embedded cluster on a free loopback port, once it answers; ``further`` are more arguments.

    Its controllers write no Events unless asked, because these would be a part of what is measured.
    """
    kubeconfig = directory / "kubeconfig"
    arguments = ("cluster", "--nodes", str(nodes), "--port", "0", "--kubeconfig-out", str(kubeconfig), *further)
    arguments += () if events else ("--no-events",)
    async with child("embedded cluster", arguments, directory / "cluster.log", output=output) as started:

        async def connect() -> Connection:
            # The cluster writes the kubeconfig last, once its nodes and controllers exist.
            connection = load_connection(kubeconfig)
            async with ApiClient(connection) as client:
                await client.request("GET", "/version", attempts=1)
            return connection

        connection = await _answered(started, words.DID_NOT_COME_UP, connect)
        yield ClusterChild(started, kubeconfig, connection)


async def _answered(started: Child, problem: str, ask: Callable[[], Awaitable[T]]) -> T:
    """The first result of ``ask``; raises Unavailable where the child ends or takes too long, with the ``problem``."""
    deadline = asyncio.get_running_loop().time() + START_SECONDS
    while True:
        if started.process.returncode is not None:
            raise started.death()
        try:
            return await ask()
        except VschedError as error:
            if asyncio.get_running_loop().time() > deadline:
                raise Unavailable(f"the {started.name} {problem} within {START_SECONDS:.0f} s: {error}") from None
        await asyncio.sleep(_POLL_SECONDS)


@dataclass(frozen=True, slots=True)
class DaemonChild:
    """A scheduler daemon in a process of its own."""

    child: Child
    listening: Connection
    """Where it serves its metrics and views."""


@asynccontextmanager
async def daemon_child(
    kubeconfig: Path,
    directory: Path,
    environment: Mapping[str, str] | None = None,
    policy: Path | None = None,
    further: tuple[str, ...] = (),
    module: str = "vsched",
) -> AsyncIterator[DaemonChild]:
    """A daemon at this cluster, once it is ready; with the built-in policy unless there is a file.

    ``further`` are more arguments; ``module`` is what is run with them.
    """
    arguments, listening, health = daemon_arguments(kubeconfig)
    arguments += further if policy is None else ("--scheduler-conf", str(policy), *further)
    async with child("scheduler", arguments, directory / "scheduler.log", environment, module=module) as started:
        async with ApiClient(health) as client:
            await _answered(started, words.WAS_NOT_READY, lambda: client.request("GET", "/readyz", attempts=1))
        yield DaemonChild(started, listening)


def daemon_arguments(kubeconfig: Path, *, level: str = "warning") -> tuple[tuple[str, ...], Connection, Connection]:
    """The arguments of a daemon at a cluster, and the addresses of its views and of its health checks."""
    listen, healthz = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    arguments = (
        *("run", "--kubeconfig", str(kubeconfig), "--log-level", level, "--log-format", "json"),
        *("--listen-address", listen, "--healthz-address", healthz),
    )
    return arguments, Connection(f"http://{listen}"), Connection(f"http://{healthz}")


def free_port() -> int:
    """A loopback port that nobody gets by chance meanwhile: only a server that may reuse addresses can listen at it.

    This process keeps its latest ones bound, without listening at them.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port = int(held.getsockname()[1])
        _HELD.append(held.detach())
    while len(_HELD) > _HELD_MAX:
        os.close(_HELD.popleft())
    return port


@asynccontextmanager
async def scratch() -> AsyncIterator[Path]:
    """A temporary directory that is deleted after the block."""
    with tempfile.TemporaryDirectory(prefix="vsched-", ignore_cleanup_errors=True) as name:
        yield Path(name)


class Stage(NamedTuple):
    """An embedded cluster in a child process, and two clients of it."""

    cluster: ClusterChild
    client: ApiClient
    sender: Sender


@asynccontextmanager
async def stage(nodes: int, directory: Path, *further: str, events: bool = False) -> AsyncIterator[Stage]:
    """The same as ``cluster_child``, with clients."""
    async with (
        cluster_child(nodes, directory, *further, events=events) as cluster,
        ApiClient(cluster.connection) as client,
        Sender(cluster.connection.server, tls=cluster.connection.tls) as sender,
    ):
        yield Stage(cluster, client, sender)


@asynccontextmanager
async def beside(*running: Coroutine[Any, Any, object]) -> AsyncIterator[asyncio.TaskGroup]:
    """Run these while the block runs, and cancel them after it; the first error of theirs or of the block is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in running]
            yield group
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as errors:
        raise first_error(errors) from errors


def cpu_seconds(process: int) -> float | None:
    """The processor time that a process has used, its threads included; None on systems without /proc."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            # The clock of a process by its number (CPUCLOCK_SCHED): nanoseconds, where /proc counts in hundredths.
            return time.clock_gettime((~process << 3) | 2)
    statistics = Path(f"/proc/{process}/stat")
    if not statistics.exists():
        return None
    fields = statistics.read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_seconds_of(processes: Mapping[str, int]) -> dict[str, float]:
    """The processor time of processes by name; empty on systems without /proc."""
    used = {name: cpu_seconds(number) for name, number in processes.items()}
    return {name: seconds for name, seconds in used.items() if seconds is not None}
