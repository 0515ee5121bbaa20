"""Sets in CEL (``sets``): lists of which neither order nor repetitions count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vsched.cel import words


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(words.NO_OVERLOAD)
    return value


def equal(left: Any, right: Any) -> bool:
    """Whether two values are equal in CEL, where true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    return bool(left == right)


def includes(value: Any, wanted: Any) -> bool:
    """Whether a list has an item, or a single value is equal to it."""
    return any(equal(each, wanted) for each in (value if isinstance(value, list) else [value]))


def _contains(left: Any, right: Any) -> bool:
    items = _list(left)
    return all(includes(items, each) for each in _list(right))


def _intersects(left: Any, right: Any) -> bool:
    items = _list(left)
    return any(includes(items, each) for each in _list(right))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "__sets_contains": _contains,
    "__sets_intersects": _intersects,
    "__sets_equivalent": lambda left, right: _contains(left, right) and _contains(right, left),
    "includes": includes,
}
"""By name."""
