"""Optional values in CEL, and the pairs that loops of two variables run over.

An optional value is a map with one key that no object of an API has. ``rewriting`` says which expressions come to calls
of these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vsched.cel import words

_OPTIONAL = "\0optional"
Optional = Mapping[str, list[Any]]


def optional(*values: Any) -> Optional:
    """An optional value with this value, or with none."""
    return {_OPTIONAL: list(values)}


def is_optional(value: Any) -> bool:
    """Whether a value is optional."""
    return isinstance(value, Mapping) and _OPTIONAL in value


def _items(value: Any) -> list[Any]:
    """The value as a list of one, or of none."""
    if not is_optional(value):
        raise ValueError(words.NO_OVERLOAD)
    return list(value[_OPTIONAL])


def _has_value(value: Any) -> bool:
    return bool(_items(value))


def _value(value: Any) -> Any:
    for one in _items(value):
        return one
    raise ValueError(words.NONE_DEREFERENCED)


def _select(value: Any, key: Any) -> Optional:
    """A field, an entry or an item, if it is there; of an optional value, if that is there."""
    if is_optional(value):
        return _select(_value(value), key) if _has_value(value) else value
    if isinstance(value, Mapping):
        return optional(value[key]) if _is_key(key) and key in value else optional()
    if isinstance(value, list):
        if isinstance(key, bool) or not isinstance(key, int | float) or key != int(key):
            raise ValueError(words.NO_OVERLOAD)
        return optional(value[int(key)]) if 0 <= key < len(value) else optional()
    raise ValueError(words.NO_OVERLOAD)


def _is_key(key: Any) -> bool:
    return isinstance(key, str | int | float)


def _of_non_zero(value: Any) -> Optional:
    return optional(value) if value else optional()


def _unwrapped(values: Any) -> list[Any]:
    """The values that are there."""
    if not isinstance(values, list):
        raise ValueError(words.NO_OVERLOAD)
    return [one for each in values for one in _items(each)]


def _flattened(values: list[Any]) -> Optional:
    """What ``optFlatMap`` comes to, given the results: at most one, itself optional."""
    for each in values:
        return optional(*_items(each))
    return optional()


def _end(at: int) -> Callable[[Any], Optional]:
    def of(value: Any) -> Optional:
        if not isinstance(value, list):
            raise ValueError(words.NO_OVERLOAD)
        return optional(value[at]) if value else optional()

    return of


def _pairs(value: Any) -> list[list[Any]]:
    """Positions and items of a list; keys and values of a map."""
    if isinstance(value, Mapping):
        return [[key, each] for key, each in value.items()]
    if isinstance(value, list):
        return [[at, each] for at, each in enumerate(value)]
    raise ValueError(words.NO_OVERLOAD)


def _merged(maps: list[Any]) -> dict[Any, Any]:
    """One map of several."""
    found: dict[Any, Any] = {}
    for each in maps:
        if not isinstance(each, Mapping):
            raise ValueError(words.NO_OVERLOAD)
        for key, value in each.items():
            if key in found:
                raise ValueError(words.repeated_key(key))
            found[key] = value
    return found


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "__select": _select,
    "__items": _items,
    "__hasValue": _has_value,
    "__value": _value,
    "__optMap": lambda values: optional(*values),
    "__optFlatMap": _flattened,
    "__entry": lambda key, value: dict.fromkeys([key], _value(value)) if _has_value(value) else {},
    "__pair": lambda key, value: {key: value},
    "__pairs": _pairs,
    "__merged": _merged,
    "__optional_of": optional,
    "__optional_none": optional,
    "__optional_ofNonZeroValue": _of_non_zero,
    "__optional_unwrap": _unwrapped,
    "unwrapOpt": _unwrapped,
    "first": _end(0),
    "last": _end(-1),
}
"""By name."""
