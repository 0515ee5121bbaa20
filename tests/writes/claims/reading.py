"""Objects as transactions read them, and what a step says, in few words."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import orjson

from tests.support.builders import merged
from vsched.writes.claims.objects import ObjectRead
from vsched.writes.claims.steps import Done, Failed, Send, Step, Wait

Obj = dict[str, Any]
R = TypeVar("R", bound=ObjectRead)
VERSION = {"metadata": {"resourceVersion": "7"}}


def read(kind: type[R], manifest: Obj, **fields: Any) -> R:
    """A manifest as the API server answers with it, in version 7."""
    return msgspec.json.decode(orjson.dumps(merged(merged(manifest, VERSION), fields)), type=kind)


def told(step: Step) -> Any:
    """A step as plain data: ``done``, ``wait: ...``, ``failed: ...``, or the write (method, path, body)."""
    match step:
        case Done():
            return "done"
        case Wait(why):
            return f"wait: {why}"
        case Failed(why):
            return f"failed: {why}"
        case Send(write):
            return write.method, write.path, orjson.loads(write.body)


def changed(step: Step) -> Obj:
    """The body of a patch, without the version that it is for, which is checked."""
    method, _, body = told(step)
    assert method == "PATCH", step
    metadata = body.pop("metadata")
    assert metadata.pop("resourceVersion") == "7"
    assert metadata.pop("uid")
    return {**body, **({"metadata": metadata} if metadata else {})}
