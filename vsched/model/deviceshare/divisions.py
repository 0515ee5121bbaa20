"""How shared devices may be divided in hardware."""

from __future__ import annotations

import msgspec

from vsched.model.deviceshare.chips import DEFAULT_CHIPS, KnownChips
from vsched.model.deviceshare.geometries import DEFAULT_GEOMETRIES, KnownGeometries


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
