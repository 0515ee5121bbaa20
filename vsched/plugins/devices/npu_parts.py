"""Which parts of NPUs pods get for what they ask for, by the templates of each model."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from vsched.model.deviceshare.chips import NpuChip, NpuTemplate
from vsched.model.deviceshare.records import HAMI_CORE, DeviceAsk, DeviceKind, SharedDeviceRequest

KNOWN_MAX = 4096
"""How many requests are remembered."""


class Chips:
    """The models of NPUs that are given out in parts."""

    def __init__(self, chips: Iterable[NpuChip]) -> None:
        self._chips = {chip.name: chip for chip in chips}
        self._known: dict[SharedDeviceRequest, SharedDeviceRequest | None] = {}

    def fitted(self, request: SharedDeviceRequest | None) -> SharedDeviceRequest | None:
        """What a pod gets for its request: parts of NPUs as templates have them, all else as it is asked for.

        None where it asks for NPUs of a model that nobody knows: these are counted by sums.
        """
        if request is None or request.kind != DeviceKind.NPU:
            return request
        if request not in self._known:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[request] = self._fitted(request)
        return self._known[request]

    def _fitted(self, request: SharedDeviceRequest) -> SharedDeviceRequest | None:
        chip = self._chips.get(request.chip)
        if chip is None or request.mode == HAMI_CORE:
            return None if chip is None else request
        return replace(request, asks=tuple(_part(chip, ask) for ask in request.asks))

    def template(self, name: str, memory: int) -> str:
        """The template of a part with so much memory of this model; empty for a whole NPU."""
        chip = self._chips.get(name)
        return "" if chip is None else _template(chip, memory).name


def in_parts_of_several(request: SharedDeviceRequest) -> bool:
    """Whether a container would get parts of several NPUs, which templates do not allow."""
    return (
        request.kind == DeviceKind.NPU
        and request.mode != HAMI_CORE
        and any(ask.number > 1 and ask.memory for ask in request.asks)
    )


_WHOLE = NpuTemplate("", 0)


def _template(chip: NpuChip, memory: int) -> NpuTemplate:
    """The smallest template with so much memory; one without a name where none has."""
    return next((one for one in chip.templates if memory <= one.memory), _WHOLE)


def _part(chip: NpuChip, ask: DeviceAsk) -> DeviceAsk:
    """What a container gets; it never fits where it asks for more than there is."""
    if not ask.memory:
        return ask
    template = _template(chip, ask.memory)
    if template is _WHOLE:
        return replace(ask, memory=0, percent=100) if ask.memory <= chip.memory else ask
    return replace(ask, memory=template.memory)
