"""Kubernetes quantities: their exact values, their sums, and the canonical form that the API server writes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import ROUND_UP, Context, Decimal
from functools import lru_cache

from vsched.cel import words

_PATTERN = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*)([+-]?[0-9]*)\Z")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX_OF_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_SUFFIX_OF_BITS = {bits: suffix for suffix, bits in _BINARY.items()}
_LARGEST = Decimal((1 << 63) - 1)
_NANO = Decimal("1e-9")
_EXACT = Context(prec=400)


class NotAQuantity(ValueError):
    """The text is not a quantity; the message is that of the API server."""


@lru_cache(maxsize=65536)
def canonical(value: str | int | float) -> str:
    """The quantity as the server writes it: 0.5 gives ``500m``, ``1024Mi`` gives ``1Gi``; raises NotAQuantity."""
    amount, style = _parse(_text(value))
    if not amount:
        return "0"
    if style == "binary" and abs(amount) >= 1024 and amount == amount.to_integral_value():
        return _binary(int(amount))
    return _decimal(amount, exponential=style == "exponential")


@lru_cache(maxsize=65536)
def amount(value: str | int | float) -> Decimal:
    """The exact value; raises NotAQuantity."""
    return _parse(_text(value))[0]


def exact_sum(left: Decimal, right: Decimal) -> Decimal:
    """The sum, without rounding."""
    return _EXACT.add(left, right)


def total(values: Iterable[str | int | float]) -> str:
    """The sum in canonical form; the first quantity other than zero decides its style (decimal or binary)."""
    summed, style = Decimal(0), "decimal"
    for value in values:
        one, its_style = _parse(_text(value))
        if not summed:
            style = its_style
        summed = _EXACT.add(summed, one)
    if not summed:
        return "0"
    if style == "binary" and abs(summed) >= 1024 and summed == summed.to_integral_value():
        return _binary(int(summed))
    return _decimal(summed, exponential=style == "exponential")


def _text(value: str | int | float) -> str:
    return value.strip() if isinstance(value, str) else repr(value)


def _parse(text: str) -> tuple[Decimal, str]:
    match = _PATTERN.match(text)
    if match is None or not text:
        raise NotAQuantity(words.WRONG_FORMAT)
    sign, whole, fraction, suffix, power = match.groups()
    multiplier, style = _multiplier(suffix, power)
    if not whole and not fraction:
        raise NotAQuantity(words.WRONG_NUMBER)
    value = _EXACT.multiply(Decimal(f"{whole or '0'}.{fraction or '0'}"), multiplier)
    # As the server does: too large values are cut, and less than a billionth is rounded up, so that it is not zero.
    value = min(value, _LARGEST)
    if value.as_tuple().exponent < -9:  # type: ignore[operator]
        value = value.quantize(_NANO, rounding=ROUND_UP, context=_EXACT)
    return (-value if sign == "-" else value), style


def _multiplier(suffix: str, power: str) -> tuple[Decimal, str]:
    if suffix in ("e", "E") and power:
        if power in ("+", "-") or len(power) > 4:
            raise NotAQuantity(words.WRONG_SUFFIX)
        return Decimal(1).scaleb(int(power), context=_EXACT), "exponential"
    if power:
        raise NotAQuantity(words.WRONG_SUFFIX)
    if suffix in _BINARY:
        return Decimal(1 << _BINARY[suffix]), "binary"
    if suffix in _DECIMAL:
        return Decimal(1).scaleb(_DECIMAL[suffix]), "decimal"
    raise NotAQuantity(words.WRONG_SUFFIX)


def _binary(value: int) -> str:
    bits = 0
    while bits < 60 and value % 1024 == 0:
        value //= 1024
        bits += 10
    return f"{value}{_SUFFIX_OF_BITS.get(bits, '')}"


def _decimal(value: Decimal, *, exponential: bool) -> str:
    """The digits without trailing zeros over the largest power of a thousand that leaves no fraction."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    mantissa = int("".join(map(str, digits)))
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    while exponent % 3:
        mantissa *= 10
        exponent -= 1
    number = f"{'-' if sign else ''}{mantissa}"
    if exponential:
        return f"{number}e{exponent}" if exponent else number
    if exponent not in _SUFFIX_OF_EXPONENT:  # only reachable above the largest suffix
        number, exponent = f"{number}{'0' * (exponent - 18)}", 18
    return f"{number}{_SUFFIX_OF_EXPONENT[exponent]}"
