"""Tables of shared devices that are kept from session to session equal tables that are made anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from vsched.api import decode
from vsched.kernels.deviceshare.table import DeviceTable
from vsched.lab.fill.objects import SCHEDULER, SharedGpus
from vsched.lab.trace.files import TraceNode, TracePod
from vsched.lab.trace.vgpus import IDS
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.memo import Memo
from vsched.plugins.devices.tables import DeviceTables, device_tables

NODES = [TraceNode(f"n{number}", 64_000, 64_000, 2, "T4") for number in range(3)]


def columns(table: DeviceTable) -> list[list[list[int]]]:
    return [np.asarray(getattr(table, name)).tolist() for name in DeviceTable.__slots__]


def shown(tables: DeviceTables) -> object:
    return columns(tables.now), columns(tables.later), tables.held, tables.later is tables.now


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["come", "leave", "go", "node", "plain"]), st.integers(0, 3), st.integers(0, 2)),
        max_size=12,
    )
)
def test_only_what_changed_is_counted_again(steps: list[tuple[str, int, int]]) -> None:
    cache, gpus = Mirror(MirrorSettings(frozenset({SCHEDULER}), open_without_state=True)), SharedGpus()

    def apply(kind: str, event: str, found: dict[str, object]) -> None:
        cache.intake.apply(kind, event, decode(kind, orjson.dumps(found)))

    for node in NODES:
        apply("Node", "ADDED", gpus.node(node))
    there: dict[str, dict[str, Any]] = {}
    plain: set[str] = set()
    for step, number, place in steps:
        name = f"p{number}"
        if step == "come" and name not in there:
            made = gpus.pod(TracePod(name, 1, 1, 1, 100 * (number + 1), (), "", 0, 0), name, float(number))
            made["metadata"]["annotations"][IDS] = f"{number % 2},NVIDIA,0,{10 * (number + 1)}:"
            made["spec"]["nodeName"] = f"n{place}"
            made["status"] = {"phase": "Running"}
            there[name] = made
            apply("Pod", "ADDED", made)
        elif step == "leave" and name in there:
            there[name]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            apply("Pod", "MODIFIED", there[name])
        elif step == "go" and name in there:
            apply("Pod", "DELETED", there.pop(name))
        elif step == "node":
            fewer = TraceNode(f"n{place}", 64_000, 64_000, 1 + number % 2, "T4")
            apply("Node", "MODIFIED", gpus.node(fewer))
        elif step == "plain":
            name = f"m{number}"
            apply(
                "Node", "DELETED" if name in plain else "ADDED", {"metadata": {"name": name, "uid": name}, "spec": {}}
            )
            plain ^= {name}
        snapshot = cache.snapshot(1.0)
        kept = device_tables(snapshot.device_shares, snapshot.nodes, "vgpu")
        statics = snapshot.nodes.statics
        before, statics.memo = statics.memo, Memo()
        assert shown(device_tables(snapshot.device_shares, snapshot.nodes, "vgpu")) == shown(kept)
        statics.memo = before


def test_a_node_without_devices_that_goes_leaves_those_of_the_others_in_place() -> None:
    cache, gpus = Mirror(MirrorSettings(frozenset({SCHEDULER}), open_without_state=True)), SharedGpus()
    plain = decode("Node", orjson.dumps({"metadata": {"name": "m", "uid": "m"}, "spec": {}}))
    cache.intake.apply("Node", "ADDED", plain)
    for node in NODES:
        cache.intake.apply("Node", "ADDED", decode("Node", orjson.dumps(gpus.node(node))))
    for rows in ([1, 2, 3], [0, 1, 2]):
        snapshot = cache.snapshot(1.0)
        tables = device_tables(snapshot.device_shares, snapshot.nodes, "vgpu")
        assert tables.rows.tolist() == rows == [snapshot.nodes.statics.row[name] for name in tables.found_on]
        cache.intake.apply("Node", "DELETED", plain)
