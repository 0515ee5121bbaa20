"""An event loop on virtual time: nothing is waited for, the clock moves on to what comes next.

Connections stay in memory (``network``), and what others do in threads is done in a step of its own. So the order of
all steps follows from what runs on the loop, and from the seed of the network's delays.
"""

from __future__ import annotations

import asyncio
import heapq
import socket
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Executor
from contextvars import Context, copy_context
from functools import partial
from itertools import count
from math import ulp
from random import Random
from typing import Any, TypeVar

from vsched.errors import VschedError
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.network import Accepted, Arriving, ListeningSocket, Network
from vsched.lab.soak.bottle.processes import process_in, takes

T = TypeVar("T")
BACKLOG = 4_096
"""So many connections to a socket may wait to be accepted."""
A_MOMENT = 1e-9
"""So many seconds later than planned a step is taken, or a few roundings: who woke up a rounding before the moment that
it waits for would wait for ever."""


class NothingMore(VschedError):
    """Nothing is planned any more: whoever waits would wait for ever."""


class _Step(asyncio.Handle):
    """A step of a process; not taken once the process is dead."""

    __slots__ = ()

    def _run(self) -> None:
        if takes(self):
            super()._run()


class TimedStep(asyncio.TimerHandle):
    """The same at a time; of those at one time the one that was planned first comes first.

    Else the order of these would change with whatever else is planned, such as the end of the run.
    """

    __slots__ = ("number",)
    number: int

    def __lt__(self, other: TimedStep) -> bool:  # type: ignore[override]
        return (self._when, self.number) < (other._when, other.number)  # type: ignore[attr-defined]

    def _run(self) -> None:
        if takes(self):
            super()._run()


class _NoSelector:
    """Waits for nothing."""

    def __init__(self, move: Callable[[float], None]) -> None:
        self._move = move

    def select(self, timeout: float | None) -> tuple[()]:
        """Let the time until the next step pass at once; raises NothingMore where there is none."""
        if timeout is None:
            raise NothingMore(words.NOTHING_PLANNED)
        self._move(timeout)
        return ()


class _NumberedTask(asyncio.Task[T]):
    """A task whose place in a set follows from its number, and not from its address."""

    def __init__(self, coro: Coroutine[Any, Any, T], *, loop: BottleLoop, **more: Any) -> None:
        self._number = next(loop.numbers)
        super().__init__(coro, loop=loop, **more)

    def __hash__(self) -> int:
        return self._number


class _NumberedFuture(asyncio.Future[T]):
    """The same of a future."""

    def __init__(self, *, loop: BottleLoop) -> None:
        self._number = next(loop.numbers)
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._number


class BottleLoop(asyncio.BaseEventLoop):
    """The loop of a bottle. Its time begins at 0."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.network = Network(self, random)
        self._now = 0.0
        self._selector = _NoSelector(self._move)
        self._connecting: dict[socket.socket, tuple[str, int]] = {}
        self.set_exception_handler(self._failed)
        self.failures: list[dict[str, Any]] = []
        """What went wrong in steps that nobody waits for."""
        self.numbers = count()
        """Of tasks and futures: task groups end theirs, and ``asyncio.wait`` looks at them, in the order of a set."""
        self._timers = count()

    def time(self) -> float:
        return self._now

    def _move(self, seconds: float) -> None:
        """Go on to what is planned next.

        Turns in which nothing is waited for take no time: how many there are differs between versions of Python.
        """
        if seconds > 0:
            self._now += seconds
            self._now += max(A_MOMENT, 4 * ulp(self._now))

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.failures.append(context)

    # -- steps

    def create_task(self, coro: Coroutine[Any, Any, T], **more: Any) -> asyncio.Task[T]:  # type: ignore[override]
        self._check_closed()  # type: ignore[attr-defined]
        task = _NumberedTask(coro, loop=self, **more)
        process = process_in(more.get("context"))
        if process is not None:
            process.owns(task)
        return task

    def create_future(self) -> asyncio.Future[Any]:
        return _NumberedFuture(loop=self)

    def _call_soon(self, callback: Any, args: Any, context: Context | None) -> asyncio.Handle:
        handle = _Step(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = self._timed(when, callback, args, context)
        handle.number = next(self._timers)
        heapq.heappush(self._scheduled, handle)
        handle._scheduled = True  # type: ignore[attr-defined]
        return handle

    def _timed(self, when: float, callback: Any, args: Any, context: Context | None) -> TimedStep:
        return TimedStep(when, callback, args, self, context)

    def _process_events(self, event_list: object) -> None:
        """There are no files to read from."""

    def _write_to_self(self) -> None:
        """Nobody sleeps who would have to be woken up."""

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Do it in a step of its own: there are no threads."""
        done: asyncio.Future[T] = self.create_future()
        self.call_soon(_do, done, func, args)
        return done

    # -- connections

    async def create_server(
        self, protocol_factory: Any, host: Any = None, port: Any = None, *, sock: socket.socket | None = None, **_: Any
    ) -> Any:
        if sock is not None:  # its address is what counts
            host, port = sock.getsockname()
        return self.network.listen(protocol_factory, host, port, copy_context(), sock)

    async def listening_sockets(self, host: str, port: int) -> Sequence[Any]:
        """What ``sock_accept`` takes, in place of sockets of the machine; raises OSError."""
        backlog: asyncio.Queue[Accepted] = asyncio.Queue(BACKLOG)
        return [ListeningSocket(self.network.listen(partial(Arriving, backlog), host, port, copy_context()), backlog)]

    async def sock_accept(self, sock: Any) -> Any:
        """The next connection: what ``connect_accepted_socket`` takes."""
        return await sock.backlog.get(), sock.getsockname()

    async def connect_accepted_socket(self, protocol_factory: Any, sock: Any, **_: Any) -> Any:
        protocol = protocol_factory()
        return sock.begin(protocol), protocol

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        await self.network.reach(address[0], address[1])
        self._connecting[sock] = (address[0], address[1])

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, *, sock: Any = None, **_: Any
    ) -> tuple[Any, Any]:
        if sock is None:
            await self.network.reach(host, port)
        else:
            host, port = self._connecting.pop(sock)
            sock.close()
        return self.network.connect(protocol_factory, host, port)

    async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host or "127.0.0.1", port))]


def _do(done: asyncio.Future[T], func: Callable[..., T], args: tuple[Any, ...]) -> None:
    if done.cancelled():
        return
    try:
        result = func(*args)
    except Exception as error:
        done.set_exception(error)
    else:
        done.set_result(result)
