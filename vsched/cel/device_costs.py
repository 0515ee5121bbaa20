"""How much selectors of devices cost, as an API server estimates it."""

from __future__ import annotations

from vsched.cel.costs import MOST, Declared, estimate
from vsched.cel.syntax import parsed
from vsched.cel.tokens import SyntaxProblem

MOST_COST_SERVED = 1_000_000
"""The most that an API server accepts. There, a step takes a fraction of the time."""
_ID, _DOMAIN_NAME = Declared("string", 32), Declared("string", 63)
_DEVICE = Declared(
    "object",
    fields={
        "driver": _DOMAIN_NAME,
        "attributes": Declared(
            "map", 32, key=_DOMAIN_NAME, element=Declared("map", 32, key=_ID, element=Declared("dyn", 64))
        ),
        "capacity": Declared(
            "map", 32, key=_DOMAIN_NAME, element=Declared("map", 32, key=_ID, element=Declared("quantity"))
        ),
        "allowMultipleAllocations": Declared("bool"),
    },
)
"""What an API server knows of a device."""


def cost_of(text: str, part_cost: int = 0) -> int:
    """How much a selector costs at most, for one device; MOST where it is too deep to say."""
    try:
        return estimate(parsed(text), _DEVICE, loosely=False, part_cost=part_cost).cost
    except SyntaxProblem:
        return MOST
