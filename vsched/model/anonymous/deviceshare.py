"""Makes a catalogue of shared devices with pseudonyms. Models and modes of devices stay; uuids do not."""

from __future__ import annotations

from vsched.model.anonymous.rules import Renaming, Rule, each, name, node, pairs, parts, text, uid, word
from vsched.model.deviceshare.records import (
    VGPU_IDS,
    VGPU_IDS_TO_ALLOCATE,
    VGPU_NODE,
    DevicePod,
    DeviceRequest,
    DeviceShareCatalogue,
    HeldPart,
    NodeDevices,
    SharedDevice,
)


def assigned(renaming: Renaming, found: str) -> str:
    """Devices as annotations list them: the first field of each is its uuid."""
    if ":" not in found:
        return found
    return ";".join(":".join(_part(renaming, part) for part in some.split(":")) for some in found.split(";"))


def _part(renaming: Renaming, part: str) -> str:
    found, comma, rest = part.partition(",")
    return text(renaming, found) + comma + rest if comma else part


_RULES: dict[str, Rule] = {VGPU_NODE: node, VGPU_IDS: assigned, VGPU_IDS_TO_ALLOCATE: assigned}


def bound(renaming: Renaming, found: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Annotations that pods get with their binding."""
    return tuple((key, _RULES.get(key, word)(renaming, value)) for key, value in found)


DEVICE_RULES: dict[type, dict[str, Rule]] = {
    SharedDevice: {"uuid": text, "type": word},
    NodeDevices: {"node": node, "kind": word, "mode": word, "devices": parts},
    DeviceRequest: {
        "kind": word,
        "types": each(word),
        "other_types": each(word),
        "uuids": each(text),
        "other_uuids": each(text),
        "mode": word,
    },
    HeldPart: {"uuid": text},
    DevicePod: {"uid": uid, "name": name, "kind": word, "parts": parts},
}


def renamed_devices(renaming: Renaming, found: DeviceShareCatalogue) -> DeviceShareCatalogue:
    """The same catalogue with pseudonyms."""
    return DeviceShareCatalogue(pairs(node, parts)(renaming, found.nodes), pairs(node, parts)(renaming, found.pods))
