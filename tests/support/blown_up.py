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


def blown_up(kind: str) -> Iterator[tuple[str, Obj]]:
    """Every exemplar of a kind with each of its lists, maps and texts blown up: where, and the object."""
    for exemplar in LARGEST[kind]:
        for path in paths_of(exemplar):
            if path[0] in ("metadata", "kind", "apiVersion") and path[:2] not in (("metadata", "labels"),):
                continue
            larger = _larger(_at(exemplar, path))
            if larger is not None:
                yield ".".join(map(str, path)), _with(exemplar, path, larger)


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
    if isinstance(value, list) and value:
        count = BYTES_MAX // (len(orjson.dumps(value[0])) + 9)
        return [_numbered(value[0], number) for number in range(count)]
    if isinstance(value, dict) and value:
        (key, each), *_ = value.items()
        count = BYTES_MAX // (len(orjson.dumps({key: each})) + 9)
        return {f"{key}{number}": each for number in range(count)} | value
    return None


def _numbered(item: Any, number: int) -> Any:
    """An item unlike the others, if it is a text or has a name."""
    if isinstance(item, str):
        return f"{item}{number}"
    if isinstance(item, dict) and isinstance(item.get("name"), str):
        return {**item, "name": f"{item['name']}{number}"}
    return item
