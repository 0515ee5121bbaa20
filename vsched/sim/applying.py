"""Server-side apply: merging what a manager wants into an object, and keeping the books on who owns which field.

Ownership is kept by leaf path in metadata.managedFields. An object that was never applied belongs as a whole to a
manager called ``before-first-apply``, as it does for a server that did not track it. ``record_update`` keeps the books
right when an object that has them is changed by other means.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from vsched.sim.conform import unknown_fields
from vsched.sim.kinds import Kind
from vsched.sim.ownership import (
    Path,
    Shape,
    from_fields,
    item_step,
    owned_paths,
    path_text,
    shape_of,
    to_fields,
    value_at,
    value_step,
)
from vsched.sim.status import Failure, bad_request
from vsched.sim.times import format_time, utc_now

Obj = dict[str, Any]
Manager = tuple[str, str, str, str]
"""Name, operation (Apply or Update), apiVersion, subresource."""

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
    """The object as it should be stored once ``manager`` has applied ``applied``; a 409 Failure on conflicts.

    With no object the result is a new one.
    """
    _check_applied(kind, applied)
    me: Manager = (manager, "Apply", kind.api_version, subresource)
    wanted = owned_paths(kind, applied)
    if obj is None:
        return _with_managers(applied, {me: wanted}, {}, now)
    shape = shape_of(kind)
    managers = _managers(kind, obj)
    conflicts = _conflicts(managers, me, wanted, obj, applied, shape)
    if conflicts and not force:
        raise _conflict(conflicts)
    for path, other in conflicts:
        managers[other] = managers[other] - {path}
    merged: Obj = _merged(obj, applied, shape)
    gone = managers.get(me, set()) - wanted
    kept = wanted.union(*(paths for other, paths in managers.items() if other != me))
    # An item goes as a whole before its fields would, or there would be no key left to find it by.
    for path in sorted(gone, key=len):
        if not _is_key(path) and not any(other[: len(path)] == path for other in kept):
            merged = _without(merged, path, shape)
    managers[me] = wanted
    times = {_manager(entry): entry.get("time") for entry in _entries(obj) if _same_fields(entry, managers)}
    return _with_managers(merged, managers, times, now)


def record_update(kind: Kind, new: Obj, old: Obj, manager: str, *, now: datetime | None = None) -> Obj:
    """``new`` with its books corrected for a change by ``manager``; objects without books stay without."""
    if not _entries(old):
        return new
    shape = shape_of(kind)
    after, before = owned_paths(kind, new), owned_paths(kind, old)
    changed = {path for path in after if value_at(new, path, shape) != value_at(old, path, shape)}
    if not changed and after == before:
        return new
    me: Manager = (manager, "Update", kind.api_version, "")
    managers = {
        other: (paths & after) - (changed if other != me else set()) for other, paths in _managers(kind, old).items()
    }
    managers[me] = managers.get(me, set()) | changed
    times = {_manager(entry): entry.get("time") for entry in _entries(old) if _same_fields(entry, managers)}
    return _with_managers(new, managers, times, now)


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


def _entries(obj: Obj) -> list[Obj]:
    return obj["metadata"].get("managedFields") or []


def _manager(entry: Obj) -> Manager:
    return (
        entry.get("manager", ""),
        entry.get("operation", ""),
        entry.get("apiVersion", ""),
        entry.get("subresource", ""),
    )


def _managers(kind: Kind, obj: Obj) -> dict[Manager, set[Path]]:
    entries = _entries(obj)
    if not entries:
        visible = {key: value for key, value in obj.items() if key != "status"}
        return {(_BEFORE, "Update", kind.api_version, ""): owned_paths(kind, visible)}
    return {_manager(entry): from_fields(entry.get("fieldsV1") or {}) for entry in entries}


def _same_fields(entry: Obj, managers: dict[Manager, set[Path]]) -> bool:
    return from_fields(entry.get("fieldsV1") or {}) == managers.get(_manager(entry))


def _conflicts(
    managers: dict[Manager, set[Path]], me: Manager, wanted: set[Path], obj: Obj, applied: Obj, shape: Shape
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


def _merged(live: Any, applied: Any, shape: Shape, root: bool = True) -> Any:
    """The live value with the applied one laid over it."""
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


def _merged_items(live: list[Any], applied: list[Any], shape: Shape) -> list[Any]:
    items = {item_step(item, shape.keys): item for item in live}
    for item in applied:
        step = item_step(item, shape.keys)
        items[step] = _merged(items[step], item, shape.item, root=False) if step in items else item
    return list(items.values())


def _without(value: Any, path: Path, shape: Shape) -> Any:
    """The value with what stands at the path taken out; an object emptied by that goes, too."""
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
    """Whether a path leads to a field that tells an item of a list apart."""
    return len(path) > 1 and path[-2].startswith("k:") and path[-1][2:] in orjson.loads(path[-2][2:])


def _with_managers(
    obj: Obj, managers: dict[Manager, set[Path]], times: dict[Manager, str | None], now: datetime | None
) -> Obj:
    moment = format_time(now or utc_now())
    entries = [
        {
            "manager": name,
            "operation": operation,
            "apiVersion": version,
            "time": times.get((name, operation, version, subresource)) or moment,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields(paths),
            **({"subresource": subresource} if subresource else {}),
        }
        for (name, operation, version, subresource), paths in managers.items()
        if paths
    ]
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "managedFields": entries}}
