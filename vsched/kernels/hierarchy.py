"""Hierarchical dominant resource fairness: who has enough, and what a node of the tree holds (reference 4.4).

Bhattacharya et al., Hierarchical Scheduling for Diverse Datacenter Workloads: before the children of a node are added
up, those that still want something are scaled down to the smallest of them. A child that cannot use more of what its
siblings lack takes nothing away from their common parent.
"""

from __future__ import annotations

import numpy as np

from vsched.model.amounts.resources import CPU, MEMORY
from vsched.model.nodes.table import Floats, Mask


def saturated_jobs(held: Floats, wanted: Floats, demanding: Mask) -> Mask:
    """Which jobs are saturated, ``bool[job]``: they hold all they want of something, or want what nobody can have.

    ``held`` and ``wanted`` are ``float64[job, resource]`` in base units, ``demanding`` is ``bool[resource]``: True
    where the cluster has something left. Of cpu and memory a job may want what it does not hold any of.
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
    """What a node holds by what its children hold, ``float64[resource]``.

    ``held`` is ``float64[child, resource]``, ``shares`` ``float64[child]``, ``saturated`` ``bool[child]``. Saturated
    children count whole, the others as if all of them had the smallest share among them.
    """
    active = (shares != 0) & ~saturated
    least = min(1.0, shares[active].min()) if active.any() else 1.0
    scale = saturated.astype(np.float64)
    np.divide(least, shares, out=scale, where=active)
    together: Floats = (held * scale[:, None]).sum(axis=0)
    return together


def dominant(held: Floats, total: Floats) -> float:
    """The largest part of any resource; of a resource the cluster does not have, anything is all (reference 0.2)."""
    parts = np.where(held != 0, 1.0, 0.0)
    np.divide(held, total, out=parts, where=total != 0)
    return float(parts.max(initial=0.0))
