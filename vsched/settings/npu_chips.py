"""Models of NPUs as the ConfigMap of HAMi's device plugin has them: ``vnpus``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from vsched.errors import BadInput
from vsched.model.deviceshare.chips import DEFAULT_CHIPS, KnownChips, NpuChip, NpuTemplate
from vsched.model.deviceshare.records import NPU_PREFIX, npu_memory
from vsched.settings.words import files as words

Amount = Annotated[int, msgspec.Meta(ge=1, le=1 << 40)]
"""MiB."""


class ChipTemplate(msgspec.Struct, frozen=True):
    """A part that an NPU may be divided into."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=63)]
    memory: Amount


class Model(msgspec.Struct, frozen=True, rename="camel"):
    """A model of NPUs; what is not read is for the device plugin."""

    common_word: Annotated[str, msgspec.Meta(pattern=r"^Ascend[A-Za-z0-9._-]{1,50}$")]
    memory_allocatable: Amount
    memory_capacity: Amount
    templates: Annotated[list[ChipTemplate], msgspec.Meta(max_length=64)] = []
    resource_name: str = ""
    resource_memory_name: str = ""
    memory_factor: int = 1


class Models(msgspec.Struct, frozen=True):
    """The section as newer device plugins have it."""

    configs: Annotated[list[Model], msgspec.Meta(max_length=256)] | None = None


def chips_of(section: Models | Sequence[Model] | None, where: str) -> KnownChips:
    """The models of such a section, the usual ones where it says nothing of them; raises BadInput."""
    found = section.configs if isinstance(section, Models) else section
    if found is None:
        return DEFAULT_CHIPS
    at = f"{where}: vnpus.configs" if isinstance(section, Models) else f"{where}: vnpus"
    names = [one.common_word for one in found]
    if len(set(names)) < len(names):
        raise BadInput(words.two_models(at))
    return tuple(_chip(one, f"{at}[{number}]") for number, one in enumerate(found))


def _chip(found: Model, at: str) -> NpuChip:
    name = found.common_word
    expected = {"resourceName": NPU_PREFIX + name, "resourceMemoryName": npu_memory(name)}
    said = {"resourceName": found.resource_name, "resourceMemoryName": found.resource_memory_name}
    for field, value in said.items():
        if value and value != expected[field]:
            raise BadInput(f"{at}.{field}: {value!r} (expected {expected[field]})")
    if found.memory_factor > 1:
        raise BadInput(words.memory_factor(at, found.memory_factor))
    templates = sorted(found.templates, key=lambda one: one.memory)
    return NpuChip(
        name,
        max(found.memory_allocatable, found.memory_capacity),
        tuple(NpuTemplate(one.name, one.memory) for one in templates),
    )
