"""Objects as large as a request may be: an exemplar of which one list, map or text says more than any real one."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import orjson

from tests.support.exemplars import EXEMPLARS, Obj
from tests.support.exemplars_of_makers import MAKERS
from tests.support.spoiling import paths_of

LARGEST = EXEMPLARS | MAKERS
"""What is blown up, by kind."""
BYTES_MAX = 1_400_000
"""An object of etcd has a megabyte and a half."""


def blown_up(kind: str, most: int | None = None) -> Iterator[tuple[str, Obj]]:
    """Every exemplar of a kind with each of its lists, maps and texts blown up: where, and the object.

    ``most``: about so many of them, evenly spread over its fields.
    """
    places = [(exemplar, path) for exemplar in LARGEST[kind] for path in paths_of(exemplar) if _grows(exemplar, path)]
    for exemplar, path in places[:: 1 if most is None else max(1, len(places) // most)]:
        yield ".".join(map(str, path)), _with(exemplar, path, _larger(_at(exemplar, path)))


def _grows(exemplar: Obj, path: tuple[str | int, ...]) -> bool:
    if path[0] in ("metadata", "kind", "apiVersion") and path[:2] not in (("metadata", "labels"),):
        return False
    value = _at(exemplar, path)
    return isinstance(value, str) or bool(isinstance(value, list | dict) and value)


def _at(obj: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        obj = obj[key]
    return obj


def _with(obj: Obj, path: tuple[str | int, ...], value: Any) -> Obj:
    copied = deepcopy(obj)
    _at(copied, path[:-1])[path[-1]] = value
    return copied


def _larger(value: Any) -> Any:
    if isinstance(value, str):
        return (value[:1] or "a") * BYTES_MAX
    if isinstance(value, list):
        count = BYTES_MAX // (len(orjson.dumps(value[0])) + 9)
        return [_numbered(value[0], number) for number in range(count)]
    (key, each), *_ = value.items()
    count = BYTES_MAX // (len(orjson.dumps({key: each})) + 9)
    return {f"{key}{number}": each for number in range(count)} | value


def _numbered(item: Any, number: int) -> Any:
    """An item unlike the others, if it is a text or has a name."""
    if isinstance(item, str):
        return f"{item}{number}"
    if isinstance(item, dict) and isinstance(item.get("name"), str):
        return {**item, "name": f"{item['name']}{number}"}
    return item
