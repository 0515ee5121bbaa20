"""The actions of controllers, as values: reconcile functions return them, ``perform`` carries them out.

Actions are safe to repeat: it is no error to delete an object that is gone, or to set a status that is already set.
"""

from __future__ import annotations

from dataclasses import dataclass

from vsched.sim.client import LocalClient
from vsched.sim.store.api_errors import Failure
from vsched.sim.store.kinds import Obj
from vsched.sim.store.managed_fields import record_update
from vsched.sim.store.store import Store


@dataclass(frozen=True, slots=True)
class Create:
    """A new object; without a name it needs a generateName."""

    resource: str
    obj: Obj


@dataclass(frozen=True, slots=True)
class Update:
    """The wanted state of an object; its status is not written."""

    resource: str
    obj: Obj
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class SetStatus:
    """The whole status of an object; written only if it differs."""

    resource: str
    namespace: str
    name: str
    status: Obj


@dataclass(frozen=True, slots=True)
class Delete:
    """A deletion of the object with this uid."""

    resource: str
    namespace: str
    name: str
    uid: str = ""
    grace_seconds: int | None = None
    propagation: str = "Background"


@dataclass(frozen=True, slots=True)
class After:
    """Reconcile again in so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Tell:
    """An Event about an object, for what no write shows; ``component`` is by default that of the controller."""

    resource: str
    obj: Obj
    reason: str
    message: str
    warning: bool = False
    component: str = ""
    host: str = ""


Action = Create | Update | SetStatus | Delete | After | Tell

_GONE, _CONFLICT = 404, 409


def delete(resource: str, obj: Obj, *, grace_seconds: int | None = None, propagation: str = "Background") -> Delete:
    """The deletion of this object, but of no later one with its name."""
    meta = obj["metadata"]
    return Delete(resource, meta.get("namespace", ""), meta["name"], meta["uid"], grace_seconds, propagation)


def set_status(resource: str, obj: Obj, status: Obj) -> list[Action]:
    """The write of an object's status; nothing if it is the same already."""
    meta = obj["metadata"]
    same = status == (obj.get("status") or {})
    return [] if same else [SetStatus(resource, meta.get("namespace", ""), meta["name"], status)]


def perform(store: Store, client: LocalClient, action: Create | Update | SetStatus | Delete) -> Obj | None:
    """Carries out one action and returns a created object; an object that is gone is no error."""
    if isinstance(action, Create):
        return client.create(action.resource, action.obj)
    try:
        if isinstance(action, Update):
            client.update(action.resource, action.obj, action.subresource)
        elif isinstance(action, SetStatus):
            _set_status(store, client, action)
        else:
            client.delete(
                action.resource,
                action.namespace,
                action.name,
                grace_seconds=action.grace_seconds,
                uid=action.uid,
                propagation=action.propagation,
            )
    except Failure as failure:
        recreated = failure.code == _CONFLICT and isinstance(action, Delete)
        if failure.code != _GONE and not recreated:
            raise
    return None


def before_of(client: LocalClient, action: Create | Update | SetStatus | Delete) -> Obj | None:
    """The object that an action is about to change; None for a creation, or if it is gone."""
    if isinstance(action, Create):
        return None
    if isinstance(action, Update):
        metadata = action.obj["metadata"]
        return client.get(action.resource, metadata.get("namespace", ""), metadata["name"])
    return client.get(action.resource, action.namespace, action.name)


def _set_status(store: Store, client: LocalClient, action: SetStatus) -> None:
    kind = client.kind(action.resource)
    if kind.custom:
        client.patch_status(
            action.resource, action.namespace, action.name, lambda obj: {**obj, "status": action.status}
        )
        return
    # Without the checks of a request, because controllers write valid statuses of built-in kinds, and this is the
    # most frequent write: one for each pod that starts.
    record = store.get(kind, action.namespace, action.name)
    if record is not None:
        author = client.author("status")
        wanted = record_update(kind, {**record.obj, "status": action.status}, record.obj, author)
        store.replace(kind, wanted, record, author=author)
