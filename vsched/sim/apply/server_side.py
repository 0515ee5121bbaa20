"""Server-side apply: merges the applied configuration of a manager into an object, and updates managedFields.

An object without managedFields is owned by a manager called ``before-first-apply``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from vsched.apimachinery.meta.api_errors import Failure, bad_request
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.times import format_time, utc_now
from vsched.apimachinery.objects.field_decoding import unknown_fields
from vsched.sim.apply import last_applied
from vsched.sim.store.field_ownership import (
    Path,
    ValueSchema,
    item_step,
    owned_paths,
    path_text,
    shape_of,
    value_at,
    value_step,
)
from vsched.sim.store.managed_fields import Author, FieldOwners, Manager, entries_of, with_entries

_BEFORE = "before-first-apply"


def apply(
    kind: Kind,
    obj: Obj | None,
    applied: Obj,
    manager: str,
    force: bool,
    *,
    subresource: str = "",
    now: datetime | None = None,
) -> Obj:
    """The object after ``manager`` has applied ``applied``; a new one if ``obj`` is None.

    Raises a 409 Failure for conflicts, unless it is forced.
    """
    _check_applied(kind, applied)
    me: Manager = (manager, "Apply", kind.api_version, subresource)
    now = now or utc_now()
    wanted = owned_paths(kind, applied)
    if obj is None:
        return with_entries(applied, FieldOwners({me: wanted}, {me: format_time(now)}).entries())
    shape = shape_of(kind)
    managed = _managed_fields(kind, obj, now)
    conflicts = _conflicts(managed.owned, me, wanted, obj, applied, shape)
    if conflicts and not force:
        theirs = last_applied.fields_of(kind, obj) if manager == last_applied.KUBECTL else set()
        if refused := [each for each in conflicts if each[0] not in theirs]:
            raise _conflict(refused)
    for path, other in conflicts:
        managed.owned[other] = managed.owned[other] - {path}
    before = managed.owned.get(me, set())
    merged = _without_dropped(_merged(obj, applied, shape), before - wanted, wanted, managed.owned, me, shape)
    managed.owned[me] = wanted
    if before != wanted or merged != obj:
        managed.times[me] = format_time(now)
    if manager == last_applied.KUBECTL:
        merged = last_applied.brought_up_to_date(merged, applied)
    return with_entries(merged, managed.entries())


def _without_dropped(
    merged: Obj, dropped: set[Path], wanted: set[Path], owned: dict[Manager, set[Path]], me: Manager, shape: ValueSchema
) -> Obj:
    """The object without the fields that ``me`` no longer applies and no other manager owns."""
    kept = wanted.union(*(paths for other, paths in owned.items() if other != me))
    # An item is removed before its fields, because it is found by its key fields.
    for path in sorted(dropped, key=len):
        if not _is_key(path) and not any(other[: len(path)] == path for other in kept):
            merged = _without(merged, path, shape)
    return merged


def _check_applied(kind: Kind, applied: Obj) -> None:
    if not applied.get("kind") or not applied.get("apiVersion"):
        raise bad_request("invalid object type: no kind or apiVersion")
    metadata = applied.get("metadata") or {}
    if metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    unknown = [] if kind.custom else unknown_fields(kind, applied)
    if unknown:
        name = "/".join(part for part in (metadata.get("namespace"), metadata.get("name")) if part)
        typed = f"{name}; {kind.group}/{kind.version}, Kind={kind.kind}"
        message = f"failed to create typed patch object ({typed}): .{unknown[0]}: field not declared in schema"
        raise Failure(500, "", message)


def _managed_fields(kind: Kind, obj: Obj, now: datetime) -> FieldOwners:
    managed = FieldOwners.of(entries_of(obj))
    if not managed.owned:
        visible = {key: value for key, value in obj.items() if key != "status"}
        managed.created(kind, visible, Author(_BEFORE, "", now))
    return managed


def _conflicts(
    managers: dict[Manager, set[Path]], me: Manager, wanted: set[Path], obj: Obj, applied: Obj, shape: ValueSchema
) -> list[tuple[Path, Manager]]:
    found = []
    for other, paths in managers.items():
        if other == me:
            continue
        for path in sorted(paths & wanted):
            if path[-1].startswith("k:"):
                continue
            if value_at(obj, path, shape) != value_at(applied, path, shape):
                found.append((path, other))
    return found


def _shown(manager: Manager) -> str:
    name, operation, version, subresource = manager
    text = f'"{name}"'
    if subresource:
        text += f' with subresource "{subresource}"'
    return f"{text} using {version}" if operation == "Update" else text


def _conflict(conflicts: list[tuple[Path, Manager]]) -> Failure:
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {_shown(other)}", "field": path_text(path)}
        for path, other in conflicts
    ]
    if len(conflicts) == 1:
        path, other = conflicts[0]
        message = f"Apply failed with 1 conflict: conflict with {_shown(other)}: {path_text(path)}"
    else:
        by_manager: dict[str, list[str]] = {}
        for path, other in conflicts:
            by_manager.setdefault(_shown(other), []).append(path_text(path))
        lines = []
        for name in sorted(by_manager):
            lines.append(f"conflicts with {name}:")
            lines.extend(f"- {text}" for text in by_manager[name])
        message = f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
    return Failure(409, "Conflict", message, details={"causes": causes})


def _merged(live: Any, applied: Any, shape: ValueSchema, root: bool = True) -> Any:
    """The live value, merged with the applied one."""
    if isinstance(applied, dict) and isinstance(live, dict) and (root or not shape.atomic):
        result = dict(live)
        for key, value in applied.items():
            result[key] = _merged(live.get(key), value, shape.child(key), root=False)
        return result
    if isinstance(applied, list) and isinstance(live, list):
        if shape.keys:
            return _merged_items(live, applied, shape)
        if shape.is_set:
            return [*live, *(item for item in applied if item not in live)]
    return applied


def _merged_items(live: list[Any], applied: list[Any], shape: ValueSchema) -> list[Any]:
    items = {item_step(item, shape.keys): item for item in live}
    for item in applied:
        step = item_step(item, shape.keys)
        items[step] = _merged(items[step], item, shape.item, root=False) if step in items else item
    return list(items.values())


def _without(value: Any, path: Path, shape: ValueSchema) -> Any:
    """The value without what is at the path; an object that becomes empty is removed as well."""
    step, rest = path[0], path[1:]
    if isinstance(value, dict) and step.startswith("f:"):
        key = step[2:]
        if key not in value:
            return value
        result = dict(value)
        inner = _without(value[key], rest, shape.child(key)) if rest else None
        if inner is None or inner in ({}, []):
            result.pop(key)
        else:
            result[key] = inner
        return result
    if isinstance(value, list) and not step.startswith("f:"):
        steps = [item_step(item, shape.keys) if step.startswith("k:") else value_step(item) for item in value]
        if not rest:
            return [item for item, own in zip(value, steps, strict=True) if own != step]
        return [
            _without(item, rest, shape.item) if own == step else item for item, own in zip(value, steps, strict=True)
        ]
    return value


def _is_key(path: Path) -> bool:
    """Whether a path leads to a key field of a list item."""
    return len(path) > 1 and path[-2].startswith("k:") and path[-1][2:] in orjson.loads(path[-2][2:])
