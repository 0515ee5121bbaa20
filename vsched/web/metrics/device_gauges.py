"""Gauges of devices: by class, and what of each vGPU is allocated, and to which pod, under Volcano's names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from prometheus_client.core import GaugeMetricFamily, Metric

from vsched.framework.claims.devices.base import base_of
from vsched.kernels.devices.inventory import inventory_of
from vsched.kernels.devices.matching import DeviceMatch, match
from vsched.model.deviceshare.records import WHOLE, DeviceKind, DeviceShareCatalogue
from vsched.model.deviceshare.uses import DeviceUse, device_uses
from vsched.model.snapshot import Snapshot

MOST_CLASSES = 200
"""How many classes have series of their own, by name."""


def of_devices(snapshot: Snapshot) -> Iterator[Metric]:
    """How many devices of each class are free and in use; a device counts for every class that selects it."""
    found = snapshot.claims.devices
    devices = GaugeMetricFamily(
        "vsched_devices", "Devices by class, free and allocated.", labels=("device_class", "state")
    )
    if found.classes:
        inventory = inventory_of(found.pools, snapshot.nodes.statics)
        in_use = base_of(found, inventory).books.held > 0
        for name in islice(sorted(found.classes), MOST_CLASSES):
            selected = match(DeviceMatch(found.classes[name].selectors), inventory).selected & inventory.usable
            allocated = int((selected & in_use).sum())
            devices.add_metric((name, "allocated"), allocated)
            devices.add_metric((name, "free"), int(selected.sum()) - allocated)
    yield devices


MOST_VGPUS = 2_000
"""How many devices have series of their own, by name of the node."""
MOST_VGPU_PODS = 1_000
"""How many pods on these devices have series of their own."""
DEVICE, NODE, POD = "devID", "NodeName", "podName"


def of_vgpus(snapshot: Snapshot) -> Iterator[Metric]:
    """What of each vGPU device is allocated: memory in MiB, computing power in per cent of the device."""
    shared, memory, cores, limit = (
        GaugeMetricFamily(f"volcano_vgpu_device_{what}", says, labels=(DEVICE, NODE))
        for what, says in _OF_DEVICES.items()
    )
    of_pods = [
        GaugeMetricFamily(f"volcano_vgpu_device_{what}_allocation_for_a_certain_pod", says, labels=(DEVICE, NODE, POD))
        for what, says in _OF_PODS.items()
    ]
    pods: dict[tuple[str, str, str], tuple[int, int]] = {}
    for node, use in islice(_vgpus(snapshot.device_shares), MOST_VGPUS):
        labels = (use.device.uuid, node)
        shared.add_metric(labels, use.parts)
        memory.add_metric(labels, use.memory)
        cores.add_metric(labels, _per_cent(use.thousandths))
        limit.add_metric(labels, use.device.memory)
        for one in use.holders:
            # Volcano's label has no namespace: pods of one name on one device are told together.
            key = (*labels, one.pod.rpartition("/")[2])
            before = pods.get(key, (0, 0))
            pods[key] = before[0] + one.memory, before[1] + one.thousandths
    for key, (held, thousandths) in islice(pods.items(), MOST_VGPU_PODS):
        of_pods[0].add_metric(key, held)
        of_pods[1].add_metric(key, _per_cent(thousandths))
    yield from (shared, memory, cores, limit, *of_pods)


def _vgpus(found: DeviceShareCatalogue) -> Iterator[tuple[str, DeviceUse]]:
    """The devices with their nodes; the mirror may change the catalogue meanwhile, in another thread."""
    nodes = dict(found.nodes)
    for node in sorted(nodes):
        for devices, uses in device_uses(found, node):
            if devices.kind == DeviceKind.VGPU:
                yield from ((node, use) for use in uses)


def _per_cent(thousandths: int) -> float:
    return thousandths * 100 / WHOLE


_OF_DEVICES = {
    "shared_number": "Containers that share a device.",
    "allocated_memory": "Memory of a device allocated to pods, MiB.",
    "allocated_cores": "Computing power of a device allocated to pods, in percent.",
    "memory_limit": "Memory of a device, MiB.",
}
_OF_PODS = {
    "memory": "Memory of a device allocated to a pod, MiB.",
    "core": "Computing power of a device allocated to a pod, in percent.",
}
