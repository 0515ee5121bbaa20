"""Objects of clusters that several daemons share."""

from __future__ import annotations

from typing import Any


def queue(name: str, shard: int) -> dict[str, Any]:
    """A queue that belongs to a shard."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name, "annotations": {"vsched.io/shard": str(shard)}},
        "spec": {"weight": 1},
    }
