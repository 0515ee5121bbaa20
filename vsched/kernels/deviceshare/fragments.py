"""How much of the free devices of nodes a mix of pods could not use.

The expected fragmentation of Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent" (USENIX ATC 2023, section 3). For a pod that does not fit a node, all that is free of its devices is
fragments; for one that fits, the devices with too little left for one of its parts. The fragments of a node are the
expected value for a pod drawn from the mix. Amounts are thousandths of a device.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from vsched.model.nodes.table import Floats, Ints, Mask


class PartSizes(NamedTuple):
    """The distinct sizes of parts that a mix asks for."""

    thousandths: Ints
    """int64[sizes]: ascending."""
    of_kind: Ints
    """int64[kinds]: the position of each kind's size."""


@dataclass(frozen=True, eq=False)
class DeviceMix:
    """The kinds of pods that come and ask for devices, and how often."""

    share: Floats
    """float64[kinds]: adds up to 1."""
    number: Ints
    """int64[kinds]: of devices that a pod asks for, each another one."""
    thousandths: Ints
    """int64[kinds]: of each of them."""
    others: Ints
    """int64[resources, kinds]: what a pod asks for besides."""
    accepts: Mask
    """bool[models, kinds]: whether a pod takes devices of a model."""

    @cached_property
    def sizes(self) -> PartSizes:
        """The sizes of parts: nodes are compared with each of them once."""
        found, of_kind = np.unique(self.thousandths, return_inverse=True)
        return PartSizes(found, of_kind.reshape(-1).astype(np.int64))


class Free(NamedTuple):
    """What is free on some nodes, or on nodes as they might be."""

    devices: Ints
    """int64[slots, nodes]: thousandths; 0 where there is no device."""
    others: Ints
    """int64[resources, nodes]"""
    model: Ints
    """int64[nodes]: the model of the node's devices."""


def fits(mix: DeviceMix, free: Free) -> Mask:
    """bool[kinds, nodes]: which pods of the mix fit which nodes."""
    return _fits(mix, free, _enough(mix, free))


def expected_fragments(mix: DeviceMix, free: Free) -> Floats:
    """float64[nodes]: thousandths of what is free that a pod of the mix cannot use, on average."""
    enough = _enough(mix, free)
    usable = np.where(enough, free.devices, 0).sum(axis=1)[mix.sizes.of_kind]
    lost = free.devices.sum(axis=0) - np.where(_fits(mix, free, enough), usable, 0)
    found: Floats = mix.share @ lost
    return found


def _enough(mix: DeviceMix, free: Free) -> Mask:
    """bool[sizes, slots, nodes]: devices with enough left for a part."""
    found: Mask = free.devices >= mix.sizes.thousandths[:, None, None]
    return found


def _fits(mix: DeviceMix, free: Free, enough: Mask) -> Mask:
    found: Mask = mix.accepts.T[:, free.model]
    for asked, left in zip(mix.others, free.others, strict=True):
        found &= left >= asked[:, None]
    found &= enough.sum(axis=1)[mix.sizes.of_kind] >= mix.number[:, None]
    return found
