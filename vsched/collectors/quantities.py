"""What the metrics APIs write: quantities and times, to plain numbers; NaN for what is neither."""

from __future__ import annotations

from datetime import UTC, datetime
from math import nan

from vsched.errors import BadQuantity
from vsched.model.amounts.quantity import parse_quantity

_FINE = 10**9
"""Quantities are read to the nano."""
_LONGEST = 100
"""Letters of what can be meant as a quantity: Python reads no numbers of thousands of digits."""
_USUAL = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "Ki": 1024.0}
"""The suffixes that measured quantities come with. They are all different, so remembering them is of no use."""


def number_of(text: str) -> float:
    """A quantity as a number: ``300m`` is 0.3."""
    if len(text) > _LONGEST:
        return nan
    digits = text.rstrip("numKi")
    scale = _USUAL.get(text[len(digits) :])
    if scale is not None and digits.isdecimal():
        return int(digits) * scale
    try:
        return parse_quantity(text, _FINE) / _FINE
    except BadQuantity:
        return nan


def moment(text: str) -> float:
    """A time as Kubernetes writes it, in seconds since the epoch."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return nan
    return found.replace(tzinfo=found.tzinfo or UTC).timestamp()
