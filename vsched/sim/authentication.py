"""Authentication: bearer tokens and their users, and the tokens of service accounts.

A token of a service account is a signed JWT with the claims of a real one. The server does not store it: it is valid
until it expires, or until the account or the object that it is bound to is gone.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import orjson

from vsched.apimachinery.meta.api_errors import Failure, invalid_named, not_found
from vsched.apimachinery.meta.field_errors import Causes
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.times import Clock, format_time, utc_now
from vsched.randomness import secret, uid
from vsched.sim.store.store import Store, StoredObject

AUDIENCE = "https://kubernetes.default.svc.cluster.local"
"""The default audience of tokens: the API server. It is their issuer, too."""
MASTERS, AUTHENTICATED, UNAUTHENTICATED = "system:masters", "system:authenticated", "system:unauthenticated"
ACCOUNT = "system:serviceaccount:"
CREDENTIAL = "authentication.kubernetes.io/credential-id"
DEFAULT_SECONDS, SHORTEST_SECONDS, LONGEST_SECONDS = 3600, 600, 1 << 32
_HEADER = {"alg": "HS256", "kid": "vsched-cluster", "typ": "JWT"}
_CLAIM = "kubernetes.io"
_BOUND = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
"""The kinds of objects that a token can be bound to, and their resources."""


@dataclass(frozen=True, slots=True)
class UserInfo:
    """The user of a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def to_dict(self) -> Obj:
        """In the form of reviews."""
        shown: Obj = {"username": self.name, "uid": self.uid, "groups": list(self.groups)}
        shown["extra"] = {key: list(values) for key, values in self.extra}
        return {key: value for key, value in shown.items() if value}


ADMIN = UserInfo("kubernetes-admin", (MASTERS, AUTHENTICATED))
ANONYMOUS = UserInfo("system:anonymous", (UNAUTHENTICATED,))


def account_user(
    namespace: str, name: str, uid: str = "", more: Sequence[tuple[str, tuple[str, ...]]] = ()
) -> UserInfo:
    """The user of a service account."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    return UserInfo(f"{ACCOUNT}{namespace}:{name}", groups, uid, tuple(more))


def account_of(username: str) -> tuple[str, str] | None:
    """The namespace and name of a service account, from its user name."""
    namespace, _, name = username.removeprefix(ACCOUNT).partition(":")
    return (namespace, name) if username.startswith(ACCOUNT) and namespace and name and ":" not in name else None


def unauthorized() -> Failure:
    return Failure(401, "Unauthorized", "Unauthorized")


class BadToken(Exception):
    """The token is not valid."""


@dataclass(slots=True)
class TokenAuthenticator:
    """Checks tokens: the static ones, which may be changed at any time, and those of service accounts."""

    store: Store
    now: Clock = utc_now
    static: dict[str, UserInfo] = field(default_factory=dict)
    _key: bytes = field(default_factory=lambda: secret(32))

    def user_of(self, authorization: str) -> UserInfo:
        """The user of an Authorization header; the anonymous user if it has no token."""
        scheme, _, token = authorization.strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        try:
            return self.check(token.strip(), (AUDIENCE,))[0]
        except BadToken:
            raise unauthorized() from None

    def check(self, token: str, audiences: Sequence[str]) -> tuple[UserInfo, list[str]]:
        """The user of a token, and those of the audiences that it is for; raises BadToken."""
        user = self.static.get(token)
        if user is not None:
            return user, [audience for audience in audiences if audience == AUDIENCE] or [AUDIENCE]
        claims = self._claims(token)
        shared = [audience for audience in audiences if audience in claims["aud"]]
        if not shared:
            raise BadToken(f"token audiences {claims['aud']!r} is invalid for the target audiences {list(audiences)!r}")
        return self._holder(claims), shared

    def _claims(self, token: str) -> dict[str, Any]:
        signed, _, signature = token.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(signed)):
            raise BadToken("invalid bearer token")
        # The signature says that this server wrote it.
        claims: dict[str, Any] = orjson.loads(_unpacked(signed.partition(".")[2]))
        if self.now().timestamp() >= claims["exp"]:
            raise BadToken("token has expired")
        return claims

    def _holder(self, claims: dict[str, Any]) -> UserInfo:
        place = claims[_CLAIM]
        namespace, account = place["namespace"], place["serviceaccount"]
        if self._uid_of("serviceaccounts", namespace, account["name"]) != account["uid"]:
            raise BadToken("service account token has been invalidated")
        for kind, resource in _BOUND.items():
            bound = place.get(kind.lower())
            if bound and self._uid_of(resource, "" if kind == "Node" else namespace, bound["name"]) != bound["uid"]:
                raise BadToken(f"{kind.lower()} of the service account token is gone")
        return account_user(namespace, account["name"], account["uid"], ((CREDENTIAL, (f"JTI={claims['jti']}",)),))

    def _uid_of(self, resource: str, namespace: str, name: str) -> str:
        record = self._record(resource, namespace, name)
        return str(record.obj["metadata"]["uid"]) if record is not None else ""

    def _record(self, resource: str, namespace: str, name: str) -> StoredObject | None:
        return self.store.get(self.store.registry.resource(resource), namespace, name)

    def _signature(self, signed: str) -> bytes:
        return _packed(hmac.new(self._key, signed.encode(), sha256).digest())

    # -- TokenRequests

    def request(self, namespace: str, name: str, body: Obj, *, dry_run: bool = False) -> Obj:
        """The answer to a TokenRequest, with a token in its status."""
        kind = self.store.registry.resource("serviceaccounts")
        record = self.store.get(kind, namespace, name)
        if record is None:
            raise not_found(kind, name)
        spec = body.get("spec") or {}
        seconds = spec.get("expirationSeconds") or DEFAULT_SECONDS
        if causes := _problems(spec, seconds):
            raise invalid_named(
                "TokenRequest.authentication.k8s.io", "authentication.k8s.io", "TokenRequest", "", causes
            )
        bound = self._bound(namespace, spec.get("boundObjectRef") or {})
        audiences, now = spec.get("audiences") or [AUDIENCE], self.now()
        begins = int(now.timestamp())
        account = {"name": name, "uid": record.obj["metadata"]["uid"]}
        claims = {
            "aud": audiences,
            "exp": begins + seconds,
            "iat": begins,
            "iss": AUDIENCE,
            "jti": uid(),
            _CLAIM: {"namespace": namespace, **bound, "serviceaccount": account},
            "nbf": begins,
            "sub": f"{ACCOUNT}{namespace}:{name}",
        }
        ends = format_time(datetime.fromtimestamp(begins + seconds, UTC))
        reference = {"boundObjectRef": spec.get("boundObjectRef")}
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": name, "namespace": namespace, "creationTimestamp": format_time(now)},
            "spec": {"audiences": audiences, "expirationSeconds": seconds, **reference},
            "status": {"token": "" if dry_run else self._token(claims), "expirationTimestamp": ends},
        }

    def _token(self, claims: Obj) -> str:
        signed = b".".join(_packed(orjson.dumps(part)) for part in (_HEADER, claims)).decode()
        return f"{signed}.{self._signature(signed).decode()}"

    def _bound(self, namespace: str, reference: Obj) -> Obj:
        """The claim about the object that the token is bound to."""
        if not reference:
            return {}
        kind, name = reference["kind"], reference.get("name", "")
        resource = self.store.registry.resource(_BOUND[kind])
        record = self.store.get(resource, "" if kind == "Node" else namespace, name)
        if record is None:
            raise not_found(resource, name)
        uid = record.obj["metadata"]["uid"]
        if reference.get("uid") not in (None, "", uid):
            why = (
                f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record."
                " The object might have been deleted and then recreated"
            )
            details = {"name": name, "kind": resource.plural}
            message = f'Operation cannot be fulfilled on {resource.resource} "{name}": {why}'
            raise Failure(409, "Conflict", message, details=details)
        return {kind.lower(): {"name": name, "uid": uid}}


def _problems(spec: Obj, seconds: int) -> Causes:
    causes, where = Causes(), "spec.expirationSeconds"
    if seconds < SHORTEST_SECONDS:
        causes.invalid(where, seconds, "may not specify a duration less than 10 minutes")
    if seconds > LONGEST_SECONDS:
        causes.invalid(where, seconds, "may not specify a duration larger than 2^32 seconds")
    reference = spec.get("boundObjectRef") or {}
    if reference and reference.get("kind") not in _BOUND:
        why = "cannot bind token for serviceaccount to this kind of object; expected Pod, Secret or Node"
        causes.invalid("spec.boundObjectRef.kind", reference.get("kind", ""), why)
    if reference and not reference.get("name"):
        causes.required("spec.boundObjectRef.name")
    return causes


def _packed(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


def _unpacked(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
