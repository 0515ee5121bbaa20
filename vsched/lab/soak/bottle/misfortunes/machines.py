"""What happens to the machines of a bottle: nodes that are not ready or drained, kubelets that hang or refuse pods."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random

from vsched.apimachinery.meta.kinds import Obj, without
from vsched.apimachinery.meta.objects import is_deleting, is_finished, with_condition
from vsched.clock import utc_now
from vsched.handlers import Handlers
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.faults import ClusterFaultKind
from vsched.lab.soak.bottle.misfortunes.gate import BottleGate
from vsched.sim.client import LocalClient
from vsched.sim.controllers.nodes.node_status import HANGS
from vsched.sim.controllers.pod_lifecycle import rejected_status
from vsched.sim.store.store import key_of

OUT_OF_CPU = "OutOfcpu"
UNSCHEDULABLE = "unschedulable"
REASONS = {"True": "KubeletReady", "False": "KubeletNotReady", "Unknown": "NodeStatusUnknown"}
"""By the status of the Ready condition."""


class FailingMachines:
    """Has nodes and kubelets fail."""

    def __init__(self, client: LocalClient, gate: BottleGate, random: Random, tell: Callable[[str, str], None]) -> None:
        self._client, self._gate, self._random, self._tell = client, gate, random, tell
        self._not_ready: dict[str, str] = {}
        """The status of the Ready condition of nodes, by name."""
        self._hanging: set[str] = set()
        self._drained: set[str] = set()
        self.on_failed: Handlers[[str]] = Handlers()
        """Called with a pod that its kubelet has refused, or that an operator has deleted."""
        self.on_given_up: Handlers[[str]] = Handlers()
        """Called with the same pod, when its user is to take the job back."""

    async def refuse_bindings(self, seconds: float) -> None:
        """Admission refuses all bindings to a node."""
        with self._gate.refusing(self._any_node(ClusterFaultKind.REFUSE_NODE)):
            await asyncio.sleep(seconds)

    async def node_down(self, seconds: float) -> None:
        """A node is not ready, or nobody knows whether it is."""
        node = self._any_node(ClusterFaultKind.NODE_DOWN)
        self._not_ready[node] = self._random.choice(("False", "Unknown"))
        self._report(node)
        try:
            await asyncio.sleep(seconds)
        finally:
            self._not_ready.pop(node, None)
            self._report(node)

    async def kubelet_hangs(self, seconds: float) -> None:
        """A node is ready, and nothing happens to its pods."""
        node = self._any_node(ClusterFaultKind.KUBELET_HANGS)
        self._hanging.add(node)
        self._report(node)
        try:
            await asyncio.sleep(seconds)
        finally:
            self._hanging.discard(node)
            self._report(node)

    async def drain(self, seconds: float) -> None:
        """A node takes no pods, and those on it are deleted; after so long their users give them up."""
        node = self._any_node(ClusterFaultKind.DRAIN)
        self._drained.add(node)
        self._report(node)
        pods = [pod for pod in self._pods_that_run() if pod["spec"]["nodeName"] == node]
        for pod in pods:
            self.on_failed(key_of(pod))
            self._client.delete("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])
        try:
            await asyncio.sleep(seconds)
        finally:
            self._drained.discard(node)
            self._report(node)
            for pod in pods:
                self.on_given_up(key_of(pod))

    async def pod_fails(self, seconds: float) -> None:
        """A kubelet refuses a pod; after so long its user gives it up."""
        pods = self._pods_that_run()
        if not pods:
            return
        pod = self._random.choice(pods)
        key, metadata = key_of(pod), pod["metadata"]
        self._tell(ClusterFaultKind.POD_FAILS, key)
        self.on_failed(key)
        status = rejected_status(pod, OUT_OF_CPU, words.pod_refused(OUT_OF_CPU), utc_now())
        failed = partial(_with, part="status", value=status)
        self._client.patch_status("pods", metadata["namespace"], metadata["name"], failed)
        try:
            await asyncio.sleep(seconds)
        finally:
            self.on_given_up(key)

    def report_all(self) -> None:
        """Write down how all nodes are, as their kubelets do once they reach a server again."""
        for node in self._client.list("nodes"):
            self._report(node["metadata"]["name"])

    def _pods_that_run(self) -> list[Obj]:
        """Pods that have a node, and neither end nor have ended."""
        pods = self._client.list("pods")
        return [pod for pod in pods if pod["spec"].get("nodeName") and not is_finished(pod) and not is_deleting(pod)]

    def _any_node(self, fault: ClusterFaultKind) -> str:
        node: str = self._random.choice(self._client.list("nodes"))["metadata"]["name"]
        self._tell(fault, node)
        return node

    def _report(self, node: str) -> None:
        if self._client.get("nodes", "", node) is None:
            return  # an autoscaler has removed it
        ready, now = self._not_ready.get(node, "True"), utc_now()
        condition = {"type": "Ready", "status": ready, "reason": REASONS[ready], "message": REASONS[ready]}

        def status(found: Obj) -> Obj:
            conditions = with_condition(found["status"].get("conditions"), condition, now)
            return _with(found, part="status", value={**found["status"], "conditions": conditions})

        def marked(found: Obj) -> Obj:
            annotations = without(found["metadata"].get("annotations") or {}, (HANGS,))
            annotations |= {HANGS: ""} if node in self._hanging else {}
            spec = without(found["spec"], (UNSCHEDULABLE,)) | ({UNSCHEDULABLE: True} if node in self._drained else {})
            found = _with(found, part="metadata", value={**found["metadata"], "annotations": annotations})
            return _with(found, part="spec", value=spec)

        self._client.patch_status("nodes", "", node, status)
        self._client.patch("nodes", "", node, marked)


def _with(found: Obj, *, part: str, value: Obj) -> Obj:
    return {**found, part: value}
