"""The door for controllers: the server's semantics without a socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.sim.api_client import pod
from vsched.apimachinery.meta.api_errors import Failure
from vsched.sim.bootstrap import seed
from vsched.sim.client import LocalClient
from vsched.sim.store.store import Store
from vsched.sim.writer import ObjectWriter

Obj = dict[str, Any]


@pytest.fixture(autouse=True)
def seeded(writer: ObjectWriter) -> None:
    seed(writer)


def test_pods_are_defaulted_and_refused_as_over_http(client: LocalClient) -> None:
    made = client.create("pods", pod("a", namespace="default"))
    assert made["spec"]["schedulerName"] == "default-scheduler"
    with pytest.raises(Failure, match='namespaces "nons" not found'):
        client.create("pods", pod("a", namespace="nons"))
    stale = {**made, "metadata": {**made["metadata"], "resourceVersion": "1"}}
    with pytest.raises(Failure, match="the object has been modified"):
        client.update("pods", stale)


def test_a_change_that_changes_nothing_writes_nothing(client: LocalClient, store: Store) -> None:
    made = client.create("pods", pod("a", namespace="default"))
    before = store.revision
    assert client.patch_status("pods", "default", "a", lambda obj: obj) is made
    client.patch("pods", "default", "a", lambda obj: {**obj, "metadata": dict(obj["metadata"])})
    assert store.revision == before


def test_seeding_twice_makes_nothing_new(writer: ObjectWriter, store: Store) -> None:
    before = store.revision
    seed(writer)
    assert store.revision == before


def test_a_namespace_goes_when_its_finalizers_are_taken_off(client: LocalClient) -> None:
    client.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}})
    client.delete("namespaces", "", "x")
    going = client.get("namespaces", "", "x")
    assert going is not None
    client.update("namespaces", {**going, "spec": {}}, "finalize")
    assert client.get("namespaces", "", "x") is None


async def test_a_watch_begins_with_what_is_there_and_goes_on(client: LocalClient) -> None:
    client.create("pods", pod("a", namespace="default"))
    seen: list[tuple[str, str]] = []
    async with asyncio.timeout(60):
        async for kind, obj, old in client.watch("pods"):
            seen.append((kind, obj["metadata"]["name"]))
            assert (old is None) is (kind == "ADDED")
            if len(seen) == 1:
                client.delete("pods", "default", "a")
            if len(seen) == 3:
                break
    assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_a_watcher_that_fell_behind_is_told_the_difference() -> None:
    store = Store(history_revisions=5)
    writer = ObjectWriter(store)
    client = LocalClient(writer)
    kind = store.registry.resource("configmaps")

    def made(name: str) -> None:
        writer.create_unchecked(kind, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}})

    made("gone")
    watch = client.watch("configmaps")
    assert (await anext(watch))[:1] == ("ADDED",)
    made("first")
    assert (await anext(watch))[1]["metadata"]["name"] == "first"
    store.remove(kind, "", "gone")
    for number in range(50):
        made(f"late-{number:02}")
    changes = [await anext(watch) for _ in range(51)]
    assert [(kind_, obj["metadata"]["name"]) for kind_, obj, _ in changes[:2]] == [
        ("DELETED", "gone"),
        ("ADDED", "late-00"),
    ]
