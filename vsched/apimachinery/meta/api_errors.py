"""Errors of the API server: an HTTP code and a Status body, as Kubernetes clients expect them.

This module has the codes and the messages. The rules that raise them are elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vsched.apimachinery.meta.kinds import Kind, Obj

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


@dataclass(frozen=True, slots=True)
class FieldCause:
    """One reason for an error; ``message`` does not repeat the field."""

    reason: str
    message: str
    field: str = ""

    @property
    def text(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message

    def as_json(self) -> Obj:
        parts = {"reason": self.reason, "message": self.message, "field": self.field}
        return {name: part for name, part in parts.items() if part}


class Failure(Exception):
    """A request that is refused; ``body`` is the Status to send, ``headers`` what goes with it."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Obj | None = None,
        headers: dict[str, str] | None = None,
        metadata: Obj | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = headers or {}
        self.metadata = metadata or {}

    @property
    def body(self) -> Obj:
        body: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def success(code: int = 0, details: Obj | None = None) -> Obj:
    """The Status of a request that succeeded and has no other answer."""
    body: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details is not None:
        body["details"] = details
    if code:
        body["code"] = code
    return body


def object_details(kind: Kind, name: str, **more: Any) -> Obj:
    """Details that name a resource: {name, group, kind: plural}, without those that are empty."""
    details: Obj = {"name": name, "group": kind.group, "kind": kind.plural, **more}
    return {key: value for key, value in details.items() if value or key in more}


def not_found(kind: Kind, name: str) -> Failure:
    return Failure(404, "NotFound", f'{kind.resource} "{name}" not found', details=object_details(kind, name))


def unknown_path() -> Failure:
    """For a resource, subresource or version that is not served, in a group that is."""
    return Failure(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(kind: Kind, name: str) -> Failure:
    message = f'{kind.resource} "{name}" already exists'
    return Failure(409, "AlreadyExists", message, details=object_details(kind, name))


def conflict(kind: Kind, name: str, why: str = MODIFIED, *, resource: str = "") -> Failure:
    """For a lost race or a failed precondition; ``resource`` replaces the kind's own, such as ``pods/binding``."""
    shown = resource or kind.resource
    details = object_details(kind, name)
    if resource:
        details["kind"] = resource
    return Failure(409, "Conflict", f'Operation cannot be fulfilled on {shown} "{name}": {why}', details=details)


def storage_conflict(kind: Kind, namespace: str, name: str, why: str) -> Failure:
    """For a precondition on uid or resourceVersion that the storage checks; the message names the storage key."""
    group = f"{kind.group}/" if kind.custom else ""
    path = f"{group}{kind.plural}/{namespace}/{name}" if namespace else f"{group}{kind.plural}/{name}"
    text = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{path}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
    )
    return conflict(kind, name, text)


def invalid(kind: Kind, name: str, causes: Sequence[FieldCause]) -> Failure:
    """Validation refused the object: 422 with every cause once."""
    return invalid_named(kind.qualified_kind, kind.group, kind.kind, name, causes)


def invalid_named(shown: str, group: str, kind: str, name: str, causes: Sequence[FieldCause]) -> Failure:
    unique = list(dict.fromkeys(causes))
    texts = list(dict.fromkeys(cause.text for cause in unique))
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    details: Obj = {"name": name, "group": group, "kind": kind}
    details = {key: value for key, value in details.items() if value}
    details["causes"] = [cause.as_json() for cause in unique]
    message = f'{shown} "{name}" is invalid: {joined}' if texts else f'{shown} "{name}" is invalid'
    return Failure(422, "Invalid", message, details=details)


def invalid_options(kind: str, causes: Sequence[FieldCause]) -> Failure:
    """Refuses the options of a request, which have no name: ``kind`` is ListOptions or the like."""
    return invalid_named(f"{kind}.meta.k8s.io", "meta.k8s.io", kind, "", causes)


def bad_request(message: str) -> Failure:
    return Failure(400, "BadRequest", message)


def forbidden(kind: Kind, name: str, why: str, causes: Sequence[FieldCause] = ()) -> Failure:
    details = object_details(kind, name)
    if causes:
        details["causes"] = [cause.as_json() for cause in causes]
    named = f'{kind.resource} "{name}"' if name else kind.resource
    return Failure(403, "Forbidden", f"{named} is forbidden: {why}", details=details)


def unprocessable() -> Failure:
    """For a JSON patch with a failed test or a path that does not exist."""
    message = "the server rejected our request due to an error in our request"
    return Failure(422, "Invalid", message, details={})


def method_not_allowed() -> Failure:
    return Failure(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", details={}
    )


def not_acceptable(accepted: Sequence[str]) -> Failure:
    return Failure(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(accepted)}")


def unsupported_media_type(accepted: Sequence[str]) -> Failure:
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return Failure(415, "UnsupportedMediaType", message)


def too_large(limit_bytes: int) -> Failure:
    return Failure(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit_bytes}")


def expired(message: str, *, continue_token: str = "") -> Failure:
    """For a version that is no longer in the history; with the token a client can go on with an inconsistent list."""
    return Failure(410, "Expired", message, metadata={"continue": continue_token} if continue_token else None)


class FutureVersion(Failure):
    """The requested resourceVersion does not exist yet. The server waits a while before it sends this error."""


def future_version(asked: int, current: int) -> FutureVersion:
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Too large resource version: {asked}, current: {current}"
    return FutureVersion(504, "Timeout", f"Timeout: {message}", details=details, headers={"Retry-After": "1"})


def too_many_requests(message: str, *, details: Obj | None = None, retry_after_seconds: int = 0) -> Failure:
    headers = {"Retry-After": str(retry_after_seconds)} if retry_after_seconds else {}
    shown = dict(details) if details else {}
    if retry_after_seconds:
        shown["retryAfterSeconds"] = retry_after_seconds
    return Failure(429, "TooManyRequests", message, details=shown or None, headers=headers)


def internal(message: str, *, reason: str = "InternalError", details: Obj | None = None) -> Failure:
    return Failure(500, reason, message, details=details)
