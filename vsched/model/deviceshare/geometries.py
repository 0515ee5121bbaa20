"""How GPUs may be divided by MIG: the geometries of each model, and the instances of each geometry.

A GPU has one geometry at a time: a list of instances, each of one profile with its own memory. The device plugin
divides a GPU once the first pod comes to it, and may divide it in another way once no pod is on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import NamedTuple

import msgspec

from vsched.model.deviceshare.chips import DEFAULT_CHIPS, KnownChips
from vsched.model.marks import Word

DIGITS_MAX = 3
"""Of positions."""


class MigProfile(msgspec.Struct, frozen=True):
    """Equal instances of a geometry."""

    name: Word
    """``2g.10gb``."""
    memory: int
    """MiB of each."""
    count: int
    """How many of them there are."""


class MigGeometry(msgspec.Struct, frozen=True, cache_hash=True):
    """One way to divide a GPU."""

    group: Word
    """Its name, unique among the geometries of a model."""
    profiles: tuple[MigProfile, ...]

    def memory(self) -> tuple[int, ...]:
        """MiB of each instance, by its position: profiles are in order, and instances of a profile follow each other.

        Device plugins count positions in the same way.
        """
        return tuple(chain.from_iterable(repeat(one.memory, one.count) for one in self.profiles))


class ModelGeometries(msgspec.Struct, frozen=True):
    """The geometries of some models of GPUs, in the order in which a GPU that nobody uses takes them."""

    models: tuple[Word, ...]
    """Parts of the names of types: ``A100-SXM4-40GB`` is meant for ``NVIDIA-A100-SXM4-40GB``."""
    geometries: tuple[MigGeometry, ...]


KnownGeometries = tuple[ModelGeometries, ...]
"""By model; the first entry that names a model counts for it."""


def geometries_of(model: str, known: Sequence[ModelGeometries]) -> tuple[MigGeometry, ...]:
    """The geometries of a type of GPU; none where nobody knows it."""
    return next((one.geometries for one in known if any(word in model for word in one.models)), ())


class MigPosition(NamedTuple):
    """Where an instance is."""

    geometry: MigGeometry
    position: int

    @property
    def memory(self) -> int:
        """MiB."""
        return self.geometry.memory()[self.position]


def position_of(geometries: Sequence[MigGeometry], instance: str) -> MigPosition | None:
    """Where the instance of this name is (``group2-3``); None where these geometries have none of this name."""
    group, _, text = instance.rpartition("-")
    if not (text.isascii() and text.isdecimal()) or len(text) > DIGITS_MAX:
        return None
    number = int(text)
    for one in geometries:
        if one.group == group and number < len(one.memory()) and instance == f"{group}-{number}":
            return MigPosition(one, number)
    return None


def _geometry(group: str, *profiles: tuple[str, int, int]) -> MigGeometry:
    return MigGeometry(group, tuple(MigProfile(*one) for one in profiles))


DEFAULT_GEOMETRIES: KnownGeometries = (
    ModelGeometries(
        ("A30",),
        (
            _geometry("group1", ("1g.6gb", 6144, 4)),
            _geometry("group2", ("2g.12gb", 12288, 2)),
            _geometry("group3", ("4g.24gb", 24576, 1)),
        ),
    ),
    ModelGeometries(
        ("A100-SXM4-40GB", "A100-40GB-PCIe", "A100-PCIE-40GB"),
        (
            _geometry("group1", ("1g.5gb", 5120, 7)),
            _geometry("group2", ("2g.10gb", 10240, 3), ("1g.5gb", 5120, 1)),
            _geometry("group3", ("3g.20gb", 20480, 2)),
            _geometry("group4", ("7g.40gb", 40960, 1)),
        ),
    ),
    ModelGeometries(
        ("A100-SXM4-80GB", "A100-80GB-PCIe", "A100-PCIE-80GB"),
        (
            _geometry("group1", ("1g.10gb", 9728, 7)),
            _geometry("group2", ("2g.20gb", 19968, 3), ("1g.10gb", 9728, 1)),
            _geometry("group3", ("3g.40gb", 40192, 2)),
            _geometry("group4", ("7g.80gb", 80896, 1)),
        ),
    ),
)
"""The geometries that Volcano's device plugin is deployed with; they count where nothing else is said."""


class Divisions(msgspec.Struct, frozen=True):
    """What a ConfigMap says of it; by default, what device plugins are deployed with."""

    geometries: KnownGeometries = DEFAULT_GEOMETRIES
    """Of GPUs, by MIG."""
    chips: KnownChips = DEFAULT_CHIPS
    """Of NPUs, by templates."""


USUAL_DIVISIONS = Divisions()
"""Those that count where nothing else is said."""
UNKNOWN_DIVISIONS = Divisions(())
"""Before it is known how GPUs are divided, none are; NPUs are divided as usual."""
