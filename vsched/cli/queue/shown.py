"""What is shown of a queue: read from its object, in a column of tables, in documents. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from operator import attrgetter
from typing import Any

from rich.text import Text

from vsched.cli import words as shared
from vsched.cli.ask.cluster import Obj
from vsched.cli.queue import words
from vsched.cli.show.amounts import one_line, with_bar
from vsched.cli.show.columns import TableColumn, named, ranks, wide
from vsched.cli.show.drawing import Look, bar, short
from vsched.controllers.queues import STATE_WISH
from vsched.errors import BadInput, BadQuantity
from vsched.model.amounts.resources import format_amount, is_schedulable, parse_amount
from vsched.model.queues.queue import CLOSED, CLOSED_BY_PARENT, CLOSING, OPEN, ROOT, UNKNOWN

STATE_STYLES = {OPEN: "green", CLOSING: "yellow", CLOSED: "red", UNKNOWN: "magenta"}
Named = Mapping[str, int]
"""Base units by resource name."""

NO_DEPTHS: Mapping[str, int] = {}
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


def view_of(obj: Obj, parent: str = "", divided: Mapping[str, Any] | None = None) -> QueueView:
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


def _largest_part(used: Named, of: Named) -> float:
    return max((used.get(name, 0) / amount for name, amount in of.items() if amount), default=0.0)


def columns(
    queues: Queues, resources: Sequence[str] = (), depths: Mapping[str, int] = NO_DEPTHS
) -> list[TableColumn[QueueView]]:
    """What is shown of each queue, in the order of tables and of documents; tables have these resources."""

    def name(one: QueueView, look: Look) -> Text:
        depth = depths.get(one.name, 0)
        branch, trouble = "  " * (depth - 1) + look.branch if depth else "", " !" if one.conditions else ""
        return named(Text.assemble((branch, "dim"), one.name, (trouble, "bold red")), unicode=look.unicode)

    def usage(resource: str) -> TableColumn[QueueView]:
        """What a queue uses of what it may use at most, as a bar with numbers."""

        def cell(one: QueueView, look: Look) -> Text:
            used, limit = one.allocated.get(resource, 0), _limit(queues, one, resource)
            said = f"{short(resource, used)}/{short(resource, limit)}"
            return with_bar(look, usage_bar(queues, one, resource, look), said)

        return TableColumn(resource, cell=cell)

    return [
        TableColumn("queue", lambda one: one.name, name, "name", gives=True),
        TableColumn("state", lambda one: one.state, lambda one, _: state_text(one), "state"),
        TableColumn(key="parent", value=lambda one: one.parent),
        TableColumn("weight", lambda one: one.weight, number=True, fits=ranks),
        TableColumn(
            "priority", lambda one: one.priority, lambda one, _: priority_text(one), "priority", True, fits=ranks
        ),
        TableColumn(key="priorityClassName", value=lambda one: one.priority_class),
        TableColumn(key="weight", value=lambda one: one.weight),
        TableColumn(key="reclaimable", value=lambda one: one.reclaimable),
        TableColumn("share", _rounded_share, _share, "share", number=True, fits=lambda look: not look.narrow),
        TableColumn(key="overused", value=lambda one: one.overused),
        TableColumn(key="allocated", value=lambda one: quantities(one.allocated)),
        *map(usage, resources),
        TableColumn("jobs", cell=lambda one, _: _count(one.jobs), number=True, fits=lambda look: look.counts),
        TableColumn("waiting", cell=lambda one, _: _count(one.waiting), number=True, fits=lambda look: look.counts),
        *map(_counted, COUNTED),
        *map(_amounts, ("deserved", "guarantee", "capability")),
        TableColumn("reclaimable", lambda one: one.reclaimable, gives=True, fits=wide),
        TableColumn(key="podGroups", value=lambda one: dict(one.counts)),
        TableColumn(key="conditions", value=lambda one: [dict(condition) for condition in one.conditions]),
    ]


def _counted(phase: str) -> TableColumn[QueueView]:
    return TableColumn(phase, cell=lambda one, _: _count(one.counts[phase]), number=True, fits=wide)


def _amounts(kind: str) -> TableColumn[QueueView]:
    of = attrgetter(kind)
    return TableColumn(
        kind, lambda one: quantities(of(one)), lambda one, _: one_line(of(one)), kind, gives=True, fits=wide
    )


def _rounded_share(one: QueueView) -> float | None:
    return None if one.share is None else round(one.share, 6)


def _share(one: QueueView, _: Look) -> str | Text:
    if one.share is None:
        return "-"
    # A queue that uses exactly what it deserves counts as overused, too, but takes nothing from others.
    return Text(f"{one.share:.0%}", style="red" if one.overused and one.share > 1 else "")


def _count(count: int) -> str | Text:
    return str(count) if count else Text("0", style="dim")


def usage_bar(queues: Queues, queue: QueueView, resource: str, look: Look) -> Text:
    fair = queue.deserved.get(resource)
    return bar(look, _limit(queues, queue, resource), queue.allocated.get(resource, 0), fair=fair)


def _limit(queues: Queues, queue: QueueView, resource: str) -> int | None:
    """What a queue may use at most: its capability, and no more than the cluster has."""
    total, capability = queues.total.get(resource), queue.capability.get(resource)
    if capability is None or total is None:
        return total if capability is None else capability
    return min(total, capability)


def state_text(queue: QueueView) -> Text:
    """The state in its colour."""
    return Text(queue.state or "-", style=STATE_STYLES.get(queue.state, "dim"))


def priority_text(queue: QueueView) -> str:
    """The priority, or the name of its class."""
    if queue.priority is not None:
        return str(queue.priority)
    return queue.priority_class or "0"


def quantities(amounts: Named) -> dict[str, str]:
    """Amounts as the API server writes them; zero is left out."""
    return {name: format_amount(name, value) for name, value in sorted(amounts.items()) if value}
