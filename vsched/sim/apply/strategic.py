"""Strategic merge patches: lists merge by key if their type says so; directives in the patch change that.

The directives: ``$patch`` (replace, delete) in an object or a list item, ``$retainKeys``, ``$setElementOrder/<list>``
and ``$deleteFromPrimitiveList/<list>``. Which lists merge by which key is in the schema table; custom kinds have no
strategic merge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vsched.apimachinery.meta.api_errors import Failure, bad_request
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.schema import SchemaField, Type, schema_table
from vsched.apimachinery.objects.scalar_decoding import json_type

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE_FROM = "$deleteFromPrimitiveList/"


def strategic_merge(kind: Kind, obj: Obj, patch: Any) -> Obj:
    """The object, merged with the patch; raises Failure for an invalid patch."""
    if not isinstance(patch, dict):
        raise bad_request(f"json: cannot unmarshal {json_type(patch)} into Go value of type map[string]interface {{}}")
    return _merge_map(obj, patch, schema_table().of_kind(kind))


def _merge_map(original: Obj, patch: Obj, one: Type | None) -> Obj:
    directive = patch.get(_PATCH)
    if directive == "replace":
        replacement: Obj = _plain({key: value for key, value in patch.items() if key != _PATCH})
        return replacement
    if directive == "delete":
        return {}
    if directive is not None and directive != "merge":
        raise Failure(500, "", f"Unknown directive: {directive}")
    result = _retained(original, patch)
    ordered = {key[len(_ORDER) :]: order for key, order in patch.items() if key.startswith(_ORDER)}
    deleted = {key[len(_DELETE_FROM) :]: gone for key, gone in patch.items() if key.startswith(_DELETE_FROM)}
    for name, gone in deleted.items():
        if isinstance(result.get(name), list):
            result[name] = [item for item in result[name] if item not in gone]
    for key, value in patch.items():
        if not key.startswith("$"):
            _merge_field(result, key, value, one)
    for name, order in ordered.items():
        if isinstance(result.get(name), list):
            before = original.get(name)
            was = before if isinstance(before, list) else []
            result[name] = _in_order(result[name], order, was, _key_of(_field_of(one, name)))
    return result


def _field_of(one: Type | None, name: str) -> SchemaField | None:
    return one.fields.get(name) if one is not None else None


def _merge_field(result: Obj, key: str, value: Any, one: Type | None) -> None:
    if value is None:
        result.pop(key, None)
        return
    item = _field_of(one, key)
    current = result.get(key)
    nested = schema_table()[item.of] if item is not None and not item.scalar and item.shape != "{}" else None
    if isinstance(value, dict) and isinstance(current, dict) and not (item is not None and item.replace):
        result[key] = _merge_map(current, value, nested)
    elif isinstance(value, list) and item is not None and item.merge_key is not None:
        result[key] = _merge_list(current if isinstance(current, list) else [], value, item, nested)
    else:
        result[key] = _plain(value)


def _retained(original: Obj, patch: Obj) -> Obj:
    retained = patch.get(_RETAIN)
    if retained is None:
        return dict(original)
    if not isinstance(retained, list):
        raise bad_request("invalid patch format of retainKeys")
    if any(key not in retained for key in patch if not key.startswith("$") and patch[key] is not None):
        raise bad_request("invalid patch format of retainKeys")
    return {key: value for key, value in original.items() if key in retained}


def _merge_list(original: list[Any], patch: list[Any], item: SchemaField, nested: Type | None) -> list[Any]:
    key = item.merge_key or ""
    if not key:
        if any(isinstance(entry, (dict, list)) for entry in patch):
            raise bad_request("map: map[] does not contain declared merge key: expected a list of plain values")
        merged = list(dict.fromkeys([*original, *patch]))
        return _in_order(merged, patch, original, None)
    kept, additions, replaced = _special(original, patch, key)
    if replaced:
        return additions
    merged = list(kept)
    for entry in additions:
        if key not in entry:
            raise Failure(500, "", f"map: {entry} does not contain declared merge key: {key}")
        index = next((at for at, one in enumerate(merged) if one.get(key) == entry[key]), None)
        if index is None:
            merged.append(_plain(entry))
        else:
            merged[index] = _merge_map(merged[index], entry, nested)
    return _in_order(merged, additions, original, _key_of(item))


def _special(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any], bool]:
    """The original without deleted items, the items of the patch, and whether they replace the original."""
    kept, additions, replaced = original, [], False
    for entry in patch:
        if not isinstance(entry, dict):
            raise bad_request("invalid patch format of primitive list")
        directive = entry.get(_PATCH)
        if directive == "delete":
            if key not in entry:
                raise Failure(500, "", f"delete patch type with no merge key defined: {key}")
            kept = [one for one in kept if one.get(key) != entry[key]]
        elif directive == "replace":
            replaced = True
        elif directive is not None:
            raise Failure(500, "", f"unknown patch type found: {directive}")
        else:
            additions.append(entry)
    return kept, additions, replaced


def _key_of(item: SchemaField | None) -> Callable[[Any], Any] | None:
    """The function that gives the merge key of an item; None for plain values."""
    key = item.merge_key if item is not None else None
    return (lambda one: one.get(key) if isinstance(one, dict) else one) if key else None


def _in_order(merged: list[Any], order: list[Any], original: list[Any], key: Callable[[Any], Any] | None) -> list[Any]:
    """The items in the order of the patch, between the other items in the order of the original."""
    identity = key or (lambda one: one)
    wanted = [identity(one) for one in order]
    server = [identity(one) for one in original]
    spoken = sorted((one for one in merged if identity(one) in wanted), key=lambda one: wanted.index(identity(one)))
    others = [one for one in merged if identity(one) not in wanted]
    result: list[Any] = []
    while spoken and others:
        left, right = identity(others[0]), identity(spoken[0])
        both = left in server and right in server
        first = others if both and server.index(left) < server.index(right) else spoken
        result.append(first.pop(0))
    return [*result, *spoken, *others]


def _plain(value: Any) -> Any:
    """A new value, without nulls and directives."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items() if one is not None and not key.startswith("$")}
    if isinstance(value, list):
        return [_plain(one) for one in value if not (isinstance(one, dict) and _PATCH in one)]
    return value
