"""The domains that the sub-groups of a waiting gang may be in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsched.framework.jobs import JobView
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.subgroups import AnyGroup
from vsched.kernels.infeasibility import DomainChoice
from vsched.model.nodes.table import Mask
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import NetworkTopology


def domain_choices(session: Session, view: JobView, firsts: Sequence[Task]) -> list[DomainChoice]:
    """What those of its sub-groups and composites that have to be close can choose from.

    ``firsts`` are pods, one of each sub-group; these are numbered in this order.
    """
    groups = view.sub_groups
    assert groups is not None, "the caller has looked"
    inside: dict[AnyGroup, list[int]] = {}
    for number, task in enumerate(firsts):
        group = groups.of(task)
        around: list[AnyGroup] = [*groups.path(group), group]
        for one in around:
            inside.setdefault(one, []).append(number)
    found: list[DomainChoice] = []
    for one, numbers in inside.items():
        if one.topology is not None and one.topology.hard:
            found.append(DomainChoice(frozenset(numbers), _domains(session, view, one.topology, one)))
    return found


def _domains(session: Session, view: JobView, topology: NetworkTopology, group: AnyGroup) -> list[Mask]:
    """The widest domains that may be its own."""
    places = session.places
    reach = places.reach(topology, places.pods_by_domain(view, topology, group))
    found: list[Mask] = []
    for tier, only in () if isinstance(reach, Refusal) else reversed(reach):
        for number in np.unique(tier.ids[tier.ids >= 0]).tolist() if only is None else [only]:
            mask: Mask = tier.ids == number
            if not any((mask <= wider).all() for wider in found):
                found.append(mask)
    return found
