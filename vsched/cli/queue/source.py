"""The data of ``vsched queue``: Queues read from the API server and, where asked, a page of a daemon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from vsched.cli import words as shared
from vsched.cli.ask.cluster import Obj, allocatable_of_nodes, objects_of
from vsched.cli.ask.daemon import answer_if_any, page_of
from vsched.cli.ask.target import DaemonTarget
from vsched.cli.queue import words
from vsched.controllers.queues import STATE_WISH
from vsched.errors import BadInput, BadQuantity
from vsched.kube.client import ApiClient
from vsched.mirror.resources import PODGROUPS, QUEUES
from vsched.model.amounts.resources import is_schedulable, parse_amount
from vsched.model.queues.queue import CLOSED_BY_PARENT, ROOT
from vsched.model.queues.tree import above

Named = Mapping[str, int]
"""Base units by resource name."""

COUNTED = ("pending", "inqueue", "running", "unknown", "completed")
"""Counts of PodGroups in the status of a queue, in the order of the columns."""
WAITING = ("pending", "inqueue", "unknown")
"""Counts of those that wait for their minimum."""
LIVELY = ("pending", "inqueue", "running", "unknown")
"""Counts of those that wait or run."""


@dataclass(frozen=True, slots=True)
class QueueView:
    """A queue with all that is shown of it."""

    name: str
    uid: str
    state: str
    parent: str
    """The parent queue; empty at the top."""
    priority: int | None
    priority_class: str
    weight: int
    reclaimable: bool
    allocated: Named
    """With the queues below it."""
    deserved: Named
    guarantee: Named
    capability: Named
    counts: Mapping[str, int]
    conditions: tuple[Mapping[str, str], ...] = ()
    wish: str = ""
    by_parent: bool = False
    created: str = ""
    share: float | None = None
    """The largest part used of what it deserves; None where that is not known."""
    overused: bool = False
    jobs: int = 0
    """PodGroups that wait or run, with those of all queues below."""
    waiting: int = 0
    """PodGroups that wait for their minimum, with those of all queues below."""


@dataclass(frozen=True, slots=True)
class Queues:
    """All queues, and the whole cluster."""

    by_name: Mapping[str, QueueView]
    total: Named = field(default_factory=dict)
    """The sum over all nodes; empty where we may not read them."""
    divided: bool = False
    """Whether a daemon was asked what each deserves."""

    def named(self, name: str) -> QueueView:
        """The queue of this name; raises BadInput where there is none."""
        found = self.by_name.get(name)
        if found is None:
            close = get_close_matches(name, self.by_name, 1)
            raise BadInput(words.no_queue(name) + (shared.did_you_mean(close[0]) if close else ""))
        return found

    def below(self, name: str) -> list[str]:
        """The names of the queues right below one."""
        return sorted(found.name for found in self.by_name.values() if found.parent == name)


async def read_queues(client: ApiClient, target: DaemonTarget | None = None, *, with_total: bool = True) -> Queues:
    """Every queue; a daemon as ``target`` adds what each deserves. Raises as the client and ``answer_if_any`` do."""
    objects = await objects_of(client, QUEUES)
    divided = await answer_if_any(target, division_of)
    names = {obj["metadata"]["name"] for obj in objects}
    queues = {
        obj["metadata"]["name"]: view_of(obj, _parent(obj, names), (divided or {}).get(obj["metadata"]["name"]))
        for obj in sorted(objects, key=lambda obj: str(obj["metadata"]["name"]))
    }
    return Queues(with_jobs(queues), await _total(client) if with_total else {}, divided=divided is not None)


async def division_of(daemon: ApiClient) -> Obj:
    """What a daemon knows of each queue; raises Idle where it decides nothing."""
    found: Obj = await page_of(daemon, "/queues", dict[str, Obj])
    return found


async def podgroup_phases(client: ApiClient, queue: str) -> dict[str, int]:
    """The number of PodGroups of a queue in each phase."""
    listed = await objects_of(client, PODGROUPS)
    found = (group for group in listed if (group.get("spec") or {}).get("queue", "default") == queue)
    return dict(sorted(Counter((group.get("status") or {}).get("phase") or "Pending" for group in found).items()))


def view_of(obj: Obj, parent: str = "", divided: Obj | None = None) -> QueueView:
    """A Queue object with all that is shown of it; values of a daemon replace those of its spec."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    known, annotations = divided or {}, metadata.get("annotations") or {}
    allocated = amounts(status.get("allocated"))
    # All of the cluster is the root's own: nothing says what it deserves.
    deserved = {} if metadata["name"] == ROOT else amounts(known.get("deserved") or spec.get("deserved"))
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
        capability=amounts(known.get("capability") or spec.get("capability")),
        counts={name: int(status.get(name) or 0) for name in COUNTED},
        conditions=tuple(status.get("conditions") or ()),
        wish=annotations.get(STATE_WISH, ""),
        by_parent=annotations.get(CLOSED_BY_PARENT) == "true",
        created=metadata.get("creationTimestamp") or "",
        share=known.get("share", _largest_part(allocated, deserved)) if deserved else None,
        overused=bool(known.get("overused")),
    )


def with_jobs(queues: Mapping[str, QueueView]) -> dict[str, QueueView]:
    """The queues, each with its own jobs and those of all queues below it counted, each queue once."""
    sums: dict[str, Counter[str]] = {name: Counter() for name in queues}
    for queue in queues.values():
        found = Counter(jobs=sum(queue.counts[name] for name in LIVELY), waiting=sum(queue.counts[n] for n in WAITING))
        for one in (queue, *above(queue, queues.get)):
            sums[one.name] += found
    return {
        name: replace(queue, jobs=sums[name]["jobs"], waiting=sums[name]["waiting"]) for name, queue in queues.items()
    }


def amounts(quantities: Mapping[str, object] | None) -> dict[str, int]:
    """A ResourceList in base units, without pods and unreadable quantities."""
    found = {}
    for name, quantity in (quantities or {}).items():
        if is_schedulable(name) and name != "pods":
            try:
                found[name] = parse_amount(name, quantity)
            except BadQuantity:
                continue
    return found


def _parent(obj: Obj, names: Container[str]) -> str:
    """The parent queue; empty where there is none."""
    name = obj["metadata"]["name"]
    above: str = (obj.get("spec") or {}).get("parent") or ROOT
    return above if above in names and above != name and name != ROOT else ""


def _largest_part(used: Named, of: Named) -> float:
    return max((used.get(name, 0) / amount for name, amount in of.items() if amount), default=0.0)


async def _total(client: ApiClient) -> dict[str, int]:
    """The sum over all nodes; empty where we may not read them."""
    total: Counter[str] = Counter()
    for allocatable in await allocatable_of_nodes(client):
        total.update(amounts(allocatable))
    return dict(total)
