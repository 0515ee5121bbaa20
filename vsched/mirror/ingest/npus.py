"""NPUs (Ascend): what nodes register, and what pods ask for.

HAMi's device plugin writes the NPUs of a node into ``hami.io/node-register-CHIP``, a list in JSON; a chip is the model
as resources are named by it: ``Ascend910B3``. Pods ask for ``huawei.com/CHIP``, and for ``huawei.com/CHIP-memory`` in
MiB of each. A node whose annotation ``hami-vnpu-core`` is true shares NPUs in software as well: there pods may say
``huawei.com/vnpu-mode: hami-core``, and ask for ``huawei.com/CHIP-core`` in per cent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from vsched import api
from vsched.api.base import ResourceList
from vsched.api.pods import Container, Pod
from vsched.errors import UNREADABLE, BadObject
from vsched.mirror.ingest.annotations import Remarks
from vsched.mirror.ingest.device_amounts import (
    TEXT_MAX,
    amount_of,
    container_limits,
    quantity_of,
    words_of,
)
from vsched.mirror.ingest.words import devices as words
from vsched.model.amounts.resources import Amounts, ResourceAxis
from vsched.model.deviceshare.chips import DEFAULT_CHIPS
from vsched.model.deviceshare.records import (
    ASCEND,
    DEVICES_MAX,
    HAMI_CORE,
    NPU_ANNOTATIONS,
    NPU_CORES_SUFFIX,
    NPU_MEMORY_SUFFIX,
    NPU_PREFIX,
    WHOLE,
    DeviceAsk,
    DeviceKind,
    NodeDevices,
    SharedDevice,
    SharedDeviceRequest,
    npu_cores,
    npu_memory,
)
from vsched.model.names import shared

REGISTER, HANDSHAKE = "hami.io/node-register-", "hami.io/node-handshake-"
"""Beginnings of annotations of nodes; a chip follows."""
IN_SOFTWARE = "hami-vnpu-core"
"""Annotation of nodes that share NPUs in software."""
MODE, USE_UUID, AVOID_UUID = "huawei.com/vnpu-mode", "hami.io/use-", "hami.io/no-use-"
"""Annotations of pods; after the last two come a chip and ``-uuid``."""
INITS = "spec.initContainers"
_MARK = ASCEND.encode()
_CORES = WHOLE // 100
NETWORKED = "Ascend910"
"""The beginning of chips whose networks count."""
_ASKED_MAX = {chip.name: chip.memory for chip in DEFAULT_CHIPS}
"""MiB by model."""
_NONE: Mapping[str, str] = {}


class CustomInfo(msgspec.Struct):
    """What a device plugin adds about an NPU."""

    network: int = msgspec.field(default=-1, name="NetworkID")


class RegisteredNpu(msgspec.Struct):
    """An NPU as the device plugin writes it. Fields that are zero or false are left out."""

    id: str
    count: int = 0
    devmem: int = 0
    numa: int = 0
    health: bool = False
    custominfo: CustomInfo = msgspec.field(default_factory=CustomInfo)


# -- nodes ----------------------------------------------------------------------------------------------------------


def npus_of(node: api.Node, remarks: Remarks) -> NodeDevices | None:
    """The NPUs of a node; None where there are none. What cannot be read is left out, with a remark."""
    offered = node.status.allocatable or _NONE
    chips = [name.removeprefix(NPU_PREFIX) for name in offered if name.startswith(ASCEND)]
    if not chips:
        return None
    annotations = node.metadata.annotations or _NONE
    devices: list[SharedDevice] = []
    for chip in sorted(chips):
        text = annotations.get(REGISTER + chip)
        if text is None or str(offered[NPU_PREFIX + chip]) == "0" or "Deleted" in annotations.get(HANDSHAKE + chip, ""):
            continue  # the device plugin is not there
        try:
            devices += _registered(chip, text, len(devices))
        except BadObject as error:
            remarks.append(words.npus_left_out(REGISTER, chip[:40], error))
    if not devices:
        return None
    mode = HAMI_CORE if annotations.get(IN_SOFTWARE) == "true" else ""
    return NodeDevices(shared(node.metadata.name), DeviceKind.NPU, mode, tuple(devices))


def _registered(chip: str, text: str, known: int) -> list[SharedDevice]:
    """The NPUs of one model, after those that are ``known``."""
    if len(text) > TEXT_MAX:
        raise BadObject(words.too_many_letters(len(text), TEXT_MAX))
    try:
        found = msgspec.json.decode(text, type=list[RegisteredNpu])
    except UNREADABLE:
        raise BadObject(words.no_list_of_devices(text[:40])) from None
    if known + len(found) > DEVICES_MAX:
        raise BadObject(words.too_many_devices(known + len(found), DEVICES_MAX))
    if len({one.id for one in found}) < len(found):
        raise BadObject(words.ONE_UUID)
    networks = [
        -1 if one.custominfo is None or one.custominfo.network is None else one.custominfo.network for one in found
    ]
    counts = chip.startswith(NETWORKED) and min(networks, default=-1) >= 0
    return [
        SharedDevice(
            known + number,
            shared(one.id),
            shared(chip),
            amount_of(one.devmem, "MiB"),
            amount_of(one.count, "sharers"),
            one.health,
            numa=one.numa,
            network=network if counts else -1,
        )
        for number, (one, network) in enumerate(zip(found, networks, strict=True))
    ]


def npus_offered_by(found: NodeDevices) -> ResourceList:
    """What a node with these NPUs offers of their memory and of their computing power, in sums.

    The device plugin states their number alone. Of some models, pods may ask for more memory than there is, and get a
    whole NPU.
    """
    offered: dict[str, int] = {}
    for one in found.devices:
        memory = max(one.memory, _ASKED_MAX.get(one.type, 0))
        for name, amount in ((npu_memory(one.type), memory), (npu_cores(one.type), one.thousandths // _CORES)):
            offered[name] = offered.get(name, 0) + amount
    return {**offered}


# -- what pods ask for ----------------------------------------------------------------------------------------------


def npu_wishes_of(metadata: api.Metadata) -> tuple[tuple[str, str], ...]:
    """The annotations of a pod about which NPUs it accepts, and how it shares them."""
    said = metadata.annotations
    if said is None or (MODE not in said and NPU_ANNOTATIONS not in "\n".join(said)):
        return ()
    return tuple([one for one in said.items() if one[0] == MODE or one[0].startswith((USE_UUID, AVOID_UUID))])


def npu_request_of(pod: Pod) -> SharedDeviceRequest | None:
    """What a pod asks of NPUs; None where it asks for none. Raises BadObject."""
    spec = pod.spec
    if not _asks(spec.containers) and not _asks(spec.init_containers):
        return None
    limits, inits = _limits_of("spec.containers", spec.containers), _limits_of(INITS, spec.init_containers)
    chips = {_chip_of(name) for some in (*limits, *inits) for name in some if name.startswith(ASCEND)}
    if not chips:
        return None
    chip, wishes = min(chips), dict(npu_wishes_of(pod.metadata))
    mode = HAMI_CORE if wishes.get(MODE) == HAMI_CORE else ""
    asks = [
        (number, ask)
        for number, some in enumerate(limits)
        for ask in _asked(some, chip, mode, f"spec.containers[{number}].resources.limits")
    ]
    problem = _problem_of(chips, limits, inits)
    if not asks:
        return (
            SharedDeviceRequest(DeviceKind.NPU, (DeviceAsk(),), chip=shared(chip), problem=problem) if problem else None
        )
    steps = len(spec.init_containers or ())
    uuids, others = (f"{begin}{chip}-uuid" for begin in (USE_UUID, AVOID_UUID))
    return SharedDeviceRequest(
        DeviceKind.NPU,
        tuple(ask for _, ask in asks),
        tuple(steps + number for number, _ in asks),
        uuids=words_of(wishes.get(uuids), uuids),
        other_uuids=words_of(wishes.get(others), others),
        mode=mode,
        chip=shared(chip),
        problem=problem,
    )


def _limits_of(field: str, containers: Sequence[Container] | None) -> list[ResourceList]:
    return [container_limits(one, f"{field}[{number}]") for number, one in enumerate(containers or ())]


def _problem_of(chips: Collection[str], limits: Sequence[ResourceList], inits: Sequence[ResourceList]) -> str:
    """What does not go together in what a pod asks of NPUs; empty where all does."""
    for number, some in enumerate(inits):
        for name in some:
            if name.startswith(ASCEND):
                return words.limits_not_of_containers(INITS, number, name)
    if len(chips) > 1:
        return words.two_models(" beside ".join(NPU_PREFIX + chip for chip in sorted(chips)[:2]))
    for number, some in enumerate(limits):
        for chip in chips:
            if npu_cores(chip) in some and not {NPU_PREFIX + chip, npu_memory(chip)} & some.keys():
                return f"spec.containers[{number}].resources.limits: {npu_cores(chip)} without {NPU_PREFIX}{chip}"
    return ""


def npus_in_full(amounts: Amounts, request: SharedDeviceRequest, axis: ResourceAxis) -> Amounts:
    """A pod's request with the memory and the computing power of all NPUs: containers state those of one."""
    sums = {
        axis.find(npu_memory(request.chip)): sum(ask.number * ask.memory for ask in request.asks),
        axis.find(npu_cores(request.chip)): sum(ask.number * ask.thousandths // _CORES for ask in request.asks),
    }
    return tuple((column, 1000 * sums[column] if sums.get(column) else value) for column, value in amounts)


def _asks(containers: Sequence[Container] | None) -> bool:
    """Whether the resources of one of them name an NPU."""
    return _MARK in b"".join([bytes(one.resources) for one in containers or ()])


def _asked(limits: ResourceList, chip: str, mode: str, at: str) -> Iterator[DeviceAsk]:
    """What a container asks for: nothing, or one ask. Where only memory is said, it asks for one NPU."""
    count, memory = NPU_PREFIX + chip, npu_memory(chip)
    if count not in limits and memory not in limits:
        return
    number, mebibytes = quantity_of(limits, count, at) if count in limits else 1, quantity_of(limits, memory, at)
    cores = min(100, quantity_of(limits, npu_cores(chip), at)) if mode else 0
    if number:
        yield DeviceAsk(min(number, DEVICES_MAX + 1), _CORES * cores, mebibytes, 0 if mebibytes else 100)


def _chip_of(name: str) -> str:
    """The model that a resource belongs to."""
    return name.removeprefix(NPU_PREFIX).removesuffix(NPU_MEMORY_SUFFIX).removesuffix(NPU_CORES_SUFFIX)
