"""The volumes that are attached to nodes as snapshots show them. What did not change is carried between sessions."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import NamedTuple

import numpy as np

from vsched.framework.claims.volumes.names import Attachable, AttachNames
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.claims.catalogue import ClaimChanges, VolumeCatalogue
from vsched.model.claims.volumes import Attachment, CSIDriver, VolumeClaim
from vsched.model.nodes.table import Ints, NodeStatics
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task

Users = tuple[int, int]
"""How many pods on a node use a volume: now, and once the pods have left that are leaving."""
NOBODY: Users = (0, 0)
ONE_USER: Users = (1, 1)
"""Mostly so many: one object saves memory."""
ATTACHED: Users = (1, 1)
"""The users of a volume that is attached and that no pod on the node uses: it counts as long as it is attached."""


class AttachedCount(NamedTuple):
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
    counts: tuple[tuple[str, int, int], ...] = ()
    """By driver: how many volumes are attached, now and later."""
    settled: bool = True
    """Whether all claims and volumes were known."""


EMPTY = OnNode()
OWNER = "attached volumes"


class CountedVolumes:
    """The volumes on all nodes. It never changes; ``counted`` makes a new one of it."""

    def __init__(self, catalogue: VolumeCatalogue, statics: NodeStatics) -> None:
        """Nothing is counted yet."""
        self.statics = statics
        self.limits, self.drivers, self.classes = catalogue.limits, catalogue.drivers, catalogue.classes
        self.limited = limited_drivers(catalogue, statics)
        self.counts: dict[str, AttachedCount] = {}
        self.nodes: list[OnNode] = [EMPTY] * len(statics)
        self.changes: ClaimChanges | None = None
        """That of the last catalogue of which it is true; None where all nodes have to be compared."""
        self.unsettled: frozenset[int] = frozenset()
        """The rows of nodes that have to be read again in any case."""
        self.rows = AttachedRows()
        for driver in self.limited:
            limit, now, later = np.full(len(statics), UNLIMITED), *np.zeros((2, len(statics)), dtype=np.int64)
            self.counts[driver] = AttachedCount(limit, now, later)
        for node, by_driver in self.limits.items():
            row = statics.row.get(node)
            for driver, most in by_driver.items() if row is not None else ():
                if most is not None:
                    self.counts[driver].limit[row] = most

    def has_rows_of(self, catalogue: VolumeCatalogue, statics: NodeStatics) -> bool:
        """Whether nodes, their limits and the drivers are the same as when it was made."""
        same = self.limits is catalogue.limits and self.drivers is catalogue.drivers
        return same and self.statics is statics

    def copy(self) -> CountedVolumes:
        """A copy that can be changed until it is shown to sessions."""
        made = CountedVolumes.__new__(CountedVolumes)
        made.statics, made.limited = self.statics, self.limited
        made.limits, made.drivers, made.classes = self.limits, self.drivers, self.classes
        made.counts = {
            driver: AttachedCount(count.limit, count.now.copy(), count.later.copy())
            for driver, count in self.counts.items()
        }
        made.nodes, made.rows = self.nodes.copy(), self.rows.copy()
        made.changes, made.unsettled = self.changes, self.unsettled
        return made

    def put(self, row: int, node: OnNode) -> None:
        """Replace what is known of a node."""
        before, self.nodes[row] = self.nodes[row], node
        if node.settled is not before.settled:
            self.unsettled = self.unsettled - {row} if node.settled else self.unsettled | {row}
        for counts, sign in ((before.counts, -1), (node.counts, 1)):
            for driver, now, later in counts:
                count = self.counts[driver]
                count.now[row] += sign * now
                count.later[row] += sign * later
        for name in before.names.keys() - node.names.keys() if before.names else ():
            self.rows.remove(name, row)
        for name in node.names.keys() - before.names.keys() if before.names else node.names:
            self.rows.add(name, row)


def limited_drivers(catalogue: VolumeCatalogue, statics: NodeStatics) -> frozenset[str]:
    """The drivers that some node limits, and those that have to run on the node."""
    return statics.memo.of(OWNER, "limited", (catalogue.limits, catalogue.drivers), _limited)


def _limited(limits: Mapping[str, Mapping[str, int | None]], drivers: Mapping[str, CSIDriver]) -> frozenset[str]:
    counted = (name for node in limits.values() for name, most in node.items() if most is not None)
    return frozenset((*counted, *(name for name, one in drivers.items() if one.required)))


class CountCache:
    """The last count of the nodes of one ``NodeStatics``."""

    __slots__ = ("counted",)

    def __init__(self) -> None:
        self.counted: CountedVolumes | None = None


def counted(catalogue: VolumeCatalogue, statics: NodeStatics) -> CountedVolumes:
    """The volumes on all nodes. Only nodes where something changed since the last session are read again.

    The catalogue knows which ones these are. Where it does not, because it is another mirror's or the last session was
    too long ago, all nodes are compared.
    """
    cache = statics.remember(OWNER, CountCache)

    def renewed(last: CountedVolumes | None) -> CountedVolumes:
        before = cache.counted or last
        if before is None or before.classes is not catalogue.classes:
            before = CountedVolumes(catalogue, statics)
        elif not before.has_rows_of(catalogue, statics):
            before = _moved(before, catalogue, statics)
        stale = _stale(before, catalogue)
        found = _read(before.copy(), stale, catalogue) if stale else before
        found.changes = catalogue.changes
        return found

    cache.counted = statics.memo.renewed(OWNER, "counted", CountedVolumes, renewed)
    return cache.counted


def _moved(before: CountedVolumes, catalogue: VolumeCatalogue, statics: NodeStatics) -> CountedVolumes:
    """What is known of the nodes, in the rows that they have now, and with the limits of now."""
    found = CountedVolumes(catalogue, statics)
    if found.limited == before.limited:
        for name, node in zip(before.statics.names, before.nodes, strict=True):
            row = statics.row.get(name)
            if row is not None and node is not EMPTY:
                found.put(row, node)
    return found


def _stale(before: CountedVolumes, catalogue: VolumeCatalogue) -> list[int]:
    """The rows of nodes where pods, attachments or claims may not be what they were."""
    changed = catalogue.changes.since(before.changes) if catalogue.changes is not None else None
    if changed is None:
        stale = _different(before, catalogue)
    else:
        known = before.statics.row
        stale = {row for name in changed if (row := known.get(name)) is not None}
    return sorted(stale | before.unsettled)


def _different(before: CountedVolumes, catalogue: VolumeCatalogue) -> set[int]:
    """The rows of nodes where pods, attachments or claims that are not bound differ."""
    by_node, attachments, claims = catalogue.by_node, catalogue.attachments, catalogue.claims
    return {
        row
        for row, (name, node) in enumerate(zip(before.statics.names, before.nodes, strict=True))
        if by_node.get(name) is not node.tasks
        or attachments.get(name) is not node.attachments
        or any(claims.get(claim.key) is not claim for claim in node.claims)
    }


def _read(found: CountedVolumes, stale: list[int], catalogue: VolumeCatalogue) -> CountedVolumes:
    """Read some nodes again."""
    names = AttachNames(catalogue, found.limited)
    for row in stale:
        found.put(row, _on_node(names, catalogue, found.statics.names[row]))
    return found


def _on_node(names: AttachNames, catalogue: VolumeCatalogue, node: str) -> OnNode:
    tasks, attachments = catalogue.by_node.get(node), catalogue.attachments.get(node)
    users: dict[Attachable, Users] = {}
    claims: list[VolumeClaim] = []
    settled = True
    for task in tasks.values() if tasks is not None else ():
        stays = 0 if HOLDS[task.status].releasing else 1
        mentioned, of_task = names.mentioned(task), dict[Attachable, None]()
        for claim in names.claims_of(mentioned):
            if not claim.bound:
                claims.append(claim)
            settled = settled and (not claim.volume or claim.volume in catalogue.volumes)
            name = names.of_claim(claim)
            if name is not None:
                of_task[name] = None
        settled = settled and all(key in catalogue.claims for key in mentioned)
        for name in of_task:
            now, later = users.get(name, NOBODY)
            users[name] = ONE_USER if stays and not (now or later) else (now + 1, later + stays)
    for one in attachments or ():
        name = names.of_attachment(one)
        settled = settled and (not one.volume or one.volume in catalogue.volumes)
        if name is not None and name not in users:
            users[name] = ATTACHED
    return OnNode(tasks, attachments, tuple(claims), users, _by_driver(users), settled)


def _by_driver(names: Mapping[Attachable, Users]) -> tuple[tuple[str, int, int], ...]:
    counts: dict[str, tuple[int, int]] = {}
    for (driver, _, _), (now, later) in names.items():
        before = counts.get(driver, NOBODY)
        counts[driver] = (before[0] + (now > 0), before[1] + (later > 0))
    return tuple((driver, now, later) for driver, (now, later) in counts.items())


CHANGES_MIN = 64
"""So many changes may be apart from the shared map in any case."""


class AttachedRows:
    """The rows of the nodes to which each volume is attached. To copy it costs far less than there are volumes.

    Copies share a map of all volumes, which never changes. Each has its own changes, and from time to time one of them
    makes a new map.
    """

    __slots__ = ("_changed", "_shared")

    def __init__(self) -> None:
        self._shared: dict[Attachable, tuple[int, ...]] = {}
        self._changed: dict[Attachable, tuple[int, ...]] = {}
        """Without rows where a volume is not attached any more."""

    def of(self, name: Attachable) -> tuple[int, ...]:
        """The rows of one volume."""
        found = self._changed.get(name)
        return self._shared.get(name, ()) if found is None else found

    def add(self, name: Attachable, row: int) -> None:
        """A volume is attached to one more node."""
        self._changed[name] = (*self.of(name), row)

    def remove(self, name: Attachable, row: int) -> None:
        """A volume is attached to a node no longer."""
        self._changed[name] = tuple(one for one in self.of(name) if one != row)

    def copy(self) -> AttachedRows:
        """A copy that can be changed."""
        made = AttachedRows()
        if len(self._changed) <= CHANGES_MIN + 4 * isqrt(len(self._shared)):
            made._shared, made._changed = self._shared, self._changed.copy()
            return made
        shared = made._shared = self._shared.copy()
        for name, rows in self._changed.items():
            if rows:
                shared[name] = rows
            else:
                shared.pop(name, None)
        return made
