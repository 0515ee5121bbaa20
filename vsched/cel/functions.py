"""What Kubernetes adds to CEL: quantities, versions, lists, strings and regular expressions, as plain functions.

The target of a call is the first argument. A call that is not possible raises ValueError; users see its message. A
quantity is a map with one key that no object of an API has, so that equal amounts are equal in any notation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

from vsched.cel import networks, quantities, versions, words
from vsched.cel.formatting import MOST_CHARS

_AMOUNT = "\0quantity"
_INT64 = 1 << 63
MOST_PARTS = 100_000
"""The most parts of one text that ``split`` and ``findAll`` give."""

Quantity = Mapping[str, str]


def _quantity(text: Any) -> Quantity:
    if not isinstance(text, str):
        raise ValueError(words.NO_OVERLOAD)
    return quantity_of(quantities.amount(text))


def _is_quantity(text: Any) -> bool:
    try:
        _quantity(text)
    except ValueError:
        return False
    return True


def quantity_of(amount: Decimal) -> Quantity:
    """The quantity of an exact amount."""
    return {_AMOUNT: format(amount.normalize(), "f") if amount else "0"}


def _amount(value: Any) -> Decimal:
    """The amount of a quantity or of an integer, which sums take as well."""
    if isinstance(value, Mapping) and _AMOUNT in value:
        return Decimal(value[_AMOUNT])
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    raise ValueError(words.NO_OVERLOAD)


def _only(value: Any) -> Decimal:
    """The amount of a quantity; no integers."""
    if not isinstance(value, Mapping):
        raise ValueError(words.NO_OVERLOAD)
    return _amount(value)


def _compare(left: Any, right: Any) -> int:
    if versions.is_version(left):
        return versions.compared(left, right)
    one, other = _only(left), _only(right)
    return (one > other) - (one < other)


def _is_integer(value: Any) -> bool:
    amount = _only(value)
    return amount == amount.to_integral_value() and -_INT64 <= amount < _INT64


def _as_integer(value: Any) -> int:
    if not _is_integer(value):
        raise ValueError(words.NOT_AN_INTEGER)
    return int(_only(value))


def _added(left: Any, right: Any) -> Quantity:
    return quantity_of(quantities.exact_sum(_only(left), _amount(right)))


def _subtracted(left: Any, right: Any) -> Quantity:
    return quantity_of(quantities.exact_sum(_only(left), -_amount(right)))


def _sign(value: Any) -> int:
    amount = _only(value)
    return (amount > 0) - (amount < 0)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(words.NO_OVERLOAD)
    return value


def _is_sorted(value: Any) -> bool:
    items = _list(value)
    return all(left <= right for left, right in pairwise(items))


def _sum(value: Any) -> Any:
    items = _list(value)
    return sum(items[1:], items[0]) if items else 0


def _extreme(name: str, pick: Callable[[list[Any]], Any]) -> Callable[[Any], Any]:
    def of(value: Any) -> Any:
        if not _list(value):
            raise ValueError(words.called_on_empty_list(name))
        return pick(value)

    return of


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(words.NO_OVERLOAD)
    return value


def _index_of(value: Any, wanted: Any, start: int = 0) -> int:
    if isinstance(value, list):
        return value.index(wanted) if wanted in value else -1
    if not 0 <= start <= len(_text(value)):
        raise ValueError(words.index_out_of_range(start))
    return _text(value).find(_text(wanted), start)


def _last_index_of(value: Any, wanted: Any, start: int | None = None) -> int:
    if isinstance(value, list):
        return len(value) - 1 - value[::-1].index(wanted) if wanted in value else -1
    text, part = _text(value), _text(wanted)
    if start is None:
        return text.rfind(part)
    if not 0 <= start <= len(text):
        raise ValueError(words.index_out_of_range(start))
    return text.rfind(part, 0, start + len(part))


def _char_at(value: Any, index: int) -> str:
    if not 0 <= index <= len(_text(value)):
        raise ValueError(words.index_out_of_range(index))
    return _text(value)[index : index + 1]


def _substring(value: Any, start: int, end: int | None = None) -> str:
    text = _text(value)
    end = len(text) if end is None else end
    if not 0 <= start <= len(text) or not 0 <= end <= len(text):
        raise ValueError(words.index_out_of_range(start if not 0 <= start <= len(text) else end))
    if start > end:
        raise ValueError(words.invalid_substring(start, end))
    return text[start:end]


def _replace(value: Any, old: Any, new: Any, times: int = -1) -> str:
    text = _text(value)
    if (text.count(_text(old)) + 1) * len(_text(new)) + len(text) > MOST_CHARS:
        raise ValueError(words.replace_makes_too_much(MOST_CHARS))
    return text.replace(old, new, times)


def _split(value: Any, separator: Any, parts: int = -1) -> list[str]:
    text = _text(value)
    if parts == 0:
        return []
    if _text(separator):
        return _few(text.split(separator, parts - 1 if parts > 0 else -1))
    return _few(list(text) if parts < 0 or parts >= len(text) else [*text[: parts - 1], text[parts - 1 :]])


def _few(parts: list[str]) -> list[str]:
    if len(parts) > MOST_PARTS:
        raise ValueError(words.too_many_parts(len(parts), MOST_PARTS))
    return parts


def _join(value: Any, separator: Any = "") -> str:
    items = [_text(each) for each in _list(value)]
    if sum(map(len, items)) + len(items) * len(_text(separator)) > MOST_CHARS:
        raise ValueError(words.join_makes_too_much(MOST_CHARS))
    return str(separator).join(items)


def _lower(value: Any) -> str:
    return "".join(each.lower() if each.isascii() else each for each in _text(value))


def _upper(value: Any) -> str:
    return "".join(each.upper() if each.isascii() else each for each in _text(value))


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> Any:
    """A pattern in the syntax of RE2, which is found in time that grows with the text alone."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(words.not_a_regexp(_said(error))) from None


def _said(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)


def _find(value: Any, pattern: Any) -> str:
    found = _pattern(_text(pattern)).search(_text(value))
    return str(found[0]) if found else ""


def _find_all(value: Any, pattern: Any, most: int = -1) -> list[str]:
    found = _pattern(_text(pattern)).finditer(_text(value))
    return _few([each[0] for each in (found if most < 0 else islice(found, most))])


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "True", "TRUE", "t", "1"):
        return True
    if value in ("false", "False", "FALSE", "f", "0"):
        return False
    raise ValueError(words.not_a_bool_text(value))


def _string(value: Any) -> str:
    """``string`` of a bool or an address, which the library does not have."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if (text := networks.text_of(value)) is None:
        raise ValueError(words.NO_OVERLOAD)
    return text


def _size(value: Any) -> int:
    """``size``; of a text the number of characters, of which the library counts the bytes."""
    if not isinstance(value, str | bytes | list | Mapping) or type_name(value) not in _SIZED:
        raise ValueError(words.NO_OVERLOAD)
    return len(value)


_SIZED = frozenset({"string", "bytes", "list", "map"})
_TYPE_NAMES = {
    datetime: "timestamp",
    timedelta: "duration",
    bool: "bool",
    int: "int",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
}


def type_name(value: Any) -> str:
    """What CEL calls the type of a value."""
    if isinstance(value, Mapping):
        for key in value:
            if isinstance(key, str) and key.startswith("\0"):
                return key[1:]
    return "null_type" if value is None else _TYPE_NAMES.get(type(value), type(value).__name__)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "__size": _size,
    "quantity": _quantity,
    "isQuantity": _is_quantity,
    "isInteger": _is_integer,
    "asInteger": _as_integer,
    "asApproximateFloat": lambda value: float(_only(value)),
    "add": _added,
    "sub": _subtracted,
    "sign": _sign,
    "compareTo": _compare,
    "isGreaterThan": lambda left, right: _compare(left, right) > 0,
    "isLessThan": lambda left, right: _compare(left, right) < 0,
    "semver": versions.version,
    "isSemver": versions.is_text_of_version,
    "major": lambda value: versions.part(0, value),
    "minor": lambda value: versions.part(1, value),
    "patch": lambda value: versions.part(2, value),
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": _extreme("min", min),
    "max": _extreme("max", max),
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "charAt": _char_at,
    "substring": _substring,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "lowerAscii": _lower,
    "upperAscii": _upper,
    "trim": lambda value: _text(value).strip(),
    "find": _find,
    "findAll": _find_all,
    "bool": _bool,
    "string": _string,
}
"""By name. The library's own functions are tried first."""
