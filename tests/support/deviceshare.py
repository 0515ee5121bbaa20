"""Nodes that register shared devices, and pods that ask for them, as manifests."""

from __future__ import annotations

from typing import Any

from tests.support import builders as make
from tests.support.plans import manifests

Obj = dict[str, Any]
REGISTER, HANDSHAKE = "volcano.sh/node-vgpu-register", "volcano.sh/node-vgpu-handshake"
IDS, INDEX = "volcano.sh/vgpu-ids-new", "volcano.sh/gpu-index"
V100 = "NVIDIA-Tesla V100-SXM2-32GB"
VGPU = "deviceshare.VGPUEnable: true"
POLICY = """
actions: {actions}
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: proportion
  - name: deviceshare
    arguments: {{{arguments}}}
"""


def device_policy(arguments: str = VGPU, actions: str = "allocate") -> str:
    """A policy with the plugin and its arguments, as a file has it."""
    return POLICY.format(arguments=arguments, actions=actions)


def device(number: int, *, sharers: int = 10, memory: int = 32768, model: str = V100, mode: str = "hami-core") -> str:
    """One device, as device plugins write it; its uuid is ``GPU-`` and the number."""
    return f"GPU-{number},{sharers},{memory},{model},true,{mode}:"


def devices(count: int, **fields: Any) -> str:
    """So many equal devices."""
    return "".join(device(number, **fields) for number in range(count))


def vgpu_node(name: str, register: str, handshake: str | None = "Reported_2026", **fields: Any) -> Obj:
    """A node with 64 cpus whose device plugin has registered these devices."""
    annotations = {REGISTER: register} | ({} if handshake is None else {HANDSHAKE: handshake})
    metadata = {"annotations": annotations}
    status = {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"}}
    return make.merged(make.node(name, metadata=metadata, status=status), fields)


def vgpu_pod(name: str, memory: int, cores: int = 10, **spec: Any) -> Obj:
    """A pod for the daemon, that asks for one vGPU."""
    container = {"image": "busybox", **asking(vgpu_number="1", vgpu_memory=str(memory), vgpu_cores=str(cores))}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulerName": "vsched", "containers": [container], **spec},
    }


def asking(**amounts: Any) -> Obj:
    """A container with limits: ``vgpu_number=1`` is ``volcano.sh/vgpu-number: 1``."""
    limits = {f"volcano.sh/{name.replace('_', '-')}": amount for name, amount in amounts.items()}
    return {"name": "c", "resources": {"limits": limits}}


def pods(line: str, *containers: Obj, **annotations: str) -> list[Obj]:
    """The objects of lines about one job, whose pods have these containers and annotations."""
    found = manifests(line)
    for one in found:
        if one["kind"] == "Pod":
            one["spec"]["containers"] = [
                {**container, "name": f"c{number}"} for number, container in enumerate(containers)
            ]
            one["metadata"].setdefault("annotations", {}).update(annotations)
    return found


def part(number: int, memory: int, cores: int) -> str:
    """One part of a device, as annotations of pods have it."""
    return f"GPU-{number},NVIDIA,{memory},{cores}:"
