"""Authorization by roles and bindings, as by the real server's RBAC authorizer.

The rules of a user in a namespace are gathered once, and kept until a role or a binding changes. Aggregated roles have
the rules of the roles that they select. There are no checks for privilege escalation: users who may write roles and
bindings may write any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.label_selectors import matches_label_selector
from vsched.sim.authentication import MASTERS, UserInfo, account_of
from vsched.sim.requests.attributes import Attributes
from vsched.sim.store.store import Store, StoredObject

GROUP = "rbac.authorization.k8s.io"
ALL = "*"
_KINDS = ("clusterrolebindings", "rolebindings", "clusterroles", "roles")
_MOST_KEPT = 1024
"""The most users in namespaces whose rules are kept; one more clears them all."""


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """Whether a request is allowed, and the reason, which may be empty."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """The rules of one role, and the binding that grants it."""

    source: str
    rules: tuple[Obj, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """All grants of a user in one namespace, cluster-wide ones first."""

    grants: tuple[Grant, ...]
    problems: tuple[str, ...]
    """Roles of bindings that do not exist."""


class Authorizer:
    """Decides on requests by the roles and bindings of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kinds = {name: store.registry.resource(f"{GROUP}/{name}") for name in _KINDS}
        self._kept: dict[tuple[str, tuple[str, ...], str], Given] = {}
        self._kept_at: tuple[int, ...] = ()

    def decide(self, user: UserInfo, wanted: Attributes) -> AccessDecision:
        """Whether a user may do something."""
        if MASTERS in user.groups:
            return AccessDecision(True)
        given = self.given(user, wanted.namespace)
        for grant in given.grants:
            if any(covers(rule, wanted) for rule in grant.rules):
                return AccessDecision(True, f"RBAC: allowed by {grant.source}")
        return AccessDecision(False, f"RBAC: {_aggregate(given.problems)}" if given.problems else "")

    def given(self, user: UserInfo, namespace: str) -> Given:
        """The grants of a user in a namespace, or with an empty one cluster-wide."""
        now = tuple(self._store.shelf(kind).history.end for kind in self._kinds.values())
        if now != self._kept_at or len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
            self._kept_at = now
        key = (user.name, user.groups, namespace)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = self._gathered(user, namespace)
        return found

    def _gathered(self, user: UserInfo, namespace: str) -> Given:
        grants: list[Grant] = []
        problems: list[str] = []
        for binding, where in self._bindings(namespace):
            subject = next((each for each in binding.get("subjects") or () if _is(each, user, where)), None)
            if subject is None:
                continue
            reference = binding["roleRef"]
            role = self._role(reference, where)
            if role is None:
                resource = f"{reference['kind'].lower()}.{GROUP}"
                problems.append(f'{resource} "{reference["name"]}" not found')
                continue
            grants.append(Grant(_source(binding, subject, where), tuple(self._rules(role, set()))))
        return Given(tuple(grants), tuple(dict.fromkeys(problems)))

    def _bindings(self, namespace: str) -> Iterator[tuple[Obj, str]]:
        """The bindings for a namespace, each with its own namespace."""
        for record in self._store.items(self._kinds["clusterrolebindings"]):
            yield record.obj, ""
        if namespace:
            for record in self._store.items(self._kinds["rolebindings"], namespace):
                yield record.obj, namespace

    def _role(self, reference: Obj, namespace: str) -> Obj | None:
        wide = reference["kind"] == "ClusterRole"
        kind = self._kinds["clusterroles" if wide else "roles"]
        record: StoredObject | None = self._store.get(kind, "" if wide else namespace, reference["name"])
        return record.obj if record is not None else None

    def _rules(self, role: Obj, seen: set[str]) -> Iterator[Obj]:
        """The rules of a role; of an aggregated one, those of the roles it selects."""
        seen.add(role["metadata"]["name"])
        selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors")
        if selectors is None:
            yield from role.get("rules") or ()
            return
        for record in self._store.items(self._kinds["clusterroles"]):
            metadata = record.obj["metadata"]
            labels = metadata.get("labels") or {}
            if metadata["name"] not in seen and any(matches_label_selector(each, labels) for each in selectors):
                yield from self._rules(record.obj, seen)


def covers(rule: Obj, wanted: Attributes) -> bool:
    """Whether one rule allows a request."""
    verbs = rule.get("verbs") or ()
    if wanted.verb not in verbs and ALL not in verbs:
        return False
    if wanted.path:
        return any(_is_path(pattern, wanted.path) for pattern in rule.get("nonResourceURLs") or ())
    groups, names = rule.get("apiGroups") or (), rule.get("resourceNames") or ()
    return (
        (wanted.group in groups or ALL in groups)
        and any(_is_resource(each, wanted) for each in rule.get("resources") or ())
        and (not names or wanted.name in names)
    )


def _is_resource(pattern: str, wanted: Attributes) -> bool:
    if pattern in (ALL, wanted.combined):
        return True
    return bool(wanted.subresource) and pattern == f"*/{wanted.subresource}"


def _is_path(pattern: str, path: str) -> bool:
    return pattern in (ALL, path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def _is(subject: Obj, user: UserInfo, namespace: str) -> bool:
    match subject["kind"]:
        case "User":
            return bool(subject["name"] == user.name)
        case "Group":
            return subject["name"] in user.groups
        case "ServiceAccount":
            return account_of(user.name) == (subject.get("namespace") or namespace, subject["name"])
    return False


def _source(binding: Obj, subject: Obj, namespace: str) -> str:
    """The binding of a grant, in the words of the real server."""
    name, reference = binding["metadata"]["name"], binding["roleRef"]
    shown = f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'
    whom = subject["name"]
    if subject["kind"] == "ServiceAccount":
        whom = f"{whom}/{subject.get('namespace') or namespace}"
    return f'{shown} of {reference["kind"]} "{reference["name"]}" to {subject["kind"]} "{whom}"'


def _aggregate(problems: tuple[str, ...]) -> str:
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"


def forbidden(user: UserInfo, wanted: Attributes, reason: str = "") -> Failure:
    """The error for a request that is not allowed, in the words of the real server."""
    if wanted.path:
        text = f'User "{user.name}" cannot {wanted.verb} path "{wanted.path}"'
    else:
        where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
        resource = f'resource "{wanted.combined}" in API group "{wanted.group}"'
        text = f'User "{user.name}" cannot {wanted.verb} {resource} {where}'
    text = f"{text}: {reason}" if reason else text
    qualified = f"{wanted.resource}.{wanted.group}" if wanted.group else wanted.resource
    subject = f'{qualified} "{wanted.name}"' if wanted.name else qualified
    details = {"name": wanted.name, "group": wanted.group, "kind": wanted.resource}
    details = {key: value for key, value in details.items() if value}
    return Failure(
        403, "Forbidden", f"{subject} is forbidden: {text}" if subject else f"forbidden: {text}", details=details
    )
