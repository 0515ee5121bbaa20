"""The spec of a JobTemplate with the patch of a flow. Pure.

Objects are merged. Lists of objects with names are merged by name, mounts by their path; any other list of the patch
takes the place of that of the template, but arguments of plugins are added to those that are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Data = dict[str, Any]
PLUGINS = "plugins"
MERGE_KEYS = ("mountPath", "name")
"""What tells objects in a list apart."""


def patched(spec: Mapping[str, Any], patch: Mapping[str, Any]) -> Data:
    """The spec with everything that the patch states. Neither is changed."""
    merged = _objects(spec, {name: value for name, value in patch.items() if name != PLUGINS})
    if patch.get(PLUGINS):
        plugins = dict(spec.get(PLUGINS) or {})
        for name, arguments in patch[PLUGINS].items():
            plugins[name] = [*(plugins.get(name) or ()), *(arguments or ())]
        merged[PLUGINS] = plugins
    return merged


def _objects(before: Mapping[str, Any], patch: Mapping[str, Any]) -> Data:
    return {**before, **{name: _values(before.get(name), value) for name, value in patch.items()}}


def _values(before: Any, patch: Any) -> Any:
    if isinstance(before, Mapping) and isinstance(patch, Mapping):
        return _objects(before, patch)
    if isinstance(before, list) and isinstance(patch, list):
        return _lists(before, patch)
    return patch


def _lists(before: list[Any], patch: list[Any]) -> list[Any]:
    key = next((key for key in MERGE_KEYS if _all_have(key, before) and _all_have(key, patch)), None)
    if key is None:
        return patch
    changed = {each[key]: each for each in patch}
    kept = [_objects(each, changed.pop(each[key])) if each[key] in changed else each for each in before]
    return [*kept, *changed.values()]


def _all_have(key: str, found: list[Any]) -> bool:
    return bool(found) and all(isinstance(each, Mapping) and isinstance(each.get(key), str) for each in found)
