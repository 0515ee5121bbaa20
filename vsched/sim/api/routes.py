"""The router: answers a request by its path and method. Synchronous, without HTTP."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import orjson

from vsched.apimachinery.meta import conversion
from vsched.apimachinery.meta.api_errors import (
    Failure,
    method_not_allowed,
    not_found,
    success,
    too_many_requests,
    unknown_path,
)
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.objects import request_bodies
from vsched.apimachinery.objects.body_decoding import decoded
from vsched.sim.api import patching, subresources
from vsched.sim.api.metrics_apis import GROUPS, MetricsApis
from vsched.sim.api.watches import BOOKMARK_SECONDS, WatchRequest, open_watch, run_watch
from vsched.sim.auth.access import AccessControl
from vsched.sim.authentication import TokenAuthenticator
from vsched.sim.documents.non_resource import Documents
from vsched.sim.requests.answers import Send, ServerAnswer, Stream, text
from vsched.sim.requests.reads import ObjectList, list_objects, object_bytes, read_object
from vsched.sim.requests.request import (
    ApiRequest,
    Path,
    include_object,
    parse_path,
    read_body,
    read_delete_options,
    read_patch,
)
from vsched.sim.store.deletion import ORPHAN_WARNING, warns_of_orphans
from vsched.sim.store.deletion import answer as deletion_answer
from vsched.sim.store.managed_fields import with_entries
from vsched.sim.store.preconditions import check_target
from vsched.sim.store.store import StoredObject
from vsched.sim.tables import rendering as tables
from vsched.sim.webhooks.validating import GroupVersionKind, ReviewedWrite
from vsched.sim.writer import ObjectWriter, WriteOutcome

_NOT_FOUND = "404 page not found\n"
_CREATED = orjson.dumps(success(201))
_BINDING = ("", "v1", "Binding")
_EVICTION = ("policy", "v1", "Eviction")
_SCALE = ("autoscaling", "v1", "Scale")
_PARTS = frozenset({"status", "finalize", "ephemeralcontainers", "resize"})
"""Subresources that are read and written in the form of their object."""


class Router:
    """Answers requests from one store."""

    def __init__(
        self,
        writer: ObjectWriter,
        metrics: MetricsApis | None = None,
        access: AccessControl | None = None,
        bookmark_seconds: float = BOOKMARK_SECONDS,
    ) -> None:
        self._writer = writer
        self._bookmark_seconds = bookmark_seconds
        self._access = access
        self._tokens = access.tokens if access is not None else TokenAuthenticator(writer.store, writer.now)
        self._metrics = metrics
        self._store = writer.store
        self._documents = Documents(writer.store.registry)

    def answer(self, call: ApiRequest) -> ServerAnswer | Stream:
        path = parse_path(call.path)
        if path is None or not path.plural:
            return self._documents.answer(call)
        if self._metrics is not None and path.group in GROUPS:
            return self._metrics.answer(call, path)
        kind = self._store.registry.at(path.group, path.version, path.plural)
        if kind is None:
            return self._unknown(path)
        if kind.custom:
            refused = self._refuse_custom(call, path, kind)
            if refused is not None:
                return refused
        if path.namespace and not kind.namespaced:
            raise unknown_path()
        if path.subresource:
            return self._subresource(call, path, kind)
        if path.name:
            return self._object(call, path, kind)
        return self._collection(call, path, kind)

    def _unknown(self, path: Path) -> ServerAnswer:
        served = any(
            kind.group == path.group and kind.version == path.version and not kind.custom
            for kind in self._store.registry
        )
        if served:
            raise unknown_path()
        return text(_NOT_FOUND, 404)

    def _refuse_custom(self, call: ApiRequest, path: Path, kind: Kind) -> ServerAnswer | None:
        """Errors that only custom resources have."""
        reads_all = not path.name and call.method == "GET"
        if kind.namespaced != bool(path.namespace) and not (kind.namespaced and reads_all):
            return text(_NOT_FOUND, 404)
        from_cache = reads_all or path.watch or bool(call.query.get("resourceVersion"))
        if self._writer.custom.first_use(kind) and call.method == "GET" and from_cache:
            raise too_many_requests("storage is (re)initializing", retry_after_seconds=1)
        if path.subresource and kind.subresource(path.subresource) is None:
            raise not_found(kind, path.name)
        if call.method == "POST" and self._writer.custom.is_terminating(kind):
            why = "create not allowed while custom resource definition is terminating"
            details = {"group": kind.group, "kind": kind.plural}
            raise Failure(405, "MethodNotAllowed", why, details=details)
        return None

    def _collection(self, call: ApiRequest, path: Path, kind: Kind) -> ServerAnswer | Stream:
        if call.method == "GET" and "list" in kind.verbs:
            if path.watch or call.flag("watch"):
                return self._watch(call, path, kind)
            return self._list(call, kind, list_objects(self._store, kind, path.namespace, "", call))
        if kind.namespaced and not path.namespace:
            raise method_not_allowed()
        if call.method == "POST" and "create" in kind.verbs:
            return self._create(call, path, kind)
        if call.method == "DELETE" and "deletecollection" in kind.verbs:
            return self._delete_collection(call, path, kind)
        raise method_not_allowed()

    def _object(self, call: ApiRequest, path: Path, kind: Kind) -> ServerAnswer | Stream:
        if kind.namespaced and not path.namespace:
            raise unknown_path()
        match call.method:
            case "GET" if "get" in kind.verbs:
                if path.watch:
                    return self._watch(call, path, kind)
                return self._get(call, path, kind)
            case "PUT" if "update" in kind.verbs:
                return self._put(call, path, kind)
            case "PATCH" if "patch" in kind.verbs:
                return self._written(call, kind, self._patched(call, path, kind))
            case "DELETE" if "delete" in kind.verbs:
                options = read_delete_options(call)
                if warns_of_orphans(kind, options):
                    call.warnings.append(ORPHAN_WARNING)
                deleted = self._writer.delete(kind, path.namespace, path.name, options, call.reviews)
                code, body = deletion_answer(kind, deleted, options)
                return ServerAnswer(code, obj=body)
        raise method_not_allowed()

    def _watch(self, call: ApiRequest, path: Path, kind: Kind) -> Stream:
        watch: WatchRequest = open_watch(self._store, kind, path.namespace, path.name, call, self._writer.now)

        async def run(send: Send) -> None:
            await run_watch(watch, send, self._bookmark_seconds)

        return Stream(run)

    def _get(self, call: ApiRequest, path: Path, kind: Kind) -> ServerAnswer:
        record = read_object(self._store, kind, path.namespace, path.name, call)
        if call.form.kind == "Table":
            return self._shown(call, kind, conversion.to_served(kind, record.obj))
        if call.form.kind or record.owners is not None:
            obj = with_entries(record.obj, entries) if (entries := record.managed_fields(kind)) else record.obj
            return self._shown(call, kind, conversion.to_served(kind, obj))
        return ServerAnswer(raw=object_bytes(kind, record))

    def _list(self, call: ApiRequest, kind: Kind, listing: ObjectList) -> ServerAnswer:
        form = call.form
        if not form.kind:
            return ServerAnswer(listing=listing)
        if form.kind == "Table":
            body = tables.table(kind, listing.objects(), include_object(call), self._writer.now())
            return ServerAnswer(obj={**body, "metadata": listing.metadata})
        items = [tables.partial(obj) for obj in listing.objects()]
        body = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": listing.metadata}
        return ServerAnswer(obj={**body, "items": items})

    def _shown(self, call: ApiRequest, kind: Kind, obj: Obj, code: int = 200) -> ServerAnswer:
        """An object in the form that the client wants."""
        form = call.form
        if form.kind == "Table":
            body = tables.table(kind, [obj], include_object(call), self._writer.now())
            return ServerAnswer(
                code, obj={**body, "metadata": {"resourceVersion": obj["metadata"].get("resourceVersion", "")}}
            )
        if form.kind:
            return ServerAnswer(code, obj=tables.partial(obj))
        metadata = obj["metadata"]
        record = self._store.get(kind, metadata.get("namespace", ""), metadata["name"])
        # The bytes of what was just stored are those of its watch events.
        return (
            ServerAnswer(code, raw=record.raw)
            if record is not None and record.obj is obj
            else ServerAnswer(code, obj=obj)
        )

    def _written(self, call: ApiRequest, kind: Kind, written: WriteOutcome) -> ServerAnswer:
        return self._shown(call, kind, written.obj, 201 if written.created else 200)

    def _create(self, call: ApiRequest, path: Path, kind: Kind) -> ServerAnswer:
        body = read_body(call, kind.kind, custom=kind.custom)
        if kind.plural in subresources.REVIEWS:
            if self._access is not None:
                return ServerAnswer(201, obj=self._access.review(call, path, kind, body))
            return ServerAnswer(201, obj=subresources.review(kind, body))
        if kind.storage == "/bindings":
            self._review(call, path, kind, _BINDING, body)
            return self._bind(call, path.namespace, "", body)
        made = self._writer.create(kind, path.namespace, body, call.write_options())
        return self._shown(call, kind, made, 201)

    def _put(self, call: ApiRequest, path: Path, kind: Kind, subresource: str = "") -> ServerAnswer:
        body = read_body(call, kind.kind, custom=kind.custom)
        written = self._writer.update(kind, path.namespace, path.name, body, call.write_options(), subresource)
        return self._written(call, kind, written)

    def _patched(self, call: ApiRequest, path: Path, kind: Kind, subresource: str = "") -> WriteOutcome:
        return patching.patch(self._writer, kind, path.namespace, path.name, call, subresource)

    def _delete_collection(self, call: ApiRequest, path: Path, kind: Kind) -> ServerAnswer:
        options = read_delete_options(call)
        listing = list_objects(self._store, kind, path.namespace, "", call)
        self._writer.review_deletions(kind, listing.records, options, call.reviews)
        for record in listing.records:
            metadata = record.obj["metadata"]
            if self._store.get(kind, metadata.get("namespace", ""), metadata["name"]) is not None:
                self._writer.delete(kind, metadata.get("namespace", ""), metadata["name"], options)
        return self._list(call, kind, listing)

    def _subresource(self, call: ApiRequest, path: Path, kind: Kind) -> ServerAnswer:
        sub = kind.subresource(path.subresource)
        if sub is None or (kind.namespaced and not path.namespace):
            raise unknown_path()
        verb = {"GET": "get", "PUT": "update", "PATCH": "patch", "POST": "create"}.get(call.method, "")
        if verb not in sub.verbs:
            raise method_not_allowed()
        if path.subresource in _PARTS:
            return self._part(call, path, kind)
        match path.subresource:
            case "binding":
                body = read_body(call, "Binding")
                self._review(call, path, kind, _BINDING, body)
                return self._bind(call, path.namespace, path.name, body)
            case "eviction":
                return self._evict(call, path, kind)
            case "scale":
                return self._scale(call, path, kind)
            case "token":
                return self._token(call, path)
        return ServerAnswer(
            raw=subresources.log_of(self._store, path.namespace, path.name, call), content_type="text/plain"
        )

    def _part(self, call: ApiRequest, path: Path, kind: Kind) -> ServerAnswer:
        match call.method:
            case "GET":
                return self._get(call, path, kind)
            case "PUT":
                return self._put(call, path, kind, path.subresource)
        return self._written(call, kind, self._patched(call, path, kind, path.subresource))

    def _bind(self, call: ApiRequest, namespace: str, name: str, body: Obj) -> ServerAnswer:
        options, now = call.write_options(), self._writer.now()
        subresources.bind(self._store, namespace, name, body, options, now)
        return ServerAnswer(201, raw=_CREATED)

    def _review(
        self, call: ApiRequest, path: Path, kind: Kind, of: GroupVersionKind, obj: Obj, old: Obj | None = None
    ) -> None:
        """Has webhooks review what a subresource's own object, such as a Binding, does to an object."""
        if not self._writer.has_webhooks:
            return
        operation, options = "CREATE" if old is None else "UPDATE", call.write_options()
        given, part = options.as_object(operation), path.subresource
        change = ReviewedWrite(operation, kind, path.namespace, path.name, obj, old, given, part, options.dry_run, of)
        self._writer.review([change], call.reviews)

    def _evict(self, call: ApiRequest, path: Path, kind: Kind) -> ServerAnswer:
        body, options, now = read_body(call, "Eviction"), call.write_options(), self._writer.now()
        self._review(call, path, kind, _EVICTION, body)
        return ServerAnswer(201, obj=subresources.evict(self._store, path.namespace, path.name, body, options, now))

    def _token(self, call: ApiRequest, path: Path) -> ServerAnswer:
        options, body = call.write_options(), read_body(call, "TokenRequest")
        body = decoded(request_bodies.TOKEN_REQUEST, body, options.field_validation, options.warnings)
        return ServerAnswer(201, obj=self._tokens.request(path.namespace, path.name, body, dry_run=options.dry_run))

    def _scale(self, call: ApiRequest, path: Path, kind: Kind) -> ServerAnswer:
        record: StoredObject = read_object(self._store, kind, path.namespace, path.name, call)
        if call.method == "GET":
            return ServerAnswer(obj=subresources.scale_of(kind, record.obj))
        if call.method == "PUT":
            scale = read_body(call, "Scale")
            check_target(kind, path.namespace, path.name, request_bodies.scale(scale))
        else:
            change = patching.change_of(kind, patching.checked_media(kind, call), read_patch(call))
            scale = change(subresources.scale_of(kind, record.obj))
        self._review(call, path, kind, _SCALE, scale, subresources.scale_of(kind, record.obj))
        scaled = partial(subresources.with_scale, kind, scale=scale)
        options = replace(call.write_options(), reviews=None, written_by="scale")
        written = self._writer.change(kind, path.namespace, path.name, scaled, options)
        return ServerAnswer(obj=subresources.scale_of(kind, written))
