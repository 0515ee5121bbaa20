"""Objects of clusters that several daemons share."""

from __future__ import annotations

from typing import Any

from tests.support.builders import merged
from tests.support.replicas import Replica
from vsched.daemon.lead.shards import shards_held


def queue(name: str, shard: int) -> dict[str, Any]:
    """A queue that belongs to a shard."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name, "annotations": {"vsched.io/shard": str(shard)}},
        "spec": {"weight": 1},
    }


def of_queue(name: str, objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A PodGroup and its pods, the group in that queue."""
    group, *pods = objects
    return [merged(group, {"spec": {"queue": name}}), *pods]


def held(found: Replica) -> list[int]:
    """The shards that a daemon has."""
    told: Any = shards_held(found.daemon.election)
    return list(told["held"])
