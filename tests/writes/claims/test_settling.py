"""Reading and writing one object until nothing is left to write, at an embedded cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support import volumes
from tests.support.claiming import cluster_with
from tests.support.fault_proxy import FaultProxy, faulty
from tests.support.recording_server import writer_to
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.mirror.ingest.volumes import SELECTED_NODE
from vsched.sim.cluster import Cluster
from vsched.writes.claims import words
from vsched.writes.claims.objects import VolumeClaimRead
from vsched.writes.claims.patches import annotate
from vsched.writes.claims.settling import MOST_ROUNDS, Deposed, Settling
from vsched.writes.claims.steps import DONE, Failed, Step
from vsched.writes.claims.volumes import select_node
from vsched.writes.claims.wishes import VolumeWish
from vsched.writes.limits import Attempts

CLAIM = volumes.claim("data", namespace="default")
PATH = "/api/v1/namespaces/default/persistentvolumeclaims/data"
WISH = VolumeWish("default/data", "", "n1", selected_node="n1", choose=True)
ATTEMPTS = Attempts(4, first_seconds=0.005, ceiling_seconds=0.02)


@asynccontextmanager
async def settling(leads: bool = True) -> AsyncIterator[tuple[Cluster, FaultProxy, Settling]]:
    async with (
        cluster_with(CLAIM, controllers=False) as cluster,
        faulty(cluster.url) as proxy,
        ApiClient(Connection(proxy.url)) as client,
    ):
        yield cluster, proxy, Settling(client, writer_to(client, permit=lambda: leads), 4, ATTEMPTS)


def selected(found: VolumeClaimRead | None) -> Step:
    return select_node(found, WISH)


async def test_an_answer_is_the_object_as_it_is_now() -> None:
    async with settling() as (_, proxy, at):
        requests: list[str] = []
        proxy.on_request = lambda method, path: requests.append(method)
        assert await at.settle(VolumeClaimRead, "default/data", selected) == DONE
        assert requests == ["GET", "PATCH"], "it need not be read again"


async def test_a_conflict_is_decided_again_on_what_is_there() -> None:
    async with settling() as (cluster, proxy, at):

        def interfere(method: str, path: str) -> None:
            if method == "PATCH":
                other = {SELECTED_NODE: "n2"}
                cluster.client.patch(
                    "persistentvolumeclaims",
                    "default",
                    "data",
                    lambda found: {**found, "metadata": {**found["metadata"], "annotations": other}},
                )

        proxy.on_request = interfere
        step = await at.settle(VolumeClaimRead, "default/data", selected)
        assert step == Failed(words.volume_being_made("PersistentVolumeClaim", "default/data", "n2"))


@pytest.mark.parametrize(
    ("method", "code", "requests"),
    [
        pytest.param("GET", 500, 4, id="reads that fail"),
        pytest.param("GET", 403, 1, id="a read that is refused"),
        pytest.param("PATCH", 503, 4, id="writes that fail"),
        pytest.param("PATCH", 409, 4, id="conflicts without end"),
        pytest.param("PATCH", 422, 1, id="a write that is refused"),
    ],
)
async def test_attempts_have_a_bound(method: str, code: int, requests: int) -> None:
    async with settling() as (_, proxy, at):
        proxy.spoil(method, PATH, code, 1000, "not now")
        step = await at.settle(VolumeClaimRead, "default/data", selected)
        assert isinstance(step, Failed)
        verb = "read" if method == "GET" else "written"
        assert step.why.startswith(words.could_not_be("PersistentVolumeClaim", "default/data", f"{verb}: "))
        assert "not now" in step.why
        assert sum(count for (what, seen), count in proxy.seen.items() if seen == code) == requests


async def test_a_server_that_does_not_keep_what_is_written_is_not_asked_for_ever() -> None:
    async with settling() as (_, proxy, at):
        step = await at.settle(
            VolumeClaimRead, "default/data", lambda found: annotate(found, {"x": "y"}) if found else DONE
        )
        assert step == Failed(words.could_not_be("PersistentVolumeClaim", "default/data", words.WRITTEN))
        assert proxy.writes("PATCH") == MOST_ROUNDS


async def test_without_a_permit_nothing_is_sent() -> None:
    async with settling(leads=False) as (_, proxy, at):
        with pytest.raises(Deposed):
            await at.settle(VolumeClaimRead, "default/data", selected)
        assert proxy.writes() == 0


async def test_what_does_not_exist_is_none() -> None:
    async with settling() as (_, _, at):
        assert await at.fetch(VolumeClaimRead, "default/other") is None
        found = await at.fetch(VolumeClaimRead, "default/data")
        assert isinstance(found, VolumeClaimRead)
        assert found.metadata.name == "data"
