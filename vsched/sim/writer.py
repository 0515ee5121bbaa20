"""Creates, updates, patches and deletes objects, for HTTP requests and for controllers in this process.

Synchronous: nothing else runs between the checks of a write and its storing. Defaults, validation, admission and
patches have their own modules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from vsched.apimachinery.admission import objects as admission
from vsched.apimachinery.admission.updates import count_generation, is_reset, merge_update
from vsched.apimachinery.meta import conversion
from vsched.apimachinery.meta.api_errors import already_exists, not_found
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.times import Clock, utc_now
from vsched.apimachinery.objects import crds, defaults
from vsched.apimachinery.objects.body_decoding import decoded, decoded_patch
from vsched.apimachinery.writing import (
    Identities,
    check_new,
    check_unversioned,
    check_update,
    prepared_new,
    prepared_update,
)
from vsched.sim.apply.patches import json_patch
from vsched.sim.store.custom_kinds import CustomKinds
from vsched.sim.store.deletion import Deleted, DeleteOptions, check_options, delete, is_finished_deleting
from vsched.sim.store.managed_fields import Author, record_update
from vsched.sim.store.preconditions import check_target, check_uid, check_version
from vsched.sim.store.store import Store, StoredObject
from vsched.sim.webhooks import mutating, validating
from vsched.sim.webhooks.mutating import mutated
from vsched.sim.webhooks.validating import ReviewedWrite, Reviews, ReviewWanted, change_of, deletion_of, wanted

_IDENTITY = ("name", "uid", "creationTimestamp")


class EventLimit(NamedTuple):
    """How many events are kept; of more the eldest go."""

    most: int = 20_000
    trimmed: int = 200
    """How many go at once."""


@dataclass(slots=True)
class WriteOptions:
    """The options of a write; ``warnings`` collects what the client is warned of."""

    dry_run: bool = False
    field_validation: str = "Warn"
    field_manager: str = ""
    written_by: str = ""
    """The subresource that managedFields name, where the object itself is written."""
    force: bool = False
    patch: object = None
    """The patch, for errors that repeat it instead of the patched object."""
    has_managed_fields: bool = False
    """The caller sets managedFields itself, as server-side apply does."""
    permits: Callable[[Obj, Obj], None] | None = None
    """Raises a Failure if the user may not change an object from the one to the other; for updates."""
    reviews: Reviews | None = None
    """The reviews of webhooks so far; None for a write without webhooks."""
    warnings: list[str] = field(default_factory=list)

    def as_object(self, operation: str) -> Obj:
        """CreateOptions or UpdateOptions, for webhooks."""
        given: Obj = {"fieldManager": self.field_manager, "fieldValidation": self.field_validation}
        given |= {"dryRun": ["All"]} if self.dry_run else {}
        return {"kind": f"{operation.title()}Options", "apiVersion": "meta.k8s.io/v1", **given}


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """An object after a write."""

    obj: Obj
    created: bool = False


class ObjectWriter:
    """Writes objects of any kind to the store, as the API server does."""

    def __init__(
        self, store: Store, *, now: Clock = utc_now, seed: int | None = None, events: EventLimit | None = None
    ) -> None:
        self.store = store
        self._events = events or EventLimit()
        self.now = now
        self._identities = Identities(now, seed)
        self.custom = CustomKinds(store, now)

    def create(self, kind: Kind, namespace: str, body: Obj, options: WriteOptions | None = None) -> Obj:
        options = options or WriteOptions()
        obj = decoded(kind, body, options.field_validation, options.warnings, new=True)
        given = obj.get("metadata") or {}
        obj = self._identities.named(kind, namespace, obj, options.reviews.identity if options.reviews else None)
        obj = prepared_new(kind, obj)
        shown = given.get("name") or given.get("generateName") or ""
        obj = admission.admit_create(kind, obj, self.store, name=shown)
        reviewed = options.reviews is not None and self.has_webhooks
        if reviewed:
            obj = self._mutated("CREATE", kind, given.get("name") or "", obj, None, options)
        check_new(kind, obj)
        if reviewed:
            self._review("CREATE", kind, given.get("name") or "", obj, None, options)
        charged = admission.charge_quotas(kind, obj, self.store)
        stored = self._stored_kind(kind)
        converted = conversion.to_stored(kind, stored, obj)
        if options.dry_run:
            name = obj["metadata"]["name"]
            if self.store.get(stored, obj["metadata"].get("namespace", ""), name) is not None:
                raise already_exists(kind, name)
            return obj
        # Charged before the object is stored: if its name is taken, the quota stays charged, as in the real server.
        for quota in charged:
            self._store_quota(quota)
        check_unversioned(given)
        made = self.store.create(stored, converted, author=self._author(options))
        if stored.storage == "/events":
            self._trim(stored)
        self.custom.on_write(stored, made)
        return conversion.to_served(kind, made)

    def create_unchecked(self, kind: Kind, obj: Obj) -> Obj:
        """Stores an object of the server itself, without validation and admission."""
        return self.store.create(kind, self._identities.named(kind, obj["metadata"].get("namespace", ""), obj))

    def update(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        body: Obj,
        options: WriteOptions | None = None,
        subresource: str = "",
    ) -> WriteOutcome:
        """Replaces an object, or one subresource of it."""
        options = options or WriteOptions()
        obj = decoded(kind, body, options.field_validation, options.warnings)
        check_target(kind, namespace, name, obj)
        record = self.record(kind, namespace, name, required=False)
        if record is None:
            check_uid(kind, namespace, name, obj, "")
            if not kind.create_on_update or subresource:
                raise not_found(kind, name)
            # The resourceVersion of such a body has no meaning.
            metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
            return WriteOutcome(self.create(kind, namespace, {**obj, "metadata": metadata}, options), created=True)
        check_uid(kind, namespace, name, obj, record.obj["metadata"]["uid"])
        check_version(kind, name, obj, record.obj)
        return WriteOutcome(self._replace(kind, record, obj, options, subresource))

    def change(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        change: Callable[[Obj], Obj],
        options: WriteOptions | None = None,
        subresource: str = "",
    ) -> Obj:
        """Patches an object: ``change`` gives the wanted object for the current one."""
        options = options or WriteOptions()
        record = self.record(kind, namespace, name)
        assert record is not None
        current = conversion.to_served(kind, record.obj)
        wanted = change(current)
        if wanted is current:
            return current
        obj = decoded_patch(kind, wanted, options.field_validation, options.warnings, options.patch)
        check_target(kind, namespace, name, obj)
        if obj["metadata"].get("resourceVersion") != current["metadata"]["resourceVersion"]:
            check_version(kind, name, obj, record.obj)
        return self._replace(kind, record, obj, options, subresource)

    def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        options: DeleteOptions | None = None,
        reviews: Reviews | None = None,
    ) -> Deleted:
        options = options or DeleteOptions()
        check_options(options)
        stored = self._stored_kind(kind)
        record = self.store.get(stored, namespace, name)
        if record is None:
            raise not_found(kind, name)
        self.review([deletion_of(kind, record, options)], reviews)
        if crds.is_definition(kind):
            return self.custom.delete_definition(stored, record, options)
        deleted = delete(self.store, stored, record, options, self.now())
        if deleted.gone and not options.dry_run:
            self.custom.on_remove(stored)
        return Deleted(conversion.to_served(kind, deleted.obj), deleted.gone)

    @property
    def has_webhooks(self) -> bool:
        """Whether there are webhooks at all: otherwise nothing is made for them, because most clusters have none."""
        return self.store.has_any(mutating.CONFIGURATIONS) or self.store.has_any(validating.CONFIGURATIONS)

    def review(self, changes: Sequence[ReviewedWrite], reviews: Reviews | None) -> None:
        """Raises ReviewWanted if webhooks have to review one of the changes first."""
        if reviews is None or not self.has_webhooks:
            return
        unseen = [change for change in changes if change.key not in reviews.passed]
        questions = [question for change in unseen for question in wanted(self.store, change)]
        if questions:
            raise ReviewWanted(questions)

    def review_deletions(
        self, kind: Kind, records: Sequence[StoredObject], options: DeleteOptions, reviews: Reviews
    ) -> None:
        """As review, for the deletion of all these objects, before the first one is deleted."""
        self.review([deletion_of(kind, record, options) for record in records], reviews)

    def record(self, kind: Kind, namespace: str, name: str, *, required: bool = True) -> StoredObject | None:
        """The stored object; raises a 404 Failure for a missing one if it is ``required``."""
        record = self.store.get(kind, namespace, name)
        if record is None and required:
            raise not_found(kind, name)
        return record

    def _trim(self, kind: Kind) -> None:
        """Deletes the oldest events if there are too many; a real server deletes them after an hour."""
        if self.store.count(kind) <= self._events.most:
            return
        for record in self.store.eldest(kind, self._events.trimmed):
            metadata = record.obj["metadata"]
            self.store.remove(kind, metadata.get("namespace", ""), metadata["name"])

    def _store_quota(self, quota: Obj) -> None:
        kind = self.store.registry.resource("resourcequotas")
        record = self.store.get(kind, quota["metadata"]["namespace"], quota["metadata"]["name"])
        if record is not None:
            self.store.replace(kind, quota, record)

    def _stored_kind(self, kind: Kind) -> Kind:
        return kind if kind.stored else self.store.registry.stored(kind)

    def _replace(self, kind: Kind, record: StoredObject, body: Obj, options: WriteOptions, subresource: str) -> Obj:
        """The second half of PUT and PATCH: merges what may change into the stored object, and stores it."""
        stored = self._stored_kind(kind)
        old = conversion.to_served(kind, record.obj)
        obj = prepared_update(kind, merge_update(kind, body, old, subresource), old)
        obj = self._mutated("UPDATE", kind, old["metadata"]["name"], obj, old, options, subresource)
        if subresource != "status":
            obj = count_generation(kind, obj, old)
        author = self._author(options, subresource)
        if author is not None:
            obj = record_update(kind, obj, old, author)
        if options.permits is not None:
            options.permits(old, obj)
        check_update(kind, obj, old, subresource)
        self._review("UPDATE", kind, old["metadata"]["name"], obj, old, options, subresource)
        if options.dry_run:
            return obj
        converted = conversion.to_stored(kind, stored, obj)
        if is_finished_deleting(converted):
            metadata = converted["metadata"]
            self.store.remove(stored, metadata.get("namespace", ""), metadata["name"])
            self.custom.on_remove(stored)
            return obj
        written = self.store.replace(stored, converted, record, author=author)
        if is_reset(body):
            self.store.untrack(stored, written)
        self.custom.on_write(stored, written)
        return conversion.to_served(kind, written)

    def _author(self, options: WriteOptions, subresource: str = "") -> Author | None:
        """The author of the write; None if the caller sets managedFields itself or has no field manager."""
        if options.has_managed_fields or not options.field_manager:
            return None
        return Author(options.field_manager, subresource or options.written_by, self.now())

    def _review(
        self, operation: str, kind: Kind, name: str, obj: Obj, old: Obj | None, options: WriteOptions, part: str = ""
    ) -> None:
        if options.reviews is not None and self.has_webhooks:
            self.review(
                [change_of(operation, kind, name, obj, old, options.as_object(operation), part, options.dry_run)],
                options.reviews,
            )

    def _mutated(
        self, operation: str, kind: Kind, name: str, obj: Obj, old: Obj | None, options: WriteOptions, part: str = ""
    ) -> Obj:
        """The object with the patches of mutating webhooks, and with the defaults of what they have added."""
        if options.reviews is None or not self.has_webhooks:
            return obj
        if old is None:
            options.reviews.identity = {field: obj["metadata"][field] for field in _IDENTITY}
        change = change_of(operation, kind, name, obj, old, options.as_object(operation), part, options.dry_run)
        patched = mutated(self.store, change, options.reviews, json_patch)
        if patched is obj:
            return obj
        patched = decoded(kind, patched, "Ignore", [])
        if kind.custom:
            return patched
        new = old is None
        return (
            defaults.default_on_create(kind, patched) if new else defaults.default_on_update(kind, patched, old or {})
        )
