"""Namespaces, Consumers and buckets in a few words, for tests of arbitration that need no API objects.

Amounts are texts, ``"cpu=2 memory=4Gi"``, or mappings by counted name; in a mapping, integers are base units::

    world("cpu=2 memory=2Gi", [party("a", held="cpu=2 memory=2Gi"), party("b", waiting="cpu=2", parent="area")],
          buckets=[bucket("area", hard="cpu=1")])
    world({"n1": "cpu=1", "n2": "cpu=1"}, [party("a", weight=2), party("b")],
          pods=[*pods("a", 1, "cpu=1", on="n1"), *pods("b", 1, "cpu=1")])

What a party holds and waits for is either said, or follows from the pods; pods take room of their nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from tests.support.small import SmallCluster
from vsched.model.amounts.counted import counted_name, format_counted, parse_counted, summed
from vsched.model.arbitration.records import Arbitration, Bucket, Claim, Division, NamespaceAccount
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

Said = str | Mapping[str, str | int]
NOW = 1_800_000_000.0


class Pod(NamedTuple):
    """A pod as a test says it; ``fields`` are fields of ``Task``."""

    namespace: str
    name: str
    request: dict[str, int]
    status: Status
    node: str
    fields: dict[str, Any]


def amounts(said: Said) -> dict[str, int]:
    """Base units by counted name."""
    if isinstance(said, str):
        said = dict(word.split("=") for word in said.split())
    return {
        counted_name(name): value if isinstance(value, int) else parse_counted(counted_name(name), value)
        for name, value in said.items()
    }


def party(
    namespace: str,
    *,
    held: Said = "",
    leaving: Said = "",
    waiting: Said = "",
    hard: Said = "",
    reserved: Said = "",
    weight: int = 0,
    parent: str = "",
    quota: Said = "",
    consumer: bool = True,
    **fields: Any,
) -> NamespaceAccount:
    """A namespace with a Consumer ``defaults`` of this limit, reservation, weight and parent; the rest are its fields.

    Without ``consumer`` it has none, and ``weight`` is that of its quotas.
    """
    claim = Claim(
        namespace, "defaults", f"{namespace}-defaults", "1", 1, hard=amounts(hard), reserved=amounts(reserved)
    )
    claim = msgspec.structs.replace(
        claim, weight=weight, parent=parent, stated_hard=_stated(claim.hard), stated_reserved=_stated(claim.reserved)
    )
    fields.setdefault("weight", 1 if consumer else weight or 1)
    return NamespaceAccount(
        namespace,
        quota=amounts(quota),
        held=amounts(held),
        leaving=amounts(leaving),
        waiting=amounts(waiting),
        claim=claim if consumer else None,
        **fields,
    )


def bucket(name: str, *, hard: Said = "", reserved: Said = "", weight: int = 1, parent: str = "") -> Bucket:
    """A bucket."""
    return Bucket(name, f"bucket-{name}", "1", 1, amounts(hard), amounts(reserved), weight, parent)


def pods(
    namespace: str,
    count: int,
    request: Said,
    *,
    name: str = "pod",
    on: str = "",
    status: Status | None = None,
    **fields: Any,
) -> list[Pod]:
    """Pods ``name-0`` and so on: on a node they run, else they wait; ``pods=1`` is asked for by each."""
    stated = status if status is not None else Status.RUNNING if on else Status.PENDING
    asked = {**amounts(request), "pods": 1}
    return [Pod(namespace, f"{name}-{number}", asked, stated, on, fields) for number in range(count)]


def world(
    total: Said | Mapping[str, Mapping[str, str | int] | str],
    parties: Iterable[NamespaceAccount],
    *,
    buckets: Iterable[Bucket] = (),
    pods: Sequence[Pod] = (),
    storage: Said = "",
) -> Snapshot:
    """A cluster of one node ``n1`` with this total, or of these nodes by name, and what is to be divided in it.

    A node of which nothing else is said holds 110 pods.
    """
    cluster = SmallCluster()
    nodes = {"n1": total} if isinstance(total, str) or not _by_node(total) else total
    for name, said in nodes.items():
        cluster.node(name)
        cluster.nodes[name] = {"pods": 110} | amounts(said)  # type: ignore[arg-type]
        for resource in cluster.nodes[name]:
            cluster.axis.column(resource)
    tasks: dict[str, dict[str, Task]] = {}
    for pod in pods:
        task = _task(cluster, pod)
        tasks.setdefault(pod.namespace, {})[task.uid] = task
    snapshot = cluster.snapshot()
    for task in (task for owned in tasks.values() for task in owned.values()):
        if task.node:
            cluster._occupy(snapshot.nodes, snapshot.placed, task)
    known = {each.namespace: _with_pods(each, pods, tasks.get(each.namespace, {})) for each in parties}
    arbitration = Arbitration(known, {each.name: each for each in buckets}, amounts(storage), 1)
    return replace(snapshot, now=NOW, arbitration=arbitration)


def deserved(division: Division) -> dict[str, dict[str, str]]:
    """What each namespace deserves, as quantities, zeros left out."""
    return {name: shown(award.deserved) for name, award in division.namespaces.items()}


def shown(counted: Mapping[str, int]) -> dict[str, str]:
    """Amounts as quantities, zeros left out."""
    return {name: format_counted(name, value) for name, value in sorted(counted.items()) if value}


def _stated(counted: Mapping[str, int]) -> dict[str, str]:
    return {name: format_counted(name, value) for name, value in counted.items()}


def _by_node(total: Mapping[str, Any]) -> bool:
    return any(isinstance(value, Mapping) or (isinstance(value, str) and "=" in value) for value in total.values())


def _task(cluster: SmallCluster, pod: Pod) -> Task:
    limits = {name: value for name, value in pod.request.items() if name.startswith("limits.")}
    request = sorted((cluster.axis.column(name), value) for name, value in pod.request.items() if name not in limits)
    shape = cluster.shapes.shape(
        tuple(pair for pair in request if pair[1]),
        scoring_cpu=pod.request.get("cpu", 0),
        scoring_memory=pod.request.get("memory", 0),
        limits=tuple(sorted(limits.items())),
    )
    labels = cluster.shapes.labels(pod.namespace, {"app": pod.name.rpartition("-")[0]})
    uid = f"{pod.namespace}-{pod.name}"
    fields = {"job": ""} | pod.fields
    return Task(uid, pod.namespace, pod.name, shape=shape, labels=labels, status=pod.status, node=pod.node, **fields)


def _with_pods(party: NamespaceAccount, pods: Sequence[Pod], tasks: dict[str, Task]) -> NamespaceAccount:
    """The party with what its pods hold and wait for added to what is said of it."""
    own = [pod for pod in pods if pod.namespace == party.namespace]
    waits = [pod.request for pod in own if pod.status is Status.PENDING and not pod.fields.get("gated")]
    return msgspec.structs.replace(
        party,
        held=summed([party.held, *(pod.request for pod in own if pod.node)]),
        leaving=summed([party.leaving, *(pod.request for pod in own if pod.status is Status.RELEASING)]),
        waiting=summed([party.waiting, *waits]),
        tasks=tasks,
        pending={uid: task for uid, task in tasks.items() if task.status is Status.PENDING and not task.gated},
    )
