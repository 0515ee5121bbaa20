"""Gauges of devices by class."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from prometheus_client.core import GaugeMetricFamily, Metric

from vsched.framework.claims.devices.base import base_of
from vsched.kernels.devices.inventory import inventory_of
from vsched.kernels.devices.matching import DeviceMatch, match
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
