"""HTTP calls from a cycle to services such as extenders: one at a time, each with a time limit, and all together.

Each call runs in a thread, and the caller waits no longer than the limit. So slow name look-ups, hand-shakes and
answers are bounded, too. A service that does not answer is not called for ten times as long as the call lasted, so it
costs a tenth of the time at most.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR
from types import TracebackType
from typing import Protocol, Self
from urllib.parse import SplitResult, urlsplit

from vsched.clock import monotonic
from vsched.daemon.words import calls as words
from vsched.errors import Unavailable
from vsched.framework.callout import CalloutEndpoint

ANSWER_BYTES_MAX = 10 << 20
FAILURES_IN_A_ROW = 3
"""After so many calls in a row without an answer, the cycle makes no more."""
REST_FACTOR = 10
"""The pause after a call without an answer, as a multiple of how long it lasted."""


class Silent(Unavailable):
    """There was no answer, or not in time."""


class Exchange(Protocol):
    """What carries calls to services and answers back."""

    def post(self, url: str, body: bytes, seconds: float) -> bytes:
        """POST JSON; the body of a successful answer within so many seconds. Raises Unavailable."""

    def close(self) -> None:
        """Nothing more is called; a call under way ends without an answer."""


class Caller:
    """Makes the calls of all cycles, bounds what they cost, and counts them."""

    def __init__(self, monotonic: Callable[[], float] = monotonic, exchange: Exchange | None = None) -> None:
        """The calls are HTTP over one connection, unless another exchange is given."""
        self._monotonic = monotonic
        self._exchange: Exchange = exchange or HttpExchange(monotonic)
        self._failures = 0
        """Calls in a row without an answer."""
        self._rests_until = 0.0
        self.counts = {"answered": 0, "failed": 0, "skipped": 0}
        """Number of calls by result."""
        self.problem = ""
        """The error of the last call; empty if it had none."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a call under way ends without an answer."""
        self._exchange.close()

    def cycle(self) -> CycleCalls:
        """The calls of one cycle."""
        return CycleCalls(self, self._monotonic)

    @property
    def worn_out(self) -> bool:
        """Whether too many calls in a row had no answer for further calls in this cycle."""
        return self._failures >= FAILURES_IN_A_ROW

    @property
    def rests(self) -> bool:
        """Whether the pause after a call without an answer is still on."""
        return self._monotonic() < self._rests_until

    def make(self, endpoint: CalloutEndpoint, verb: str, body: bytes, seconds: float) -> bytes:
        """One call within so many seconds; raises Unavailable."""
        began = self._monotonic()
        try:
            answer = self._exchange.post(f"{endpoint.url}/{verb}", body, seconds)
        except Unavailable as error:
            self.counts["failed"] += 1
            self.problem = str(error)
            if isinstance(error, Silent):
                self._failures += 1
                if self.worn_out:
                    now = self._monotonic()
                    self._rests_until = now + REST_FACTOR * (now - began)
            raise
        self._failures = 0
        self.counts["answered"] += 1
        self.problem = ""
        return answer


class CycleCalls:
    """The calls of one cycle; a ``Callout``."""

    def __init__(self, caller: Caller, monotonic: Callable[[], float]) -> None:
        self._caller = caller
        self._monotonic = monotonic
        self._spent_seconds = 0.0
        self._given_up = ""

    def call(self, endpoint: CalloutEndpoint, verb: str, body: bytes) -> bytes:
        """One call within what the cycle has left; raises Unavailable."""
        if not self._given_up and self._caller.rests:
            self._given_up = words.SKIPPED
        if not self._given_up and self._spent_seconds >= endpoint.cycle_seconds:
            self._given_up = words.used_up(endpoint.cycle_seconds)
        if self._given_up:
            self._caller.counts["skipped"] += 1
            raise Unavailable(f"{endpoint.url} {self._given_up}")
        began = self._monotonic()
        seconds = min(endpoint.timeout_seconds, endpoint.cycle_seconds - self._spent_seconds)
        try:
            return self._caller.make(endpoint, verb, body, seconds)
        finally:
            self._spent_seconds += self._monotonic() - began
            if self._caller.worn_out:
                self._given_up = words.TOO_OFTEN


class HttpExchange:
    """Calls over HTTP: each in a thread that is not waited for longer than it may take, all over one connection."""

    def __init__(self, monotonic: Callable[[], float] = monotonic) -> None:
        self._monotonic = monotonic
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="callout")
        self._link: ServiceLink | None = None
        self._abandoned: Future[bytes] | None = None

    def close(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.cut()
            self._pool.submit(link.drop)
        self._pool.shutdown(wait=False)

    def post(self, url: str, body: bytes, seconds: float) -> bytes:
        seconds = self._after_abandoned(url, seconds)
        address = urlsplit(url)
        target = f"{address.path}?{address.query}" if address.query else address.path
        try:
            link = self._link_to(f"{address.scheme}://{address.netloc}")
            call = self._pool.submit(link.post, target, body, seconds)
        except RuntimeError:  # closed
            raise Unavailable(words.no_longer_called(url)) from None
        try:
            return call.result(seconds)
        except TimeoutError:
            self._abandoned, self._link = call, None
            link.cut()
            raise Silent(words.no_answer(url, seconds)) from None

    def _after_abandoned(self, url: str, seconds: float) -> float:
        """What is left of the time once the thread is free: a name look-up, say, cannot be broken off."""
        if self._abandoned is None:
            return seconds
        began = self._monotonic()
        if not wait((self._abandoned,), seconds).done:
            raise Silent(words.earlier_call(url))
        self._abandoned = None
        return max(0.0, seconds - (self._monotonic() - began))

    def _link_to(self, base: str) -> ServiceLink:
        if self._link is None or self._link.base != base:
            if self._link is not None:
                self._pool.submit(self._link.drop)
            self._link = ServiceLink(base)
        return self._link


class ServiceLink:
    """A connection to one service, opened when it is needed and kept while it works.

    Everything but ``cut`` happens in the one thread that makes calls.
    """

    def __init__(self, base: str) -> None:
        self.base = base
        """``http(s)://host[:port]``."""
        self._connection: HTTPConnection | None = None
        self._cut = False

    def post(self, target: str, body: bytes, seconds: float) -> bytes:
        """POST JSON; the body of a successful answer. Raises Unavailable."""
        try:
            return self._post(target, body, seconds)
        except TimeoutError:
            self.drop()
            raise Silent(words.no_answer(f"{self.base}{target}", seconds)) from None
        except OSError as error:
            self.drop()
            raise Silent(f"{self.base}{target}: {error or type(error).__name__}") from None
        except (HTTPException, Unavailable) as error:
            self.drop()
            raise Unavailable(f"{self.base}{target}: {error or type(error).__name__}") from None

    def cut(self) -> None:
        """End the call that is under way, from another thread."""
        self._cut = True
        sock = None if self._connection is None else self._connection.sock
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(SHUT_RDWR)

    def drop(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _post(self, target: str, body: bytes, seconds: float) -> bytes:
        if self._connection is not None:
            try:
                return self._exchange(self._connection, target, body, seconds)
            except ConnectionError:  # closed since the last call, as services do: once more on a new one
                self.drop()
        self._check()
        connection = self._connection = _connection(urlsplit(self.base), seconds)
        connection.connect()
        return self._exchange(connection, target, body, seconds)

    def _check(self) -> None:
        if self._cut:
            raise Unavailable(words.CALLER_GONE)

    def _exchange(self, connection: HTTPConnection, target: str, body: bytes, seconds: float) -> bytes:
        self._check()
        connection.sock.settimeout(seconds)
        connection.request("POST", target, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if not 200 <= response.status < 300:
            raise Unavailable(f"answered {response.status} {response.reason}")
        answer = response.read(ANSWER_BYTES_MAX + 1)
        if len(answer) > ANSWER_BYTES_MAX:
            raise Unavailable(words.answered_too_much(ANSWER_BYTES_MAX >> 20))
        if response.length:
            raise Unavailable(words.BROKE_OFF)
        if response.will_close:
            self.drop()
        return answer


def _connection(address: SplitResult, seconds: float) -> HTTPConnection:
    host = address.hostname or ""
    if address.scheme == "https":
        return HTTPSConnection(host, address.port, timeout=seconds, context=ssl.create_default_context())
    return HTTPConnection(host, address.port, timeout=seconds)
