"""Carries out the actions that reconcile functions return.

Actions are safe to repeat: it is no error to delete an object that is gone, or to set a status that is already set.
"""

from __future__ import annotations

from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.workloads.actions import Create, Delete, SetStatus, Update
from vsched.sim.client import LocalClient
from vsched.sim.store.managed_fields import record_update
from vsched.sim.store.store import Store

_GONE, _CONFLICT = 404, 409


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
