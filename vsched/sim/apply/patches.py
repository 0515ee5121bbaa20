"""The four ways to patch an object: JSON patch, merge patch, strategic merge patch, server-side apply.

Pure: each makes a new object that shares what did not change. The last two have modules of their own.
"""

from __future__ import annotations

from typing import Any

import jsonpatch

from vsched.apimachinery.meta.api_errors import Failure, bad_request, unprocessable
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.objects.scalar_decoding import json_type
from vsched.sim.apply.server_side import apply
from vsched.sim.apply.strategic import strategic_merge

__all__ = ["apply", "json_patch", "merge_patch", "strategic_merge"]


_MOST_OPERATIONS = 10_000


def json_patch(obj: Obj, patch: Any) -> Obj:
    """RFC 6902; a 422 Failure for a missing path or a failed test, a 400 for an invalid patch."""
    if not isinstance(patch, list):
        into = "Go value of type []interface {}"
        raise bad_request(f"error decoding patch: json: cannot unmarshal {json_type(patch)} into {into}")
    if len(patch) > _MOST_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {_MOST_OPERATIONS}, got {len(patch)}"
        raise Failure(413, "RequestEntityTooLarge", message)
    try:
        patched = jsonpatch.JsonPatch(patch).apply(obj)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, KeyError, IndexError):
        # For some wrong paths the library raises plain lookup errors.
        raise unprocessable() from None
    if not isinstance(patched, dict):
        raise unprocessable()
    return patched


def merge_patch(obj: Obj, patch: Any) -> Obj:
    """RFC 7386: null removes, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        into = "Go value of type map[string]interface {}"
        raise bad_request(f"error decoding patch: json: cannot unmarshal {json_type(patch)} into {into}")
    merged: Obj = _merged(obj, patch)
    return merged


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result
