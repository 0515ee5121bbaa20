"""Answers the paths that are not resources: version, health, discovery, OpenAPI.

Rendered documents are kept until a kind is added or removed.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson

from vsched.apimachinery.meta.api_errors import method_not_allowed, not_acceptable
from vsched.apimachinery.meta.kinds import KindRegistry, Obj
from vsched.sim.documents import discovery, openapi
from vsched.sim.requests.answers import ServerAnswer, text
from vsched.sim.requests.request import ACCEPTED, ApiRequest

VERSION: Obj = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.2",
    "gitCommit": "0000000000000000000000000000000000000000",
    "gitTreeState": "clean",
    "buildDate": "2026-06-01T00:00:00Z",
    "goVersion": "go1.25",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_HEALTH = ("healthz", "livez", "readyz")
_CHECKS = ("ping", "etcd")
_JSON_MEDIA = ("application/json", "application/*", "*/*")
_NOT_FOUND = "404 page not found\n"
_DOCUMENT_MEDIA = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_EMPTY_DOCUMENT = b"\n\x032.0"
"""A v2 document without definitions: its first field, the version."""


class Documents:
    """Answers the paths that are not resources."""

    def __init__(self, registry: KindRegistry) -> None:
        self._registry = registry
        self._rendered: dict[str, bytes] = {}
        self._rendered_at = -1

    def answer(self, call: ApiRequest) -> ServerAnswer:
        parts = call.path.strip("/").split("/")
        if parts[0] not in _TOPS or (parts[0] == "" and call.path != "/"):
            return text(_NOT_FOUND, 404)
        if call.method != "GET":
            raise method_not_allowed()
        if parts[0] in _HEALTH:
            return _health(call, parts)
        if parts[0] == "openapi":
            return self._openapi(call, parts[1:])
        if parts[0] in ("api", "apis"):
            return self._discovery(call, parts)
        if len(parts) > 1:
            return text(_NOT_FOUND, 404)
        return ServerAnswer(obj=VERSION if parts == ["version"] else {"paths": self._paths()})

    def _discovery(self, call: ApiRequest, parts: list[str]) -> ServerAnswer:
        if not any(media in call.accept for media in _JSON_MEDIA) and call.accept:
            raise not_acceptable(ACCEPTED)
        core = parts[0] == "api"
        group, rest = ("", parts[1:]) if core else (parts[1] if len(parts) > 1 else "", parts[2:])
        if len(parts) == 1:
            if discovery.wants_aggregated(call.accept):
                body = self._kept(f"{parts[0]}+", lambda: discovery.aggregated(self._registry, core=core))
                return ServerAnswer(raw=body, content_type=_AGGREGATED)
            plain = discovery.api_versions if core else lambda: discovery.group_list(self._registry)
            return ServerAnswer(raw=self._kept(parts[0], plain))
        versions = self._registry.versions(group)
        if not versions or len(rest) > 1 or (rest and rest[0] not in versions):
            return text(_NOT_FOUND, 404)
        if not rest:
            return ServerAnswer(obj={"kind": "APIGroup", "apiVersion": "v1", **discovery.group(self._registry, group)})
        version = rest[0]
        body = self._kept(f"{group}/{version}", lambda: discovery.resources(self._registry, group, version))
        return ServerAnswer(raw=body)

    def _openapi(self, call: ApiRequest, parts: list[str]) -> ServerAnswer:
        if parts == ["v3"]:
            return ServerAnswer(raw=self._kept("v3", lambda: openapi.index(self._registry)))
        if parts == ["v2"]:
            # kubectl gets the protobuf form before it applies a List, and checks only what is in it.
            if "protobuf" in call.accept and "application/json" not in call.accept:
                return ServerAnswer(raw=_EMPTY_DOCUMENT, content_type=_DOCUMENT_MEDIA)
            return ServerAnswer(raw=self._kept("v2", lambda: openapi.swagger(self._registry)))
        group, version = _group_version(parts[1:])
        if parts[:1] != ["v3"] or version not in self._registry.versions(group):
            return text(_NOT_FOUND, 404)
        body = self._kept(f"openapi {group}/{version}", lambda: openapi.document(self._registry, group, version))
        return ServerAnswer(raw=body)

    def _kept(self, name: str, render: Callable[[], Obj]) -> bytes:
        """The document as bytes, rendered once until the kinds change."""
        if self._rendered_at != self._registry.changes:
            self._rendered.clear()
            self._rendered_at = self._registry.changes
        body = self._rendered.get(name)
        if body is None:
            body = self._rendered[name] = orjson.dumps(render())
        return body

    def _paths(self) -> list[str]:
        groups = [name for name in self._registry.groups() if name]
        served = [f"/apis/{name}/{version}" for name in groups for version in self._registry.versions(name)]
        fixed = [
            "/api",
            "/api/v1",
            "/apis",
            "/openapi/v2",
            "/openapi/v3",
            "/version",
            *(f"/{name}" for name in _HEALTH),
        ]
        return sorted([*fixed, *(f"/apis/{name}" for name in groups), *served])


_TOPS = frozenset({"", "api", "apis", "openapi", "version", *_HEALTH})


def _group_version(parts: list[str]) -> tuple[str, str]:
    """api/v1 or apis/group/version as group and version; an empty version for anything else."""
    if len(parts) == 2 and parts[0] == "api":
        return "", parts[1]
    return (parts[1], parts[2]) if len(parts) == 3 and parts[0] == "apis" else ("", "")


def _health(call: ApiRequest, parts: list[str]) -> ServerAnswer:
    if len(parts) == 2 and parts[1] in _CHECKS:
        return text("ok")
    if len(parts) > 1:
        return text(_NOT_FOUND, 404)
    if "verbose" in call.query:
        lines = "".join(f"[+]{check} ok\n" for check in _CHECKS)
        return text(f"{lines}{parts[0]} check passed\n")
    return text("ok")
