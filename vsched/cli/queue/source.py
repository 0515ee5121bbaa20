"""What ``vsched queue`` knows of queues: read from the API server and, where asked, from a running daemon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from vsched.cli.ask.daemon import Target, asked, expect_leader, understood
from vsched.controllers.queues import STATE_WISH
from vsched.errors import BadInput, BadQuantity
from vsched.kube.client import ApiClient
from vsched.kube.errors import Forbidden, NotFound
from vsched.mirror.resources import NODES, PODGROUPS, QUEUES
from vsched.model.queue import CLOSED_BY_PARENT, ROOT
from vsched.model.resources import is_schedulable, parse_amount

Obj = dict[str, Any]
Named = Mapping[str, int]
"""Base units by resource name."""

COUNTED = ("pending", "inqueue", "running", "unknown", "completed")
"""Counts of PodGroups in a queue's status, in the order they are shown."""
WAITING = ("pending", "inqueue", "unknown")
"""Those that wait for their minimum."""
LIVELY = ("pending", "inqueue", "running", "unknown")
"""Those that wait or run."""


@dataclass(frozen=True, slots=True)
class QueueView:
    """A queue as it is shown."""

    name: str
    uid: str
    state: str
    parent: str
    """The queue above, empty for one that is above all others."""
    priority: int | None
    priority_class: str
    weight: int
    reclaimable: bool
    allocated: Named
    """With all that the queues below it hold."""
    deserved: Named
    guarantee: Named
    capability: Named
    counts: Mapping[str, int]
    conditions: tuple[Mapping[str, str], ...] = ()
    wish: str = ""
    by_parent: bool = False
    created: str = ""
    share: float | None = None
    """Of what it deserves, None where nobody knows what that is."""
    overused: bool = False
    jobs: int = 0
    """PodGroups that wait or run, with those of the queues below it."""
    waiting: int = 0
    """PodGroups that wait for their minimum, with those of the queues below it."""


@dataclass(frozen=True, slots=True)
class Queues:
    """All queues, and what there is to share."""

    sights: Mapping[str, QueueView]
    total: Named = field(default_factory=dict)
    """Of all nodes; empty where we may not read them."""
    divided: bool = False
    """Whether a daemon told what each deserves."""

    def named(self, name: str) -> QueueView:
        """One queue; raises BadInput where there is none of that name."""
        found = self.sights.get(name)
        if found is None:
            close = get_close_matches(name, self.sights, 1)
            raise BadInput(f"there is no queue {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
        return found

    def below(self, name: str) -> list[str]:
        """The queues right below one."""
        return sorted(found.name for found in self.sights.values() if found.parent == name)


async def read_queues(client: ApiClient, target: Target | None = None, *, with_total: bool = True) -> Queues:
    """Every queue; ``target`` is a daemon that is asked how it divides. Raises what the client and ``asked`` raise."""
    try:
        listed = await client.list(QUEUES.path())
    except NotFound:
        raise BadInput(f"{client.connection.server} serves no {QUEUES} (are the definitions installed?)") from None
    objects = listed["items"]
    divided = await asked(target, division_of) if target is not None else {}
    names = {obj["metadata"]["name"] for obj in objects}
    sights = {
        obj["metadata"]["name"]: sight_of(obj, _parent(obj, names), divided.get(obj["metadata"]["name"]))
        for obj in sorted(objects, key=lambda obj: str(obj["metadata"]["name"]))
    }
    return Queues(with_jobs(sights), await _total(client) if with_total else {}, divided=target is not None)


async def division_of(daemon: ApiClient) -> Obj:
    """What a daemon says of queues; one that has something to say knows of one at least."""
    found = await daemon.get("/queues")
    if not found:
        await expect_leader(daemon)
    understood(daemon.connection.server, found, dict[str, dict[str, Any]])
    return found


async def podgroup_phases(client: ApiClient, queue: str) -> dict[str, int]:
    """How many PodGroups of a queue are in which phase."""
    listed = await client.list(PODGROUPS.path())
    found = (group for group in listed["items"] if (group.get("spec") or {}).get("queue", "default") == queue)
    return dict(sorted(Counter((group.get("status") or {}).get("phase") or "Pending" for group in found).items()))


def sight_of(obj: Obj, parent: str = "", divided: Obj | None = None) -> QueueView:
    """A Queue object as it is shown; what a daemon says of it counts for more than its spec."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    told, notes = divided or {}, metadata.get("annotations") or {}
    allocated = amounts(status.get("allocated"))
    deserved = amounts(told.get("deserved") or spec.get("deserved"))
    return QueueView(
        name=metadata["name"],
        uid=metadata["uid"],
        state=status.get("state") or "",
        parent=parent,
        priority=spec.get("priority"),
        priority_class=spec.get("priorityClassName") or "",
        weight=spec.get("weight", 1),
        reclaimable=spec.get("reclaimable", True),
        allocated=allocated,
        deserved=deserved,
        guarantee=amounts((spec.get("guarantee") or {}).get("resource")),
        capability=amounts(told.get("capability") or spec.get("capability")),
        counts={name: int(status.get(name) or 0) for name in COUNTED},
        conditions=tuple(status.get("conditions") or ()),
        wish=notes.get(STATE_WISH, ""),
        by_parent=notes.get(CLOSED_BY_PARENT) == "true",
        created=metadata.get("creationTimestamp") or "",
        share=told.get("share", _largest_part(allocated, deserved)) if deserved else None,
        overused=bool(told.get("overused")),
    )


def with_jobs(sights: Mapping[str, QueueView]) -> dict[str, QueueView]:
    """The queues, each with the jobs of all below it counted; rings of parents count what each of them has."""
    sums: dict[str, Counter[str]] = {name: Counter() for name in sights}
    for sight in sights.values():
        found = Counter(jobs=sum(sight.counts[name] for name in LIVELY), waiting=sum(sight.counts[n] for n in WAITING))
        above, seen = sight.name, set[str]()
        while above in sums and above not in seen:
            sums[above] += found
            seen.add(above)
            above = sights[above].parent
    return {
        name: replace(sight, jobs=sums[name]["jobs"], waiting=sums[name]["waiting"]) for name, sight in sights.items()
    }


def amounts(quantities: Mapping[str, object] | None) -> dict[str, int]:
    """A ResourceList in base units, without pods and without what is no quantity."""
    found = {}
    for name, quantity in (quantities or {}).items():
        if is_schedulable(name) and name != "pods":
            try:
                found[name] = parse_amount(name, quantity)
            except BadQuantity:
                continue
    return found


def _parent(obj: Obj, names: Container[str]) -> str:
    """The queue above, empty where there is none."""
    name = obj["metadata"]["name"]
    above: str = (obj.get("spec") or {}).get("parent") or ROOT
    return above if above in names and above != name and name != ROOT else ""


def _largest_part(held: Named, of: Named) -> float:
    return max((held.get(name, 0) / amount for name, amount in of.items() if amount), default=0.0)


async def _total(client: ApiClient) -> dict[str, int]:
    """What all nodes have together; empty where we may not read them."""
    try:
        listed = await client.list(NODES.path())
    except Forbidden:
        return {}
    total: Counter[str] = Counter()
    for node in listed["items"]:
        total.update(amounts((node.get("status") or {}).get("allocatable")))
    return dict(total)
