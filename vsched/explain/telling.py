"""What an edit says to people, to be read after "would start with", and what does it in a shell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from vsched.explain.applying import Situation, apply
from vsched.explain.edits import (
    AddNodeGroup,
    AddNodes,
    AddPods,
    AllowDisruptions,
    CreatePodGroup,
    CreateQueue,
    DropRule,
    Edit,
    LabelNodes,
    OpenQueue,
    RemoveGates,
    RemoveTaint,
    SetConsumerLimit,
    SetGroupLimit,
    SetJobQueue,
    SetMinMember,
    SetNodeAmount,
    SetOvercommit,
    SetPriority,
    SetQueueAmount,
    SetQueueWeight,
    SetQuota,
    SetReclaimable,
    SetRequest,
    SetRoleMinimum,
    SetThreshold,
    Tolerate,
    Uncordon,
    UseAction,
)
from vsched.explain.records import Change
from vsched.framework.wording import counted
from vsched.model.counted import format_counted
from vsched.model.resources import format_amount
from vsched.model.snapshot import Snapshot

NAMED_MAX = 3
"""So many nodes are named in a sentence; of more the first, and how many others."""
GATED_MAX = 16
"""Of more pods with gates no command is made: one each would be too long to read."""
RULES = {
    "nodeSelector": "its node selector and node affinity",
    "hostPorts": "its host ports",
    "podAffinity": "its required pod affinity",
    "podAntiAffinity": "its required pod anti-affinity",
    "topologySpread": "its topology spread constraints",
}
QUEUES, PODGROUPS = "queues.scheduling.volcano.sh", "podgroups.scheduling.volcano.sh"
CONSUMERS = "consumers.kube-arbitrator.incubator.k8s.io"


def change_of(situation: Situation, edits: Sequence[Edit]) -> Change:
    """The edits as one change, in the order given: a later one may be about what an earlier one makes."""
    sentences, commands = [], []
    for edit in edits:
        sentences.append(told(situation, edit))
        commands.append(command(situation.snapshot, edit))
        situation = apply(situation, edit)
    return Change(" and ".join(sentences), tuple(edits), "\n".join(commands) if all(commands) else "")


def told(situation: Situation, edit: Edit) -> str:
    """The edit as a noun phrase, with what there is more or less of."""
    snapshot = situation.snapshot
    match edit:
        case SetMinMember() | SetRoleMinimum() | SetRequest() | AddPods() | SetPriority():
            return _of_job(snapshot, edit)
        case SetJobQueue():
            return f"queue {edit.queue} as its queue"
        case Tolerate():
            return f"a toleration of the taint {_taint(edit)}"
        case DropRule():
            return f"{RULES[edit.rule]} dropped"
        case RemoveGates():
            return "the scheduling gates of its pods removed"
        case CreatePodGroup():
            return f"PodGroup {edit.job} created in queue {edit.queue}"
        case CreateQueue():
            return f"queue {edit.queue} created"
        case OpenQueue():
            return f"queue {edit.queue} opened"
        case SetQueueAmount() | SetQueueWeight() | SetGroupLimit():
            return _of_queue(snapshot, edit)
        case SetReclaimable():
            return f"queue {edit.queue} made reclaimable"
        case AddNodeGroup():
            return f"node group {edit.group} added to those of queue {edit.queue}"
        case SetQuota() | SetConsumerLimit() | AllowDisruptions():
            return _of_namespace(snapshot, edit)
        case Uncordon():
            return f"{_nodes(edit.nodes)} uncordoned"
        case RemoveTaint():
            return f"the taint {_taint(edit)} removed from {_nodes(edit.nodes)}"
        case LabelNodes():
            return f"{_nodes(edit.nodes)} labelled {_pairs(edit.labels)}"
        case AddNodes():
            return "1 more node like " + edit.like if edit.count == 1 else f"{edit.count} more nodes like {edit.like}"
        case SetNodeAmount():
            row, column = snapshot.nodes.statics.row[edit.node], snapshot.axis.find(edit.resource)
            has = 0 if column is None else int(snapshot.nodes.allocatable[column, row])
            return f"{_more(edit.resource, has, edit.amount)} on a node like {edit.node}"
        case SetThreshold():
            return f"usage threshold {edit.name} at {edit.percent:g} %"
        case SetOvercommit():
            return f"overcommit-factor {edit.factor:g} in the policy"
        case UseAction():
            return f"action {edit.action} in the policy"


def command(snapshot: Snapshot, edit: Edit) -> str:
    """What makes the edit in a shell; empty where it takes more than a command."""
    match edit:
        case SetMinMember() | SetPriority() | SetJobQueue() | SetRoleMinimum():
            return _patch_group(snapshot, edit)
        case RemoveGates():
            return _ungate(snapshot, edit.job)
        case CreateQueue():
            return _create("Queue", {"name": edit.queue}, {"weight": 1, "reclaimable": True})
        case CreatePodGroup():
            namespace, _, name = edit.job.partition("/")
            spec = {"queue": edit.queue, "minMember": edit.minimum}
            return _create("PodGroup", {"namespace": namespace, "name": name}, spec)
        case OpenQueue():
            return f"vsched queue open {edit.queue}"
        case SetQueueAmount():
            amounts = {edit.resource: format_amount(edit.resource, edit.amount)}
            return _patch_queue(
                edit.queue, {edit.field: {"resource": amounts} if edit.field == "guarantee" else amounts}
            )
        case SetQueueWeight():
            return _patch_queue(edit.queue, {"weight": edit.weight})
        case SetReclaimable():
            return _patch_queue(edit.queue, {"reclaimable": True})
        case SetQuota():
            hard = {edit.resource: format_counted(edit.resource, edit.hard)}
            return _patch("resourcequota", f"{edit.namespace}/{edit.quota}", {"spec": {"hard": hard}})
        case SetConsumerLimit():
            hard = {edit.resource: format_counted(edit.resource, edit.amount)}
            return _patch(
                CONSUMERS, f"{edit.namespace}/{_consumer(snapshot, edit.namespace)}", {"spec": {"hard": hard}}
            )
        case Uncordon():
            return f"kubectl uncordon {' '.join(edit.nodes)}"
        case RemoveTaint():
            return f"kubectl taint nodes {' '.join(edit.nodes)} {_taint(edit)}-"
        case LabelNodes():
            pairs = " ".join(f"{key}={value}" for key, value in sorted(edit.labels.items()))
            return f"kubectl label nodes {' '.join(edit.nodes)} {pairs} --overwrite"
    return ""


# -- words ------------------------------------------------------------------------------------------------------------


def _of_job(snapshot: Snapshot, edit: SetMinMember | SetRoleMinimum | SetRequest | AddPods | SetPriority) -> str:
    job = snapshot.jobs[edit.job]
    match edit:
        case SetMinMember():
            return f"minMember {edit.minimum} ({job.spec.min_member - edit.minimum} fewer)"
        case SetRoleMinimum():
            fewer = dict(job.spec.min_task_member).get(edit.role, 0) - edit.minimum
            return f"a minimum of {edit.minimum} {edit.role} ({fewer} fewer)"
        case SetRequest():
            column = snapshot.axis.find(edit.resource)
            asked = max((dict(task.shape.request).get(column or 0, 0) for task in job.pending.values()), default=0)
            now, then = (format_amount(edit.resource, amount) for amount in (asked, edit.amount))
            return f"{edit.resource} {then} in place of {now} a pod"
        case AddPods():
            of_role = f" of role {edit.role}" if edit.role else ""
            return f"{counted(edit.count, 'more pod', 'more pods')}{of_role}"
        case SetPriority():
            if edit.priority_class:
                return f"priority class {edit.priority_class}"
            return f"a priority of {edit.priority} (now {job.priority})"


def _of_queue(snapshot: Snapshot, edit: SetQueueAmount | SetQueueWeight | SetGroupLimit) -> str:
    queue = snapshot.queues[edit.queue]
    if isinstance(edit, SetQueueWeight):
        return f"weight {edit.weight} for queue {edit.queue} (now {queue.weight})"
    column = snapshot.axis.find(edit.resource)
    if isinstance(edit, SetGroupLimit):
        limit = dict(dict(queue.group_limits or ()).get(edit.group, ()))
        where, field = f"queue {edit.queue} on node group {edit.group}", "limit"
    else:
        limit = dict(getattr(queue, edit.field))
        where, field = f"queue {edit.queue}", edit.field
    has = limit.get(column, 0) if column is not None else 0
    return f"{_more(edit.resource, has, edit.amount)} in {where} ({field} {format_amount(edit.resource, edit.amount)})"


def _of_namespace(snapshot: Snapshot, edit: SetQuota | SetConsumerLimit | AllowDisruptions) -> str:
    match edit:
        case SetQuota():
            lines = (
                line for quota in snapshot.quotas[edit.namespace] if quota.name == edit.quota for line in quota.lines
            )
            has = next((line.hard for line in lines if line.name == edit.resource), 0)
            whole = format_counted(edit.resource.removeprefix("requests."), edit.hard)
            more = _more(edit.resource, has, edit.hard)
            return f"{more} in resource quota {edit.namespace}/{edit.quota} ({whole} in all)"
        case SetConsumerLimit():
            name, amount = _consumer(snapshot, edit.namespace), format_counted(edit.resource, edit.amount)
            return f"a limit of {amount} {edit.resource} in Consumer {edit.namespace}/{name}"
        case AllowDisruptions():
            budgets = snapshot.budgets[edit.namespace]
            has = next((one.allowed for one in budgets if one.name == edit.budget), 0)
            count, budget = edit.allowed - has, f"{edit.namespace}/{edit.budget}"
            return f"{counted(count, 'more eviction', 'more evictions')} allowed by disruption budget {budget}"


def _more(resource: str, has: int, amount: int) -> str:
    """``2 more nvidia.com/gpu``; names of quotas' lines are understood."""
    if resource == "pods":
        return counted(amount - has, "more pod slot", "more pod slots")
    return f"{format_counted(resource.removeprefix('requests.'), amount - has)} more {resource}"


def _nodes(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"node {names[0]}"
    shown = ", ".join(names[:NAMED_MAX])
    others = len(names) - NAMED_MAX
    return f"nodes {shown} and {others} more" if others > 0 else f"nodes {shown}"


def _taint(edit: Tolerate | RemoveTaint) -> str:
    return f"{edit.key}={edit.value}:{edit.effect}" if edit.value else f"{edit.key}:{edit.effect}"


def _pairs(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _consumer(snapshot: Snapshot, namespace: str) -> str:
    """The Consumer that counts for a namespace; every namespace has one of this name where nobody made another."""
    party = None if snapshot.arbitration is None else snapshot.arbitration.parties.get(namespace)
    return "defaults" if party is None or party.claim is None else party.claim.name


# -- commands ---------------------------------------------------------------------------------------------------------


def _patch_group(snapshot: Snapshot, edit: SetMinMember | SetPriority | SetJobQueue | SetRoleMinimum) -> str:
    """A PodGroup that stands for pods without one says what these say: there is nothing in it to change."""
    spec = snapshot.jobs[edit.job].spec
    if spec.implicit or spec.made:
        return ""
    match edit:
        case SetMinMember():
            amounts = {name: format_amount(name, amount) for name, amount in edit.min_resources.items()}
            fields: dict[str, Any] = {"minMember": edit.minimum} | ({"minResources": amounts} if amounts else {})
        case SetRoleMinimum():
            fields = {"minMember": edit.members, "minTaskMember": {edit.role: edit.minimum}}
        case SetPriority():
            if not edit.priority_class:
                return ""
            fields = {"priorityClassName": edit.priority_class}
        case SetJobQueue():
            fields = {"queue": edit.queue}
    return _patch(PODGROUPS, edit.job, {"spec": fields})


def _ungate(snapshot: Snapshot, key: str) -> str:
    gated = sorted(task.name for task in snapshot.jobs[key].pending.values() if task.gated and not task.awaits_queue)
    if len(gated) > GATED_MAX:
        return ""
    namespace = snapshot.jobs[key].spec.namespace
    return "\n".join(_patch("pod", f"{namespace}/{name}", {"spec": {"schedulingGates": None}}) for name in gated)


def _create(kind: str, metadata: Mapping[str, str], spec: Mapping[str, Any]) -> str:
    manifest = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}
    return f"echo '{_json(manifest)}' | kubectl apply -f -"


def _patch_queue(name: str, spec: Mapping[str, Any]) -> str:
    return f"kubectl patch {QUEUES} {name} --type merge -p '{_json({'spec': spec})}'"


def _patch(kind: str, key: str, body: Mapping[str, Any]) -> str:
    namespace, _, name = key.partition("/")
    return f"kubectl patch {kind} {name} -n {namespace} --type merge -p '{_json(body)}'"


def _json(found: Mapping[str, Any]) -> str:
    """As one word for a shell in single quotes: names and amounts of Kubernetes have none in them."""
    return msgspec.json.encode(found).decode()
