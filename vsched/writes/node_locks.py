"""Locks of nodes: annotations that say that a device plugin is about to give a pod its devices.

Device plugins look for the pod that is about to start on their node. Where there are two, a plugin may give the devices
of one to the other. So whoever binds a pod locks its node before, as Volcano and HAMi do it: by an annotation with the
time. The device plugin removes it once the pod has its devices. A lock that is five minutes old counts no more.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import orjson

from vsched.api.base import ApiObject
from vsched.api.resources import NODES
from vsched.kube.client import MERGE_PATCH
from vsched.kube.lease.record import micro_time
from vsched.model.deviceshare.records import NPU_LOCK
from vsched.model.plan import Bind
from vsched.writes.writer import Write

LOCK_SECONDS = 300.0
"""How long a lock counts, as in Volcano and HAMi."""


class NodeLock(msgspec.Struct, frozen=True):
    """A lock of a node as it was read."""

    version: str
    """The resourceVersion of the node."""
    value: str = ""
    """Empty where nobody holds it."""

    def is_free(self, now: float) -> bool:
        """Whether it may be taken: nobody holds it, it is too old, or it says no time that can be."""
        since = _time_of(self.value)
        return since is None or abs(now - since) > LOCK_SECONDS


def _time_of(value: str) -> float | None:
    """When a lock was taken; None where that cannot be read."""
    try:
        found = datetime.fromisoformat(value.partition(",")[0])
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def lock_value(bind: Bind, now: float) -> str:
    """What the annotation says: the time, and for HAMi's lock the pod."""
    stamp = micro_time(datetime.fromtimestamp(now, UTC))
    return f"{stamp},{bind.namespace},{bind.name}" if bind.lock == NPU_LOCK else stamp


def lock_write(node: str, lock: str, value: str | None, version: str) -> Write:
    """Take a lock, or remove it (``value`` is None), if the node is still as it was read."""
    body = {"metadata": {"resourceVersion": version, "annotations": {lock: value}}}
    return Write("node", "PATCH", NODES.path(name=node), orjson.dumps(body), MERGE_PATCH)


def lock_in(node: bytes, lock: str) -> NodeLock:
    """A lock of a node as the API server answers; raises one of ``UNREADABLE``."""
    metadata = msgspec.json.decode(node, type=ApiObject).metadata
    return NodeLock(metadata.resource_version, (metadata.annotations or {}).get(lock, ""))
