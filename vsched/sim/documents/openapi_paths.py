"""The paths of an OpenAPI document: for each resource its operations with their kinds and parameters.

Clients look up whether an operation has a parameter (dryRun, fieldValidation) and which patches a kind takes. Responses
have no details.
"""

from __future__ import annotations

from collections.abc import Callable

from vsched.apimachinery.meta.kinds import Kind, Obj, Subresource

_METHODS = {"list": "get", "create": "post", "update": "put", "deletecollection": "delete"}
"""The methods of verbs that have another name."""
_ACTIONS = {"create": "post", "update": "put"}
_COLLECTION = ("list", "create", "deletecollection")
_ITEM = ("get", "update", "patch", "delete")
_PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_STRATEGIC = "application/strategic-merge-patch+json"
_WRITE_PARAMETERS = "dryRun fieldManager fieldValidation"
_PARAMETERS = {
    "list": (
        "allowWatchBookmarks continue fieldSelector labelSelector limit resourceVersion resourceVersionMatch"
        " sendInitialEvents timeoutSeconds watch"
    ),
    "create": _WRITE_PARAMETERS,
    "update": _WRITE_PARAMETERS,
    "patch": f"{_WRITE_PARAMETERS} force",
    "delete": "dryRun gracePeriodSeconds orphanDependents propagationPolicy",
}
_TYPES = {
    **dict.fromkeys(("limit", "timeoutSeconds", "gracePeriodSeconds"), "integer"),
    **dict.fromkeys(("allowWatchBookmarks", "sendInitialEvents", "watch", "force", "orphanDependents"), "boolean"),
}
"""The types of parameters that are no strings."""
_PATH_PARAMETERS = ("namespace", "name")


def paths_of(kind: Kind, reference_of: Callable[[Kind], Obj]) -> dict[str, Obj]:
    """All paths of one kind with their operations."""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    base = f"{root}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"
    reference = reference_of(kind)
    paths: dict[str, Obj] = {}
    candidates = [(base, _COLLECTION), (f"{base}/{{name}}", _ITEM)]
    if kind.namespaced:
        candidates.append((f"{root}/{kind.plural}", ("list",)))
    for path, verbs in candidates:
        operations = {
            _METHODS.get(verb, verb): _operation(kind, verb, reference) for verb in verbs if verb in kind.verbs
        }
        if operations:
            paths[path] = {**operations, "parameters": _path_parameters(path)}
    for sub in kind.subresources:
        path = f"{base}/{{name}}/{sub.name}"
        operations = {_METHODS.get(verb, verb): _sub_operation(kind, sub, verb, reference) for verb in sub.verbs}
        paths[path] = {**operations, "parameters": _path_parameters(path)}
    return paths


def _path_parameters(path: str) -> list[Obj]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}
        for name in _PATH_PARAMETERS
        if f"{{{name}}}" in path
    ]


def _operation(kind: Kind, verb: str, reference: Obj) -> Obj:
    return _described(verb, {"group": kind.group, "kind": kind.kind, "version": kind.version}, reference, kind.custom)


def _sub_operation(kind: Kind, sub: Subresource, verb: str, reference: Obj) -> Obj:
    spoken = {"group": sub.group or kind.group, "kind": sub.kind, "version": sub.version or kind.version}
    schema = reference if sub.kind == kind.kind else {"type": "object"}
    return _described(verb, spoken, schema, kind.custom)


def _described(verb: str, spoken: Obj, schema: Obj, custom: bool) -> Obj:
    names = _PARAMETERS.get("delete" if verb == "deletecollection" else verb, "").split()
    operation: Obj = {
        "parameters": [{"name": name, "in": "query", "schema": {"type": _TYPES.get(name, "string")}} for name in names],
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}},
        "x-kubernetes-action": _ACTIONS.get(verb, verb),
        "x-kubernetes-group-version-kind": spoken,
    }
    if verb in ("create", "update"):
        operation["requestBody"] = {"content": {"*/*": {"schema": schema}}, "required": True}
    elif verb == "patch":
        kinds = _PATCHES if custom else (*_PATCHES, _STRATEGIC)
        content = {one: {"schema": {"type": "object"}} for one in kinds}
        operation["requestBody"] = {"content": content, "required": True}
    return operation
