"""How NPUs may be divided: the templates of each model, by which device plugins divide them.

A part of an NPU has the memory of a template: the smallest that is large enough. What is more than the largest template
is a whole NPU. A container gets several NPUs only whole. Where NPUs are shared in software there are no templates.
"""

from __future__ import annotations

import msgspec

from vsched.model.marks import Word


class NpuTemplate(msgspec.Struct, frozen=True):
    """A part that an NPU may be divided into."""

    name: Word
    """``vir05_1c_16g``."""
    memory: int
    """MiB."""


class NpuChip(msgspec.Struct, frozen=True):
    """A model of NPUs."""

    name: Word
    """As its resource is named: ``Ascend910B3``."""
    memory: int
    """MiB: the most that pods may ask for to get a whole one."""
    templates: tuple[NpuTemplate, ...] = ()
    """Sorted by memory."""


KnownChips = tuple[NpuChip, ...]
"""By model."""


def _chip(name: str, memory: int, *templates: tuple[str, int]) -> NpuChip:
    return NpuChip(name, memory, tuple(NpuTemplate(*one) for one in templates))


DEFAULT_CHIPS: KnownChips = (
    _chip("Ascend310P", 24576, ("vir01", 3072), ("vir02", 6144), ("vir04", 12288)),
    _chip("Ascend910A", 32768, ("vir02", 2184), ("vir04", 4369), ("vir08", 8738), ("vir16", 17476)),
    _chip("Ascend910B2", 65536, ("vir03_1c_8g", 8192), ("vir06_1c_16g", 16384), ("vir12_3c_32g", 32768)),
    _chip("Ascend910B3", 65536, ("vir05_1c_16g", 16384), ("vir10_3c_32g", 32768)),
    _chip("Ascend910B4", 32768, ("vir05_1c_8g", 8192), ("vir10_3c_16g", 16384)),
    _chip("Ascend910B4-1", 65536, ("vir05_1c_16g", 16384), ("vir10_3c_32g", 32768)),
    _chip("Ascend910C", 65536, ("vir05_1c_16g", 16384), ("vir10_3c_32g", 32768)),
)
"""The models that HAMi's device plugin is deployed with; they count where nothing else is said."""
