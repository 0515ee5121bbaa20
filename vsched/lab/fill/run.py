"""One policy on one seed: the pods go through the mirror and cycles of the decision core, as the daemon runs them.

Only HTTP is left out: what the API server would show of nodes, pods and bindings goes straight to the mirror. Some pods
come at a time, and a cycle tries each once, in their order. A pod that it does not bind is deleted and never comes
again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import orjson

from vsched import api
from vsched.apimachinery.meta.kinds import Obj
from vsched.daemon.system.tuning import listed
from vsched.errors import BadInput
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.lab.fill import words
from vsched.lab.fill.arrivals import FULL, Curve, Filled, arrivals, gpus_of
from vsched.lab.fill.machines import MachineTable
from vsched.lab.fill.objects import SCHEDULER, START, GpuAmounts, Gpus, SharedGpus
from vsched.lab.trace.files import ClusterTrace, TracePod
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.memo import Memo
from vsched.model.plan import Bind
from vsched.settings import default_settings, load_file
from vsched.settings.installed import registry

TELL_SECONDS = 5.0
SECONDS_APART = 15.0
"""From one pod to the next, so that plugins that remember see time go by."""
SHARING = "deviceshare"
"""The plugin under which GPUs are devices that pods share."""


@dataclass(frozen=True, slots=True)
class FillProgress:
    """How far a run is."""

    arrived_percent: float
    """What the pods so far asked for, of all GPUs."""
    allocated_percent: float
    pods: int
    dropped: int
    took_seconds: float


def policy_of(path: Path | None) -> Policy:
    """The policy in a file, or the built-in one."""
    return (default_settings(registry()) if path is None else load_file(path, registry())).policy


def fill_up(
    trace: ClusterTrace, policy: Policy, fill: float, seed: int, tell: Callable[[FillProgress], None]
) -> Filled:
    """Run the test."""
    cluster = FilledCluster(trace, policy)
    curve = Curve(gpus_of(trace))
    pods = dropped = dropped_with_room = 0
    began = told = perf_counter()

    def progress() -> FillProgress:
        arrived = FULL * curve.arrived / curve.capacity
        return FillProgress(arrived, curve.allocation_percent, pods, dropped, perf_counter() - began)

    coming = arrivals(trace, fill, seed)
    while some := [*islice(coming, cluster.pods_at_once)]:
        for pod, placement in zip(some, cluster.place(some), strict=True):
            pods += 1
            dropped += placement is not Placement.PLACED
            dropped_with_room += placement is Placement.DROPPED_WITH_ROOM
            curve.see(pod.gpu_amount, placed=placement is Placement.PLACED)
        if perf_counter() - told > TELL_SECONDS:
            told = perf_counter()
            tell(progress())
    tell(progress())
    return Filled(seed, tuple(curve.percents), curve.allocation_percent, pods, dropped, dropped_with_room)


class Placement(Enum):
    """What became of a pod."""

    PLACED = "placed"
    DROPPED = "dropped"
    """No node had room for it."""
    DROPPED_WITH_ROOM = words.DROPPED_WITH_ROOM


class FilledCluster:
    """A mirror, and cycles for the pods that come."""

    def __init__(self, trace: ClusterTrace, policy: Policy) -> None:
        self.machines = MachineTable(trace)
        self._policy = policy
        self._gpus: Gpus = GpuAmounts() if policy.plugin(SHARING) is None else SharedGpus()
        self.pods_at_once = self._gpus.pods_at_once
        self._mirror = Mirror(MirrorSettings(frozenset({SCHEDULER}), open_without_state=True))
        self._memo = Memo()
        self._came = 0
        for node in trace.nodes:
            self._apply("Node", "ADDED", self._gpus.node(node))
        self._mirror.snapshot(self._now)
        listed()

    @property
    def _now(self) -> float:
        return START.timestamp() + self._came * SECONDS_APART

    def place(self, pods: Sequence[TracePod]) -> list[Placement]:
        """Let pods come, and run a cycle, which tries one after the other; pods without a node are deleted."""
        made = []
        for pod in pods:
            self._came += 1
            made.append(self._gpus.pod(pod, f"{pod.name}-{self._came}", self._came * SECONDS_APART))
            self._apply("Pod", "ADDED", made[-1])
        report = run_cycle(self._mirror.snapshot(self._now), self._policy, registry(), memo=self._memo)
        self._mirror.assumptions.assume(report)
        if report.evictions:
            raise BadInput(words.POLICY_EVICTS)
        binds = {bind.uid: bind for bind in report.binds}
        return [self._settle(pod, obj, binds.get(obj["metadata"]["uid"])) for pod, obj in zip(pods, made, strict=True)]

    def _settle(self, pod: TracePod, made: Obj, bind: Bind | None) -> Placement:
        if bind is not None:
            self._confirm(pod, made, bind)
            return Placement.PLACED
        self._apply("Pod", "DELETED", made)
        return Placement.DROPPED_WITH_ROOM if self.machines.has_room(pod) else Placement.DROPPED

    def _confirm(self, pod: TracePod, made: Obj, bind: Bind) -> None:
        """Show the mirror what the API server and the device plugin would make of a binding."""
        self.machines.take(pod, bind.node, self._gpus.slots(pod, bind, self.machines))
        metadata = made["metadata"]
        annotations = {**metadata["annotations"], **dict(bind.annotations)}
        bound = {
            **made,
            "metadata": {**metadata, "annotations": annotations},
            "spec": {**made["spec"], "nodeName": bind.node},
            "status": {"phase": "Running"},
        }
        self._apply("Pod", "MODIFIED", bound)
        after = self._gpus.node_after(bind.node, self.machines)
        if after is not None:
            self._apply("Node", "MODIFIED", after)

    def _apply(self, kind: str, event: str, found: Mapping[str, Any]) -> None:
        self._mirror.intake.apply(kind, event, api.decode(kind, orjson.dumps(found)))
