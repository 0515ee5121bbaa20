"""The fields of an object that a manager owns, as sets of paths; converted to and from FieldsV1.

A path is a tuple of FieldsV1 steps: ``f:spec`` for a field, ``k:{"name":"c"}`` for an item of a keyed list, ``v:"a/b"``
for a value of a set. The type decides where a path ends: an atomic value is one leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.schema import OBJECT_META, SchemaField, Type, schema_table

Path = tuple[str, ...]

_NEVER_OWNED = frozenset(
    {
        ("f:apiVersion",),
        ("f:kind",),
        *(
            ("f:metadata", f"f:{name}")
            for name in (
                "name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields",
                "resourceVersion",
            )
        ),
    }
)  # fmt: skip
_KEY_DEFAULTS = {"protocol": "TCP"}


@dataclass(frozen=True, slots=True)
class ValueSchema:
    """The type of a value, as far as it matters for owning its parts; from the schema table or a custom schema."""

    type: Type | None = None
    field: SchemaField | None = None
    schema: Obj | None = None
    values: bool = False
    """This is a value of the map, or an item of the list, that is in ``field``; not the field itself."""

    def child(self, name: str) -> ValueSchema:
        if self.schema is not None:
            if name == "metadata" and self.type is not None:
                return ValueSchema(type=schema_table()[OBJECT_META])
            properties = self.schema.get("properties") or {}
            inner = properties.get(name, self.schema.get("additionalProperties"))
            return ValueSchema(schema=inner if isinstance(inner, dict) else {})
        if self.field is not None and self.field.shape == "{}" and not self.values:
            return ValueSchema(type=self._element, field=self.field, values=True)
        item = self.type.fields.get(name) if self.type is not None else None
        if item is None:
            return ValueSchema()
        nested = schema_table()[item.of] if not item.scalar else None
        return ValueSchema(type=nested if not item.shape else None, field=item)

    @property
    def _element(self) -> Type | None:
        return schema_table()[self.field.of] if self.field is not None and not self.field.scalar else None

    @property
    def item(self) -> ValueSchema:
        if self.schema is not None:
            return ValueSchema(schema=self.schema.get("items") or {})
        return ValueSchema(type=self._element, field=self.field, values=True)

    @property
    def atomic(self) -> bool:
        if self.schema is not None:
            return self.schema.get("x-kubernetes-map-type") == "atomic"
        if self.type is not None and self.type.atomic:
            return True
        return self.field is not None and not self.values and (self.field.atomic or self._opaque)

    @property
    def _opaque(self) -> bool:
        return self.field is not None and self.field.of in ("json", "raw", "fields") and self.field.shape != "{}"

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that identify the items of a list; empty for other lists."""
        if self.schema is not None:
            if self.schema.get("x-kubernetes-list-type") != "map":
                return ()
            return tuple(self.schema.get("x-kubernetes-list-map-keys") or ())
        return self.field.map_keys if self.field is not None and not self.values else ()

    @property
    def is_set(self) -> bool:
        if self.schema is not None:
            return self.schema.get("x-kubernetes-list-type") == "set"
        return self.field is not None and not self.values and self.field.is_set


def shape_of(kind: Kind) -> ValueSchema:
    if kind.custom:
        return ValueSchema(type=schema_table()[OBJECT_META], schema=kind.schema or {})
    return ValueSchema(type=schema_table().of_kind(kind))


def item_step(item: Any, keys: tuple[str, ...]) -> str:
    """The step to an item of a keyed list."""
    values = {key: item.get(key, _KEY_DEFAULTS.get(key)) for key in keys} if isinstance(item, dict) else {}
    return "k:" + orjson.dumps(values, option=orjson.OPT_SORT_KEYS).decode()


def value_step(item: Any) -> str:
    return "v:" + orjson.dumps(item).decode()


def owned_paths(kind: Kind, obj: Obj) -> set[Path]:
    """The paths of all fields that an object sets."""
    return {path for path in _paths(obj, shape_of(kind), ()) if path not in _NEVER_OWNED}


def _paths(value: Any, shape: ValueSchema, path: Path) -> Iterator[Path]:
    if isinstance(value, dict) and value and not (path and shape.atomic):
        for key, inner in value.items():
            yield from _paths(inner, shape.child(key), (*path, f"f:{key}"))
    elif isinstance(value, list) and shape.keys:
        for item in value:
            step = (*path, item_step(item, shape.keys))
            yield step
            yield from _paths(item, shape.item, step)
    elif isinstance(value, list) and shape.is_set:
        for item in value:
            yield (*path, value_step(item))
    elif path:
        yield path


def compared(kind: Kind, new: Obj, old: Obj) -> tuple[set[Path], set[Path]]:
    """The paths that the new object sets to other values than the old one, and those that it no longer has.

    Equal parts are not walked through.
    """
    changed: set[Path] = set()
    gone: set[Path] = set()
    _compare(new, old, shape_of(kind), (), changed, gone)
    return changed - _NEVER_OWNED, gone - _NEVER_OWNED


def _compare(new: Any, old: Any, shape: ValueSchema, path: Path, changed: set[Path], gone: set[Path]) -> None:
    if new is old or new == old:
        return
    if isinstance(new, dict) and isinstance(old, dict) and new and old and not (path and shape.atomic):
        for key in new.keys() | old.keys():
            if key not in old or key not in new or new[key] != old[key]:
                _compare_part(new, old, key, shape.child(key), (*path, f"f:{key}"), changed, gone)
    elif isinstance(new, list) and isinstance(old, list) and shape.keys:
        after, before = ({item_step(item, shape.keys): item for item in items} for items in (new, old))
        for step in after.keys() | before.keys():
            here = (*path, step)
            if step not in before:
                changed.add(here)
            elif step not in after:
                gone.add(here)
            _compare_part(after, before, step, shape.item, here, changed, gone)
    else:
        is_set = isinstance(new, list) and isinstance(old, list) and shape.is_set
        before_paths, after_paths = set(_paths(old, shape, path)), set(_paths(new, shape, path))
        changed |= after_paths - before_paths if is_set else after_paths
        gone |= before_paths - after_paths


def _compare_part(
    new: Obj, old: Obj, key: str, shape: ValueSchema, path: Path, changed: set[Path], gone: set[Path]
) -> None:
    if key not in old:
        changed.update(_paths(new[key], shape, path))
    elif key not in new:
        gone.update(_paths(old[key], shape, path))
    else:
        _compare(new[key], old[key], shape, path, changed, gone)


def value_at(obj: Obj, path: Path, shape: ValueSchema) -> Any:
    """The value at a path; None if there is none."""
    value: Any = obj
    for step in path:
        if step.startswith("f:"):
            value = value.get(step[2:]) if isinstance(value, dict) else None
            shape = shape.child(step[2:])
        elif not isinstance(value, list):
            return None
        elif step.startswith("k:"):
            keys = shape.keys
            value = next((item for item in value if item_step(item, keys) == step), None)
            shape = shape.item
        else:
            value = next((item for item in value if value_step(item) == step), None)
        if value is None:
            return None
    return value


def to_fields(paths: set[Path]) -> Obj:
    """The FieldsV1 form: nested steps; ``.`` says that an item itself is owned, and not only its fields."""
    root: Obj = {}
    for path in sorted(paths):
        node = root
        for step in path:
            node = node.setdefault(step, {})
        if path[-1].startswith("k:"):
            node["."] = {}
    return root


def from_fields(fields: Obj, path: Path = ()) -> set[Path]:
    paths: set[Path] = set()
    for step, inner in fields.items():
        if step == ".":
            paths.add(path)
        elif inner:
            paths |= from_fields(inner, (*path, step))
        else:
            paths.add((*path, step))
    return paths


def path_text(path: Path) -> str:
    """As conflicts write it: ``.spec.containers[name="c"].image``."""
    text = ""
    for step in path:
        if step.startswith("f:"):
            text += f".{step[2:]}"
        elif step.startswith("k:"):
            keys = orjson.loads(step[2:])
            text += "[" + ",".join(f"{key}={orjson.dumps(value).decode()}" for key, value in keys.items()) + "]"
        else:
            text += f"[={step[2:]}]"
    return text
