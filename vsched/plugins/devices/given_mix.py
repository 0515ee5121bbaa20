"""A mix of pods that the policy gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
import numpy as np

from vsched.errors import BadQuantity
from vsched.model.amounts.quantity import parse_quantity
from vsched.model.deviceshare.records import DEVICES_MAX, WHOLE
from vsched.model.nodes.table import Mask, NodeStatics
from vsched.plugins.devices.free import FreeDevices
from vsched.plugins.devices.mix import DeviceAskers, DeviceWant
from vsched.plugins.words import arguments

MILLI = 1000
PERCENT = 100


class MixEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Pods that ask for the same, and how many of them come."""

    weight: Annotated[float, msgspec.Meta(gt=0)]
    """How many come; only ratios between entries matter."""
    devices: Annotated[int, msgspec.Meta(ge=1, le=DEVICES_MAX)] = 1
    """How many devices a pod asks for, each another one."""
    percent: Annotated[int, msgspec.Meta(ge=1, le=PERCENT)] = PERCENT
    """Of each of them."""
    cpu: str = "0"
    memory: str = "0"
    types: tuple[str, ...] = ()
    """Words, one of which is part of the type of the devices; none for any type. Nodes that do not register devices
    have no types."""
    node_selector: dict[str, str] = msgspec.field(default_factory=dict, name="nodeSelector")

    @property
    def want(self) -> DeviceWant:
        """What a pod asks for; raises ValueError naming the field."""
        cpu, memory = _amount("cpu", self.cpu, MILLI), _amount("memory", self.memory, 1)
        return DeviceWant(self.devices, self.percent * WHOLE // PERCENT, cpu, memory)


def _amount(name: str, text: str, scale: int) -> int:
    try:
        amount = parse_quantity(text, scale)
    except BadQuantity as error:
        raise ValueError(f"{name}: {error}") from error
    if amount < 0:
        raise ValueError(arguments.below_zero(name, text))
    return amount


def check_mix(entries: Sequence[MixEntry]) -> None:
    """Raises ValueError for one that makes no sense."""
    for position, entry in enumerate(entries):
        try:
            _ = entry.want
        except ValueError as error:
            raise ValueError(f"mix: entry {position}: {error}") from error


def given_kinds(entries: Sequence[MixEntry], free: FreeDevices, statics: NodeStatics) -> Iterator[DeviceAskers]:
    """The pods, as the mix has them."""
    for entry in entries:
        accepts = free.with_types(entry.types)
        for key, value in entry.node_selector.items():
            accepts = accepts & _labelled(statics, key, value)
        yield DeviceAskers(entry.want, accepts, entry.weight)


def _labelled(statics: NodeStatics, key: str, value: str) -> Mask:
    column = statics.label(key)
    position = column.positions.get(value)
    if position is None:
        return np.zeros(len(statics), np.bool_)
    found: Mask = column.ids == position
    return found
