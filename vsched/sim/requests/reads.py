"""Reads: one object, and lists with selectors, pages and versions.

All pages have the version of the first one. If the history no longer has it, the answer is a 410 with a new token.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from vsched.apimachinery.meta import conversion
from vsched.apimachinery.meta.api_errors import Failure, bad_request, expired, future_version, not_found
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.label_selectors import parse_labels
from vsched.sim.requests.list_options import asked_version, check_list_options, is_version, not_a_version, version_match
from vsched.sim.requests.request import ApiRequest
from vsched.sim.store.selectors import ObjectSelector, parse_fields, selector_for
from vsched.sim.store.store import Behind, Store, StoredObject

TOO_OLD_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
TOO_OLD_LIST = "The resourceVersion for the provided list is too old."


@dataclass(frozen=True, slots=True)
class ObjectList:
    """The result of a list: its metadata and objects."""

    kind: Kind
    metadata: Obj
    records: Sequence[StoredObject]

    def chunks(self, size: int) -> Iterator[bytes]:
        """The JSON of the list, in chunks of so many items."""
        head = {"kind": self.kind.list_kind, "apiVersion": self.kind.api_version, "metadata": self.metadata}
        yield orjson.dumps(head)[:-1] + b',"items":['
        for start in range(0, len(self.records), size):
            items = b",".join(item_bytes(self.kind, record) for record in self.records[start : start + size])
            yield b"," + items if start else items
        yield b"]}"

    def objects(self) -> list[Obj]:
        return [conversion.to_served(self.kind, record.obj) for record in self.records]


def item_bytes(kind: Kind, record: StoredObject) -> bytes:
    """An object as a list item; those of built-in kinds have no kind and apiVersion."""
    if not kind.stored:
        obj = conversion.to_served(kind, record.obj)
        shown = obj if kind.custom else {key: obj[key] for key in obj if key not in ("kind", "apiVersion")}
        return orjson.dumps(shown)
    if kind.custom:
        return record.raw
    # The store writes kind and apiVersion first, so the rest of the bytes is the item.
    return b"{" + record.raw[len(f'{{"kind":"{kind.kind}","apiVersion":"{kind.api_version}",') :]


def object_bytes(kind: Kind, record: StoredObject) -> bytes:
    return record.raw if kind.stored else orjson.dumps(conversion.to_served(kind, record.obj))


def read_object(store: Store, kind: Kind, namespace: str, name: str, call: ApiRequest) -> StoredObject:
    given = call.query.get("resourceVersion", "")
    if given and not is_version(given):
        raise Failure(500, "", not_a_version(given))
    version = int(given or 0)
    if version > store.revision:
        raise future_version(version, store.revision)
    record = store.get(kind, namespace, name)
    if record is None:
        raise not_found(kind, name)
    return record


def list_objects(store: Store, kind: Kind, namespace: str, name: str, call: ApiRequest) -> ObjectList:
    """A list, or a page of one."""
    limit = max(call.integer("limit") or 0, 0)
    call.integer("timeoutSeconds")
    check_selectors(call)
    check_list_options(call)
    selector = request_selector(kind, name, call)
    token = call.query.get("continue", "")
    if token:
        return _next_page(store, kind, namespace, token, limit, selector, call)
    version = asked_version(call)
    if version == 0 or (selector is not None and selector.names_one and (namespace or not kind.namespaced)):
        # A list from the cache or of one object has no pages.
        limit = 0
    if version and version > store.revision:
        raise future_version(version, store.revision)
    exact = version and (version_match(call) == "Exact" or (limit and not version_match(call)))
    try:
        return _page(store, kind, namespace, version if exact and version else store.revision, "", limit, selector)
    except Behind:
        raise expired(TOO_OLD_LIST) from None


def check_selectors(call: ApiRequest) -> None:
    """Checks the syntax of both selectors, before all other options."""
    parse_labels(call.query.get("labelSelector", ""))
    parse_fields(call.query.get("fieldSelector", ""))


def request_selector(kind: Kind, name: str, call: ApiRequest) -> ObjectSelector | None:
    fields = call.query.get("fieldSelector", "")
    if name:
        fields = f"{fields},metadata.name={name}" if fields else f"metadata.name={name}"
    return selector_for(kind, call.query.get("labelSelector", ""), fields)


def _next_page(
    store: Store, kind: Kind, namespace: str, token: str, limit: int, selector: ObjectSelector | None, call: ApiRequest
) -> ObjectList:
    version, start = read_token(token)
    if call.query.get("resourceVersion", "0") not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    key = f"{namespace}/{start}" if namespace else start
    if version < 0:
        return _page(store, kind, namespace, store.revision, key, limit, selector)
    try:
        return _page(store, kind, namespace, version, key, limit, selector)
    except Behind:
        raise expired(TOO_OLD_TOKEN, continue_token=make_token(-1, start)) from None


def _page(
    store: Store, kind: Kind, namespace: str, version: int, start: str, limit: int, selector: ObjectSelector | None
) -> ObjectList:
    keys, found = store.page(kind, namespace, version, start)
    metadata: Obj = {"resourceVersion": str(version)}
    records: list[StoredObject] = []
    for index, key in enumerate(keys):
        record = found[key]
        if selector is not None and not selector.matches(record.obj):
            continue
        records.append(record)
        if len(records) == limit and index + 1 < len(keys):
            relative = key[len(namespace) + 1 :] if namespace else key
            metadata["continue"] = make_token(version, relative + "\0")
            if selector is None:
                metadata["remainingItemCount"] = len(keys) - index - 1
            break
    return ObjectList(kind, metadata, records)


def make_token(version: int, start: str) -> str:
    """The continue token for a version and the next key."""
    body = orjson.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": f"/{start}"})
    return base64.urlsafe_b64encode(body).rstrip(b"=").decode()


def read_token(token: str) -> tuple[int, str]:
    """The version and the next key of a token; raises a 400 Failure for an invalid one."""
    try:
        body = orjson.loads(base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError) as error:
        raise _bad_token(f": {error}") from None
    if not isinstance(body, dict) or body.get("v") != "meta.k8s.io/v1":
        known = body.get("v", "") if isinstance(body, dict) else ""
        raise _bad_token(f": server does not recognize this encoded version {known}")
    version, start = body.get("rv", 0), body.get("start", "")
    if not isinstance(version, int) or not isinstance(start, str):
        raise _bad_token(": expected a version and a start key")
    if not version:
        raise _bad_token(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not start:
        raise _bad_token(": encoded start key empty (version meta.k8s.io/v1)")
    if "//" in start or {".", ".."} & set(start.split("/")):
        raise _bad_token(f": {start}")
    return version, start.removeprefix("/")


def _bad_token(why: str) -> Failure:
    return bad_request(f"invalid continue token: continue key is not valid{why}")
