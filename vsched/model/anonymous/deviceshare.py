"""Makes a catalogue of shared devices with pseudonyms. Models and modes of devices stay; uuids do not."""

from __future__ import annotations

import dataclasses

import msgspec

from vsched.model.anonymous.rules import Renaming, Rule, each, name, node, pairs, parts, text, uid, value, word
from vsched.model.deviceshare.chips import NpuChip, NpuTemplate
from vsched.model.deviceshare.geometries import MigGeometry, MigProfile, ModelGeometries
from vsched.model.deviceshare.records import (
    ASCEND,
    NPU_ANNOTATIONS,
    NPU_ASSIGNED,
    NPU_NODE,
    NPU_TO_ALLOCATE,
    VGPU_IDS,
    VGPU_IDS_TO_ALLOCATE,
    VGPU_NODE,
    DevicePod,
    DeviceShareCatalogue,
    HeldPart,
    NodeDevices,
    SharedDevice,
    SharedDeviceRequest,
)


def assigned(renaming: Renaming, found: str) -> str:
    """Devices as annotations list them: the first field of each is its uuid."""
    if ":" not in found:
        return found
    return ";".join(":".join(_part(renaming, part) for part in some.split(":")) for some in found.split(";"))


def _part(renaming: Renaming, part: str) -> str:
    found, comma, rest = part.partition(",")
    uuid, bracket, instance = found.partition("[")
    return text(renaming, uuid) + bracket + instance + comma + rest if comma else part


_RULES: dict[str, Rule] = {VGPU_NODE: node, NPU_NODE: node, VGPU_IDS: assigned, VGPU_IDS_TO_ALLOCATE: assigned}


def _npus(renaming: Renaming, found: str) -> str:
    """How NPUs are divided, as the device plugin reads it."""
    listed = msgspec.json.decode(found, type=list[dict[str, str | int]])
    return msgspec.json.encode(
        [{key: text(renaming, str(value)) if key == "UUID" else value for key, value in one.items()} for one in listed]
    ).decode()


def _rule(key: str) -> Rule:
    """The rule for an annotation of pods."""
    if key.startswith(NPU_ANNOTATIONS) and key.endswith((NPU_ASSIGNED, NPU_TO_ALLOCATE)):
        return assigned
    return _npus if key.startswith(ASCEND) else _RULES.get(key, word)


def bound(renaming: Renaming, found: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Annotations that pods get with their binding."""
    return tuple((key, _rule(key)(renaming, value)) for key, value in found)


DEVICE_RULES: dict[type, dict[str, Rule]] = {
    SharedDevice: {"uuid": text, "type": word},
    NodeDevices: {"node": node, "kind": word, "mode": word, "devices": parts},
    SharedDeviceRequest: {
        "kind": word,
        "types": each(word),
        "other_types": each(word),
        "uuids": each(text),
        "other_uuids": each(text),
        "mode": word,
        "chip": word,
        "problem": word,
    },
    NpuChip: {"name": word, "templates": parts},
    NpuTemplate: {"name": word},
    ModelGeometries: {"models": each(word), "geometries": parts},
    MigGeometry: {"group": word, "profiles": parts},
    MigProfile: {"name": word},
    HeldPart: {"uuid": text, "instance": word},
    DevicePod: {"uid": uid, "name": name, "kind": word, "parts": parts, "job": name, "labels": pairs(name, value)},
}


def renamed_devices(renaming: Renaming, found: DeviceShareCatalogue) -> DeviceShareCatalogue:
    """The same catalogue with pseudonyms."""
    renamed = pairs(node, parts)
    return dataclasses.replace(found, nodes=renamed(renaming, found.nodes), pods=renamed(renaming, found.pods))
