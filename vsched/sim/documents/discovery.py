"""Discovery documents: the plain lists of groups and resources, and the aggregated form.

Pure functions over the registry. The aggregated form has its current version only; other clients get plain lists.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256

from vsched.apimachinery.meta.kinds import Kind, KindRegistry, Obj, Subresource

_FORM = {"g": "apidiscovery.k8s.io", "as": "APIGroupDiscoveryList", "v": "v2"}
_JSON = ("application/json", "application/*", "*/*")


def wants_aggregated(accept: str) -> bool:
    """Whether the first acceptable form of an Accept header is the aggregated one."""
    for clause in accept.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        if media not in _JSON:
            continue
        values = dict(part.partition("=")[::2] for part in parameters)
        if all(values.get(key) == value for key, value in _FORM.items()):
            return True
        if "as" not in values:
            return False
    return False


def api_versions() -> Obj:
    """/api in the plain form."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:0"}],
    }


def group_list(registry: KindRegistry) -> Obj:
    """/apis in the plain form."""
    groups = [group(registry, name) for name in registry.groups() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(registry: KindRegistry, name: str) -> Obj:
    """One group with its versions, as an item of /apis."""
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in registry.versions(name)]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resources(registry: KindRegistry, group_name: str, version: str) -> Obj:
    """/api/v1 or /apis/group/version: every resource and subresource with its verbs."""
    rows: list[Obj] = []
    for kind in _sorted(registry, group_name, version):
        if kind.verbs:
            rows.append(_resource(kind))
        rows.extend(_subresource(kind, sub) for sub in sorted(kind.subresources, key=lambda sub: sub.name))
    listed: Obj = {"kind": "APIResourceList"}
    if group_name:
        listed["apiVersion"] = "v1"
    return {**listed, "groupVersion": f"{group_name}/{version}" if group_name else version, "resources": rows}


def _sorted(registry: KindRegistry, group_name: str, version: str) -> list[Kind]:
    kinds = [kind for kind in registry if kind.group == group_name and kind.version == version]
    return sorted(kinds, key=lambda kind: kind.plural)


def _resource(kind: Kind) -> Obj:
    row: Obj = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _verbs(kind),
        **_other_names(kind),
    }
    if "get" in kind.verbs:
        row["storageVersionHash"] = _storage_hash(kind)
    return row


_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""The order of the verbs of custom kinds."""


def _other_names(kind: Kind) -> Obj:
    names = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
    return {field: given for field, given in names.items() if given}


def _verbs(kind: Kind) -> list[str]:
    return list(_CUSTOM_VERBS if kind.custom else kind.verbs)


def _storage_hash(kind: Kind) -> str:
    """A hash by which clients see that the stored version of a resource changed."""
    return b64encode(sha256(f"{kind.group}/{kind.version}/{kind.kind}".encode()).digest()[:8]).decode()


def _subresource(kind: Kind, sub: Subresource) -> Obj:
    return {
        "name": f"{kind.plural}/{sub.name}",
        "singularName": "",
        "namespaced": kind.namespaced,
        **({"group": sub.group, "version": sub.version} if sub.version else {}),
        "kind": sub.kind,
        "verbs": list(sub.verbs),
    }


def aggregated(registry: KindRegistry, *, core: bool) -> Obj:
    """/api (``core``) or /apis in one document."""
    names = [name for name in registry.groups() if (name == "") == core]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [_group_discovery(registry, name) for name in names],
    }


def _group_discovery(registry: KindRegistry, name: str) -> Obj:
    metadata: Obj = {"name": name, "creationTimestamp": None} if name else {"creationTimestamp": None}
    versions = [
        {
            "version": version,
            "resources": _resource_discoveries(_sorted(registry, name, version)),
            "freshness": "Current",
        }
        for version in registry.versions(name)
    ]
    return {"metadata": metadata, "versions": versions}


def _resource_discoveries(kinds: Iterable[Kind]) -> list[Obj]:
    rows = []
    for kind in kinds:
        row: Obj = {
            "resource": kind.plural,
            "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "singularResource": kind.singular,
            "verbs": _verbs(kind),
            **_other_names(kind),
        }
        if kind.subresources:
            row["subresources"] = [
                {"subresource": sub.name, "responseKind": _response_kind(kind, sub), "verbs": list(sub.verbs)}
                for sub in sorted(kind.subresources, key=lambda sub: sub.name)
            ]
        rows.append(row)
    return rows


def _response_kind(kind: Kind, sub: Subresource) -> Obj:
    if sub.version:
        return {"group": sub.group, "version": sub.version, "kind": sub.kind}
    # A subresource of another kind without a group of its own is listed without one.
    version = kind.version if sub.kind == kind.kind else ""
    return {"group": kind.group if version else "", "version": version, "kind": sub.kind}
