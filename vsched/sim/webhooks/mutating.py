"""Mutating webhooks: which of them change a write, and what of their patches comes into it.

They are asked one after the other, because each gets what those before it made of the object. As for reviews, the write
is repeated from the start after each answer: ``Reviews.patches`` has those so far.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from vsched.apimachinery.meta import conversion
from vsched.apimachinery.meta.api_errors import Failure, internal
from vsched.apimachinery.meta.kinds import Obj
from vsched.sim.store.store import Store
from vsched.sim.webhooks.validating import (
    ReviewedWrite,
    Reviews,
    ReviewWanted,
    WebhookCall,
    hooks,
    question_of,
    shown,
)

CONFIGURATIONS = "admissionregistration.k8s.io/mutatingwebhookconfigurations"

Patching = Callable[[Obj, Any], Obj]
"""Applies a JSON patch; raises Failure."""


def mutated(store: Store, change: ReviewedWrite, reviews: Reviews, patching: Patching) -> Obj:
    """The object of a write with the patches of all webhooks. Raises ReviewWanted for the next that has to be asked."""
    assert change.obj is not None, "deletions are not changed"
    for place, hook in hooks(store, CONFIGURATIONS, change):
        question = question_of(store, hook, change)
        if question is None:
            continue
        key = (*change.key, place)
        if key not in reviews.patches:
            raise ReviewWanted([replace(question, patch_key=key)])
        if reviews.patches[key]:
            change = replace(change, obj=_patched(question, reviews.patches[key], patching))
    obj = change.obj
    assert obj is not None
    return obj


def _patched(question: WebhookCall, patch: Any, patching: Patching) -> Obj:
    """The object in the version of the write, after a patch of the version that the webhook was shown."""
    kind, shown_as, before = question.change.kind, question.shown_as, question.change.obj
    assert before is not None
    try:
        obj = patching(shown(question, before) or {}, patch)
    except Failure as failure:
        raise internal(f"Internal error occurred: {failure.message}") from None
    obj = {field: value for field, value in obj.items() if field not in ("kind", "apiVersion") or field in before}
    return obj if shown_as is kind else conversion.to_served(kind, conversion.to_stored(shown_as, kind, obj))


def patch_of(answer: Any) -> Any:
    """The patch in a checked answer; an empty list for none. Raises ValueError for an invalid one."""
    response = answer["response"]
    given, kind = response.get("patch"), response.get("patchType")
    if not given:
        return []
    if kind != "JSONPatch":
        said = f"invalid patchType of {kind}" if kind else "response.patch but not response.patchType"
        raise ValueError(f"received invalid webhook response: webhook returned {said}")
    try:
        return orjson.loads(b64decode(given, validate=True))
    except (TypeError, NoBase64, orjson.JSONDecodeError) as error:
        raise ValueError(f"received invalid webhook response: patch: {error}") from None
