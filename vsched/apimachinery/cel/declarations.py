"""The types that validation rules see of a schema, with the sizes that an API server reckons with.

Where a schema states no ``maxItems``, ``maxProperties`` or ``maxLength``, as much is there as fits into a request.
"""

from __future__ import annotations

from typing import Any

from vsched.apimachinery.cel.validation_rules import escaped, fields_of, is_embedded
from vsched.apimachinery.meta.kinds import Obj
from vsched.cel.costs import Declared

_REQUEST_BYTES = 3 << 20
_QUOTES = 2
_TEXT_BYTES = {"duration": (3, 32), "date": (12, 12), "date-time": (21, 32)}
"""The least and the most bytes of texts of a format."""
_FORMATS = {"byte": "bytes", "duration": "duration", "date": "timestamp", "date-time": "timestamp"}
_NUMBERS = {"boolean": ("bool", 4), "number": ("double", 1), "integer": ("int", 1)}


def declared(schema: Any, *, root: bool = False) -> Declared | None:
    """The type of a schema; None where rules do not see it."""
    if not isinstance(schema, dict):
        return None
    if schema.get("x-kubernetes-int-or-string"):
        return Declared("dyn", _most(schema, "maxLength", 4, _REQUEST_BYTES - _QUOTES), 1)
    kind = schema.get("type", "")
    if kind in _NUMBERS:
        name, smallest = _NUMBERS[kind]
        return Declared(name, 0, smallest)
    if kind == "string":
        return _text(schema)
    if kind == "array":
        items = declared(schema.get("items"), root=_is_root(schema.get("items")))
        if items is None:
            return None
        fitting = (_REQUEST_BYTES - _QUOTES) // (items.smallest + 1)
        return Declared("list", _most(schema, "maxItems", 1, fitting), _QUOTES, element=items)
    return _object(schema, root) if kind == "object" else None


def cardinality(type_: Declared) -> int:
    """How many values of a type fit into one request."""
    return _REQUEST_BYTES // (type_.smallest + 1)


def most_held(schema: Obj) -> int | None:
    """How many of each of its parts a value may have; None if its schema does not say."""
    if schema.get("type") == "array":
        return schema.get("maxItems")
    if schema.get("type") == "object" and schema.get("additionalProperties"):
        return schema.get("maxProperties")
    return 1


def _is_root(schema: Any) -> bool:
    return isinstance(schema, dict) and is_embedded(schema)


def _most(schema: Obj, limit: str, times: int, otherwise: int) -> int:
    stated = schema.get(limit)
    return otherwise if stated is None else max(0, stated) * times


def _text(schema: Obj) -> Declared:
    form = schema.get("format", "")
    if form in _TEXT_BYTES:
        smallest, most = _TEXT_BYTES[form]
        return Declared(_FORMATS[form], most, smallest)
    fitting = _REQUEST_BYTES - _QUOTES
    if form == "byte":
        return Declared("bytes", _most(schema, "maxLength", 1, fitting), _QUOTES)
    choices = [each for each in schema.get("enum") or () if isinstance(each, str)]
    if choices:
        fitting = max(len(each.encode()) for each in choices)
    # A character takes four bytes at most.
    return Declared("string", _most(schema, "maxLength", 4, fitting), _QUOTES)


def _object(schema: Obj, root: bool) -> Declared | None:
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        element = declared(values, root=is_embedded(values))
        if element is None:
            return None
        fitting = (_REQUEST_BYTES - _QUOTES) // (element.smallest + 6)
        # An API server takes the keys of maps for empty.
        key = Declared("string", 0, _QUOTES)
        return Declared("map", _most(schema, "maxProperties", 1, fitting), _QUOTES, element=element, key=key)
    needed, smallest = schema.get("required") or (), 2
    fields: dict[str, Declared] = {}
    for name, below in fields_of(schema, root=root).items():
        found = declared(below, root=_is_root(below))
        if found is None:
            continue
        fields[escaped(name)] = found
        if name in needed and "default" not in below:
            smallest += len(name) + found.smallest + 4
    return Declared("object", 0, smallest, fields)
