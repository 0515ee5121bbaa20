"""Rules that say which fields of the model's records are names, and records with pseudonyms in these fields.

Each field that can hold text has a rule here (a test checks that). Fields without a rule are numbers and flags.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from vsched.model.anonymous.names import Pseudonyms
from vsched.model.arbitration.records import (
    AllocationRecord,
    Arbitration,
    ArbitrationCondition,
    Bucket,
    Ceiling,
    Claim,
    NamespaceAccount,
    Pool,
)
from vsched.model.jobs.budget import DisruptionBudget
from vsched.model.jobs.job import Condition, JobSpec
from vsched.model.nodes.table import NodeAttributes, Taint
from vsched.model.plan import (
    Bind,
    CycleReport,
    Evict,
    JobOutcome,
    NamespaceOutcome,
    Nominate,
    QueueOutcome,
    Ungate,
    Unschedulable,
)
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
)
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Namespace, NodeGroups, PriorityClass, Queue
from vsched.model.queues.quota import Quota, QuotaLine

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
LEFT_OUT = "(left out)"
"""Replaces a text that may contain names."""
_OF_CLASS = ".storageclass."


class Renaming:
    """Makes records with pseudonyms; an object that several records share stays one object."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self.names = pseudonyms
        self._made: dict[int, Any] = {}
        """By ``id`` of the original, which lives longer than this object."""

    def once(self, original: S) -> S:
        """The renamed record of a shared one, made once."""
        made: S | None = self._made.get(id(original))
        if made is None:
            made = self._made[id(original)] = self.record(original)
        return made

    def record(self, original: S) -> S:
        """The record with pseudonyms."""
        rules = RULES.get(type(original))
        if rules is None:
            return original
        values = {name: rule(self, getattr(original, name)) for name, rule in rules.items()}
        return msgspec.structs.replace(original, **values)

    def of_any(self, value: Any) -> Any:
        """Renames records inside tuples, lists and maps; keys of maps stay."""
        match value:
            case msgspec.Struct():
                return self.record(value)
            case tuple() | list():
                return tuple(map(self.of_any, value))
            case dict():
                return {key: self.of_any(each) for key, each in value.items()}
            case _:
                return value


# -- rules ----------------------------------------------------------------------------------------------------------

Rule = Callable[[Renaming, Any], Any]


def name(renaming: Renaming, value: str) -> str:
    """A name, or a key made of names."""
    return renaming.names.name(value)


def value(renaming: Renaming, value: str) -> str:
    """A text that may be a node name, such as a label value."""
    return renaming.names.value(value)


def node(renaming: Renaming, value: str) -> str:
    """The name of a node."""
    return renaming.names.node(value)


def uid(renaming: Renaming, value: str) -> str:
    """A uid."""
    return renaming.names.uid(value)


def address(renaming: Renaming, value: str) -> str:
    """An IP address of a node."""
    return renaming.names.address(value)


def counted(renaming: Renaming, value: str) -> str:
    """A resource name; it stays, except for a storage class in it."""
    return renaming.names.name(value) if _OF_CLASS in value else value


def word(renaming: Renaming, value: str) -> str:
    """A fixed word, such as a phase; it stays."""
    return value


def sentence(renaming: Renaming, value: str) -> str:
    """A sentence that may contain names; it is replaced by ``LEFT_OUT``."""
    return LEFT_OUT if value else ""


def shared(renaming: Renaming, value: Any) -> Any:
    """A record that other records share."""
    return None if value is None else renaming.once(value)


def parts(renaming: Renaming, value: Any) -> Any:
    """Records with their own rules, also inside tuples and maps."""
    return renaming.of_any(value)


def each(rule: Rule) -> Rule:
    """A rule for each item of a tuple or set."""
    return lambda renaming, found: None if found is None else type(found)(rule(renaming, one) for one in found)


def pairs(first: Rule, second: Rule | None = None) -> Rule:
    """Rules for the first and second items of a tuple of pairs, or for the keys and values of a map."""

    def rule(renaming: Renaming, found: Any) -> Any:
        if found is None:
            return None
        items = found.items() if isinstance(found, Mapping) else found
        made = ((first(renaming, key), second(renaming, one) if second else one) for key, one in items)
        return dict(made) if isinstance(found, Mapping) else tuple(made)

    return rule


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
        "priority_class": name,
        "phase": word,
        "written_phase": word,
        "conditions": parts,
        "annotations": pairs(name, name),
        "quota_request": _AMOUNTS,
        "written_for": name,
        "unsupported": sentence,
        "wishes": each(sentence),
    },
    Task: {
        **_POD,
        "shape": shared,
        "labels": shared,
        "node": node,
        "role": name,
        "nominated": node,
        "priority_class": name,
        "condition": sentence,
        "unsupported": sentence,
    },
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
    },
    Rules: {
        "node_name": node,
        "node_selector": pairs(name, value),
        "required": parts,
        "preferred": parts,
        "tolerations": parts,
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
    Pool: dict.fromkeys(("hard_limits", "spare_limits"), _AMOUNTS),
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
    Bind: {**_POD, "node": node},
    Evict: {**_POD, "node": node, "action": word, "beneficiary": name},
    Nominate: {**_POD, "node": value},
    Ungate: _POD,
    Unschedulable: {**_POD, "reason": word, "message": sentence, "reasons": lambda renaming, found: {}},
    JobOutcome: {
        "key": name,
        "queue": name,
        "phase": word,
        "conditions": parts,
        "message": sentence,
        "reasons": lambda renaming, found: {},
        "code": word,
    },
    QueueOutcome: {
        "name": name,
        **dict.fromkeys(("allocated", "deserved", "capability", "guarantee", "subtree"), _AMOUNTS),
        "problem_reason": word,
        "problem": sentence,
    },
    NamespaceOutcome: {"queue": name, "namespace": name, "allocated": _AMOUNTS},
    CycleReport: {
        **dict.fromkeys(("binds", "evictions", "nominations", "ungated"), parts),
        **dict.fromkeys(("jobs", "unschedulable", "queues", "namespaces"), pairs(name, parts)),
        "spans": lambda renaming, found: (),
    },
}
