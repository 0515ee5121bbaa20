"""deviceshare: places pods on devices that they use whole or in parts, and tells device plugins which.

Device plugins register the devices of nodes, and pods ask for devices: vGPUs (``VGPUEnable``), memory of one GPU
(``GPUSharingEnable``), whole GPUs (``GPUNumberEnable``), or NPUs (``AscendHAMiVNPUEnable``). The plugin looks at each
device of each node: how much of its memory and of its computing power is left, and how many containers use it. Pods
that ask for GPUs of a kind that is not enabled wait, with a reason.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Literal, Self

import msgspec
import numpy as np

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import BindAnnotations, PlacementListener, Plugin, SessionContext
from vsched.framework.points.nodes import Check, NodeFilter, NodeHolders, NodeScore, TaskScore
from vsched.framework.policy import DeviceConfigAt, Policy
from vsched.kernels.deviceshare.table import DeviceOrder
from vsched.model.claims.devices import DevicePool, uuids_of
from vsched.model.deviceshare.records import (
    NODE_LOCKS,
    WHOLE,
    DeviceKind,
    SharedDeviceRequest,
)
from vsched.model.nodes.table import Floats, Ints, Mask, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.plugins.devices.books import SharedDeviceBooks
from vsched.plugins.devices.gpus import gpu_annotations, vgpu_annotations
from vsched.plugins.devices.neighbours import Rule, Tags, as_rule
from vsched.plugins.devices.npu_parts import Chips, in_parts_of_several
from vsched.plugins.devices.npus import npu_annotations
from vsched.plugins.devices.reasons import closest, reasons_of_room, reasons_of_size, refusal_of
from vsched.plugins.devices.scores import BINPACK, SPREAD, DeviceScores
from vsched.plugins.words import arguments
from vsched.plugins.words import devices as words

GEOMETRIES, GEOMETRIES_NAMESPACE = "volcano-vgpu-device-config", "kube-system"


class DeviceShareArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of deviceshare. At most one kind of GPUs is enabled."""

    gpu_sharing: bool = msgspec.field(default=False, name="deviceshare.GPUSharingEnable")
    """Pods ask for memory of one GPU (``volcano.sh/gpu-memory``)."""
    gpu_number: bool = msgspec.field(default=False, name="deviceshare.GPUNumberEnable")
    """Pods ask for whole GPUs (``volcano.sh/gpu-number``)."""
    vgpu: bool = msgspec.field(default=False, name="deviceshare.VGPUEnable")
    """Pods ask for vGPUs (``volcano.sh/vgpu-number`` and others)."""
    policy: str = msgspec.field(default="", name="deviceshare.SchedulePolicy")
    """``binpack`` or ``spread``: which nodes score higher, and which of a node's devices pods get."""
    weight: int = msgspec.field(default=0, name="deviceshare.ScheduleWeight")
    """Of the score; 0 for none."""
    node_lock: bool = msgspec.field(default=False, name="deviceshare.NodeLockEnable")
    """Pods that get devices are bound in turn, node by node, each once the device plugin has served the last."""
    mind_cluster: bool = msgspec.field(default=False, name="deviceshare.AscendMindClusterVNPUEnable")
    """Only false."""
    ascend: bool = msgspec.field(default=False, name="deviceshare.AscendHAMiVNPUEnable")
    """Pods ask for NPUs (``huawei.com/Ascend910B3`` and others)."""
    geometries: str = msgspec.field(default=GEOMETRIES, name="deviceshare.KnownGeometriesCMName")
    """The ConfigMap that says how GPUs may be divided by MIG, and NPUs by templates."""
    geometries_namespace: str = msgspec.field(
        default=GEOMETRIES_NAMESPACE, name="deviceshare.KnownGeometriesCMNamespace"
    )
    """Its namespace."""
    exclusive: list[dict[str, str]] = msgspec.field(default_factory=list, name="deviceshare.GPUExclusiveRules")
    """Pods with all the labels of one of these maps share no vGPU device with each other."""

    def normalised(self) -> Self:
        """The same; raises ValueError for what is not supported, or not together."""
        if self.mind_cluster:
            raise ValueError(arguments.MIND_CLUSTER)
        if self.gpu_sharing + self.gpu_number + self.vgpu > 1:
            raise ValueError(arguments.SEVERAL_KINDS)
        if not (self.geometries and self.geometries_namespace):
            raise ValueError(arguments.NO_GEOMETRIES)
        if self.exclusive and not self.vgpu:
            raise ValueError(arguments.RULES_WITHOUT_VGPU)
        if not all(self.exclusive):
            raise ValueError(arguments.RULE_WITHOUT_LABELS)
        if self.policy not in ("", BINPACK, SPREAD):
            raise ValueError(arguments.unknown_schedule_policy(self.policy))
        return self

    def device_config(self) -> DeviceConfigAt | None:
        """The ConfigMap that says how devices are divided, where pods ask for vGPUs or NPUs."""
        return DeviceConfigAt(self.geometries_namespace, self.geometries) if self.vgpu or self.ascend else None

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The exclusive rules."""
        return tuple(map(as_rule, self.exclusive))

    @property
    def kind(self) -> str:
        """The kind of GPUs that is enabled; empty for none."""
        if self.vgpu:
            return DeviceKind.VGPU
        return DeviceKind.GPU if self.gpu_sharing or self.gpu_number else ""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of devices that are enabled."""
        return frozenset(filter(None, (self.kind, DeviceKind.NPU if self.ascend else "")))

    def order(self, kind: str) -> DeviceOrder:
        """Which of several devices of a node a container gets."""
        if self.policy:
            return DeviceOrder(self.policy)
        return DeviceOrder.LAST if kind == DeviceKind.VGPU else DeviceOrder.FIRST


def locks_nodes(policy: Policy) -> bool:
    """Whether nodes are locked under a policy while pods get devices."""
    plugin = policy.plugin(DeviceShare.name)
    return plugin is not None and isinstance(plugin.args, DeviceShareArgs) and plugin.args.node_lock


class DeviceShare(Plugin[DeviceShareArgs], NodeFilter, NodeScore, TaskScore, PlacementListener, BindAnnotations):
    """Filters and scores nodes by the devices that pods would get, and writes down which they got."""

    name = "deviceshare"
    args_type = DeviceShareArgs

    def open(self, context: SessionContext) -> None:
        """Devices are looked at once the first pod asks for them."""
        self._catalogue, self._now = context.snapshot.device_shares, context.snapshot.now
        self._nodes = context.nodes
        self._pools = context.snapshot.claims.devices.pools
        self._kinds, self._chips = self.args.kinds, Chips(self._catalogue.chips)
        self._rules = self.args.rules
        self._books: dict[str, SharedDeviceBooks] = {}
        self._scores = DeviceScores(len(context.nodes), self.args.policy, self.args.weight)
        self._names: dict[str, str] = {}
        """By uid: the pods that this session has placed."""

    # -- which nodes are possible -----------------------------------------------------------------------------------

    def static_checks(self, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """Nodes with devices that the pod accepts."""
        refusal = refusal_of(self._chips.fitted(shape.devices), self._kinds, whole_gpus=self.args.gpu_number)
        if refusal:
            return [Check(refusal, np.zeros(len(nodes), np.bool_), code=Code.NO_DEVICES, lasting=True)]
        request = self._request_of(shape)
        if request is None:
            return ()
        books, count = self._opened(request), len(nodes)
        there = np.zeros(count, np.bool_)
        there[books.rows] = True
        checks = [Check(words.no_devices(request.chip or request.kind), there, code=Code.NO_DEVICES)]
        if in_parts_of_several(request):
            checks.append(Check(words.ONLY_WHOLE, np.zeros(count, np.bool_), code=Code.NO_DEVICES, lasting=True))
        if request.mode:
            other = _but(books.rows[[one.mode != request.mode for one in books.found]], count)
            reason = words.other_mode(request.mode)
            checks.append(Check(reason, other, code=Code.NO_DEVICES, lasting=True))
        accepted = books.accepted(request)
        if accepted is not None:
            none = _but(books.rows[~accepted.any(axis=0)], count)
            reason = words.none_accepted(_named_by(request))
            checks.append(Check(reason, none, code=Code.NO_DEVICES, lasting=True))
        for one in reasons_of_size(books, request):
            code = Code.NO_DEVICES if one.lasting else Code.DEVICES
            checks.append(Check(one.text, _but(books.rows[one.places], count), code=code, lasting=one.lasting))
        return [check for check in checks if not check.passes.all()]

    def task_class(self, task: Task) -> Hashable:
        """What the pods have in common with which it shares no device; None for most pods."""
        asked = task.shape.devices
        if asked is None or not (asked.spread or self._rules):
            return None
        request = self._request_of(task.shape)
        return None if request is None else self._opened(request).avoided_by(task) or None

    def is_dynamic(self, shape: Shape, task_class: Hashable) -> bool:
        """Whether the pod asks for devices."""
        return self._request_of(shape) is not None

    def dynamic_checks(self, shape: Shape, task_class: Hashable, nodes: NodeTable) -> Sequence[Check]:
        """Where devices have room for the pod, now and once leaving pods have left."""
        request = self._request_of(shape)
        if request is None:
            return ()
        books, avoided = self._opened(request), task_class if isinstance(task_class, tuple) else ()
        now = self._by_row(books, books.fit(request, avoided).passes)
        later = self._by_row(books, books.fit(request, avoided, later=True).passes) if books.in_motion else None
        details = partial(self._details, books, request, avoided)
        return [Check(words.NO_ROOM, now, True, Code.DEVICES, later, details=details)]

    def _details(self, books: SharedDeviceBooks, request: SharedDeviceRequest, avoided: Tags) -> list[Check]:
        """What is short on which nodes."""
        count = len(self._nodes)
        return [
            Check(one.text, _but(books.rows[one.places], count), resolvable=True, code=Code.DEVICES)
            for one in reasons_of_room(books, request, avoided)
        ]

    def holders(self, shape: Shape, rows: Mask) -> NodeHolders | None:
        """What is left of the device that comes closest, and which pods hold the rest."""
        request = self._request_of(shape)
        if request is None:
            return None
        books = self._opened(request)
        short = rows[books.rows] & ~books.fit(request).passes
        return closest(books, request, np.flatnonzero(short), self._catalogue, self._names)

    def _by_row(self, books: SharedDeviceBooks, passes: Mask) -> Mask:
        """bool[nodes]; nodes without devices are no concern of a dynamic check."""
        found = np.ones(len(self._nodes), np.bool_)
        found[books.rows] = passes
        return found

    def nodes_for(self, shape: Shape, snapshot: Snapshot) -> Mask | None:
        """Nodes whose devices could hold the pod if nobody used them."""
        catalogue = snapshot.device_shares
        request = Chips(catalogue.chips).fitted(shape.devices)
        if request is None or request.kind not in self.args.kinds:
            return None
        books = SharedDeviceBooks(catalogue, snapshot.nodes, request.kind, self.args.order(request.kind))
        found = np.zeros(len(snapshot.nodes), np.bool_)
        found[books.rows] = books.unused().choose(request.asks, books.order, books.accepted(request)).passes
        return found

    # -- which node is best -------------------------------------------------------------------------------------------

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats | None:
        """By the devices that a pod would get: how full they would be (binpack), or how many nobody uses (spread)."""
        request = self._request_of(shape)
        if request is None or not self.args.policy or not self.args.weight or request.kind == DeviceKind.GPU:
            return None
        return np.array(self._scores.of(self._opened(request), request)[rows])

    def scores_task(self, task: Task) -> bool:
        """Whether the pod shares no device with certain others, so that it would get other devices."""
        return bool(self.args.policy and self.args.weight) and self.task_class(task) is not None

    def task_score(self, task: Task, nodes: NodeTable, candidates: Mask) -> Floats | None:
        """By how much the score differs for the devices that such a pod would get."""
        request = self._request_of(task.shape)
        if request is None:
            return None
        books = self._opened(request)
        return self._scores.of(books, request, books.avoided_by(task)) - self._scores.of(books, request)

    # -- what is placed -----------------------------------------------------------------------------------------------

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Take what the task gets of the node's devices."""
        request = self._request_of(task.shape)
        if request is not None:
            self._names[task.uid] = task.key
            self._opened(request).take(job, task, row)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Give it back."""
        request = self._request_of(task.shape)
        if request is not None:
            self._opened(request).give_back(job, task, row)

    def bind_annotations(self, task: Task) -> Sequence[tuple[str, str]]:
        """What the task got, as device plugins expect it."""
        request = self._request_of(task.shape)
        books = None if request is None else self._books.get(request.kind)
        if request is None or books is None:
            return ()
        held, parts = books.holds(task.uid), books.parts(task)
        if held is None or not any(parts):
            return ()
        node = books.found[held.place].node
        if request.kind == DeviceKind.NPU:
            return npu_annotations(request, parts, self._chips, node, self._now)
        if request.kind == DeviceKind.GPU:
            return gpu_annotations(parts, self._now)
        return vgpu_annotations(parts, node, self._now)

    def node_lock(self, task: Task) -> str:
        """That of the device plugin, if nodes are locked and the task got devices."""
        request = self._request_of(task.shape) if self.args.node_lock else None
        return "" if request is None else NODE_LOCKS[request.kind]

    def _request_of(self, shape: Shape) -> SharedDeviceRequest | None:
        """What a pod asks of the devices that are enabled."""
        request = self._chips.fitted(shape.devices)
        if request is None or request.kind not in self._kinds:
            return None
        if request.kind == DeviceKind.GPU and (request.asks[0].thousandths >= WHOLE) is not self.args.gpu_number:
            return None
        return request

    def _opened(self, request: SharedDeviceRequest) -> SharedDeviceBooks:
        books = self._books.get(request.kind)
        if books is None:
            order = self.args.order(request.kind)
            books = SharedDeviceBooks(self._catalogue, self._nodes, request.kind, order, self._rules)
            self._books[request.kind] = books
            published = published_uuids(self._pools, self._nodes)
            if published:
                books.close(published)
        return books


def published_uuids(pools: Sequence[DevicePool], nodes: NodeTable) -> frozenset[tuple[str, str]]:
    """The devices that drivers publish for ResourceClaims, by node and uuid: these are given out whole, by claims."""
    return nodes.statics.memo.of("deviceshare", "published", (pools,), _uuids_in)


def _uuids_in(pools: Sequence[DevicePool]) -> frozenset[tuple[str, str]]:
    return frozenset((device.node, uuid) for pool in pools for device in pool.devices for uuid in uuids_of(device))


def _but(rows: Ints, count: int) -> Mask:
    """bool[nodes]: all nodes but these."""
    found = np.ones(count, np.bool_)
    found[rows] = False
    return found


def _named_by(request: SharedDeviceRequest) -> Literal["", "type", "uuid"]:
    """By what a pod names the devices that it accepts; empty where that is more than one property."""
    types, uuids = request.types or request.other_types or request.chip, request.uuids or request.other_uuids
    return "" if types and uuids else "type" if types else "uuid" if uuids else ""
