"""Nodes that register NPUs, and pods that ask for them, as manifests."""

from __future__ import annotations

import json
from typing import Any

from tests.support import builders as make

Obj = dict[str, Any]
CHIP = "Ascend910B3"


def register(chip: str = CHIP) -> str:
    """The annotation of nodes with NPUs of this model."""
    return f"hami.io/node-register-{chip}"


def allocated(chip: str = CHIP) -> str:
    """The annotation of pods that says which NPUs they hold."""
    return f"hami.io/{chip}-devices-allocated"


def npu(number: int, *, chip: str = CHIP, memory: int = 65536, count: int = 4, network: int | None = None) -> Obj:
    """One NPU as HAMi's device plugin writes it: what is zero is left out. Its uuid is ``NPU-`` and the number."""
    found: Obj = {"id": f"NPU-{number}", "count": count, "devmem": memory, "devcore": 20, "type": chip, "health": True}
    if number:
        found["index"] = number
    if network is not None:
        found["custominfo"] = {"NetworkID": network}
    return found


def npu_node(name: str, npus: list[Obj], *, chip: str = CHIP, count: int = 64, **annotations: str) -> Obj:
    """A node with 64 cpus whose device plugin has registered these NPUs."""
    status = {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110", f"huawei.com/{chip}": str(count)}}
    return make.node(name, metadata={"annotations": {register(chip): json.dumps(npus)} | annotations}, status=status)


def asking_npu(number: int | None = 1, memory: int = 0, cores: int = 0, chip: str = CHIP) -> Obj:
    """A container with limits on NPUs."""
    limits = {f"huawei.com/{chip}": number, f"huawei.com/{chip}-memory": memory, f"huawei.com/{chip}-core": cores}
    return {"name": "c", "resources": {"limits": {name: str(value) for name, value in limits.items() if value}}}


def npu_part(number: int, memory: int, cores: int = 0, chip: str = CHIP) -> str:
    """One part of an NPU, as annotations of pods have it."""
    return f"NPU-{number},{chip},{memory},{cores}:"
