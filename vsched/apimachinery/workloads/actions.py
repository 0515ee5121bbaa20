"""The actions of controllers, as values: reconcile functions return them, and others carry them out."""

from __future__ import annotations

from dataclasses import dataclass

from vsched.apimachinery.meta.kinds import Obj


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


def delete(resource: str, obj: Obj, *, grace_seconds: int | None = None, propagation: str = "Background") -> Delete:
    """The deletion of this object, but of no later one with its name."""
    meta = obj["metadata"]
    return Delete(resource, meta.get("namespace", ""), meta["name"], meta["uid"], grace_seconds, propagation)


def set_status(resource: str, obj: Obj, status: Obj) -> list[Action]:
    """The write of an object's status; nothing if it is the same already."""
    meta = obj["metadata"]
    same = status == (obj.get("status") or {})
    return [] if same else [SetStatus(resource, meta.get("namespace", ""), meta["name"], status)]
