"""Servers of the embedded cluster without controllers, one for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.sim.api_client import Api
from vsched.sim.api.server import ApiServer, ServerSettings
from vsched.sim.client import LocalClient
from vsched.sim.store.store import Store
from vsched.sim.writer import EventLimit, ObjectWriter


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def events() -> EventLimit:
    """How many events the server keeps; tests that parametrize it get another limit."""
    return EventLimit()


@pytest.fixture
def settings() -> ServerSettings:
    """How long the server waits; tests that parametrize it get other times."""
    return ServerSettings()


@pytest.fixture
def writer(store: Store, events: EventLimit) -> ObjectWriter:
    return ObjectWriter(store, seed=1, events=events)


@pytest.fixture
def client(writer: ObjectWriter) -> LocalClient:
    return LocalClient(writer)


@pytest.fixture
async def server(store: Store, writer: ObjectWriter, settings: ServerSettings) -> AsyncIterator[ApiServer]:
    server = ApiServer(store, writer=writer, settings=settings)
    await server.start()
    yield server
    await server.close()


@pytest.fixture
async def api(server: ApiServer) -> AsyncIterator[Api]:
    async with aiohttp.ClientSession(server.url) as session:
        yield Api(session)
