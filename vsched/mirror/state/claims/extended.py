"""Extended resources that devices serve: on nodes without a device plugin for one, devices are amounts of it.

A DeviceClass may name an extended resource, and every class has one of its own name. The amounts are what the nodes
have if no device is in use. Which devices are free, sessions find out when they choose some.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vsched.kernels.devices.inventory import inventory_of
from vsched.kernels.devices.matching import DeviceMatch, match
from vsched.mirror.ingest.devices import DatedClass
from vsched.mirror.state.claims.devices import DeviceStore
from vsched.mirror.state.nodes import NodeStore
from vsched.model.amounts.quantity import MOST
from vsched.model.amounts.resources import Amounts, ResourceAxis, scale_of
from vsched.model.claims.devices import DeviceClass
from vsched.model.nodes.table import NodeStatics

OF_CLASS = "deviceclass.resource.kubernetes.io/"
"""Prefix of the extended resource that every class has."""


class ExtendedResources:
    """The columns of extended resources that devices serve. They are worked out again when something changes."""

    def __init__(self) -> None:
        self.columns: Mapping[int, str] = {}
        """The class by column."""
        self.plugins: Mapping[int, frozenset[str]] = {}
        """By column: the nodes whose device plugin offers the resource."""
        self._seen: tuple[object, ...] = ()
        """What this was worked out from."""

    def refresh(self, devices: DeviceStore, nodes: NodeStore, statics: NodeStatics) -> bool:
        """Count the published devices as amounts of nodes; True where columns or plugins have changed."""
        classes, pools = devices.classes.published, devices.pools.published
        if not classes and not self.columns:
            return False
        seen = (nodes.stated_version, nodes.axis.version, classes, pools, statics)
        same = list(map(_is_same, seen, self._seen))
        if same and all(same):
            return False
        self._seen = seen
        served = _served(devices.dated, nodes.axis)
        plugins = {column: _offering(nodes, column) for column in served}
        if same and all(same[1:]) and plugins == self.plugins:
            return False  # nodes offer other amounts of other resources
        nodes.serve(_amounts(served, plugins, devices, nodes.axis, statics) if served else {})
        columns = {column: found.name for column, found in sorted(served.items())}
        if columns == self.columns and plugins == self.plugins:
            return False
        self.columns, self.plugins = columns, plugins
        return True


def _is_same(left: object, right: object) -> bool:
    return left is right or (isinstance(left, int) and left == right)


def _served(classes: Mapping[str, DatedClass], axis: ResourceAxis) -> dict[int, DeviceClass]:
    """The class that serves each column: of classes with one extended resource the newest, then the first by name."""
    found: dict[int, DeviceClass] = {}
    for _, name in sorted((-each.created, name) for name, each in classes.items()):
        device_class = classes[name].device_class
        for resource in (device_class.extended_resource, f"{OF_CLASS}{name}"):
            column = axis.find(resource) if resource else None
            if column is not None:
                found.setdefault(column, device_class)
    return found


def _offering(nodes: NodeStore, column: int) -> frozenset[str]:
    """The nodes whose own objects offer the resource."""
    return frozenset(name for name, stated in nodes.stated() if any(each == column for each, _ in stated))


def _amounts(
    served: Mapping[int, DeviceClass],
    plugins: Mapping[int, frozenset[str]],
    devices: DeviceStore,
    axis: ResourceAxis,
    statics: NodeStatics,
) -> dict[str, Amounts]:
    """What the devices are on each node that has some of them."""
    inventory = inventory_of(devices.pools.published, statics)
    found: dict[str, dict[int, int]] = {}
    for column, device_class in sorted(served.items()):
        units = inventory.per_node(match(DeviceMatch(device_class.selectors), inventory).units)
        scale = scale_of(axis.names[column])
        for row in np.flatnonzero(units).tolist():
            name = statics.names[row]
            if name not in plugins[column]:
                found.setdefault(name, {})[column] = min(int(units[row]) * scale, MOST)
    return {name: tuple(amounts.items()) for name, amounts in found.items()}
