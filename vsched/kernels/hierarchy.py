"""Hierarchical dominant resource fairness (HDRF): saturated jobs, and what a node of the tree holds.

The source is Bhattacharya et al., Hierarchical Scheduling for Diverse Datacenter Workloads. Before the amounts of the
children of a node are summed, the children that are not saturated are scaled down to the smallest share among them. So
a child with a larger share, which may use resources that its siblings cannot use, does not count more against the
common parent.
"""

from __future__ import annotations

import numpy as np

from vsched.model.amounts.resources import CPU, MEMORY
from vsched.model.nodes.table import Floats, Mask


def saturated_jobs(held: Floats, wanted: Floats, demanding: Mask) -> Mask:
    """Which jobs are saturated, ``bool[job]``: they hold all they want of a resource, or want a used-up resource.

    ``held`` and ``wanted`` are ``float64[job, resource]`` in base units. ``demanding`` is ``bool[resource]``: True
    where the cluster has some of the resource left. A used-up resource counts only for jobs that hold some of it; cpu
    and memory count for all jobs.
    """
    wants = wanted != 0
    holds = held != 0
    concerned = holds.copy()
    concerned[:, [CPU, MEMORY]] = True
    enough = holds & wants & (held >= wanted)
    hopeless = concerned & wants & ~demanding
    answer: Mask = (enough | hopeless).any(axis=1)
    return answer


def held_together(held: Floats, shares: Floats, saturated: Mask) -> Floats:
    """The amounts of a node, ``float64[resource]``, from the amounts of its children.

    ``held`` is ``float64[child, resource]``, ``shares`` ``float64[child]``, ``saturated`` ``bool[child]``. Saturated
    children count in full. The others count as if all of them had the smallest share among them.
    """
    active = (shares != 0) & ~saturated
    least = min(1.0, shares[active].min()) if active.any() else 1.0
    scale = saturated.astype(np.float64)
    np.divide(least, shares, out=scale, where=active)
    together: Floats = (held * scale[:, None]).sum(axis=0)
    return together


def dominant(held: Floats, total: Floats) -> float:
    """The dominant share: the largest ``held / total``; 1 for a held resource with total 0."""
    parts = np.where(held != 0, 1.0, 0.0)
    np.divide(held, total, out=parts, where=total != 0)
    return float(parts.max(initial=0.0))
