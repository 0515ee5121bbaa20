"""Queues of an embedded cluster: making them, asking for states, and what is told of them."""

from __future__ import annotations

from typing import Any

from tests.support.running import queue_status
from vsched.controllers.queues import STATE_WISH
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
QUEUES = "scheduling.volcano.sh/queues"
COMMANDS = "bus.volcano.sh/commands"


def queue(name: str, parent: str = "", wish: str = "", **spec: Any) -> Obj:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name, "annotations": {STATE_WISH: wish} if wish else {}},
        "spec": {"parent": parent, **spec} if parent else spec,
    }


def found(cluster: Cluster, name: str) -> Obj:
    queue = cluster.client.get(QUEUES, "", name)
    assert queue is not None
    return queue


def order(cluster: Cluster, action: str, name: str, uid: str = "", kind: str = "Queue") -> None:
    """Create a Command about a queue, as ``vcctl`` does."""
    target = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": kind,
        "name": name,
        "uid": uid or found(cluster, name)["metadata"]["uid"],
    }
    cluster.client.create(
        COMMANDS,
        {
            "apiVersion": "bus.volcano.sh/v1alpha1",
            "kind": "Command",
            "metadata": {"generateName": "c-", "namespace": "default"},
            "action": action,
            "target": target,
        },
    )


def wish(cluster: Cluster, name: str, word: str) -> None:
    """Set the annotation of a queue."""

    def change(obj: Obj) -> Obj:
        metadata = obj["metadata"]
        return {**obj, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), STATE_WISH: word}}}

    cluster.client.patch(QUEUES, "", name, change)


def annotations(cluster: Cluster, name: str) -> dict[str, str]:
    return found(cluster, name)["metadata"].get("annotations") or {}


def state(cluster: Cluster, name: str) -> str:
    return str(queue_status(cluster, name).get("state", ""))


def states(cluster: Cluster, *names: str) -> list[str]:
    return [state(cluster, name) for name in names]


def events(cluster: Cluster, name: str) -> dict[str, str]:
    """What the Events about an object say, by reason."""
    return {
        event["reason"]: event["message"]
        for event in cluster.client.list("events", "default")
        if event["involvedObject"]["name"] == name
    }
