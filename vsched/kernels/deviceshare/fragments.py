"""How much of the free devices of nodes a mix of pods could not use.

The expected fragmentation of Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent" (USENIX ATC 2023, section 3). For a pod that does not fit a node, all that is free of its devices is
fragments; for one that fits, the devices with too little left for one of its parts. The fragments of a node are the
expected value for a pod drawn from the mix. Amounts are thousandths of a device.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vsched.model.nodes.table import Floats, Ints, Mask


class Mix(NamedTuple):
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


class Free(NamedTuple):
    """What is free on some nodes, or on nodes as they might be."""

    devices: Ints
    """int64[slots, nodes]: thousandths; 0 where there is no device."""
    others: Ints
    """int64[resources, nodes]"""
    model: Ints
    """int64[nodes]: the model of the node's devices."""


def fits(mix: Mix, free: Free) -> Mask:
    """bool[kinds, nodes]: which pods of the mix fit which nodes."""
    found: Mask = mix.accepts[free.model].T.copy()
    for asked, left in zip(mix.others, free.others, strict=True):
        found &= left >= asked[:, None]
    sizes, kind_of = np.unique(mix.thousandths, return_inverse=True)
    enough = np.stack([(free.devices >= size).sum(axis=0) for size in sizes])
    found &= enough[kind_of] >= mix.number[:, None]
    return found


def expected_fragments(mix: Mix, free: Free) -> Floats:
    """float64[nodes]: thousandths of what is free that a pod of the mix cannot use, on average."""
    total = free.devices.sum(axis=0)
    sizes, kind_of = np.unique(mix.thousandths, return_inverse=True)
    too_small = np.stack([np.where(free.devices < size, free.devices, 0).sum(axis=0) for size in sizes])
    lost = np.where(fits(mix, free), too_small[kind_of], total)
    found: Floats = mix.share @ lost
    return found
