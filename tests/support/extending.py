"""A service for the extender plugin: a real HTTP server on loopback that says what a test tells it to."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Payload = dict[str, Any]


class Reply(NamedTuple):
    """An answer that is no plain success with JSON."""

    status: int = 200
    body: bytes = b""
    hangs: bool = False
    drips: bool = False
    """Sends a byte now and then, for ever."""
    closes: bool = False
    """Closes the connection after the answer, unannounced."""
    missing: int = 0
    """Bytes that are announced and never sent."""


HTML = Reply(body=b"<html>It works!</html>")
BROKEN = Reply(500, b"{}")
BREAKING_OFF = Reply(body=b"{}", missing=1, closes=True)
HANGING = Reply(hangs=True)
DRIPPING = Reply(drips=True)
TOO_LARGE = Reply(body=b'{"x": "' + b"x" * (10 << 20) + b'"}')
OTHER_JSON = Reply(body=b"[1, 2, 3]")


class ExtenderServer(ThreadingHTTPServer):
    """Answers each verb with what stands in ``answers``: JSON, a ``Reply``, or a function of the payload."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.answers: dict[str, Payload | Reply | Callable[[Payload], Payload]] = {}
        self.requests: list[tuple[str, Payload]] = []
        """What was asked, in order."""
        self.connections = 0
        self.closed = 0
        """How many of them are closed."""
        self.released = threading.Event()

    @property
    def verbs(self) -> list[str]:
        """What was asked, in order, without the payloads."""
        return [verb for verb, _ in self.requests]

    def of(self, verb: str) -> list[Payload]:
        """The payloads of one verb, in order."""
        return [payload for found, payload in self.requests if found == verb]

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of callers that hang up; anything else is a mistake in a test."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # as it came

    def reply(self, verb: str, payload: Payload) -> Reply:
        answer = self.answers.get(verb, {})
        if callable(answer) and not isinstance(answer, Reply):
            answer = answer(payload)
        return answer if isinstance(answer, Reply) else Reply(body=json.dumps(answer).encode())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ExtenderServer

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def finish(self) -> None:
        super().finish()
        with suppress(OSError):  # the other side was faster
            self.connection.shutdown(socket.SHUT_RDWR)
        self.server.closed += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        verb = self.path.removeprefix("/")
        self.server.requests.append((verb, json.loads(body)))
        reply = self.server.reply(verb, json.loads(body))
        if reply.hangs:
            self.server.released.wait(30)
            self.close_connection = True
            return
        try:
            self.send_response(reply.status)
            self.send_header("Content-Length", str(1 << 20 if reply.drips else len(reply.body) + reply.missing))
            self.end_headers()
            self.wfile.write(reply.body)
            while reply.drips and not self.server.released.wait(0.01):
                self.wfile.write(b" ")
        except ConnectionError:  # the other side has stopped waiting
            self.close_connection = True
        self.close_connection = self.close_connection or reply.closes or reply.drips

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def extending(**answers: Payload | Reply | Callable[[Payload], Payload]) -> Iterator[ExtenderServer]:
    """A running extender with these answers."""
    server = ExtenderServer()
    server.answers.update(answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def refusing() -> str:
    """The address of a port at which nobody listens."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        return f"http://127.0.0.1:{server.server_address[1]}"
