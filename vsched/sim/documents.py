"""Everything the server says about itself: version, health, discovery, OpenAPI."""

from __future__ import annotations

from vsched.sim._pending import discovery
from vsched.sim.answers import Answer, text
from vsched.sim.kinds import KindRegistry, Obj
from vsched.sim.requests import Call
from vsched.sim.status import method_not_allowed

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
_HEALTH = ("healthz", "livez", "readyz")


class Documents:
    """Answers the paths that are not resources."""

    def __init__(self, registry: KindRegistry) -> None:
        self._registry = registry

    def answer(self, call: Call) -> Answer:
        parts = call.path.strip("/").split("/")
        if call.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        if parts == ["version"]:
            return Answer(obj=VERSION)
        if parts[0] in _HEALTH:
            return self._health(call, parts)
        if parts == ["api"]:
            return Answer(obj={"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
        if parts == ["apis"]:
            groups = [discovery.group(self._registry, g) for g in self._registry.groups() if g]
            return Answer(obj={"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        if parts[0] == "api" and len(parts) == 2 and parts[1] == "v1":
            return Answer(obj=discovery.resources(self._registry, "", "v1"))
        if parts[0] == "apis" and len(parts) == 3 and parts[2] in self._registry.versions(parts[1]):
            return Answer(obj=discovery.resources(self._registry, parts[1], parts[2]))
        if parts[0] == "apis" and len(parts) == 2 and self._registry.versions(parts[1]):
            return Answer(obj={"kind": "APIGroup", "apiVersion": "v1", **discovery.group(self._registry, parts[1])})
        return text("404 page not found\n", 404)

    def _health(self, call: Call, parts: list[str]) -> Answer:
        if len(parts) == 1 and "verbose" in call.query:
            return text(f"[+]ping ok\n[+]etcd ok\n{parts[0]} check passed\n")
        return text("ok")
