"""Devices, claims and pods straight in the model, for tests of what a session does with devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.support.small import SmallCluster
from vsched.framework.claims.devices.handler import DeviceHandler
from vsched.framework.claims.handler import ClaimRules
from vsched.model.claims.catalogue import ClaimCatalogue, DeviceCatalogue
from vsched.model.claims.devices import (
    AllocatedDevice,
    AllocationResult,
    ClaimConsumer,
    ClaimSpec,
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceConstraint,
    DeviceId,
    DevicePool,
    DeviceRequest,
    DeviceSelector,
    DeviceTaint,
    DeviceTraits,
    Quantities,
    device_model,
)
from vsched.model.nodes.table import NodeTable, Taint
from vsched.model.pods.claims import PodClaims, PodDevices
from vsched.model.pods.shape import NodeTerm, Requirement
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

DRIVER = "gpu"
"""The driver of all devices, and the name of the class that selects them."""
RULES = ClaimRules()
GPU = DeviceClass(DRIVER, (DeviceSelector(f"device.driver == '{DRIVER}'"),))


def amounts(**values: int) -> Quantities:
    """Whole units by name."""
    return tuple(sorted((f"{DRIVER}/{name}", value * 1000) for name, value in values.items()))


def device(
    name: str,
    node: str = "n1",
    *,
    pool: str = "",
    driver: str = DRIVER,
    capacity: Quantities = (),
    shareable: bool = False,
    taints: Sequence[str] = (),
    consumes: Mapping[str, Mapping[str, int]] | None = None,
    attributes: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Device:
    """A device. A taint is ``key:effect``; attributes without a domain are the driver's."""
    found = sorted((key if "/" in key else f"{driver}/{key}", value) for key, value in (attributes or {}).items())
    return Device(
        DeviceId(driver, pool or node, name),
        device_model(driver, tuple(found), capacity, shareable),
        node,
        DeviceTraits(
            taints=tuple(DeviceTaint(Taint(text.partition(":")[0], "", text.partition(":")[2])) for text in taints),
            consumes=tuple((counters, tuple(sorted(some.items()))) for counters, some in (consumes or {}).items()),
            **fields,
        ),
    )


def pool(*devices: Device, **fields: Any) -> DevicePool:
    """The pool of these devices."""
    first = devices[0].id
    return DevicePool(first.driver, first.pool, fields.pop("generation", 1), devices, **fields)


def gpus(node: str, count: int, **fields: Any) -> DevicePool:
    """A pool of equal devices: ``gpu-0``, ``gpu-1``, …"""
    return pool(*(device(f"gpu-{number}", node, **fields) for number in range(count)))


def request(name: str = "r", count: int = 1, *expressions: str, **fields: Any) -> DeviceRequest:
    """A request for devices of the class, with these selectors."""
    fields.setdefault("device_class", DRIVER)
    return DeviceRequest(name, selectors=tuple(map(DeviceSelector, expressions)), count=count, **fields)


def spec(*requests: DeviceRequest | Sequence[DeviceRequest], constraints: Iterable[DeviceConstraint] = ()) -> ClaimSpec:
    """What a claim asks for; a list is a request with alternatives."""
    return ClaimSpec(
        tuple((one,) if isinstance(one, DeviceRequest) else tuple(one) for one in requests), tuple(constraints)
    )


def has(*devices: str | AllocatedDevice, node: str = "n1", driver: str = DRIVER) -> AllocationResult:
    """An allocation of devices of a node's pool, usable there."""
    found = tuple(AllocatedDevice("r", DeviceId(driver, node, one)) if isinstance(one, str) else one for one in devices)
    return AllocationResult(found, only(node))


def only(*nodes: str) -> tuple[NodeTerm, ...]:
    """Terms for these nodes, by name."""
    return (NodeTerm(fields=(Requirement("metadata.name", "In", nodes),)),)


class DeviceWorld:
    """Nodes, devices, claims and pods; ``handler`` is what a session makes of them."""

    def __init__(
        self, *pools: DevicePool, nodes: Sequence[str] = ("n1", "n2"), classes: Sequence[DeviceClass] = (GPU,)
    ) -> None:
        self.cluster = SmallCluster()
        for name in nodes:
            self.cluster.node(name, zone=name[0])
        self.pools = tuple(sorted(pools, key=lambda one: (one.driver, one.name)))
        self.classes = {one.name: one for one in classes}
        self.claims: dict[str, DeviceClaim] = {}
        self.users: dict[str, dict[str, Task]] = {}
        self.extended: dict[str, str] = {}
        """Class by resource."""
        self.plugins: dict[str, frozenset[str]] = {}
        self.made: dict[str, str] = {}

    def claim(self, name: str, asked: ClaimSpec | DeviceRequest | None = None, **fields: Any) -> DeviceClaim:
        """A claim in namespace ``ns``; ``users`` are pods with a node that it is reserved for."""
        asked = spec(asked) if isinstance(asked, DeviceRequest) else asked or spec(request())
        users: Sequence[Task] = fields.pop("users", ())
        fields.setdefault("consumers", tuple(ClaimConsumer(task.uid, task.name) for task in users))
        key = f"ns/{name}"
        made = self.claims[key] = DeviceClaim(key, f"uid-{name}", asked, **fields)
        if users:
            self.users[key] = {task.uid: task for task in users}
        return made

    def pod(self, name: str, *claims: str, status: Status = Status.PENDING, node: str = "", **amounts_: int) -> Task:
        """A pod of namespace ``ns`` that names these claims; ``claim@`` means that it is made from a template."""
        for resource in amounts_:
            self.cluster.axis.column(resource)
        entries = tuple(
            PodDevices(f"c{at}", f"ns/{made}" if (made := text.rstrip("@")) else "", "template" if made != text else "")
            for at, text in enumerate(claims)
        )
        shape = self.cluster.shape(**amounts_)
        labels = self.cluster.shapes.labels("ns", {})
        wanted = PodClaims(devices=entries) if entries else None
        return Task(f"uid-{name}", "ns", name, "ns/job", shape, labels, status, node, claims=wanted)

    def own(self, name: str, asked: ClaimSpec | DeviceRequest | None = None, **fields: Any) -> Task:
        """A pod with a claim of its own, made from a template."""
        self.claim(f"{name}-claim", asked, owner=f"uid-{name}")
        return self.pod(name, f"{name}-claim@", **fields)

    def catalogue(self) -> DeviceCatalogue:
        column = self.cluster.axis.column
        return DeviceCatalogue(
            claims=dict(self.claims),
            classes=self.classes,
            pools=self.pools,
            allocated={key: claim for key, claim in self.claims.items() if claim.allocation is not None},
            users={key: dict(tasks) for key, tasks in self.users.items()},
            extended={column(name): kind for name, kind in self.extended.items()},
            made=self.made,
            plugins={column(name): nodes for name, nodes in self.plugins.items()},
        )

    def handler(self, rules: ClaimRules = RULES) -> DeviceSession:
        snapshot = replace(self.cluster.snapshot(), claims=ClaimCatalogue(devices=self.catalogue()))
        return DeviceSession(snapshot, snapshot.nodes, rules)


class DeviceSession(DeviceHandler):
    """The handler, with answers that are easy to compare."""

    def __init__(self, snapshot: Snapshot, nodes: NodeTable, rules: ClaimRules) -> None:
        super().__init__(snapshot, nodes, rules)
        self.names = nodes.statics.names

    def serving(self, task: Task, *, later: bool = False) -> list[str]:
        """The nodes that can serve a task, by name."""
        return [name for row, name in enumerate(self.names) if self.fits(task, row, later=later)]

    def passing(self, task: Task, *, later: bool = False) -> list[str]:
        """The nodes that the masks let pass, by name."""
        checks = self.checks(task)
        masks = [check.later if later and check.later is not None else check.passes for check in checks]
        return [name for row, name in enumerate(self.names) if all(mask[row] for mask in masks)]

    def got(self, task: Task) -> list[str]:
        """The devices that were chosen for a task, as ``request=device``."""
        plan = self.plan(task)
        chosen = [one for choice in (plan.devices if plan else ()) for one in choice.allocation.devices]
        return [f"{one.request}={one.device.device}" for one in chosen]
