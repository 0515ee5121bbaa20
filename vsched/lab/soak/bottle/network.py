"""Connections in memory: what is sent arrives in order, in pieces, after a delay that is drawn.

Processes may be cut off from each other. What they send meanwhile arrives once they are joined again, as TCP sends it
again; who connects meanwhile waits.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextvars import Context, copy_context
from random import Random
from socket import AF_UNSPEC, socket
from typing import Any, NamedTuple, Protocol

from vsched.handlers import Handlers
from vsched.lab.soak.bottle.processes import Process, current

SHORTEST_SECONDS, LONGEST_SECONDS = 0.0002, 0.002
"""The usual delay of a piece."""
PORTS = tuple(range(20_000, 65_536))
_HIGH = 1 << 17
"""So many bytes are on the way when a sender has to pause, until they have arrived."""


class Timers(Protocol):
    """What is needed of the event loop."""

    def time(self) -> float: ...

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle: ...

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle: ...


class Listening(NamedTuple):
    """A server that listens."""

    factory: Callable[[], asyncio.Protocol]
    context: Context
    process: Process | None


class Server:
    """A listening server, as asyncio returns it."""

    def __init__(self, network: Network, address: tuple[str, int], listening: Listening, sock: socket | None) -> None:
        self._network, self._address, self._listening, self._sock = network, address, listening, sock

    @property
    def sockets(self) -> tuple[Server, ...]:
        return (self,)

    def getsockname(self) -> tuple[str, int]:
        """The address."""
        return self._address

    def is_serving(self) -> bool:
        return self._network.listening.get(self._address) is self._listening

    def close(self) -> None:
        if self.is_serving():  # who was killed may be cleaned up when another one listens there
            del self._network.listening[self._address]
        if self._sock is not None:
            self._sock.close()

    async def wait_closed(self) -> None:
        """Nothing to wait for."""


class Network:
    """All connections of a bottle."""

    def __init__(self, loop: Timers, random: Random) -> None:
        self.loop, self.random = loop, random
        self.listening: dict[tuple[str, int], Listening] = {}
        self._ports = deque(PORTS)
        """Those that are free, the one that was freed longest ago first."""
        self._cut: Counter[tuple[str, str]] = Counter()
        """From whom nothing arrives at whom, by name, and for how many reasons."""
        self._waiting: list[asyncio.Future[None]] = []
        self.on_arrival: Handlers[[End, End, Iterable[bytes | None]]] = Handlers()
        """Called with all that arrives."""
        self.on_write: Handlers[[End, bytes]] = Handlers()
        """Called before each write; who kills the process of the end meanwhile prevents it."""
        self.ends: dict[End, None] = {}
        """Of all open connections."""

    def free(self, port: int) -> None:
        """Nobody uses a port any more."""
        self._ports.append(port)

    def delay(self) -> float:
        """How long a piece takes."""
        return self.random.uniform(SHORTEST_SECONDS, LONGEST_SECONDS)

    def cut(self, source: str, to: str) -> None:
        """From now on nothing arrives from one process at the other."""
        self._cut[source, to] += 1

    def join(self, source: str, to: str) -> None:
        """What was sent meanwhile arrives now."""
        self._cut[source, to] -= 1
        for end in tuple(self.ends):
            end.carry_on()
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()

    def is_cut(self, source: Process | None, to: Process | None) -> bool:
        """Whether nothing arrives from one at the other at present."""
        return source is not None and to is not None and self._cut[source.name, to.name] > 0

    def listen(
        self,
        factory: Callable[[], asyncio.Protocol],
        host: str | None,
        port: int | None,
        context: Context,
        sock: socket | None = None,
    ) -> Server:
        """Listen at an address; port 0 is any that is free. A socket of the machine keeps its port from others."""
        address = (host or "127.0.0.1", port or self._ports.popleft())
        found = self.listening.get(address)
        if found is not None and (found.process is None or found.process.alive):
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        listening = self.listening[address] = Listening(factory, context, current())
        return Server(self, address, listening, sock)

    async def reach(self, host: str, port: int) -> None:
        """Wait until an address answers; raises ConnectionRefusedError where nobody listens."""
        while True:
            await asyncio.sleep(self.delay())
            found, here = self.listening.get((host, port)), current()
            if found is None or any(each is not None and not each.alive for each in (found.process, here)):
                raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
            if not (self.is_cut(here, found.process) or self.is_cut(found.process, here)):
                return
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter

    def connect(self, factory: Callable[[], asyncio.Protocol], host: str, port: int) -> tuple[End, asyncio.Protocol]:
        """A connection to who listens there."""
        server = self.listening.get((host, port))
        if server is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        near, far = factory(), server.context.copy().run(server.factory)
        here = End(self, near, copy_context(), current(), ("127.0.0.1", self._ports.popleft()), (host, port))
        there = End(self, far, server.context.copy(), server.process, (host, port), here.name)
        here.peer, there.peer = there, here
        here.connects = True
        self.ends |= {here: None, there: None}
        near.connection_made(here)
        self.loop.call_soon(far.connection_made, there, context=there.context)
        return here, near


class _NoSocket:
    """What options are set on; they are about machines that vanish."""

    family = AF_UNSPEC

    def setsockopt(self, *_: object) -> None:
        """Nothing to set."""


class Accepted(_NoSocket):
    """A connection that a server has accepted, and gives a protocol later."""

    def __init__(self, end: End) -> None:
        self._end = end

    def begin(self, protocol: asyncio.Protocol) -> End:
        """From now on the protocol has it."""
        end = self._end
        end.set_protocol(protocol)
        protocol.connection_made(end)
        if end.is_closing():  # the other side has gone meanwhile
            protocol.connection_lost(None)
        else:
            end.resume_reading()
        return end


class ListeningSocket:
    """What a server listens at that accepts its connections one by one."""

    def __init__(self, server: Server, backlog: asyncio.Queue[Accepted]) -> None:
        self._server = server
        self.backlog = backlog
        """Connections that wait to be accepted."""

    def getsockname(self) -> tuple[str, int]:
        """The address."""
        return self._server.getsockname()

    def close(self) -> None:
        """Nobody listens there any more."""
        self._server.close()


class Arriving(asyncio.Protocol):
    """Puts a connection into a queue, with all that is sent, until somebody accepts it."""

    def __init__(self, backlog: asyncio.Queue[Accepted]) -> None:
        self._backlog = backlog

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, End)
        transport.pause_reading()
        self._backlog.put_nowait(Accepted(transport))


class End(asyncio.Transport):
    """One end of a connection."""

    peer: End
    connects = False
    """Whether it is the end of who connects."""

    def __init__(
        self,
        network: Network,
        protocol: asyncio.Protocol,
        context: Context,
        process: Process | None,
        name: tuple[str, int],
        peer_name: tuple[str, int],
    ) -> None:
        super().__init__({"sockname": name, "peername": peer_name, "socket": _NoSocket()})
        self.context, self.process, self.name = context, process, name
        self._network = network
        self._protocol: asyncio.BaseProtocol = protocol
        self._on_the_way: deque[bytes | None] = deque()
        """What is sent and has not arrived, in order; None is the end."""
        self._arrives: asyncio.TimerHandle | None = None
        self._bytes = 0
        self._unread: deque[bytes | None] = deque()
        self._reads, self._closing, self._over, self._presses = True, False, False, False
        if process is not None:
            process.ends[self._reset] = None

    # -- what the owner calls

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._closing or not data:
            return
        piece = bytes(data)
        self._network.on_write(self, piece)
        if self.is_closing():
            return
        self._on_the_way.append(piece)
        self._bytes += len(piece)
        self.carry_on()
        if self._bytes > _HIGH and not self._presses:
            self._presses = True
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if not self._closing:
            self._on_the_way.append(None)
            self.carry_on()

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._on_the_way.append(None)
            self.carry_on()
            self._network.loop.call_soon(self._end, None, context=self.context)

    def abort(self) -> None:
        if not self._closing:
            self._closing = True
            self._network.loop.call_soon(self._end, None, context=self.context)
        self._reset()

    def _reset(self) -> None:
        """The other end learns that this one is gone, after what was sent before."""
        self._closing = True
        network, peer = self._network, self.peer
        network.loop.call_at(
            network.loop.time() + network.delay(),
            peer._end,
            ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)),
            context=peer.context,
        )
        self._forget()

    def is_closing(self) -> bool:
        return self._closing

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def is_reading(self) -> bool:
        return self._reads and not self._closing

    def pause_reading(self) -> None:
        self._reads = False

    def resume_reading(self) -> None:
        if not self._reads:
            self._reads = True
            self._network.loop.call_soon(self._read, context=self.context)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The limits are those of the network."""

    def get_write_buffer_size(self) -> int:
        return self._bytes

    # -- what arrives

    def carry_on(self) -> None:
        """Have the next piece arrive, unless the processes are cut off."""
        network = self._network
        if self._arrives is None and self._on_the_way and not network.is_cut(self.process, self.peer.process):
            when = network.loop.time() + network.delay()
            self._arrives = network.loop.call_at(when, self._arrive, context=Context())

    def _arrive(self) -> None:
        self._arrives = None
        if self._network.is_cut(self.process, self.peer.process):
            return
        pieces, self._on_the_way, self._bytes = self._on_the_way, deque(), 0
        self._network.on_arrival(self, self.peer, pieces)
        self.peer._unread += pieces
        self._network.loop.call_soon(self.peer._read, context=self.peer.context)
        if self._presses and not self._closing:
            self._presses = False
            self._network.loop.call_soon(self._protocol.resume_writing, context=self.context)

    def _read(self) -> None:
        """Give what has arrived to the protocol."""
        while self._unread and self._reads and not self._closing:
            piece = self._unread.popleft()
            protocol = self._protocol
            assert isinstance(protocol, asyncio.Protocol)
            if piece is not None:
                protocol.data_received(piece)
            elif not protocol.eof_received():
                self.close()

    def _end(self, error: Exception | None) -> None:
        """The connection is over for this end."""
        if self._over:
            return
        if error is not None:
            self._read()  # what came before
        self._closing = self._over = True
        self._protocol.connection_lost(error)
        self._forget()

    def _forget(self) -> None:
        if self in self._network.ends:
            del self._network.ends[self]
            if self.connects:
                self._network.free(self.name[1])
        if self.process is not None:
            self.process.ends.pop(self._reset, None)
