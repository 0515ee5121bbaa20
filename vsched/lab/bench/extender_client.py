"""A client that asks an extender as kube-scheduler does, for ``vsched bench-arbitrate``.

It is a process of its own, so that it takes no processor time from the measured one. It reads the names of nodes as a
JSON list from the first line of standard input, and a pod from each further line. It asks about the pods one after
another over one connection, and prints as JSON for each pod the seconds until the last byte of the answer, and whether
the pod may be placed.

Usage: ``python -m vsched.lab.bench.extender_client HOST PORT``.
"""

from __future__ import annotations

import json
import socket
import sys
import time

from vsched.lab.bench.words import arbitrate as words

PATH = "/extender/filter"
TIMEOUT_SECONDS = 60.0
PLACEABLE = b'"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}'
"""The end of an answer about a pod that may be placed."""
_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


class ExtenderConnection:
    """A kept connection with little overhead of its own."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f"POST {PATH} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        self._buffer = bytearray(1 << 24)

    def ask(self, body: bytes) -> tuple[float, bytes]:
        """The seconds until the answer was complete, and its body; raises OSError."""
        request = f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        began = time.perf_counter()
        self._socket.sendall(request)
        start, end = self._receive()
        return time.perf_counter() - began, bytes(self._buffer[start:end])

    def _receive(self) -> tuple[int, int]:
        """Read one answer into the buffer; returns where its body begins and ends."""
        view, got, start, end = memoryview(self._buffer), 0, 0, sys.maxsize
        while got < end:
            count = self._socket.recv_into(view[got:])
            if not count:
                raise OSError(words.CLOSED_TOO_SOON)
            got += count
            if not start and (at := self._buffer.find(_END, 0, got)) >= 0:
                start = at + len(_END)
                end = start + self._length(start)
        return start, end

    def _length(self, start: int) -> int:
        head = bytes(self._buffer[:start]).lower()
        if not head.startswith(b"http/1.1 200 ") or _LENGTH not in head:
            raise OSError(words.other_answer(head.splitlines()[0].decode()))
        return int(head.partition(_LENGTH)[2].split(b"\r\n")[0])


def main(host: str, port: int) -> None:
    """Ask about every pod, in order, and print the result."""
    names, *pods = sys.stdin.buffer.read().splitlines()
    line, seconds, placeable = ExtenderConnection(host, port), list[float](), list[bool]()
    for pod in pods:
        took, answer = line.ask(b'{"Pod":%s,"Nodes":null,"NodeNames":%s}' % (pod, names))
        seconds.append(took)
        placeable.append(answer.endswith(PLACEABLE))
    print(json.dumps({"seconds": seconds, "placeable": placeable}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
