"""Edits made for real: what an explanation says would help, through the API server or the policy's file."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

from vsched.explain.edits.base import Edit, PolicyEdit
from vsched.explain.edits.jobs import (
    SetJobQueue,
    SetMinMember,
    SetMinResources,
    SetPriority,
    SetRoleMinimum,
    SetVictimMinimum,
)
from vsched.explain.edits.namespaces import AllowDisruptions, SetConsumerLimit, SetQuota
from vsched.explain.edits.nodes import AddNodes, LabelNodes, RemoveTaint, SetNodeAmount, Uncordon
from vsched.explain.edits.others import CreatePodGroup, CreatePriorityClass
from vsched.explain.edits.pods import AddPods, RemoveGates, SetRequest
from vsched.explain.edits.queues import (
    AddNodeGroup,
    CreateQueue,
    LowerGuarantee,
    OpenQueue,
    SetGroupLimit,
    SetJobLimit,
    SetQueueAmount,
    SetQueueWeight,
    SetReclaimable,
    SetWallTime,
)
from vsched.explain.edits.rules import DropRule, Tolerate
from vsched.explain.situation import Situation, apply
from vsched.framework.policy import Policy
from vsched.model.amounts.counted import format_counted
from vsched.model.amounts.resources import format_amount
from vsched.model.queues.queue import MAX_WALL_TIME, exactly
from vsched.model.snapshot import Snapshot
from vsched.settings.document import policy_text
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
Change = Callable[[Obj], None]
QUEUES, PODGROUPS = "scheduling.volcano.sh/queues", "scheduling.volcano.sh/podgroups"
CONSUMERS = "kube-arbitrator.incubator.k8s.io/consumers"
BATCH = "scheduling.volcano.sh/v1beta1"
WISH = "scheduling.volcano.sh/queue-state"
GROUP = "scheduling.k8s.io/group-name"
WHEN = "requiredDuringSchedulingIgnoredDuringExecution"


class Making:
    """Makes edits of what a session saw."""

    def __init__(self, cluster: Cluster, policy_file: Path, snapshot: Snapshot, policy: Policy) -> None:
        self._cluster = cluster
        self._client = cluster.client
        self._policy_file = policy_file
        self._snapshot = snapshot
        self._policy = policy
        self._minima: dict[str, int] = {}
        """How many pods disruption budgets left in place before the first edit, by name."""

    def make(self, edit: Edit) -> None:
        """Make one edit, as its command or a person would."""
        match edit:
            case CreatePodGroup() | CreateQueue() | CreatePriorityClass():
                self._create(edit)
            case (
                SetMinMember()
                | SetVictimMinimum()
                | SetMinResources()
                | SetRoleMinimum()
                | SetJobQueue()
                | SetPriority()
            ):
                self._patch(PODGROUPS, *_split(edit.job), lambda found: _say_of_group(found["spec"], edit))
            case SetRequest() | Tolerate() | DropRule():
                self._remake(edit.job, lambda pod: _say_of_pod(pod["spec"], edit))
            case RemoveGates():
                for pod in self._waiting(edit.job):
                    self._patch("pods", *_named(pod), lambda found: found["spec"].pop("schedulingGates"))
            case AddPods():
                self._add_pods(edit)
            case (
                OpenQueue()
                | SetQueueAmount()
                | LowerGuarantee()
                | SetQueueWeight()
                | SetJobLimit()
                | SetWallTime()
                | SetReclaimable()
                | AddNodeGroup()
                | SetGroupLimit()
            ):
                self._patch(QUEUES, "", edit.queue, lambda found: _say_of_queue(found, edit))
            case SetQuota() | SetConsumerLimit() | AllowDisruptions():
                self._of_namespace(edit)
            case Uncordon() | RemoveTaint() | LabelNodes():
                for name in edit.nodes:
                    self._patch("nodes", "", name, lambda found: _say_of_node(found, edit))
            case SetNodeAmount() | AddNodes():
                self._machines(edit)
            case PolicyEdit():
                self._of_policy(edit)

    # -- the parts --------------------------------------------------------------------------------------------------

    def _patch(self, resource: str, namespace: str, name: str, change: Change, *, status: bool = False) -> None:
        def changed(found: Obj) -> Obj:
            other = deepcopy(found)
            change(other)
            return other

        (self._client.patch_status if status else self._client.patch)(resource, namespace, name, changed)

    def _create(self, edit: CreatePodGroup | CreateQueue | CreatePriorityClass) -> None:
        if isinstance(edit, CreatePriorityClass):
            found = {"kind": "PriorityClass", "metadata": {"name": edit.name}, "value": edit.value}
            self._cluster.apply([{"apiVersion": "scheduling.k8s.io/v1", **found}])
            return
        if isinstance(edit, CreateQueue):
            made: Obj = {"kind": "Queue", "metadata": {"name": edit.queue}, "spec": {"weight": 1, "reclaimable": True}}
        else:
            namespace, name = _split(edit.job)
            spec = {"minMember": edit.minimum, "queue": edit.queue}
            made = {"kind": "PodGroup", "metadata": {"namespace": namespace, "name": name}, "spec": spec}
        self._cluster.apply([{"apiVersion": BATCH, **made}])

    def _waiting(self, key: str) -> list[Obj]:
        """The pods of a job that have no node."""
        namespace, name = _split(key)
        pods = self._client.list("pods", namespace)
        return [
            pod
            for pod in pods
            if (pod["metadata"].get("annotations") or {}).get(GROUP) == name and not pod["spec"].get("nodeName")
        ]

    def _remake(self, key: str, change: Change) -> None:
        """What a pod asks for cannot be changed: another one is made in its place, as a controller would."""
        for pod in self._waiting(key):
            self._client.delete("pods", *_named(pod), grace_seconds=0)
            self._client.create("pods", _fresh(pod, pod["metadata"]["name"], change))

    def _add_pods(self, edit: AddPods) -> None:
        like = self._client.get("pods", _split(edit.job)[0], edit.like)
        assert like is not None

        def in_role(pod: Obj) -> None:
            if edit.role:
                pod["metadata"]["annotations"]["volcano.sh/task-spec"] = edit.role

        for number in range(edit.count):
            name = f"{edit.like}-by-hand-{number}"
            if self._client.get("pods", like["metadata"]["namespace"], name) is None:
                self._client.create("pods", _fresh(like, name, in_role))

    def _of_namespace(self, edit: SetQuota | SetConsumerLimit | AllowDisruptions) -> None:
        match edit:
            case SetQuota():
                amount = format_counted(edit.resource.removeprefix("requests."), edit.hard)
                self._patch(
                    "resourcequotas",
                    edit.namespace,
                    edit.quota,
                    lambda found: found["spec"]["hard"].update({edit.resource: amount}),
                )
            case SetConsumerLimit():
                amount = format_counted(edit.resource, edit.amount)
                self._patch(
                    CONSUMERS,
                    edit.namespace,
                    "defaults",
                    lambda found: found["spec"].setdefault("hard", {}).update({edit.resource: amount}),
                )
            case AllowDisruptions():
                budgets = self._snapshot.budgets[edit.namespace]
                more = edit.allowed - next(one.allowed for one in budgets if one.name == edit.budget)
                minimum = self._minima.setdefault(edit.budget, self._minimum_of(edit))

                def lowered(found: Obj) -> None:
                    found["spec"]["minAvailable"] = minimum - more

                self._patch("policy/poddisruptionbudgets", edit.namespace, edit.budget, lowered)

    def _minimum_of(self, edit: AllowDisruptions) -> int:
        budget = self._client.get("policy/poddisruptionbudgets", edit.namespace, edit.budget)
        assert budget is not None
        return int(budget["spec"]["minAvailable"])

    def _machines(self, edit: SetNodeAmount | AddNodes) -> None:
        if isinstance(edit, SetNodeAmount):
            amount = format_amount(edit.resource, edit.amount)

            def enlarged(found: Obj) -> None:
                for amounts in (found["status"]["allocatable"], found["status"]["capacity"]):
                    amounts[edit.resource] = amount

            self._patch("nodes", "", edit.node, enlarged, status=True)
            return
        like = self._client.get("nodes", "", edit.like)
        assert like is not None
        for number in range(edit.count):
            name = f"{edit.like}-new-{number + 1}"
            if self._client.get("nodes", "", name) is not None:
                continue
            labels = {**(like["metadata"].get("labels") or {}), "kubernetes.io/hostname": name}
            status = {part: like["status"][part] for part in ("allocatable", "capacity")}
            self._client.create(
                "nodes",
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status},
            )

    def _of_policy(self, edit: PolicyEdit) -> None:
        edited = apply(Situation(self._snapshot, self._policy), edit).policy
        beside = self._policy_file.with_suffix(".new")
        beside.write_text(policy_text(edited), encoding="utf-8")
        beside.rename(self._policy_file)


# -- what objects say -------------------------------------------------------------------------------------------------


def _say_of_group(
    spec: Obj,
    edit: SetMinMember | SetVictimMinimum | SetMinResources | SetRoleMinimum | SetJobQueue | SetPriority,
) -> None:
    match edit:
        case SetMinMember() | SetVictimMinimum():
            spec["minMember"] = edit.minimum
            if edit.min_resources:
                spec["minResources"] = {**spec["minResources"], **_quantities(edit.min_resources)}
        case SetMinResources():
            spec["minResources"] = {**spec["minResources"], **_quantities(edit.amounts)}
        case SetRoleMinimum():
            spec["minMember"] = edit.members
            spec["minTaskMember"] = {**spec["minTaskMember"], edit.role: edit.minimum}
        case SetJobQueue():
            spec["queue"] = edit.queue
        case SetPriority():
            assert edit.priority_class, "there is a class of this value"
            spec["priorityClassName"] = edit.priority_class


def _quantities(amounts: dict[str, int]) -> Obj:
    return {name: format_amount(name, amount) for name, amount in amounts.items()}


def _say_of_pod(spec: Obj, edit: SetRequest | Tolerate | DropRule) -> None:
    match edit:
        case SetRequest():
            amount = format_amount(edit.resource, edit.amount)
            for resources in spec["containers"][0]["resources"].values():
                if edit.resource in resources:
                    resources[edit.resource] = amount
        case Tolerate():
            made = {"key": edit.key, "operator": "Equal", "value": edit.value, "effect": edit.effect}
            spec["tolerations"] = [*(spec.get("tolerations") or []), made]
        case DropRule():
            _drop_rule(spec, edit)


def _drop_rule(spec: Obj, edit: DropRule) -> None:
    affinity = spec.get("affinity") or {}
    match edit.rule:
        case "nodeSelector":
            spec["nodeSelector"] = {}
            affinity.pop("nodeAffinity", None)
        case "hostPorts":
            for container in spec["containers"]:
                for port in container.get("ports") or ():
                    port.pop("hostPort", None)
        case "podAffinity":
            affinity.get("podAffinity", {}).pop(WHEN, None)
        case "podAntiAffinity":
            affinity.get("podAntiAffinity", {}).pop(WHEN, None)
        case "topologySpread":
            spec["topologySpreadConstraints"] = []


def _say_of_queue(
    found: Obj,
    edit: OpenQueue
    | SetQueueAmount
    | LowerGuarantee
    | SetQueueWeight
    | SetJobLimit
    | SetWallTime
    | SetReclaimable
    | AddNodeGroup
    | SetGroupLimit,
) -> None:
    spec = found["spec"]
    annotations = found["metadata"].setdefault("annotations", {})
    match edit:
        case OpenQueue():
            annotations[WISH] = "open"
        case LowerGuarantee():
            spec["guarantee"]["resource"] |= _quantities({edit.resource: edit.amount})
        case SetQueueAmount():
            amounts = spec.setdefault("guarantee", {}) if edit.field == "guarantee" else spec
            field = "resource" if edit.field == "guarantee" else edit.field
            amounts[field] = {**(amounts.get(field) or {}), edit.resource: format_amount(edit.resource, edit.amount)}
        case SetQueueWeight():
            spec["weight"] = edit.weight
        case SetJobLimit():
            annotations[edit.annotation] = str(edit.most)
        case SetWallTime():
            annotations[MAX_WALL_TIME] = exactly(edit.seconds)
        case SetReclaimable():
            spec["reclaimable"] = True
        case AddNodeGroup():
            groups = spec.setdefault("affinity", {}).setdefault("nodeGroupAffinity", {}).setdefault(WHEN, [])
            groups.append(edit.group)
        case SetGroupLimit():
            amount = format_amount(edit.resource, edit.amount)
            annotations["volcano.sh/nodegroup-resource-limits"] = f'{{"{edit.group}":{{"{edit.resource}":"{amount}"}}}}'


def _say_of_node(found: Obj, edit: Uncordon | RemoveTaint | LabelNodes) -> None:
    match edit:
        case Uncordon():
            found["spec"]["unschedulable"] = False
        case RemoveTaint():
            found["spec"]["taints"] = [taint for taint in found["spec"].get("taints") or () if taint["key"] != edit.key]
        case LabelNodes():
            found["metadata"].setdefault("labels", {}).update(edit.labels)


def _fresh(pod: Obj, name: str, change: Change) -> Obj:
    """A new pod like one there is, and different in this."""
    metadata = {part: deepcopy(pod["metadata"][part]) for part in ("namespace", "labels", "annotations")}
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "name": name}, "spec": deepcopy(pod["spec"])}
    made["spec"].pop("nodeName", None)
    change(made)
    return made


def _split(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name


def _named(pod: Obj) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]
