"""Volumes, their claims and the pods that use them, straight in the model: a short language for tests of volumes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vsched.framework.claims.handler import ClaimRules
from vsched.framework.claims.volumes.handler import VolumeHandler
from vsched.model.claims.catalogue import VolumeCatalogue
from vsched.model.claims.volumes import (
    NO_PROVISIONER,
    Attachment,
    CSIDriver,
    StorageCapacity,
    StorageClass,
    Volume,
    VolumeClaim,
)
from vsched.model.nodes.table import NodeAttributes, NodeStatics
from vsched.model.pods.claims import PodClaims, PodVolume
from vsched.model.pods.shape import NodeTerm, Requirement, Selector, ShapeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

GI = 1 << 30
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
CSI = "disk.csi.example.com"
ALL_NODES = Selector()
RULES = ClaimRules()


def one_of(key: str, *values: str) -> NodeTerm:
    """A term of node affinity: the label has one of the values."""
    return NodeTerm((Requirement(key, "In", values),))


def on(*nodes: str) -> tuple[NodeTerm, ...]:
    """The affinity of volumes that only these nodes reach."""
    return (one_of(HOST, *nodes),)


def within(*zones: str) -> tuple[NodeTerm, ...]:
    """The affinity of volumes of these zones."""
    return (one_of(ZONE, *zones),)


def labelled(**labels: str) -> Selector:
    """A selector of volumes or nodes; underscores stand for dashes."""
    return Selector(tuple(Requirement(key.replace("_", "-"), "In", (value,)) for key, value in labels.items()))


class StorageWorld:
    """Nodes, what there is of storage, and pods with claims."""

    def __init__(self, **zones: str) -> None:
        """Nodes by name with their zones (empty for none); each has its name as label too."""
        self.labels = {name: {HOST: name} | ({ZONE: zone} if zone else {}) for name, zone in zones.items()}
        self.claims: dict[str, VolumeClaim] = {}
        self.volumes: dict[str, Volume] = {}
        self.classes: dict[str, StorageClass] = {}
        self.drivers: dict[str, CSIDriver] = {}
        self.limits: dict[str, dict[str, int | None]] = {}
        self.capacities: dict[str, list[StorageCapacity]] = {}
        self.attachments: dict[str, list[Attachment]] = {}
        self.tasks: list[Task] = []
        self._shapes = ShapeTable()

    # -- storage ----------------------------------------------------------------------------------------------------

    def storage_class(self, name: str, provisioner: str = CSI, *, waits: bool = True, **fields: Any) -> StorageWorld:
        self.classes[name] = StorageClass(name, provisioner, waits, **fields)
        return self

    def local_class(self, name: str) -> StorageWorld:
        """A class of volumes that people make."""
        return self.storage_class(name, NO_PROVISIONER)

    def claim(self, name: str, storage_class: str = "", size: int = 1, **fields: Any) -> StorageWorld:
        """A claim for ``size`` GiB."""
        key = f"ns/{name}"
        fields.setdefault("modes", ("ReadWriteOnce",))
        self.claims[key] = VolumeClaim(key, f"uid-{name}", storage_class, size * GI, **fields)
        return self

    def volume(self, name: str, storage_class: str = "", size: int = 1, **fields: Any) -> StorageWorld:
        """A volume of ``size`` GiB."""
        fields.setdefault("modes", ("ReadWriteOnce",))
        self.volumes[name] = Volume(name, storage_class, size * GI, **fields)
        return self

    def bound(
        self, name: str, *, volume: str = "", modes: tuple[str, ...] = ("ReadWriteOnce",), **fields: Any
    ) -> StorageWorld:
        """A claim that is bound, and its volume."""
        pv = volume or f"pv-{name}"
        self.volume(pv, modes=modes, available=False, claim=f"ns/{name}", claim_uid=f"uid-{name}", **fields)
        return self.claim(name, volume=pv, bound=True, modes=modes)

    def bound_csi(self, name: str, driver: str = CSI, *, handle: str = "", **fields: Any) -> StorageWorld:
        """A claim that is bound to a volume of a CSI driver."""
        return self.bound(name, driver=driver, handle=handle or f"handle-{name}", **fields)

    def driver(self, name: str = CSI, **fields: bool) -> StorageWorld:
        self.drivers[name] = CSIDriver(name, **fields)
        return self

    def limit(self, most: int | None, *nodes: str, driver: str = CSI) -> StorageWorld:
        """The nodes (all, if none is named) can attach so many volumes of a driver."""
        for node in nodes or tuple(self.labels):
            self.limits.setdefault(node, {})[driver] = most
        return self

    def capacity(
        self, storage_class: str, size: int | None, nodes: Selector | None = ALL_NODES, largest: int | None = None
    ) -> StorageWorld:
        """Free storage of a class in GiB, on all nodes if none are selected."""
        known = self.capacities.setdefault(storage_class, [])
        known.append(
            StorageCapacity(
                f"ns/{storage_class}-{len(known)}",
                storage_class,
                nodes,
                None if size is None else size * GI,
                None if largest is None else largest * GI,
            )
        )
        return self

    def attach(self, node: str, volume: str, driver: str = CSI) -> StorageWorld:
        """A VolumeAttachment."""
        known = self.attachments.setdefault(node, [])
        known.append(Attachment(f"attachment-{len(known)}-{node}", node, driver, volume))
        return self

    # -- pods -------------------------------------------------------------------------------------------------------

    def task(
        self, name: str, *claims: str, ephemeral: Iterable[str] = (), node: str = "", status: Status = Status.PENDING
    ) -> Task:
        """A pod with claims."""
        own = tuple(PodVolume(f"{name}-{volume}", ephemeral=True) for volume in ephemeral)
        volumes = (*(PodVolume(claim) for claim in claims), *own)
        return Task(
            f"uid-{name}",
            "ns",
            name,
            "ns/job",
            self._shapes.shape(((0, 1000), (2, 1))),
            self._shapes.labels("ns", {}),
            status,
            node,
            claims=PodClaims(volumes) if volumes else None,
        )

    def running(self, name: str, node: str, *claims: str, leaving: bool = False) -> Task:
        """A pod on a node."""
        task = self.task(name, *claims, node=node, status=Status.RELEASING if leaving else Status.RUNNING)
        self.tasks.append(task)
        return task

    # -- what a session sees ----------------------------------------------------------------------------------------

    def statics(self) -> NodeStatics:
        return NodeStatics([NodeAttributes(name, self.labels[name]) for name in sorted(self.labels)])

    def catalogue(self) -> VolumeCatalogue:
        users: dict[str, dict[str, Task]] = {}
        by_node: dict[str, dict[str, Task]] = {}
        for task in self.tasks:
            by_node.setdefault(task.node, {})[task.uid] = task
            for volume in task.claims.volumes if task.claims is not None else ():
                users.setdefault(f"{task.namespace}/{volume.claim}", {})[task.uid] = task
        bound = {claim.volume for claim in self.claims.values() if claim.bound}
        free = sorted(
            (one for one in self.volumes.values() if one.name not in bound), key=lambda one: (one.capacity, one.name)
        )
        return VolumeCatalogue(
            claims=dict(self.claims),
            volumes=dict(self.volumes),
            available=_by(free, lambda one: one.storage_class),
            classes=dict(self.classes),
            drivers=dict(self.drivers),
            limits={name: dict(found) for name, found in self.limits.items()},
            capacities={name: tuple(found) for name, found in self.capacities.items()},
            attachments={name: tuple(found) for name, found in self.attachments.items()},
            users=users,
            by_node=by_node,
        )

    def handler(self, rules: ClaimRules = RULES) -> VolumeHandler:
        """The volumes in a session over this world."""
        return VolumeHandler(self.catalogue(), self.statics(), rules)


def _by(volumes: Iterable[Volume], key: Any) -> Mapping[str, tuple[Volume, ...]]:
    found: dict[str, list[Volume]] = {}
    for one in volumes:
        found.setdefault(key(one), []).append(one)
    return {name: tuple(several) for name, several in found.items()}


class Asked:
    """What a handler answers about one task."""

    def __init__(self, world: StorageWorld, handler: VolumeHandler, task: Task) -> None:
        self.names = world.statics().names
        self.handler = handler
        self.task = task

    def nodes(self, *, later: bool = False) -> str:
        """The nodes that can serve the task, joined by spaces. Compares the masks with the exact answer."""
        if self.handler.obstacle(self.task) is not None:
            return ""
        found = []
        for row, name in enumerate(self.names):
            masks = all(
                (check.later if later and check.later is not None else check.passes)[row]
                for check in self.handler.checks(self.task)
            )
            fits = self.handler.fits(self.task, row, later=later)
            assert masks or not fits, f"the masks lack {name}, which fits"
            assert fits or not masks or not self.handler.is_exact(self.task), (
                f"the masks have {name}, which does not fit"
            )
            if fits:
                found.append(name)
        return " ".join(found)

    def reasons(self) -> dict[str, str]:
        """Each reason with the nodes that it keeps away, as the first of their reasons."""
        refusal = self.handler.obstacle(self.task)
        if refusal is not None:
            return {refusal.message: " ".join(self.names)}
        found: dict[str, list[str]] = {}
        left = dict(enumerate(self.names))
        for check in self.handler.checks(self.task):
            for row in [row for row in left if not check.passes[row]]:
                found.setdefault(check.reason, []).append(left.pop(row))
        for row in [row for row in left if not self.handler.fits(self.task, row, later=False)]:
            found.setdefault(self.handler.unfit(self.task).reason, []).append(left.pop(row))
        return {reason: " ".join(sorted(nodes)) for reason, nodes in found.items()}

    def scores(self) -> dict[str, float] | None:
        """The scores of the nodes that can serve the task."""
        scores = self.handler.score(self.task)
        if scores is None:
            return None
        able = self.nodes().split()
        return {name: float(scores[row]) for row, name in enumerate(self.names) if name in able}

    def take(self, node: str, *, later: bool = False) -> Asked:
        """Place the task."""
        row = self.names.index(node)
        assert self.handler.fits(self.task, row, later=later)
        self.handler.take(self.task, row, later=later)
        return self

    def chosen(self) -> dict[str, str]:
        """The volume of each claim that something was chosen for; a star for one that is to be made."""
        plan = self.handler.plan(self.task)
        if plan is None:
            return {}
        assert plan.wait == tuple(one.claim for one in plan.volumes)
        return {one.claim.removeprefix("ns/"): one.volume or "*" for one in plan.volumes}


def ask(world: StorageWorld, task: Task, handler: VolumeHandler | None = None, rules: ClaimRules = RULES) -> Asked:
    """What the volumes of a session say of a task."""
    return Asked(world, handler or world.handler(rules), task)
