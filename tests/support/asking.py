"""Asking a server over HTTP, and saying who one is or not."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from aiohttp import web

from tests.support.answering import CERTIFICATES
from vsched.web.serve.access import Access
from vsched.web.serve.limits import Limits, Port
from vsched.web.serve.routing import Route, as_json
from vsched.web.serve.server import serving

PEOPLE = Path(__file__).parents[1] / "web" / "data" / "people"
"""``alice`` (of team-a and viewers), ``expired`` and ``nameless``, certificates with keys, all of one ``authority``."""


class Lines:
    """What was told to people."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, object]]] = []

    def __call__(self, event: str, **fields: object) -> None:
        self.told.append((event, fields))


class Answered(NamedTuple):
    """An answer: code, headers, and the JSON of its body."""

    status: int
    headers: Any
    body: Any


def trusting(person: str = "", latest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    """A client that trusts the test server and shows the certificate of a person, if anybody's."""
    context = ssl.create_default_context(cafile=CERTIFICATES / "authority.pem")
    context.maximum_version = latest
    if person:
        context.load_cert_chain(PEOPLE / f"{person}.pem")
    return context


async def ask(
    url: str, token: str = "", tls: ssl.SSLContext | None = None, method: str = "GET", **headers: str
) -> Answered:
    """Ask once, over a connection of its own."""
    if token:
        headers["Authorization"] = f"Bearer {token}"
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls or True)) as session,
        session.request(method, url, headers=headers) as answer,
    ):
        body = await answer.json() if answer.content_type == "application/json" else await answer.text()
        return Answered(answer.status, answer.headers, body)


async def _hello(request: web.Request) -> web.StreamResponse:
    return as_json("hello")


HELLO = (Route("/", _hello, "says hello"), Route("/{name}", _hello, "says hello", "*"))


@asynccontextmanager
async def hello(
    access: Access | None = None,
    tls: ssl.SSLContext | None = None,
    port: Port | None = None,
    routes: Sequence[Route] = HELLO,
    **limits: Any,
) -> AsyncIterator[str]:
    """A server that says hello to those who may ask; gives its URL."""
    port = port or Port(Limits(**limits))
    async with serving(routes, "127.0.0.1:0", "--listen-address", tls, access=access, port=port) as number:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{number}"


class Raw:
    """A connection on which anything can be said."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, text: str) -> None:
        self.writer.write(text.encode())
        await self.writer.drain()

    async def hear(self) -> str:
        """What comes until the other side hangs up."""
        try:
            return (await self.reader.read()).decode()
        except ConnectionError:
            return ""


@asynccontextmanager
async def raw(url: str) -> AsyncIterator[Raw]:
    host, _, port = url.rpartition("/")[2].partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Raw(reader, writer)
    finally:
        writer.transport.abort()


async def fetched(url: str, token: str = "") -> bytes:
    """A file from a page."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    connector = aiohttp.TCPConnector(ssl=trusting() if url.startswith("https") else True)
    async with aiohttp.ClientSession(connector=connector) as session, session.get(url, headers=headers) as answer:
        assert answer.status == 200, await answer.text()
        assert answer.content_type == "application/gzip"
        assert "attachment" in answer.headers["Content-Disposition"]
        return await answer.read()
