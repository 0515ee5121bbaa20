"""Access control: authenticates and authorizes requests, and answers the reviews by which clients ask for the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from multidict import CIMultiDict, CIMultiDictProxy

from vsched.apimachinery.meta.api_errors import internal, invalid
from vsched.apimachinery.meta.field_errors import Causes
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.objects.body_decoding import decoded
from vsched.sim.auth.rbac import ALL, Authorizer, Given, forbidden
from vsched.sim.authentication import (
    ANONYMOUS,
    AUDIENCE,
    AUTHENTICATED,
    BadToken,
    TokenAuthenticator,
    UserInfo,
    account_of,
    account_user,
)
from vsched.sim.requests.attributes import Attributes, attributes_of
from vsched.sim.requests.request import ApiRequest, Path
from vsched.sim.store.store import Store

_CLAIM_STATUS = ("resource.k8s.io", "resourceclaims/status")
Headers = CIMultiDict[str] | CIMultiDictProxy[str]
_AS_USER, _AS_GROUP, _AS_UID, _AS_EXTRA = (f"Impersonate-{part}" for part in ("User", "Group", "Uid", "Extra-"))


class AccessControl:
    """Admits requests or raises a Failure, and answers reviews."""

    def __init__(self, store: Store, tokens: TokenAuthenticator) -> None:
        self.tokens = tokens
        self._authorizer = Authorizer(store)

    def admit(self, call: ApiRequest, headers: Headers) -> None:
        """Sets the user of the request; raises a 401 or 403 Failure if it is not allowed."""
        user = self._impersonated(self.tokens.user_of(headers.get("Authorization", "")), headers)
        wanted = attributes_of(call)
        self._demand(user, wanted)
        call.user = user
        if (wanted.group, wanted.combined) == _CLAIM_STATUS and wanted.verb in ("update", "patch"):
            call.permits = partial(self._check_claim, user, replace(wanted, subresource="binding"))

    def _check_claim(self, user: UserInfo, wanted: Attributes, old: Obj, new: Obj) -> None:
        """Who allocates a ResourceClaim or reserves it needs the right to bind it, too."""
        before, now = old.get("status") or {}, new.get("status") or {}
        if any(before.get(field) != now.get(field) for field in ("allocation", "reservedFor")):
            self._demand(user, wanted)

    def _demand(self, user: UserInfo, wanted: Attributes) -> None:
        decision = self._authorizer.decide(user, wanted)
        if not decision.allowed:
            raise forbidden(user, wanted, decision.reason)

    def _impersonated(self, user: UserInfo, headers: Headers) -> UserInfo:
        """The user that a user impersonates, if the headers ask for it; that has to be allowed."""
        if not any(name.lower().startswith("impersonate-") for name in headers):
            return user
        name, groups = headers.get(_AS_USER, ""), tuple(headers.getall(_AS_GROUP, ()))
        if not name:
            raise internal(f"requested {list(groups)} without impersonating a user")
        account = account_of(name)
        if account is not None:
            self._demand(user, Attributes("impersonate", "", "serviceaccounts", "", *account))
        else:
            self._demand(user, Attributes("impersonate", "", "users", name=name))
        for group in groups:
            self._demand(user, Attributes("impersonate", "", "groups", name=group))
        acting = account_user(*account) if account is not None and not groups else UserInfo(name, groups)
        if name != ANONYMOUS.name and AUTHENTICATED not in acting.groups:
            acting = replace(acting, groups=(*acting.groups, AUTHENTICATED))
        for header in (_AS_UID, *(each for each in headers if each.startswith(_AS_EXTRA))):
            if value := headers.get(header):
                resource = "uids" if header == _AS_UID else "userextras"
                part = "" if header == _AS_UID else header.removeprefix(_AS_EXTRA).lower()
                self._demand(user, Attributes("impersonate", "authentication.k8s.io", resource, part, name=value))
        return replace(acting, uid=headers.get(_AS_UID, ""))

    # -- reviews

    def review(self, call: ApiRequest, path: Path, kind: Kind, body: Obj) -> Obj:
        """The answer to a review, which is the review with a status."""
        options = call.write_options()
        body = decoded(kind, body, options.field_validation, options.warnings)
        spec = body.get("spec") or {}
        assert call.user is not None
        match kind.plural:
            case "selfsubjectreviews":
                status: Obj = {"userInfo": call.user.to_dict()}
            case "tokenreviews":
                status = self._of_token(spec)
            case "selfsubjectrulesreviews":
                status = _rules_status(self._authorizer.given(call.user, spec.get("namespace", "")))
            case _:
                status = self._of_right(call.user, path, kind, spec)
        return {
            "kind": kind.kind,
            "apiVersion": kind.api_version,
            "metadata": body.get("metadata") or {},
            "spec": spec,
            "status": status,
        }

    def _of_token(self, spec: Obj) -> Obj:
        try:
            user, audiences = self.tokens.check(spec.get("token", ""), spec.get("audiences") or (AUDIENCE,))
        except BadToken as error:
            return {"user": {}, "error": f"[{error}]" if str(error) != "invalid bearer token" else str(error)}
        return {"authenticated": True, "user": user.to_dict(), "audiences": audiences}

    def _of_right(self, user: UserInfo, path: Path, kind: Kind, spec: Obj) -> Obj:
        resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
        causes = Causes()
        if (resource is None) == (other is None):
            why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
            causes.invalid("spec.resourceAttributes", other, why)
        if not kind.plural.startswith("self"):
            if not spec.get("user") and not spec.get("groups"):
                causes.invalid("spec.user", "", "at least one of user or group must be specified")
            user = UserInfo(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))
        if kind.namespaced and (resource or {}).get("namespace") != path.namespace:
            where = "spec.resourceAttributes.namespace"
            causes.invalid(where, (resource or {}).get("namespace", ""), "must match metadata.namespace")
        if causes:
            raise invalid(kind, "", causes)
        decision = self._authorizer.decide(user, _asked(resource, other or {}))
        return {"allowed": decision.allowed, **({"reason": decision.reason} if decision.reason else {})}


def _asked(resource: Obj | None, other: Obj) -> Attributes:
    """The attributes that a review asks for; the name ``*`` stands for all names."""
    if resource is None:
        return Attributes(other.get("verb", ""), path=other.get("path", ""))
    words = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Attributes(
        *("" if word == "name" and resource.get(word) == ALL else resource.get(word, "") for word in words)
    )


def _rules_status(given: Given) -> Obj:
    """The rules of a user, as ``kubectl auth can-i --list`` shows them."""
    rules = [rule for grant in given.grants for rule in grant.rules]
    names = ("verbs", "apiGroups", "resources", "resourceNames")
    resource = [_kept(rule, names) for rule in rules if rule.get("resources")]
    other = [_kept(rule, ("verbs", "nonResourceURLs")) for rule in rules if rule.get("nonResourceURLs")]
    status: Obj = {"resourceRules": resource, "nonResourceRules": other, "incomplete": False}
    if given.problems:
        status["evaluationError"] = ", ".join(given.problems)
    return status


def _kept(rule: Mapping[str, object], fields: tuple[str, ...]) -> Obj:
    return {field: rule[field] for field in fields if rule.get(field)}
