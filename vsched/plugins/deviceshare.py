"""deviceshare: places pods on devices that they use whole or in parts, and tells device plugins which.

Device plugins register the devices of nodes, and pods ask for devices: vGPUs (``VGPUEnable``), memory of one GPU
(``GPUSharingEnable``) or whole GPUs (``GPUNumberEnable``). The plugin looks at each device of each node: how much of
its memory and of its computing power is left, and how many containers use it. Pods that ask for devices of a kind that
is not enabled are placed by sums alone, as for other extended resources.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, Self

import msgspec
import numpy as np

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import BindAnnotations, PlacementListener, Plugin, SessionContext
from vsched.framework.points.nodes import Check, NodeFilter, NodeScore
from vsched.kernels.deviceshare.table import DeviceOrder
from vsched.model.claims.devices import DevicePool
from vsched.model.deviceshare.records import (
    GPU_INDEX,
    VGPU_IDS,
    VGPU_IDS_TO_ALLOCATE,
    VGPU_NODE,
    WHOLE,
    DeviceKind,
    DeviceRequest,
    HeldParts,
)
from vsched.model.nodes.table import Floats, Ints, Mask, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.plugins.pods.device_books import DeviceBooks

NO_DEVICES = "node(s) had no registered devices of the kind {kind}"
OTHER_MODE = "node(s) whose devices are divided in another mode than {mode}"
NOT_ACCEPTED = "node(s) had no device that the pod accepts"
NO_ROOM = "node(s) had too few devices with enough memory and computing power left"
VENDOR = "NVIDIA"
"""The type of all vGPUs in annotations of pods."""
GEOMETRIES, GEOMETRIES_NAMESPACE = "volcano-vgpu-device-config", "kube-system"
_PUBLISHED = "uuids of published devices"
BINPACK, SPREAD = "binpack", "spread"


class DeviceShareArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of deviceshare. At most one kind of devices is enabled."""

    gpu_sharing: bool = msgspec.field(default=False, name="deviceshare.GPUSharingEnable")
    """Pods ask for memory of one GPU (``volcano.sh/gpu-memory``)."""
    gpu_number: bool = msgspec.field(default=False, name="deviceshare.GPUNumberEnable")
    """Pods ask for whole GPUs (``volcano.sh/gpu-number``)."""
    vgpu: bool = msgspec.field(default=False, name="deviceshare.VGPUEnable")
    """Pods ask for vGPUs (``volcano.sh/vgpu-number`` and others)."""
    policy: str = msgspec.field(default="", name="deviceshare.SchedulePolicy")
    """``binpack`` or ``spread``: which nodes score higher for vGPUs, and which of a node's devices pods get."""
    weight: int = msgspec.field(default=0, name="deviceshare.ScheduleWeight")
    """Of the score; 0 for none."""
    node_lock: bool = msgspec.field(default=False, name="deviceshare.NodeLockEnable")
    """Only false: bindings to a node are not made to wait for each other."""
    mind_cluster: bool = msgspec.field(default=False, name="deviceshare.AscendMindClusterVNPUEnable")
    """Only false."""
    ascend: bool = msgspec.field(default=False, name="deviceshare.AscendHAMiVNPUEnable")
    """Only false."""
    geometries: str = msgspec.field(default=GEOMETRIES, name="deviceshare.KnownGeometriesCMName")
    """Only the default: it is for MIG, which is not supported."""
    geometries_namespace: str = msgspec.field(
        default=GEOMETRIES_NAMESPACE, name="deviceshare.KnownGeometriesCMNamespace"
    )
    """Only the default."""
    exclusive: list[dict[str, str]] = msgspec.field(default_factory=list, name="deviceshare.GPUExclusiveRules")
    """Only empty: GPUs are not reserved for pods with labels."""

    def normalised(self) -> Self:
        """The same; raises ValueError for what is not supported, or not together."""
        unsupported = {
            "NodeLockEnable": self.node_lock,
            "AscendMindClusterVNPUEnable": self.mind_cluster,
            "AscendHAMiVNPUEnable": self.ascend,
            "KnownGeometriesCMName": self.geometries != GEOMETRIES,
            "KnownGeometriesCMNamespace": self.geometries_namespace != GEOMETRIES_NAMESPACE,
            "GPUExclusiveRules": bool(self.exclusive),
        }
        for name, is_set in unsupported.items():
            if is_set:
                raise ValueError(f"deviceshare.{name}: it is not supported (expected nothing, or its default)")
        if self.gpu_sharing + self.gpu_number + self.vgpu > 1:
            raise ValueError(
                "deviceshare.GPUSharingEnable, deviceshare.GPUNumberEnable, deviceshare.VGPUEnable: "
                "several are true (expected one of them at most)"
            )
        if self.policy not in ("", BINPACK, SPREAD):
            raise ValueError(f"deviceshare.SchedulePolicy: {self.policy!r} is unknown (expected binpack or spread)")
        return self

    @property
    def kind(self) -> str:
        """The kind of devices that is enabled; empty for none."""
        if self.vgpu:
            return DeviceKind.VGPU
        return DeviceKind.GPU if self.gpu_sharing or self.gpu_number else ""

    @property
    def order(self) -> DeviceOrder:
        """Which of several devices of a node a container gets."""
        if self.policy:
            return DeviceOrder(self.policy)
        return DeviceOrder.LAST if self.vgpu else DeviceOrder.FIRST


class Published(NamedTuple):
    """The uuids of devices that drivers publish, kept from session to session."""

    pools: Sequence[DevicePool]
    uuids: frozenset[tuple[str, str]]


class KnownScores(NamedTuple):
    """The scores of all nodes for a request, and how many changes are taken into account."""

    scores: Floats
    position: int


class DeviceShare(Plugin[DeviceShareArgs], NodeFilter, NodeScore, PlacementListener, BindAnnotations):
    """Filters and scores nodes by the devices that pods would get, and writes down which they got."""

    name = "deviceshare"
    args_type = DeviceShareArgs

    def open(self, context: SessionContext) -> None:
        """Devices are looked at once the first pod asks for them."""
        self._catalogue, self._now = context.snapshot.device_shares, context.snapshot.now
        self._nodes = context.nodes
        self._pools = context.snapshot.claims.devices.pools
        self._kind = self.args.kind
        self._books: DeviceBooks | None = None
        self._scores: dict[DeviceRequest, KnownScores] = {}

    # -- which nodes are possible -----------------------------------------------------------------------------------

    def static_checks(self, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """Nodes with devices that the pod accepts."""
        request = self._request_of(shape)
        if request is None:
            return ()
        books, count = self._opened(), len(nodes)
        there = np.zeros(count, np.bool_)
        there[books.rows] = True
        checks = [Check(NO_DEVICES.format(kind=self._kind), there, code=Code.DEVICES)]
        if request.mode:
            other = books.rows[[one.mode != request.mode for one in books.found]]
            checks.append(Check(OTHER_MODE.format(mode=request.mode), _but(other, count), code=Code.DEVICES))
        accepted = books.accepted(request)
        if accepted is not None:
            checks.append(Check(NOT_ACCEPTED, _but(books.rows[~accepted.any(axis=0)], count), code=Code.DEVICES))
        return [check for check in checks if not check.passes.all()]

    def is_dynamic(self, shape: Shape, task_class: Hashable) -> bool:
        """Whether the pod asks for devices."""
        return self._request_of(shape) is not None

    def dynamic_checks(self, shape: Shape, task_class: Hashable, nodes: NodeTable) -> Sequence[Check]:
        """Where devices have room for the pod, now and once leaving pods have left."""
        request = self._request_of(shape)
        if request is None:
            return ()
        books = self._opened()
        now = self._by_row(books, books.fit(request).passes)
        later = self._by_row(books, books.fit(request, later=True).passes) if books.in_motion else None
        return [Check(NO_ROOM, now, resolvable=True, code=Code.DEVICES, later=later)]

    def _by_row(self, books: DeviceBooks, passes: Mask) -> Mask:
        """bool[nodes]; nodes without devices are no concern of a dynamic check."""
        found = np.ones(len(self._nodes), np.bool_)
        found[books.rows] = passes
        return found

    # -- which node is best -------------------------------------------------------------------------------------------

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats | None:
        """By the devices that a pod would get: how full they would be (binpack), or how many nobody uses (spread)."""
        request = self._request_of(shape)
        if request is None or not self.args.policy or not self.args.weight or request.kind != DeviceKind.VGPU:
            return None
        return np.array(self._scores_of(request)[rows])

    def _scores_of(self, request: DeviceRequest) -> Floats:
        books = self._opened()
        known, position = self._scores.get(request), len(books.changed)
        if known is None:
            known = KnownScores(np.zeros(len(self._nodes)), -1)
            places = np.arange(len(books.rows))
        else:
            places = np.array(list(dict.fromkeys(books.changed[known.position :])), np.intp)
        if len(places):
            known.scores[books.rows[places]] = self._points(request, places)
        self._scores[request] = KnownScores(known.scores, position)
        return known.scores

    def _points(self, request: DeviceRequest, places: Ints) -> Floats:
        """float64[places]: the scores of some nodes."""
        books = self._opened()
        fit, table = books.fit(request), books.free_at(places)
        points = np.zeros(len(places))
        for ask, slots in zip(request.asks, fit.slots, strict=True):
            chosen = slots[:, places]
            table.take(ask, chosen)
            if self.args.policy == SPREAD:
                points += np.where(chosen & (table.users == 1), 100.0, 0.0).sum(axis=0)
            else:
                counts = table.total_memory > 0
                total = np.where(counts, table.total_memory, WHOLE)
                used = total - np.where(counts, table.memory, table.thousandths)
                points += np.where(chosen, 100.0 * used / total, 0.0).sum(axis=0)
        rounded: Floats = np.floor(points + 0.5) * self.args.weight
        return rounded

    # -- what is placed -----------------------------------------------------------------------------------------------

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Take what the task gets of the node's devices."""
        if self._request_of(task.shape) is not None:
            self._opened().take(job, task, row)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Give it back."""
        if self._request_of(task.shape) is not None:
            self._opened().give_back(job, task, row)

    def bind_annotations(self, task: Task) -> Sequence[tuple[str, str]]:
        """What the task got, as device plugins expect it."""
        if self._books is None or self._request_of(task.shape) is None:
            return ()
        held, parts = self._books.holds(task.uid), self._books.parts(task)
        if held is None or not any(parts):
            return ()
        if self._kind == DeviceKind.GPU:
            indices = ",".join(str(part.index) for some in parts for part in some)
            return (("volcano.sh/predicate-time", str(int(self._now * 1_000_000_000))), (GPU_INDEX, indices))
        text, seconds = _written(parts), str(int(self._now))
        return (
            (VGPU_NODE, self._books.found[held.place].node),
            ("volcano.sh/vgpu-time", seconds),
            (VGPU_IDS, text),
            (VGPU_IDS_TO_ALLOCATE, text),
            ("volcano.sh/bind-phase", "allocating"),
            ("volcano.sh/bind-time", seconds),
        )

    def _request_of(self, shape: Shape) -> DeviceRequest | None:
        """What a pod asks of the devices that are enabled."""
        request = shape.devices
        if request is None or request.kind != self._kind:
            return None
        if self._kind == DeviceKind.GPU and (request.asks[0].thousandths >= WHOLE) is not self.args.gpu_number:
            return None
        return request

    def _opened(self) -> DeviceBooks:
        if self._books is None:
            self._books = DeviceBooks(self._catalogue, self._nodes, self._kind, self.args.order)
            published = published_uuids(self._pools, self._nodes)
            if published:
                self._books.close(published)
        return self._books


def published_uuids(pools: Sequence[DevicePool], nodes: NodeTable) -> frozenset[tuple[str, str]]:
    """The devices that drivers publish for ResourceClaims, by node and uuid: these are given out whole, by claims."""
    kept = nodes.statics.kept
    known = kept.get(_PUBLISHED)
    if isinstance(known, Published) and known.pools is pools:
        return known.uuids
    found = frozenset(
        (device.node, value)
        for pool in pools
        for device in pool.devices
        for name, value in device.model.attributes
        if name.rpartition("/")[2] == "uuid" and isinstance(value, str)
    )
    kept[_PUBLISHED] = Published(pools, found)
    return found


def _but(rows: Ints, count: int) -> Mask:
    """bool[nodes]: all nodes but these."""
    found = np.ones(count, np.bool_)
    found[rows] = False
    return found


def _written(parts: HeldParts) -> str:
    """The parts by container, as device plugins read them."""
    return ";".join(
        "".join(f"{part.uuid},{VENDOR},{part.memory},{part.thousandths // 10}:" for part in some) for some in parts
    )
