"""What a cluster and its policy are with an edit made. Pure: what does not change is shared, what is given stays.

Every sum that a snapshot carries follows, exactly as if the mirror had seen the object so. Costs a copy of the map that
the edit is in; an edit of nodes copies their table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple

import msgspec

from vsched.arbitrator.ceilings import ceilings_of, pools_of
from vsched.arbitrator.divide import divide
from vsched.errors import BadInput
from vsched.explain.applying_jobs import edit_job, lower_victim, make_class, make_group
from vsched.explain.applying_nodes import edit_nodes
from vsched.explain.edits import (
    AddNodeGroup,
    AllowDisruptions,
    CreatePodGroup,
    CreatePriorityClass,
    CreateQueue,
    Edit,
    JobEdit,
    LowerGuarantee,
    NamespaceEdit,
    NodeEdit,
    OpenQueue,
    PolicyEdit,
    QueueEdit,
    SetArgument,
    SetConsumerLimit,
    SetGroupLimit,
    SetOvercommit,
    SetQueueAmount,
    SetQueueWeight,
    SetQuota,
    SetReclaimable,
    SetThreshold,
    SetVictimMinimum,
    UseAction,
)
from vsched.framework.levers import argument_of
from vsched.framework.policy import PluginConf, Policy
from vsched.model.arbitration import Claim
from vsched.model.budget import DisruptionBudget
from vsched.model.queue import OPEN, ROOT, SHUT, NodeGroups, Queue
from vsched.model.quota import Quota
from vsched.model.resources import Amounts, ResourceAxis
from vsched.model.snapshot import Snapshot

FIRST_ACTIONS = ("enqueue", "allocate", "backfill")
"""What the others follow in the order of actions."""


class Situation(NamedTuple):
    """What a cycle decides on, and by which policy."""

    snapshot: Snapshot
    policy: Policy


def apply(situation: Situation, edit: Edit) -> Situation:
    """The situation with one edit made; raises BadInput where what it is about does not exist."""
    snapshot, policy = situation
    if isinstance(edit, JobEdit):
        return Situation(edit_job(snapshot, edit), policy)
    if isinstance(edit, CreatePodGroup):
        return Situation(make_group(snapshot, edit), policy)
    if isinstance(edit, SetVictimMinimum):
        return Situation(lower_victim(snapshot, edit), policy)
    if isinstance(edit, CreatePriorityClass):
        return Situation(make_class(snapshot, edit), policy)
    if isinstance(edit, NodeEdit):
        edited = edit_nodes(snapshot, edit)
        # Other nodes are another cluster to divide: what namespaces may hold goes with it.
        return Situation(edited if edited.total == snapshot.total else _divided(edited), policy)
    if isinstance(edit, QueueEdit):
        return Situation(_edit_queue(snapshot, edit), policy)
    if isinstance(edit, NamespaceEdit):
        return Situation(_edit_namespace(snapshot, edit), policy)
    return Situation(snapshot, _edit_policy(policy, edit))


def apply_all(situation: Situation, edits: Iterable[Edit]) -> Situation:
    """The situation with several edits made, one after the other."""
    return reduce(apply, edits, situation)


# -- queues -----------------------------------------------------------------------------------------------------------


def _edit_queue(snapshot: Snapshot, edit: QueueEdit) -> Snapshot:
    if isinstance(edit, CreateQueue):
        queue = snapshot.queues.get(edit.queue) or Queue(edit.queue, created=snapshot.now)
    else:
        known = snapshot.queues.get(edit.queue)
        if known is None:
            raise BadInput(f"queue {edit.queue}: there is none of this name")
        if isinstance(edit, OpenQueue):
            return replace(snapshot, queues=_opened(snapshot.queues, known))
        queue = _edited(known, edit, snapshot.axis)
    return replace(snapshot, queues={**snapshot.queues, queue.name: queue})


def _opened(queues: Mapping[str, Queue], queue: Queue) -> dict[str, Queue]:
    """The queues with one of them open, and those below it that were closed with it; not below one that is closed."""
    above = queues.get(queue.parent)
    if above is not None and above.name != ROOT and above.state in SHUT:
        return dict(queues)
    below: dict[str, list[Queue]] = {}
    for one in queues.values():
        if one.closed_by_parent:
            below.setdefault(one.parent, []).append(one)
    found, opening = dict(queues), [queue]
    while opening:
        one = opening.pop()
        if not found[one.name].open or one is queue:
            found[one.name] = msgspec.structs.replace(one, state=OPEN)
            opening += below.pop(one.name, ())
    return found


def _edited(
    queue: Queue,
    edit: SetQueueAmount | LowerGuarantee | SetQueueWeight | SetReclaimable | AddNodeGroup | SetGroupLimit,
    axis: ResourceAxis,
) -> Queue:
    with_ = msgspec.structs.replace
    match edit:
        case SetQueueWeight():
            return with_(queue, weight=edit.weight)
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
    """The amounts with one of them set, zeros kept; as they are where nothing has named the resource yet."""
    column = axis.find(resource)
    return amounts if column is None else tuple(sorted({**dict(amounts), column: amount}.items()))


# -- namespaces -------------------------------------------------------------------------------------------------------


def _edit_namespace(snapshot: Snapshot, edit: NamespaceEdit) -> Snapshot:
    if isinstance(edit, SetConsumerLimit):
        return _limited(snapshot, edit)
    if isinstance(edit, SetQuota):
        quotas = tuple(_raised(quota, edit) for quota in snapshot.quotas.get(edit.namespace, ()))
        return replace(snapshot, quotas={**snapshot.quotas, edit.namespace: quotas})
    budgets = tuple(_allowing(budget, edit) for budget in snapshot.budgets.get(edit.namespace, ()))
    return replace(snapshot, budgets={**snapshot.budgets, edit.namespace: budgets})


def _raised(quota: Quota, edit: SetQuota) -> Quota:
    if quota.name != edit.quota:
        return quota
    lines = (
        msgspec.structs.replace(line, hard=edit.hard) if line.name == edit.resource else line for line in quota.lines
    )
    return msgspec.structs.replace(quota, lines=tuple(lines))


def _allowing(budget: DisruptionBudget, edit: AllowDisruptions) -> DisruptionBudget:
    return msgspec.structs.replace(budget, allowed=edit.allowed) if budget.name == edit.budget else budget


def _limited(snapshot: Snapshot, edit: SetConsumerLimit) -> Snapshot:
    """The cluster divided anew with the Consumer's limit raised; where nobody can say among whom, the ceiling alone."""
    arbitration = snapshot.arbitration
    party = None if arbitration is None else arbitration.parties.get(edit.namespace)
    if arbitration is None or party is None:
        return _lifted(snapshot, edit)
    claim = party.claim or Claim(edit.namespace, "defaults")
    claim = msgspec.structs.replace(claim, hard={**claim.hard, edit.resource: edit.amount})
    parties = {**arbitration.parties, edit.namespace: msgspec.structs.replace(party, claim=claim)}
    return _divided(replace(snapshot, arbitration=msgspec.structs.replace(arbitration, parties=parties)))


def _divided(snapshot: Snapshot) -> Snapshot:
    """The same with its ceilings worked out anew, where anybody arbitrates."""
    if snapshot.arbitration is None:
        return snapshot
    division = divide(snapshot)
    return replace(snapshot, ceilings=ceilings_of(division, snapshot.axis), pools=pools_of(division, snapshot.axis))


def _lifted(snapshot: Snapshot, edit: SetConsumerLimit) -> Snapshot:
    ceiling = snapshot.ceilings.get(edit.namespace)
    if ceiling is None:
        return snapshot
    column = snapshot.axis.find(edit.resource)
    if edit.resource in ceiling.limits:
        limits = {**ceiling.limits, edit.resource: edit.amount}
        ceiling = msgspec.structs.replace(ceiling, limits=limits)
    elif column is not None and column in ceiling.most:
        ceiling = msgspec.structs.replace(ceiling, most={**ceiling.most, column: edit.amount})
    return replace(snapshot, ceilings={**snapshot.ceilings, edit.namespace: ceiling})


# -- the policy -------------------------------------------------------------------------------------------------------


def _edit_policy(policy: Policy, edit: PolicyEdit) -> Policy:
    if isinstance(edit, UseAction):
        if edit.action in policy.actions:
            return policy
        # In front of backfill, where reclaim and preempt are to be: what they free is allocated in the next session.
        first = [action for action in policy.actions if action in FIRST_ACTIONS[:2]]
        others = [action for action in policy.actions if action not in first]
        return msgspec.structs.replace(policy, actions=(*first, edit.action, *others))
    return _with_args(policy, edit.plugin, partial(_changed, edit))


def _changed(edit: SetThreshold | SetOvercommit | SetArgument, args: Any) -> dict[str, Any]:
    match edit:
        case SetThreshold():
            return {"thresholds": {**args.thresholds, edit.name: edit.percent}}
        case SetOvercommit():
            return {"factor": edit.factor}
        case SetArgument():
            argument = argument_of(args, edit.key)
            if argument is None:
                raise BadInput(f"plugin {edit.plugin}: has no argument {edit.key}")
            return {argument.name: msgspec.convert(edit.value, argument.type)}


def _with_args(policy: Policy, plugin: str, change: Callable[[Any], dict[str, Any]]) -> Policy:
    """The policy with some arguments of a plugin changed; raises BadInput where it does not use the plugin."""
    if policy.plugin(plugin) is None:
        raise BadInput(f"plugin {plugin}: the policy does not use it")
    with_ = msgspec.structs.replace

    def changed(conf: PluginConf) -> PluginConf:
        return with_(conf, args=with_(conf.args, **change(conf.args))) if conf.name == plugin else conf

    tiers = tuple(with_(tier, plugins=tuple(changed(conf) for conf in tier.plugins)) for tier in policy.tiers)
    return with_(policy, tiers=tiers)
