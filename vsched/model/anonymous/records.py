"""Rules that say which fields of the model's records are names, and records with pseudonyms in these fields.

Each field that can hold text has a rule here (a test checks that). Fields without a rule are numbers and flags.
"""

from __future__ import annotations

from vsched.model.anonymous.claims import CLAIM_RULES
from vsched.model.anonymous.deviceshare import DEVICE_RULES, assigned, bound
from vsched.model.anonymous.rules import (
    Rule,
    address,
    counted,
    each,
    name,
    node,
    pairs,
    parts,
    sentence,
    shared,
    uid,
    value,
    word,
)
from vsched.model.anonymous.topology import TOPOLOGY_RULES
from vsched.model.anonymous.zones import ZONE_RULES
from vsched.model.arbitration.records import (
    AllocationRecord,
    Arbitration,
    ArbitrationCondition,
    Bucket,
    Ceiling,
    Claim,
    NamespaceAccount,
    PoolLimits,
)
from vsched.model.jobs.budget import DisruptionBudget
from vsched.model.jobs.native import ChildGroup, NativeGroup
from vsched.model.jobs.provisioning import Provisioning
from vsched.model.jobs.spec import Condition, JobSpec
from vsched.model.jobs.task_topology import TaskTopology
from vsched.model.nodes.masks import NodeMask
from vsched.model.nodes.table import NodeAttributes, Taint
from vsched.model.plan import (
    AskAgain,
    Bind,
    CycleReport,
    Evict,
    JobOutcome,
    NamespaceOutcome,
    Nominate,
    PlannedStart,
    QueueOutcome,
    SubGroupOutcome,
    Ungate,
    Unschedulable,
    Withdraw,
)
from vsched.model.pods.cooperation import EvictionRequest, ResponderAnswer
from vsched.model.pods.shape import (
    HostPort,
    NodeTerm,
    PodAffinity,
    PodLabels,
    PodTerm,
    Requirement,
    Rules,
    ScoringStrategy,
    Selector,
    Shape,
    Spread,
    Toleration,
    ZoneRequest,
)
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Namespace, NodeGroups, PriorityClass, Queue
from vsched.model.queues.quota import Quota, QuotaLine

_CONDITION: dict[str, Rule] = {"kind": word, "status": word, "reason": word, "message": sentence}
_OBJECT: dict[str, Rule] = {"namespace": name, "name": name, "uid": uid}
_POD: dict[str, Rule] = {**_OBJECT, "job": name}
_AMOUNTS = pairs(counted)
_STATED = pairs(counted, word)

RULES: dict[type, dict[str, Rule]] = {
    # jobs and pods
    Condition: _CONDITION,
    JobSpec: {
        **_OBJECT,
        "queue": name,
        "min_task_member": pairs(name),
        "topology": shared,
        "sub_groups": parts,
        "task_topology": parts,
        "priority_class": name,
        "phase": word,
        "written_phase": word,
        "conditions": parts,
        "annotations": pairs(name, name),
        "quota_request": _AMOUNTS,
        "barred": each(name),
        "written_for": name,
        "unsupported": sentence,
        "wishes": each(sentence),
        "native": parts,
        "gang": sentence,
        "made_for": sentence,
        "said_by_pods": each(word),
    },
    NodeMask: {"nodes": each(node), "name": name},
    Provisioning: {"request": name, "class_name": word, "state": word, "message": sentence},
    NativeGroup: {"version": word, "invalid": sentence, "children": parts},
    ChildGroup: {
        "name": name,
        "uid": uid,
        "version": word,
        "parent": name,
        "reason": word,
        "message": sentence,
        "topology": name,
    },
    TaskTopology: {"affinity": each(each(name)), "anti_affinity": each(each(name)), "order": each(name)},
    Task: {
        **_POD,
        "shape": shared,
        "labels": shared,
        "group": name,
        "node": node,
        "role": name,
        "nominated": node,
        "priority_class": name,
        "condition": sentence,
        "unsupported": sentence,
        "claims": shared,
        "zones": word,
        "devices": assigned,
        "asked": parts,
    },
    EvictionRequest: {"action": word, "beneficiary": name, "answer": parts},
    ResponderAnswer: {"message": sentence},
    PodLabels: {"namespace": name, "pairs": pairs(name, value)},
    # requests and rules of pods
    Shape: {
        "rules": shared,
        "ports": parts,
        "affinity": shared,
        "spread": parts,
        "images": each(name),
        "strategy": parts,
        "limits": _AMOUNTS,
        "zones": parts,
        "devices": parts,
    },
    ZoneRequest: {"policy": word},
    Rules: {
        "node_name": node,
        "node_selector": pairs(name, value),
        "required": parts,
        "preferred": parts,
        "tolerations": parts,
        "refused": each(node),
    },
    NodeTerm: {"expressions": parts, "fields": parts},
    Requirement: {"key": name, "operator": word, "values": each(value)},
    Selector: {"requirements": parts},
    Toleration: {"key": name, "operator": word, "value": name, "effect": word},
    PodAffinity: {"required": parts, "preferred": parts, "anti_required": parts, "anti_preferred": parts},
    PodTerm: {"topology_key": name, "selector": parts, "namespaces": each(name), "namespace_selector": parts},
    Spread: {"topology_key": name, "selector": parts},
    HostPort: {"protocol": word, "ip": address},
    ScoringStrategy: {"weights": pairs(counted)},
    # nodes
    NodeAttributes: {
        "name": node,
        "labels": pairs(name, value),
        "taints": parts,
        "images": pairs(name),
        "annotations": pairs(name, name),
    },
    Taint: {"key": name, "value": name, "effect": word},
    # queues, namespaces, limits
    Queue: {
        "name": name,
        "uid": uid,
        "parent": name,
        "state": word,
        "annotations": pairs(name, name),
        "affinity": parts,
        "group_limits": pairs(value),
        "missing_class": name,
    },
    NodeGroups: dict.fromkeys(("required", "preferred", "anti_required", "anti_preferred"), each(value)),
    PriorityClass: {"name": name},
    Namespace: {"name": name, "labels": pairs(name, value), "queue": name},
    DisruptionBudget: {"namespace": name, "name": name, "selector": parts, "disrupted": each(name)},
    Quota: {"name": name, "lines": parts},
    QuotaLine: {"name": counted, "resource": counted},
    Ceiling: {**dict.fromkeys(("limits", "own_limits", "deserved_limits"), _AMOUNTS), "pools": each(name)},
    PoolLimits: dict.fromkeys(("hard_limits", "spare_limits"), _AMOUNTS),
    # arbitration
    ArbitrationCondition: _CONDITION,
    Claim: {
        **_OBJECT,
        "version": word,
        "hard": _AMOUNTS,
        "reserved": _AMOUNTS,
        "parent": name,
        "stated_hard": _STATED,
        "stated_reserved": _STATED,
        "conditions": parts,
    },
    Bucket: {
        "name": name,
        "parent": name,
        "uid": uid,
        "version": word,
        "hard": _AMOUNTS,
        "reserved": _AMOUNTS,
        "deserved": _STATED,
        "allocated": _STATED,
        "conditions": parts,
    },
    AllocationRecord: {
        **_OBJECT,
        "version": word,
        **dict.fromkeys(("deserved", "hard", "reserved", "allocated"), _STATED),
        "conditions": parts,
    },
    NamespaceAccount: {
        "namespace": name,
        **dict.fromkeys(("quota", "held", "leaving", "waiting"), _AMOUNTS),
        "tasks": pairs(uid, shared),
        "pending": pairs(uid, shared),
        "claim": parts,
        "idle_claims": parts,
        "allocations": parts,
    },
    Arbitration: {"parties": pairs(name, parts), "buckets": pairs(name, parts), "storage": _AMOUNTS},
    # decisions
    Bind: {**_POD, "node": node, "claims": parts, "annotations": bound, "lock": word},
    Evict: {**_POD, "node": node, "action": word, "beneficiary": name, "whom": sentence, "to": node},
    Withdraw: {**_POD, "node": node, "action": word, "beneficiary": name, "why": word},
    AskAgain: {**_POD, "action": word, "beneficiary": name, "whom": sentence},
    Nominate: {**_POD, "node": value},
    Ungate: _POD,
    Unschedulable: {**_POD, "reason": word, "message": sentence, "reasons": lambda renaming, found: {}},
    JobOutcome: {
        "key": name,
        "domain": name,
        "queue": name,
        "phase": word,
        "conditions": parts,
        "message": sentence,
        "reasons": lambda renaming, found: {},
        "code": word,
        "sub_groups": parts,
        "planned": parts,
        "unplanned": word,
        "ahead_of": name,
    },
    PlannedStart: {"nodes": each(node), "ahead": each(name)},
    SubGroupOutcome: {"name": name, "domain": name},
    QueueOutcome: {
        "name": name,
        **dict.fromkeys(("allocated", "deserved", "capability", "guarantee", "subtree"), _AMOUNTS),
        "problem_reason": word,
        "problem": sentence,
    },
    NamespaceOutcome: {"queue": name, "namespace": name, "allocated": _AMOUNTS},
    CycleReport: {
        **dict.fromkeys(
            ("binds", "evictions", "withdrawals", "asks_responders", "nominations", "ungated", "released"), parts
        ),
        **dict.fromkeys(("jobs", "unschedulable", "queues", "namespaces"), pairs(name, parts)),
        "spans": lambda renaming, found: (),
    },
    **CLAIM_RULES,
    **DEVICE_RULES,
    **TOPOLOGY_RULES,
    **ZONE_RULES,
}
