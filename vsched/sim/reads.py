"""Reading: one object, and lists with selectors, pages and versions.

A page pins the version of the first one; what the history no longer reaches is a 410 with a token to go on with.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from vsched.sim import conversion
from vsched.sim.kinds import Kind, Obj
from vsched.sim.requests import Call
from vsched.sim.selectors import Selector, selector_for
from vsched.sim.status import Cause, Failure, bad_request, expired, future_version, invalid_named, not_found
from vsched.sim.store import Behind, Record, Store

TOO_OLD_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
TOO_OLD_LIST = "The resourceVersion for the provided list is too old."


@dataclass(frozen=True, slots=True)
class Listing:
    """The outcome of a list: its metadata, and the records still to be written out."""

    kind: Kind
    metadata: Obj
    records: Sequence[Record]

    def chunks(self, size: int) -> Iterator[bytes]:
        """The JSON of the list in pieces of so many items."""
        head = {"kind": self.kind.list_kind, "apiVersion": self.kind.api_version, "metadata": self.metadata}
        yield orjson.dumps(head)[:-1] + b',"items":['
        for start in range(0, len(self.records), size):
            items = b",".join(item_bytes(self.kind, record) for record in self.records[start : start + size])
            yield b"," + items if start else items
        yield b"]}"

    def objects(self) -> list[Obj]:
        return [conversion.to_served(self.kind, record.obj) for record in self.records]


def item_bytes(kind: Kind, record: Record) -> bytes:
    """An object as a list item: those of built-in kinds do not repeat kind and apiVersion."""
    if not kind.stored:
        obj = conversion.to_served(kind, record.obj)
        shown = obj if kind.custom else {key: obj[key] for key in obj if key not in ("kind", "apiVersion")}
        return orjson.dumps(shown)
    if kind.custom:
        return record.raw
    # The store writes kind and apiVersion first, so the rest of the bytes is the item.
    return b"{" + record.raw[len(f'{{"kind":"{kind.kind}","apiVersion":"{kind.api_version}",') :]


def object_bytes(kind: Kind, record: Record) -> bytes:
    return record.raw if kind.stored else orjson.dumps(conversion.to_served(kind, record.obj))


def read_object(store: Store, kind: Kind, namespace: str, name: str, call: Call) -> Record:
    version = asked_version(call)
    if version and version > store.revision:
        raise future_version(version, store.revision)
    record = store.get(kind, namespace, name)
    if record is None:
        raise not_found(kind, name)
    return record


def asked_version(call: Call) -> int | None:
    """The resourceVersion of the query as a number; None where there is none."""
    given = call.query.get("resourceVersion", "")
    if not given:
        return None
    if not given.isascii() or not given.isdecimal():
        raise bad_request(f'invalid resource version: strconv.ParseUint: parsing "{given}": invalid syntax')
    return int(given)


def list_objects(store: Store, kind: Kind, namespace: str, name: str, call: Call) -> Listing:
    """A list, or a page of one."""
    _check_match(call)
    version = asked_version(call)
    limit = max(call.integer("limit") or 0, 0)
    selector = request_selector(kind, name, call)
    token = call.query.get("continue", "")
    if token:
        if version:
            raise bad_request("specifying resource version is not allowed when using continue")
        return _next_page(store, kind, namespace, token, limit, selector)
    if version == 0:
        limit = 0
    if version and version > store.revision:
        raise future_version(version, store.revision)
    exact = version and (call.query.get("resourceVersionMatch") == "Exact" or (limit and not _match(call)))
    try:
        return _page(store, kind, namespace, version if exact and version else store.revision, "", limit, selector)
    except Behind:
        raise expired(TOO_OLD_LIST) from None


def request_selector(kind: Kind, name: str, call: Call) -> Selector | None:
    fields = call.query.get("fieldSelector", "")
    if name:
        fields = f"{fields},metadata.name={name}" if fields else f"metadata.name={name}"
    return selector_for(kind, call.query.get("labelSelector", ""), fields)


def _match(call: Call) -> str:
    return call.query.get("resourceVersionMatch", "")


def _check_match(call: Call) -> None:
    match, version = _match(call), call.query.get("resourceVersion", "")
    if "sendInitialEvents" in call.query:
        raise _invalid_option("sendInitialEvents", "sendInitialEvents is forbidden for list")
    if not match:
        return
    if call.query.get("continue"):
        raise _invalid_option("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
    if not version:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        raise _invalid_option("resourceVersionMatch", why)
    if match not in ("Exact", "NotOlderThan"):
        text = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
        cause = Cause("FieldValueNotSupported", text, "resourceVersionMatch")
        raise invalid_named("ListOptions.meta.k8s.io", "meta.k8s.io", "ListOptions", "", [cause])
    if match == "Exact" and version == "0":
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        raise _invalid_option("resourceVersionMatch", why)


def _invalid_option(field: str, why: str) -> Failure:
    cause = Cause("FieldValueForbidden", f"Forbidden: {why}", field)
    return invalid_named("ListOptions.meta.k8s.io", "meta.k8s.io", "ListOptions", "", [cause])


def check_watch_options(call: Call) -> None:
    """What a watch may not combine."""
    match = _match(call)
    if "sendInitialEvents" in call.query:
        if match != "NotOlderThan":
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            raise _invalid_option("resourceVersionMatch", why)
    elif match:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise _invalid_option("resourceVersionMatch", why)


def _next_page(store: Store, kind: Kind, namespace: str, token: str, limit: int, selector: Selector | None) -> Listing:
    version, start = read_token(token)
    key = f"{namespace}/{start}" if namespace else start
    if version < 0:
        return _page(store, kind, namespace, store.revision, key, limit, selector)
    try:
        return _page(store, kind, namespace, version, key, limit, selector)
    except Behind:
        raise expired(TOO_OLD_TOKEN, continue_token=make_token(-1, start)) from None


def _page(
    store: Store, kind: Kind, namespace: str, version: int, start: str, limit: int, selector: Selector | None
) -> Listing:
    keys, found = store.page(kind, namespace, version, start)
    metadata: Obj = {"resourceVersion": str(version)}
    records: list[Record] = []
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
    return Listing(kind, metadata, records)


def make_token(version: int, start: str) -> str:
    """The continue token: where to go on, in which version."""
    body = orjson.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": f"/{start}"})
    return base64.urlsafe_b64encode(body).rstrip(b"=").decode()


def read_token(token: str) -> tuple[int, str]:
    try:
        body = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        version, start = body["rv"], body["start"]
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise bad_request(f"continue key is not valid: {error}") from None
    if not isinstance(version, int) or not isinstance(start, str) or not start.startswith("/"):
        raise bad_request("continue key is not valid: expected a version and a start key")
    if version == 0:
        raise bad_request("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    return version, start[1:]
