"""The volumes that are attached to nodes as snapshots show them. What did not change is kept between sessions."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np

from vsched.framework.claims.volumes.names import Attachable, AttachNames
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.claims.catalogue import VolumeCatalogue
from vsched.model.claims.volumes import Attachment, VolumeClaim
from vsched.model.nodes.table import Ints, NodeStatics
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task

Users = tuple[int, int]
"""How many pods on a node use a volume: now, and once the pods have left that are leaving."""
ATTACHED: Users = (1, 1)
"""The users of a volume that is attached and that no pod on the node uses: it counts as long as it is attached."""


class DriverCount(NamedTuple):
    """Attached volumes of one driver, int64[nodes]."""

    limit: Ints
    """``UNLIMITED`` where there is no limit."""
    now: Ints
    later: Ints
    """Once the pods have left that are leaving."""


class OnNode(NamedTuple):
    """The volumes of one node, and what they were read from."""

    tasks: Mapping[str, Task] | None = None
    attachments: tuple[Attachment, ...] | None = None
    claims: tuple[VolumeClaim, ...] = ()
    """Those whose volume may still change: they are not bound."""
    names: Mapping[Attachable, Users] = {}
    settled: bool = True
    """Whether all claims and volumes were known."""


class Counted:
    """The volumes on all nodes. It never changes; ``counted`` makes a new one of it."""

    def __init__(self, catalogue: VolumeCatalogue, statics: NodeStatics) -> None:
        """Nothing is counted yet."""
        limits = catalogue.limits
        self.sources = (limits, catalogue.drivers, catalogue.classes)
        self.limited = limited_drivers(catalogue)
        self.counts: dict[str, DriverCount] = {}
        self.nodes: list[OnNode] = [OnNode()] * len(statics)
        self.rows: dict[Attachable, tuple[int, ...]] = {}
        """The nodes to which each volume is attached."""
        self.keys: list[str] = []
        """The claims of pods on nodes that are not bound, node by node."""
        self.claims: list[VolumeClaim] = []
        self.claim_rows: list[int] = []
        for driver in self.limited:
            limit, now, later = np.full(len(statics), UNLIMITED), *np.zeros((2, len(statics)), dtype=np.int64)
            self.counts[driver] = DriverCount(limit, now, later)
        for node, by_driver in limits.items():
            row = statics.row.get(node)
            for driver, most in by_driver.items() if row is not None else ():
                if most is not None:
                    self.counts[driver].limit[row] = most

    def is_for(self, catalogue: VolumeCatalogue) -> bool:
        """Whether limits, drivers and classes are the same as when it was made."""
        before = zip(self.sources, (catalogue.limits, catalogue.drivers, catalogue.classes), strict=True)
        return all(old is new for old, new in before)

    def copy(self) -> Counted:
        """A copy that can be changed until it is shown to sessions."""
        made = Counted.__new__(Counted)
        made.sources, made.limited = self.sources, self.limited
        made.counts = {
            driver: DriverCount(count.limit, count.now.copy(), count.later.copy())
            for driver, count in self.counts.items()
        }
        made.nodes, made.rows = self.nodes.copy(), self.rows.copy()
        made.keys, made.claims, made.claim_rows = self.keys, self.claims, self.claim_rows
        return made


def limited_drivers(catalogue: VolumeCatalogue) -> frozenset[str]:
    """The drivers that some node limits, and those that have to run on the node."""
    counted = (name for node in catalogue.limits.values() for name, most in node.items() if most is not None)
    return frozenset((*counted, *(name for name, one in catalogue.drivers.items() if one.required)))


class Keeper:
    """Keeps the last count of the nodes of one ``NodeStatics``."""

    __slots__ = ("counted",)

    def __init__(self) -> None:
        self.counted: Counted | None = None


def counted(catalogue: VolumeCatalogue, statics: NodeStatics) -> Counted:
    """The volumes on all nodes. Only nodes where something changed since the last session are read again."""
    keeper = statics.remember("attached volumes", Keeper)
    before = keeper.counted
    if before is None or not before.is_for(catalogue):
        before = Counted(catalogue, statics)
    stale = _stale(before, catalogue, statics)
    found = _read(before.copy(), stale, catalogue, statics) if stale else before
    keeper.counted = found
    return found


def _stale(before: Counted, catalogue: VolumeCatalogue, statics: NodeStatics) -> list[int]:
    """The rows of nodes where pods, attachments or claims are not what they were."""
    tasks, attachments = catalogue.by_node.get, catalogue.attachments.get
    stale = {
        row
        for row, (name, node) in enumerate(zip(statics.names, before.nodes, strict=True))
        if node.tasks is not tasks(name) or node.attachments is not attachments(name) or not node.settled
    }
    claims = list(map(catalogue.claims.get, before.keys))
    if claims != before.claims:
        together = zip(before.claim_rows, claims, before.claims, strict=True)
        stale.update(row for row, new, old in together if new is not old)
    return sorted(stale)


def _read(found: Counted, stale: list[int], catalogue: VolumeCatalogue, statics: NodeStatics) -> Counted:
    """Read some nodes again."""
    names = AttachNames(catalogue, found.limited)
    for row in stale:
        before, node = found.nodes[row], _on_node(names, catalogue, statics.names[row])
        found.nodes[row] = node
        _count(found, row, before.names, -1)
        _count(found, row, node.names, 1)
        for name in before.names.keys() - node.names.keys():
            rows = tuple(one for one in found.rows[name] if one != row)
            if rows:
                found.rows[name] = rows
            else:
                del found.rows[name]
        for name in node.names.keys() - before.names.keys():
            found.rows[name] = (*found.rows.get(name, ()), row)
    found.claims = list(chain.from_iterable(node.claims for node in found.nodes))
    found.keys = [claim.key for claim in found.claims]
    found.claim_rows = [row for row, node in enumerate(found.nodes) for _ in node.claims]
    return found


def _on_node(names: AttachNames, catalogue: VolumeCatalogue, node: str) -> OnNode:
    tasks, attachments = catalogue.by_node.get(node), catalogue.attachments.get(node)
    users: dict[Attachable, Users] = {}
    claims: list[VolumeClaim] = []
    settled = True
    for task in tasks.values() if tasks is not None else ():
        stays = 0 if HOLDS[task.status].releasing else 1
        mentioned = 0 if task.claims is None else len({volume.claim for volume in task.claims.volumes})
        of_task: dict[Attachable, None] = {}
        for claim in names.claims_of(task):
            if not claim.bound:
                claims.append(claim)
            mentioned -= 1
            settled = settled and (not claim.volume or claim.volume in catalogue.volumes)
            name = names.of_claim(claim)
            if name is not None:
                of_task[name] = None
        settled = settled and not mentioned
        for name in of_task:
            now, later = users.get(name, (0, 0))
            users[name] = (now + 1, later + stays)
    for one in attachments or ():
        name = names.of_attachment(one.driver, one.volume)
        settled = settled and one.volume in catalogue.volumes
        if name is not None and name not in users:
            users[name] = ATTACHED
    return OnNode(tasks, attachments, tuple(claims), users, settled)


def _count(found: Counted, row: int, names: Mapping[Attachable, Users], sign: int) -> None:
    for name, (now, later) in names.items():
        count = found.counts[name.driver]
        count.now[row] += sign * (now > 0)
        count.later[row] += sign * (later > 0)
