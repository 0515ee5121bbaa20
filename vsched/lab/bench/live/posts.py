"""A plain loop of requests with aiohttp, over connections that are kept: what a write costs a client at the least."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import aiohttp
from yarl import URL

from vsched.errors import Unavailable
from vsched.kube.auth.connection import Connection
from vsched.kube.client import FIXED, JSON, STRATEGIC_PATCH
from vsched.kube.errors import error_from_answer
from vsched.lab.children import cpu_seconds
from vsched.version import user_agent

IN_FLIGHT = 32
"""Requests on the wire at once, as many as the daemon has bindings."""

Send = Callable[[str, str, bytes], Awaitable[bytes]]
"""Sends a request with method, path and body; the result is the body of the answer."""
Job = Callable[[Send], Awaitable[None]]
"""Requests that follow each other."""


class PlainLoop:
    """Sends requests to one server, and counts what they take of this process and of the server."""

    def __init__(self, connection: Connection, server: int) -> None:
        """``server`` is the number of its process."""
        self._connection = connection
        self._server = server
        self._sent = 0

    async def measure(self, jobs: Iterator[Job], pods: int) -> dict[str, Any]:
        """Carry out the jobs; figures a pod are by this number of pods."""
        connector = aiohttp.TCPConnector(limit=IN_FLIGHT, ssl=self._connection.tls or True)
        async with aiohttp.ClientSession(connector=connector, headers={**FIXED, "User-Agent": user_agent()}) as session:
            await self._connect(session)
            self._sent = 0
            began, used, served = time.perf_counter(), time.process_time(), cpu_seconds(self._server)
            async with asyncio.TaskGroup() as tasks:
                for _ in range(IN_FLIGHT):
                    tasks.create_task(self._work(session, jobs))
            seconds, used = time.perf_counter() - began, time.process_time() - used
            after = cpu_seconds(self._server)
        sent = self._sent
        of_server = (after - served) * 1e3 if served is not None and after is not None else None
        return {
            "pods": pods,
            "writes": sent,
            "writes_per_pod": round(sent / pods, 3),
            "seconds": round(seconds, 3),
            "pods_per_second": round(pods / seconds, 1),
            "cpu_ms_per_write": round(used / sent * 1e3, 3),
            "cpu_ms_per_pod": round(used / pods * 1e3, 3),
            "server_cpu_ms_per_write": None if of_server is None else round(of_server / sent, 3),
            "server_cpu_ms_per_pod": None if of_server is None else round(of_server / pods, 3),
        }

    async def _connect(self, session: aiohttp.ClientSession) -> None:
        """Open all connections: all of these requests are there before the first one is answered."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(IN_FLIGHT):
                tasks.create_task(self._send(session, "GET", "/version", b""))

    async def _work(self, session: aiohttp.ClientSession, jobs: Iterator[Job]) -> None:
        async def send(method: str, path: str, body: bytes) -> bytes:
            return await self._send(session, method, path, body)

        for job in jobs:
            await job(send)

    async def _send(self, session: aiohttp.ClientSession, method: str, path: str, body: bytes) -> bytes:
        headers: Mapping[str, str] = {"Content-Type": STRATEGIC_PATCH if method == "PATCH" else JSON}
        where = f"{self._connection.server}: {method} {path}"
        self._sent += 1
        try:
            async with session.request(
                method, URL(self._connection.server + path, encoded=True), data=body or None, headers=headers
            ) as answer:
                content = await answer.read()
        except aiohttp.ClientError as error:
            raise Unavailable(f"{where}: {error or type(error).__name__}") from error
        if answer.status >= 300:
            raise error_from_answer(where, answer.status, answer.headers, content)
        return content
