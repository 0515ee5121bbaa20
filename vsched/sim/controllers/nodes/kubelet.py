"""The kubelets of all nodes: pods start, end and are removed; nodes report their status and renew their leases.

``pod_lifecycle`` decides what happens to a pod; here is when its stage began.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj, without
from vsched.apimachinery.meta.objects import seconds_since
from vsched.apimachinery.meta.times import utc_now
from vsched.apimachinery.workloads.actions import Action, After, Create, SetStatus, Tell, Update, set_status
from vsched.clock import monotonic
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.event_messages import KUBELET
from vsched.sim.controllers.nodes.node_status import (
    LEASE_NAMESPACE,
    address_of,
    does_work,
    is_node_ready,
    lease_of,
    register,
)
from vsched.sim.controllers.pod_claims import has_claims
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.controllers.pod_lifecycle import (
    DONE,
    STARTING,
    PodHost,
    PodTimes,
    may_act,
    next_steps,
    rejected_status,
    stage_began,
    stage_of,
    waiting_status,
)
from vsched.sim.controllers.start_checks import PodAdmission, StartCheck, StartObstacle
from vsched.sim.store.store import key_of

REJECTED = "UnexpectedAdmissionError"
"""The reason of pods whose device plugins have nothing for them."""
JUST_NOW_SECONDS = 2.0
"""Time stamps have whole seconds, so a stage that began less than this ago counts as begun now."""


class Addresses:
    """Gives out the addresses of a private network in turn."""

    def __init__(self, first_octet: int, second_octet: int, second_octets: int) -> None:
        self._first, self._second, self._span = first_octet, second_octet, second_octets
        self._next = 0

    def __call__(self) -> str:
        self._next += 1
        third, fourth = divmod(self._next, 254)
        second, third = divmod(third, 256)
        return f"{self._first}.{self._second + second % self._span}.{third}.{fourth + 1}"


class Kubelets(Controller):
    """Takes every bound pod through its stages."""

    name: ClassVar[str] = "kubelets"
    primary: ClassVar[str] = "pods"
    component: ClassVar[str] = KUBELET
    watches: ClassVar[tuple[str, ...]] = (
        *("pods", "nodes", "persistentvolumeclaims", "persistentvolumes", "storage.k8s.io/volumeattachments"),
        *("resource.k8s.io/resourceclaims", "resource.k8s.io/resourceslices"),
    )

    def __init__(
        self,
        client: LocalClient,
        pod_index: PodIndex,
        times: PodTimes,
        checks: Sequence[StartCheck] = (),
        plugins: PodAdmission | None = None,
    ) -> None:
        super().__init__(client, pod_index)
        self._times = times
        self._checks = checks
        self._plugins = plugins
        self._hindered: dict[str, StartObstacle] = {}
        """The pods that cannot start yet, by key, and why."""
        self._pod_ip = Addresses(10, 128, 128)
        self._stages: dict[str, tuple[tuple[str, int], float]] = {}

    def keys(self) -> Iterable[str]:
        return [key_of(pod) for pod in self.client.list("pods") if pod["spec"].get("nodeName")]

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == "nodes":
            changed = old is None or does_work(obj) != does_work(old)
            return self.pod_index.keys_on(obj["metadata"]["name"]) if changed and not gone else ()
        if resource != "pods":
            return self._freed(resource, obj, gone=gone)
        if gone:
            key = key_of(obj)
            self._stages.pop(obj["metadata"]["uid"], None)
            self._hindered.pop(key, None)
            self.queue.forget(key)
            return self._freed(resource, obj, gone=True)
        acts = obj["spec"].get("nodeName") and may_act(obj, self._times)
        return (key_of(obj),) if acts else self._freed(resource, obj, gone=False)

    def _freed(self, resource: str, obj: Obj, *, gone: bool) -> list[str]:
        """The pods that could not start before this change, and perhaps can now."""
        if resource == "pods" and not self._hindered:
            return []
        found = (key for check in self._checks for key in check.affected(resource, obj, gone=gone))
        return [key for key in found if key in self._hindered]

    def reconcile(self, key: str) -> Sequence[Action]:
        pod = self.find(key)
        if pod is None or not pod["spec"].get("nodeName"):
            return ()
        stage = stage_of(pod)
        if stage[0] == DONE:
            self._stages.pop(pod["metadata"]["uid"], None)
            return ()
        now = utc_now()
        node = self.client.get("nodes", "", pod["spec"]["nodeName"])
        host = PodHost(address_of(node), does_work(node)) if node else None
        claimed = stage[0] == STARTING and has_claims(pod)
        if claimed and node is not None and host is not None and host.ready:
            obstacle = self._obstacle(pod, node)
            if obstacle is not None:
                return [*set_status("pods", pod, waiting_status(pod, host.ip, now)), *self._hinder(key, pod, obstacle)]
        self._hindered.pop(key, None)
        actions = next_steps(pod, host, self._elapsed(pod, stage, now), now, self._times, self._pod_ip)
        if stage[0] == STARTING and any(isinstance(action, SetStatus) for action in actions):
            if claimed:
                for check in self._checks:
                    check.started(pod)
            return self._with_devices(pod, actions, now)
        return actions

    def _with_devices(self, pod: Obj, actions: Sequence[Action], now: datetime) -> Sequence[Action]:
        """What starts a pod, once device plugins have given it what it asks for; else what refuses it."""
        host = pod["spec"]["nodeName"]
        admitted = self._plugins.admit(pod, host) if self._plugins is not None else None
        if admitted is None:
            return actions
        told: list[Action] = []
        if admitted.annotations:
            # Without its resourceVersion, so that the status can be written after it.
            metadata = without(pod["metadata"], ("resourceVersion",))
            annotations = {**(metadata.get("annotations") or {}), **admitted.annotations}
            told.append(Update("pods", {**pod, "metadata": {**metadata, "annotations": annotations}}))
        told += self._unlock(host, admitted.lock)
        if not admitted.failure:
            return [*told, *actions]
        why = f"Allocate failed due to rpc error: code = Unknown desc = {admitted.failure}, which is unexpected"
        told.append(Tell("pods", pod, REJECTED, why, warning=True, host=host))
        return [*told, *set_status("pods", pod, rejected_status(pod, REJECTED, why, now))]

    def _unlock(self, host: str, lock: str) -> list[Action]:
        """Device plugins take the lock of a node away once a pod has its devices, or is refused."""
        node = self.client.get("nodes", "", host)
        annotations = {} if node is None else node["metadata"].get("annotations") or {}
        if node is None or lock not in annotations:
            return []
        return [
            Update("nodes", {**node, "metadata": {**node["metadata"], "annotations": without(annotations, (lock,))}})
        ]

    def _obstacle(self, pod: Obj, node: Obj) -> StartObstacle | None:
        found = (check.obstacle(pod, node) for check in self._checks)
        return next((obstacle for obstacle in found if obstacle is not None), None)

    def _hinder(self, key: str, pod: Obj, obstacle: StartObstacle) -> list[Action]:
        """The pod waits; why is told once."""
        known = self._hindered.get(key) == obstacle
        self._hindered[key] = obstacle
        if known or not obstacle.message:
            return []
        host = pod["spec"]["nodeName"]
        return [Tell("pods", pod, obstacle.reason, obstacle.message, warning=True, host=host)]

    def _elapsed(self, pod: Obj, stage: tuple[str, int], now: datetime) -> float:
        """Seconds in the present stage, by this process's clock; by the pod's time stamps if it is seen first."""
        uid = pod["metadata"]["uid"]
        known = self._stages.get(uid)
        if known is not None and known[0] == stage:
            return monotonic() - known[1]
        began = stage_began(pod, stage[0])
        elapsed = (now - began).total_seconds() if began else 0.0
        elapsed = elapsed if elapsed > JUST_NOW_SECONDS else 0.0
        self._stages[uid] = (stage, monotonic() - elapsed)
        return elapsed


class NodeAgents(Controller):
    """Registers new nodes, and renews their leases at different times of the period."""

    name: ClassVar[str] = "node agents"
    primary: ClassVar[str] = "nodes"
    watches: ClassVar[tuple[str, ...]] = ("nodes",)

    def __init__(
        self,
        client: LocalClient,
        pod_index: PodIndex,
        *,
        version: str,
        lease_seconds: float,
        address: Callable[[], str],
    ) -> None:
        super().__init__(client, pod_index)
        self._version = version
        self._lease_seconds = lease_seconds
        self._address = address

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        name = obj["metadata"]["name"]
        if gone:
            self.queue.forget(name)
            return ()
        return (name,)

    def reconcile(self, key: str) -> Sequence[Action]:
        node = self.find(key)
        if node is None:
            return ()
        now = utc_now()
        if first := register(node, self._address(), self._version, now):
            return first
        return self._heartbeat(node, now) if is_node_ready(node) else ()

    def _heartbeat(self, node: Obj, now: datetime) -> list[Action]:
        name = node["metadata"]["name"]
        fresh = lease_of(node, now, int(3 * self._lease_seconds))
        lease = self.client.get("coordination.k8s.io/leases", LEASE_NAMESPACE, name)
        if lease is None:
            return [Create("coordination.k8s.io/leases", fresh), After(self._first_renewal(name))]
        left = self._lease_seconds - seconds_since(lease["spec"].get("renewTime"), now)
        if left > 0:
            return [After(left)]
        renewed = {**lease, "spec": {**lease["spec"], **fresh["spec"]}}
        return [Update("coordination.k8s.io/leases", renewed), After(self._lease_seconds)]

    def _first_renewal(self, name: str) -> float:
        """Spreads the renewals of nodes that started together over the period."""
        return self._lease_seconds * (0.5 + zlib.crc32(name.encode()) / 2**33)
