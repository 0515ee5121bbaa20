"""GPUs of a trace as devices that pods share, for policies with the plugin ``deviceshare``.

Nodes register their GPUs as vGPUs, pods ask for parts of these, and the scheduler says which of them a pod gets. Memory
of devices does not count, as traces do not tell it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from vsched.apimachinery.meta.kinds import Obj
from vsched.errors import VschedError
from vsched.framework.policy import Policy
from vsched.lab.trace import words
from vsched.lab.trace.files import TraceGang, TraceNode, TracePod
from vsched.lab.trace.objects import group_object, models_affinity, node_object, pod_object
from vsched.mirror.ingest.deviceshare import HANDSHAKE, REGISTER, USE_TYPE
from vsched.model.deviceshare.records import ASSIGNED, VGPU_CORES, VGPU_NUMBER, DeviceKind
from vsched.plugins.deviceshare import DeviceShare, DeviceShareArgs
from vsched.sim.controllers.nodes.kubelet import Addresses

IDS = ASSIGNED[DeviceKind.VGPU]
MILLI_A_CORE = 10
"""``vgpu-cores`` are per cents of a device; what is asked for is rounded up."""


def _cores(milli: int) -> int:
    return -(-milli // MILLI_A_CORE)


def knows_vgpus(policy: Policy) -> bool:
    """Whether pods get parts of devices under a policy, and not of sums alone."""
    plugin = policy.plugin(DeviceShare.name)
    return plugin is not None and isinstance(plugin.args, DeviceShareArgs) and plugin.args.kind == DeviceKind.VGPU


def vgpu_node_object(node: TraceNode, addresses: Addresses, now: datetime) -> Obj:
    """A node that is ready and empty, and registers its GPUs."""
    made = node_object(replace(node, gpus=0), addresses, now)
    if not node.gpus:
        return made
    # By device: uuid, sharers (0: no bound), memory (0: it does not count), type, health, mode.
    devices = [f"{slot},0,0,NVIDIA-{node.model},true,hami-core" for slot in range(node.gpus)]
    annotations = {REGISTER: ":".join([*devices, ""]), HANDSHAKE: f"Reported {now:%Y-%m-%dT%H:%M:%SZ}"}
    return {**made, "metadata": {**made["metadata"], "annotations": annotations}}


def vgpu_pod_object(pod: TracePod, name: str, scheduler: str, queue: str, group: str = "") -> Obj:
    """A pod of the trace that asks for parts of devices."""
    made = pod_object(replace(pod, gpus=0), name, scheduler, queue, group)
    if not pod.gpus:
        return made
    asked = {VGPU_NUMBER: str(pod.gpus), VGPU_CORES: str(_cores(pod.gpu_milli))}
    resources = made["spec"]["containers"][0]["resources"]
    resources["requests"] |= asked
    resources["limits"] |= asked
    if pod.models:
        made["metadata"]["annotations"][USE_TYPE] = ",".join(pod.models)
        # Words of types may be parts of each other (A10, A100); labels are not.
        made["spec"]["affinity"] = models_affinity(pod)
    return made


def vgpu_group_object(pod: TracePod, gang: TraceGang, name: str, queue: str) -> Obj:
    """The PodGroup of a pod's gang that asks for parts of devices."""
    made = group_object(replace(pod, gpus=0), replace(gang, gpus=0), name, queue)
    if gang.gpus:
        asked = {VGPU_NUMBER: str(gang.gpus), VGPU_CORES: str(gang.gpus * _cores(gang.gpu_milli))}
        made["spec"]["minResources"] |= asked
    return made


def devices_of(pod: str, node: str, assigned: str) -> tuple[int, ...]:
    """The devices that the scheduler has written down for a pod, by number; raises VschedError where it names none."""
    parts = [part.split(",") for container in assigned.split(";") for part in container.split(":") if part]
    try:
        return tuple(int(uuid) for uuid, *_ in parts)
    except ValueError:
        raise VschedError(words.no_devices(pod, IDS, assigned, node)) from None
