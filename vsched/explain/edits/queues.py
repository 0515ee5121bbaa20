"""Edits of queues."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from vsched.errors import BadInput
from vsched.explain.edits.base import Before, ClusterEdit, Edit
from vsched.explain.words import edits as words
from vsched.explain.words.lines import as_json, created, line, quantities
from vsched.explain.words.phrases import more_text
from vsched.mirror.whatif import words as refusals
from vsched.mirror.whatif.records import EditableMirror
from vsched.model.amounts.counted import format_counted
from vsched.model.amounts.resources import Amounts, ResourceAxis, format_amount
from vsched.model.queues.queue import (
    MAX_RUNNING_JOBS,
    MAX_RUNNING_JOBS_PER_USER,
    MAX_WALL_TIME,
    OPEN,
    ROOT,
    SHUT,
    NodeGroups,
    Queue,
    exactly,
)
from vsched.model.snapshot import Snapshot

QUEUES = "queues.scheduling.volcano.sh"
GROUP_LIMITS = "volcano.sh/nodegroup-resource-limits"
GROUPS_AT = "/spec/affinity/nodeGroupAffinity/requiredDuringSchedulingIgnoredDuringExecution"
AVOIDED_AT = "/spec/affinity/nodeGroupAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution"


def patched(queue: str, spec: dict[str, Any]) -> str:
    """The command that changes fields of a queue's spec."""
    return line("kubectl", "patch", QUEUES, queue, "--type", "merge", "-p", as_json({"spec": spec}))


def annotated(queue: str, annotation: str, value: str) -> str:
    """The command that sets an annotation of a queue."""
    return line("kubectl", "annotate", QUEUES, queue, f"{annotation}={value}", "--overwrite")


def stated(amounts: Amounts, axis: ResourceAxis, resource: str, amount: int) -> Amounts:
    """The amounts with one of them replaced, zeros kept; unchanged if the axis does not have the resource."""
    column = axis.find(resource)
    return amounts if column is None else tuple(sorted({**dict(amounts), column: amount}.items()))


def amount_of(snapshot: Snapshot, amounts: Amounts, resource: str) -> int:
    """The amount of a resource by name."""
    column = snapshot.axis.find(resource)
    return 0 if column is None else dict(amounts).get(column, 0)


def _noted(queue: Queue, annotation: str, value: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted({**dict(queue.annotations), annotation: value}.items()))


class CreateQueue(ClusterEdit, frozen=True, tag="createQueue"):
    """Create a queue that jobs name and that does not exist."""

    queue: str

    def apply(self, cluster: EditableMirror) -> None:
        known = cluster.queues().get(self.queue)
        cluster.put_queue(known or Queue(self.queue, created=cluster.origin.now))

    def sentence(self, before: Before) -> str:
        return words.queue_created(self.queue)

    def lines(self, snapshot: Snapshot) -> list[str]:
        return [created("Queue", {"name": self.queue}, {"weight": 1, "reclaimable": True})]

    def is_named_by(self, other: Edit) -> bool:
        return isinstance(other, QueueEdit) and other.queue == self.queue


class QueueEdit(ClusterEdit, frozen=True):
    """A change of a queue that there is."""

    queue: str

    def edited(self, queue: Queue, axis: ResourceAxis) -> Queue:
        """The queue with the change."""
        raise NotImplementedError

    def known(self, cluster: EditableMirror) -> Queue:
        """The queue; raises BadInput if there is none."""
        found = cluster.queues().get(self.queue)
        if found is None:
            raise BadInput(refusals.no_queue(self.queue))
        return found

    def apply(self, cluster: EditableMirror) -> None:
        cluster.put_queue(self.edited(self.known(cluster), cluster.axis))


class OpenQueue(QueueEdit, frozen=True, tag="openQueue"):
    """Open a closed queue and the descendants that were closed with it; does nothing if the parent is closed."""

    def apply(self, cluster: EditableMirror) -> None:
        queue, queues = self.known(cluster), cluster.queues()
        above = queues.get(queue.parent)
        if above is not None and above.name != ROOT and above.state in SHUT:
            return
        below: dict[str, list[Queue]] = {}
        for one in queues.values():
            if one.closed_by_parent:
                below.setdefault(one.parent, []).append(one)
        opening = [queue]
        while opening:
            one = opening.pop()
            if not one.open or one is queue:
                cluster.put_queue(replace(one, state=OPEN))
                opening += below.pop(one.name, ())

    def sentence(self, before: Before) -> str:
        return words.queue_opened(self.queue)

    def lines(self, snapshot: Snapshot) -> list[str]:
        return [line("vsched", "queue", "open", self.queue)]


class SetQueueAmount(QueueEdit, frozen=True, tag="queueAmount"):
    """Set the capability, deserved amount or guarantee of a queue for one resource."""

    field: Literal["capability", "deserved", "guarantee"]
    resource: str
    amount: int

    def edited(self, queue: Queue, axis: ResourceAxis) -> Queue:
        amounts: Amounts = getattr(queue, self.field)
        return replace(queue, **{self.field: stated(amounts, axis, self.resource, self.amount)})

    def sentence(self, before: Before) -> str:
        snapshot, amount = before.snapshot, format_amount(self.resource, self.amount)
        has = amount_of(snapshot, getattr(snapshot.queues[self.queue], self.field), self.resource)
        return words.more_in_queue(more_text(self.resource, has, self.amount), self.queue, self.field, amount)

    def lines(self, snapshot: Snapshot) -> list[str]:
        return [patched(self.queue, _amount(self.field, self.resource, self.amount))]


class LowerGuarantee(QueueEdit, frozen=True, tag="guarantee"):
    """Lower the guarantee of a queue for one resource."""

    resource: str
    amount: int

    def edited(self, queue: Queue, axis: ResourceAxis) -> Queue:
        return replace(queue, guarantee=stated(queue.guarantee, axis, self.resource, self.amount))

    def sentence(self, before: Before) -> str:
        has = amount_of(before.snapshot, before.snapshot.queues[self.queue].guarantee, self.resource)
        less, left = (format_amount(self.resource, amount) for amount in (has - self.amount, self.amount))
        return words.less_guaranteed(less, self.resource, self.queue, left)

    def lines(self, snapshot: Snapshot) -> list[str]:
        return [patched(self.queue, _amount("guarantee", self.resource, self.amount))]


def _amount(field: str, resource: str, amount: int) -> dict[str, Any]:
    amounts = quantities({resource: amount})
    return {field: {"resource": amounts} if field == "guarantee" else amounts}


class SetQueueWeight(QueueEdit, frozen=True, tag="queueWeight"):
    """Set the weight of a queue in the division of the cluster."""

    weight: int

    def edited(self, queue: Queue, axis: ResourceAxis) -> Queue:
        return replace(queue, weight=self.weight)

    def sentence(self, before: Before) -> str:
        return words.weight(self.weight, self.queue, before.snapshot.queues[self.queue].weight)

    def lines(self, snapshot: Snapshot) -> list[str]:
        return [patched(self.queue, {"weight": self.weight})]


class SetJobLimit(QueueEdit, frozen=True, tag="jobLimit"):
    """Set how many jobs of a queue may run at once, with the queues below it."""

    most: int
    per_user: bool = False
    """Whether this is the limit of each user there."""

    @property
    def annotation(self) -> str:
        """The annotation of the queue that states the limit."""
        return MAX_RUNNING_JOBS_PER_USER if self.per_user else MAX_RUNNING_JOBS

    def edited(self, queue: Queue, axis: ResourceAxis) -> Queue:
        raised = replace(queue.limits, **{"running_jobs_per_user" if self.per_user else "running_jobs": self.most})
        return replace(queue, limits=raised, annotations=_noted(queue, self.annotation, str(self.most)))

    def sentence(self, before: Before) -> str:
        limits = before.snapshot.queues[self.queue].limits
        most = limits.running_jobs_per_user if self.per_user else limits.running_jobs
        return words.running_jobs(self.most, self.queue, most, per_user=self.per_user)

    def lines(self, snapshot: Snapshot) -> list[str]:
        return [annotated(self.queue, self.annotation, str(self.most))]


class SetWallTime(QueueEdit, frozen=True, tag="wallTime"):
    """Set for how long jobs of a queue may run."""

    seconds: float

    def edited(self, queue: Queue, axis: ResourceAxis) -> Queue:
        longer = replace(queue.limits, wall_time=self.seconds)
        return replace(queue, limits=longer, annotations=_noted(queue, MAX_WALL_TIME, exactly(self.seconds)))

    def sentence(self, before: Before) -> str:
        now = before.snapshot.queues[self.queue].limits.wall_time or 0.0
        return words.wall_time(exactly(self.seconds), self.queue, exactly(now))

    def lines(self, snapshot: Snapshot) -> list[str]:
        return [annotated(self.queue, MAX_WALL_TIME, exactly(self.seconds))]


class SetReclaimable(QueueEdit, frozen=True, tag="reclaimable"):
    """Make a queue reclaimable: other queues may reclaim what it holds beyond its deserved share."""

    def edited(self, queue: Queue, axis: ResourceAxis) -> Queue:
        return replace(queue, reclaimable=True)

    def sentence(self, before: Before) -> str:
        return words.queue_made_reclaimable(self.queue)

    def lines(self, snapshot: Snapshot) -> list[str]:
        return [patched(self.queue, {"reclaimable": True})]


class AddNodeGroup(QueueEdit, frozen=True, tag="nodeGroup"):
    """Add one node group to the required node groups of a queue."""

    group: str

    def edited(self, queue: Queue, axis: ResourceAxis) -> Queue:
        groups = queue.affinity or NodeGroups()
        avoided = tuple(group for group in groups.anti_required if group != self.group)
        required = (*(group for group in groups.required if group != self.group), self.group)
        return replace(queue, affinity=replace(groups, required=required, anti_required=avoided))

    def sentence(self, before: Before) -> str:
        return words.node_group_added(self.group, self.queue)

    def lines(self, snapshot: Snapshot) -> list[str]:
        """The command fails if the lists have changed since the snapshot."""
        groups, steps = snapshot.queues[self.queue].affinity or NodeGroups(), list[dict[str, Any]]()
        if self.group in groups.anti_required:
            at = f"{AVOIDED_AT}/{groups.anti_required.index(self.group)}"
            steps += [{"op": "test", "path": at, "value": self.group}, {"op": "remove", "path": at}]
        if groups.required:
            steps += [
                {"op": "test", "path": GROUPS_AT, "value": groups.required},
                {"op": "add", "path": f"{GROUPS_AT}/-", "value": self.group},
            ]
        elif not steps:
            name = GROUPS_AT.rpartition("/")[2]
            return [patched(self.queue, {"affinity": {"nodeGroupAffinity": {name: [self.group]}}})]
        else:
            steps.append({"op": "add", "path": GROUPS_AT, "value": [self.group]})
        return [line("kubectl", "patch", QUEUES, self.queue, "--type", "json", "-p", as_json(steps))]


class SetGroupLimit(QueueEdit, frozen=True, tag="groupLimit"):
    """Set the limit of a queue for one resource on one node group."""

    group: str
    resource: str
    amount: int

    def edited(self, queue: Queue, axis: ResourceAxis) -> Queue:
        limits = dict(queue.group_limits or ())
        limits[self.group] = stated(limits.get(self.group, ()), axis, self.resource, self.amount)
        return replace(queue, group_limits=tuple(sorted(limits.items())))

    def sentence(self, before: Before) -> str:
        limits = dict(before.snapshot.queues[self.queue].group_limits or ()).get(self.group, ())
        more = more_text(self.resource, amount_of(before.snapshot, limits, self.resource), self.amount)
        return words.more_on_node_group(more, self.queue, self.group, format_amount(self.resource, self.amount))

    def lines(self, snapshot: Snapshot) -> list[str]:
        """Changes one amount in the annotation with the limits on node groups."""
        said = dict(snapshot.queues[self.queue].annotations).get(GROUP_LIMITS, "")
        limits: dict[str, dict[str, Any]] = msgspec.json.decode(said or "{}", type=dict[str, dict[str, Any]])
        amount = format_counted(self.resource, self.amount)
        limits[self.group] = {**limits.get(self.group, {}), self.resource: amount}
        if not said.isascii() or not said.isprintable():
            return []
        return [annotated(self.queue, GROUP_LIMITS, as_json(limits))]
