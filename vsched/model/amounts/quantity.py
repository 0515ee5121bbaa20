"""Kubernetes quantities as exact integers, and back.

Every amount inside vsched is an integer in the base unit of its resource (see ``resources.scale_of``).
A quantity finer than the base unit is rounded up, as Kubernetes does (``Quantity.MilliValue``, ``Quantity.Value``).
"""

from __future__ import annotations

import re
from functools import lru_cache

from vsched.errors import BadQuantity
from vsched.model import words

UNLIMITED = 1 << 62
"""Stands for "no limit". Larger quantities are clipped to it, so each amount fits into int64."""

MOST = 1 << 60
"""The largest amount that is read, 1Ei of bytes: no node has as much, and sums of several fit into int64."""
MOST_HELD = 1 << 52
"""The largest amount that counts for one pod on its node: sums of a thousand such pods fit into int64."""

_PATTERN = re.compile(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([eE])([+-]?\d{1,3})|(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]))?\Z")
_MAXIMUM_LENGTH = 100
"""The longest quantity in characters; Python refuses to read numbers of thousands of digits."""
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


@lru_cache(maxsize=65536)
def parse_quantity(text: str, scale: int = 1) -> int:
    """``text`` times ``scale`` (1000 gives milli-units), rounded up to an integer; raises BadQuantity.

    Negative quantities are rounded away from zero, as Kubernetes does.
    """
    match = _PATTERN.match(text)
    if match is None or len(text) > _MAXIMUM_LENGTH:
        shown = text[:_MAXIMUM_LENGTH]
        raise BadQuantity(words.not_a_quantity(shown))
    sign, digits, exponential, power, suffix = match.groups()
    whole, _, fraction = digits.partition(".")
    numerator = int(whole + fraction or "0") * scale
    exponent = -len(fraction)
    if exponential:
        exponent += int(power)
    elif suffix in _BINARY:
        numerator <<= _BINARY[suffix]
    else:
        exponent += _DECIMAL[suffix or ""]
    if exponent >= 0:
        value = numerator * int(10**exponent)
    else:
        value = -(-numerator // int(10**-exponent))
    value = min(value, UNLIMITED)
    return -value if sign == "-" else value


def format_milli(value: int) -> str:
    """Milli-units as the shortest canonical quantity: 1500 gives ``1500m``, 2000 gives ``2``."""
    if value % 1000:
        return f"{value}m"
    return str(value // 1000)


def format_bytes(value: int) -> str:
    """Bytes with the largest binary suffix that divides them exactly: 2147483648 gives ``2Gi``."""
    if value:
        for suffix, bits in reversed(_BINARY.items()):
            if value % (1 << bits) == 0:
                return f"{value >> bits}{suffix}"
    return str(value)
