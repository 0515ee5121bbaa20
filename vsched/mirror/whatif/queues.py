"""Applies edits of queues."""

from __future__ import annotations

import msgspec

from vsched.errors import BadInput
from vsched.mirror.whatif import words
from vsched.mirror.whatif.edits import (
    AddNodeGroup,
    CreateQueue,
    LowerGuarantee,
    OpenQueue,
    QueueEdit,
    SetGroupLimit,
    SetJobLimit,
    SetQueueAmount,
    SetQueueWeight,
    SetReclaimable,
    SetWallTime,
)
from vsched.mirror.whatif.records import EditableMirror
from vsched.model.amounts.resources import Amounts, ResourceAxis
from vsched.model.queues.limits import MAX_WALL_TIME, exactly
from vsched.model.queues.queue import OPEN, ROOT, SHUT, NodeGroups, Queue


def edit_queue(cluster: EditableMirror, edit: QueueEdit) -> None:
    """Apply an edit; raises BadInput if the queue does not exist, unless the edit creates it."""
    queues = cluster.queues()
    known = queues.get(edit.queue)
    if isinstance(edit, CreateQueue):
        cluster.put_queue(known or Queue(edit.queue, created=cluster.origin.now))
        return
    if known is None:
        raise BadInput(words.no_queue(edit.queue))
    if isinstance(edit, OpenQueue):
        _open(cluster, queues, known)
    else:
        cluster.put_queue(_edited(known, edit, cluster.axis))


def _open(cluster: EditableMirror, queues: dict[str, Queue], queue: Queue) -> None:
    """Open a queue and the descendants that were closed with it; does nothing if the parent is closed."""
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
            cluster.put_queue(msgspec.structs.replace(one, state=OPEN))
            opening += below.pop(one.name, ())


def _edited(
    queue: Queue,
    edit: SetQueueAmount
    | LowerGuarantee
    | SetQueueWeight
    | SetJobLimit
    | SetWallTime
    | SetReclaimable
    | AddNodeGroup
    | SetGroupLimit,
    axis: ResourceAxis,
) -> Queue:
    with_ = msgspec.structs.replace
    match edit:
        case SetQueueWeight():
            return with_(queue, weight=edit.weight)
        case SetJobLimit():
            field = "running_jobs_per_user" if edit.per_user else "running_jobs"
            said = {**dict(queue.annotations), edit.annotation: str(edit.most)}
            raised = with_(queue.limits, **{field: edit.most})
            return with_(queue, limits=raised, annotations=tuple(sorted(said.items())))
        case SetWallTime():
            said = {**dict(queue.annotations), MAX_WALL_TIME: exactly(edit.seconds)}
            longer = with_(queue.limits, wall_time=edit.seconds)
            return with_(queue, limits=longer, annotations=tuple(sorted(said.items())))
        case SetReclaimable():
            return with_(queue, reclaimable=True)
        case AddNodeGroup():
            groups = queue.affinity or NodeGroups()
            avoided = tuple(group for group in groups.anti_required if group != edit.group)
            required = (*(group for group in groups.required if group != edit.group), edit.group)
            return with_(queue, affinity=with_(groups, required=required, anti_required=avoided))
        case SetGroupLimit():
            limits = dict(queue.group_limits or ())
            limits[edit.group] = stated(limits.get(edit.group, ()), axis, edit.resource, edit.amount)
            return with_(queue, group_limits=tuple(sorted(limits.items())))
        case LowerGuarantee():
            return with_(queue, guarantee=stated(queue.guarantee, axis, edit.resource, edit.amount))
        case SetQueueAmount():
            amounts: Amounts = getattr(queue, edit.field)
            return with_(queue, **{edit.field: stated(amounts, axis, edit.resource, edit.amount)})


def stated(amounts: Amounts, axis: ResourceAxis, resource: str, amount: int) -> Amounts:
    """The amounts with one of them replaced, zeros kept; unchanged if the axis does not have the resource."""
    column = axis.find(resource)
    return amounts if column is None else tuple(sorted({**dict(amounts), column: amount}.items()))
