"""The cluster roles that a cluster starts with: a subset of the real server's, with the same names.

The roles admin, edit and view, and those of Kubernetes' own components are not among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vsched.apimachinery.meta.kinds import Obj
from vsched.sim.auth.rbac import ALL, GROUP
from vsched.sim.authentication import AUTHENTICATED, MASTERS, UNAUTHENTICATED
from vsched.sim.writer import ObjectWriter

_API_VERSION = f"{GROUP}/v1"
_HEALTH = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY = ("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", *_HEALTH[2:])
_MARKED = {
    "annotations": {f"{GROUP}/autoupdate": "true"},
    "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
}


def seed_roles(writer: ObjectWriter) -> None:
    """Creates the roles and their bindings."""
    for obj in _objects():
        writer.create(writer.store.registry.resource(f"{GROUP}/{obj['kind'].lower()}s"), "", obj)


def _objects() -> Iterator[Obj]:
    everything = [_rule([ALL], [ALL], [ALL]), {"verbs": [ALL], "nonResourceURLs": [ALL]}]
    yield from _role("cluster-admin", everything, [MASTERS])
    reviews = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]
    own = [
        _rule(["create"], ["authorization.k8s.io"], reviews),
        _rule(["create"], ["authentication.k8s.io"], ["selfsubjectreviews"]),
    ]
    yield from _role("system:basic-user", own, [AUTHENTICATED])
    yield from _role("system:discovery", [{"verbs": ["get"], "nonResourceURLs": list(_DISCOVERY)}], [AUTHENTICATED])
    health = [{"verbs": ["get"], "nonResourceURLs": list(_HEALTH)}]
    yield from _role("system:public-info-viewer", health, [AUTHENTICATED, UNAUTHENTICATED])
    delegated = [
        _rule(["create"], ["authentication.k8s.io"], ["tokenreviews"]),
        _rule(["create"], ["authorization.k8s.io"], ["subjectaccessreviews"]),
    ]
    yield from _role("system:auth-delegator", delegated, [])


def _role(name: str, rules: Sequence[Obj], groups: Sequence[str]) -> Iterator[Obj]:
    """A cluster role, and its binding if it has groups."""
    head = {"apiVersion": _API_VERSION, "metadata": {"name": name, **_MARKED}}
    yield {**head, "kind": "ClusterRole", "rules": list(rules)}
    if groups:
        subjects = [{"kind": "Group", "apiGroup": GROUP, "name": group} for group in groups]
        reference = {"kind": "ClusterRole", "apiGroup": GROUP, "name": name}
        yield {**head, "kind": "ClusterRoleBinding", "subjects": subjects, "roleRef": reference}


def _rule(verbs: list[str], groups: list[str], resources: list[str]) -> Obj:
    return {"verbs": verbs, "apiGroups": groups, "resources": resources}
