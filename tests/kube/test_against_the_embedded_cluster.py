"""Client and reflector against the embedded cluster: the same door as a real API server's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from tests.kube.conftest import Eventually
from tests.kube.mirroring import QUICK, Mirror, Pod
from vsched.kube.auth.config import load_connection
from vsched.kube.client import ApiClient
from vsched.kube.errors import AlreadyExists, Conflict, Invalid, NotFound
from vsched.kube.paths import ApiResource
from vsched.kube.watch.deltas import WatchState
from vsched.kube.watch.reflector import Reflector, WatchedKind
from vsched.kube.watch.streaming import StreamedLists
from vsched.sim.cluster import Cluster, ClusterSettings

PODS = ApiResource("", "v1", "pods")
NOT_THERE = ApiResource("nobody.example", "v1", "things")
SPEC = {"containers": [{"name": "c", "image": "busybox"}], "schedulerName": "vsched"}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[ApiClient]:
    async with Cluster(settings=ClusterSettings(controllers=None)) as cluster:
        cluster.write_kubeconfig(tmp_path / "kubeconfig")
        async with ApiClient(load_connection(tmp_path / "kubeconfig")) as made:
            yield made


async def make_pod(client: ApiClient, name: str) -> str:
    pod = await client.create(PODS.path("default"), {"metadata": {"name": name}, "spec": SPEC})
    return str(pod["metadata"]["uid"])


async def test_objects_are_made_changed_and_removed(client: ApiClient) -> None:
    uid = await make_pod(client, "a")
    with pytest.raises(AlreadyExists):
        await make_pod(client, "a")
    with pytest.raises(Invalid):
        await make_pod(client, "No Name")
    path = PODS.path("default", "a")
    changed = await client.patch(path, {"metadata": {"labels": {"x": "y"}}})
    assert changed["metadata"]["labels"] == {"x": "y"}
    binding = {"metadata": {"name": "a", "uid": uid}, "target": {"kind": "Node", "name": "n1"}}
    assert (await client.create(PODS.path("default", "a", "binding"), binding))["status"] == "Success"
    with pytest.raises(Conflict, match='already assigned to node "n1"'):
        await client.create(PODS.path("default", "a", "binding"), binding)
    await client.delete(path, {"gracePeriodSeconds": 0})
    with pytest.raises(NotFound):
        await client.get(path)


@pytest.mark.parametrize("streamed", [None, StreamedLists()], ids=["in pages", "with the watch"])
async def test_a_reflector_follows_pods_from_a_list_to_their_end(
    client: ApiClient, eventually: Eventually, streamed: StreamedLists | None
) -> None:
    for number in range(7):
        await make_pod(client, f"p{number}")
    mirror = Mirror()
    settings = msgspec.structs.replace(QUICK, page_size=3)
    reflector = Reflector(
        client, WatchedKind(PODS, msgspec.json.Decoder(Pod).decode), mirror, settings=settings, streamed=streamed
    )
    task = asyncio.create_task(reflector.run())
    try:
        await asyncio.wait_for(reflector.synced.wait(), 60)
        assert sorted(mirror.pods) == [f"p{number}" for number in range(7)]
        await make_pod(client, "late")
        await client.delete(PODS.path("default", "p0"), {"gracePeriodSeconds": 0})
        await eventually(lambda: "late" in mirror.pods and "p0" not in mirror.pods)
        assert reflector.statistics.relists == 0
        assert streamed is None or await streamed.worth_trying()
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_kind_that_is_not_served_is_missing(client: ApiClient) -> None:
    reflector = Reflector(client, WatchedKind(NOT_THERE, msgspec.json.Decoder(Pod).decode), Mirror(), settings=QUICK)
    task = asyncio.create_task(reflector.run())
    try:
        await asyncio.wait_for(reflector.settled.wait(), 60)
        assert reflector.statistics.state is WatchState.MISSING
    finally:
        task.cancel()
        await asyncio.wait([task])
