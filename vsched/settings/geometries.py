"""The ConfigMap of device plugins: MIG geometries as Volcano's has them, and models of NPUs as HAMi's has them.

They are in ``nvidia.knownMigGeometries`` and in ``vnpus``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
import yaml

from vsched.errors import BadInput, why_unreadable
from vsched.model.deviceshare.chips import DEFAULT_CHIPS, KnownChips, NpuChip, NpuTemplate
from vsched.model.deviceshare.geometries import (
    DEFAULT_GEOMETRIES,
    Divisions,
    KnownGeometries,
    MigGeometry,
    MigProfile,
    ModelGeometries,
)
from vsched.model.deviceshare.records import NPU_PREFIX, npu_memory
from vsched.settings.words import files as words
from vsched.yamltext import KubernetesLoader, check_aliases, is_too_deep

KEY = "device-config.yaml"
"""The key of the ConfigMap."""
Word = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
Group = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.]{1,63}$")]
"""Annotations of pods name geometries between brackets, with a dash before the position."""


class Profile(msgspec.Struct, frozen=True):
    """Equal instances."""

    name: Word
    memory: Annotated[int, msgspec.Meta(ge=1, le=1 << 40)]
    """MiB."""
    count: Annotated[int, msgspec.Meta(ge=1, le=64)]


class Geometry(msgspec.Struct, frozen=True):
    """One way to divide a GPU."""

    group: Group
    geometries: Annotated[list[Profile], msgspec.Meta(min_length=1, max_length=64)]


class GpuModels(msgspec.Struct, frozen=True):
    """The geometries of some models."""

    models: Annotated[list[Word], msgspec.Meta(min_length=1, max_length=256)]
    geometries: Annotated[list[Geometry], msgspec.Meta(max_length=256)] = msgspec.field(name="allowedGeometries")


class Nvidia(msgspec.Struct, frozen=True):
    """What is read of the section ``nvidia``; the rest is for the device plugin."""

    known: Annotated[list[GpuModels], msgspec.Meta(max_length=256)] | None = msgspec.field(
        default=None, name="knownMigGeometries"
    )
    factor: Annotated[int, msgspec.Meta(ge=0, le=1 << 20)] = msgspec.field(default=1, name="gpuMemoryFactor")
    """MiB in one unit of memory of nodes and pods; 0 counts as 1."""


class DeviceConfig(msgspec.Struct, frozen=True):
    """The text of the ConfigMap."""

    nvidia: Nvidia = Nvidia()
    vnpus: Models | list[Model] | None = None


def divisions_in(text: str, where: str) -> Divisions:
    """What such a text says; the usual geometries and models where it says nothing of them. Raises BadInput."""
    if is_too_deep(text):
        raise BadInput(words.nested_too_deeply(where))
    try:
        check_aliases(text)
        found = msgspec.convert(yaml.load(text, Loader=KubernetesLoader) or {}, DeviceConfig)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f"{where}:{mark.line + 1}" if mark is not None else where
        raise BadInput(f"{at}: not YAML: {getattr(error, 'problem', None) or error}") from None
    except msgspec.ValidationError as error:
        message, _, place = why_unreadable(error).partition(" - at `$.")
        raise BadInput(f"{where}: {place.rstrip('`')}: {message}" if place else f"{where}: {message}") from None
    return Divisions(_known_geometries(found.nvidia, where), chips_of(found.vnpus, where))


def _known_geometries(found: Nvidia, where: str) -> KnownGeometries:
    if found.known is None:
        return DEFAULT_GEOMETRIES
    for number, one in enumerate(found.known):
        if len({geometry.group for geometry in one.geometries}) < len(one.geometries):
            raise BadInput(words.two_geometries(where, number))
    return tuple(_geometries_of(one, max(1, found.factor)) for one in found.known)


def _geometries_of(found: GpuModels, factor: int) -> ModelGeometries:
    geometries = (
        MigGeometry(
            one.group, tuple(MigProfile(each.name, each.memory // factor, each.count) for each in one.geometries)
        )
        for one in found.geometries
    )
    return ModelGeometries(tuple(found.models), tuple(geometries))


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
