"""The defaults of pods and pod templates, and the QoS class of pods.

Objects are copied before they change. Admission (tolerations, priority) is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from vsched.apimachinery.meta.kinds import Obj
from vsched.cel import quantities

_FILE_MODE = 420
"""0644, the mode of mounted files."""

_CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_HTTP_GET = {"path": "/", "scheme": "HTTP"}
_POD_SPEC = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_VOLUME_SOURCES: dict[str, Obj] = {
    "secret": {"defaultMode": _FILE_MODE},
    "configMap": {"defaultMode": _FILE_MODE},
    "downwardAPI": {"defaultMode": _FILE_MODE},
    "projected": {"defaultMode": _FILE_MODE},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
}
_COMPUTE = ("cpu", "memory")


def default_pod_spec(spec: Obj, *, pod: bool) -> Obj:
    """The spec with its defaults; ``pod`` is False for a template, which has fewer."""
    spec = {**spec}
    for key, value in _POD_SPEC.items():
        if not spec.get(key):
            spec[key] = value
    spec.setdefault("terminationGracePeriodSeconds", 30)
    if "securityContext" not in spec:
        spec["securityContext"] = {}
    _mirror_service_account(spec)
    host_network = bool(spec.get("hostNetwork"))
    for key in ("initContainers", "containers", "ephemeralContainers"):
        if spec.get(key):
            copies = key != "ephemeralContainers"
            spec[key] = [_default_container(one, host_network, requests=pod and copies) for one in spec[key]]
    if spec.get("volumes"):
        spec["volumes"] = [_default_volume(one) for one in spec["volumes"]]
    if pod:
        spec.setdefault("enableServiceLinks", True)
        if "resources" in spec:
            spec["resources"] = _with_requests(spec["resources"])
    return spec


def _mirror_service_account(spec: Obj) -> None:
    """The deprecated field serviceAccount always has the same value."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _default_container(container: Obj, host_network: bool, *, requests: bool) -> Obj:
    """One container with its defaults; ``requests`` copies limits into missing requests."""
    container = {**container}
    for key, value in _CONTAINER.items():
        if not container.get(key):
            container[key] = value
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _pull_policy(container.get("image") or "")
    resources = container.get("resources")
    if not resources:
        container["resources"] = {}
    elif requests and "limits" in resources:
        container["resources"] = _with_requests(resources)
    for key in container.keys() & _NESTED.keys():
        container[key] = _NESTED[key](container[key])
    if host_network and container.get("ports"):
        container["ports"] = [
            {**port, "hostPort": port["containerPort"]} if not port.get("hostPort") else port
            for port in container["ports"]
        ]
    return container


@lru_cache(maxsize=4096)
def _pull_policy(image: str) -> str:
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    # Without tag and digest the tag is latest.
    return "Always" if tag == "latest" or (not tag and not digest) else "IfNotPresent"


def _with_requests(resources: Obj) -> Obj:
    limits = resources.get("limits")
    if not limits:
        return resources
    requests = resources.get("requests") or {}
    missing = {name: value for name, value in limits.items() if name not in requests}
    return {**resources, "requests": {**requests, **missing}} if missing else resources


def _default_ports(ports: list[Obj]) -> list[Obj]:
    return [port if port.get("protocol") else {**port, "protocol": "TCP"} for port in ports]


def _default_env(env: list[Obj]) -> list[Obj]:
    return [{**one, "valueFrom": _default_field(one["valueFrom"])} if one.get("valueFrom") else one for one in env]


def _default_field(holder: Obj) -> Obj:
    """A downward API reference, in an environment variable or in a file."""
    reference = holder.get("fieldRef")
    if reference is not None and not reference.get("apiVersion"):
        holder = {**holder, "fieldRef": {**reference, "apiVersion": "v1"}}
    return holder


def _default_http(action: Obj) -> Obj:
    if "httpGet" not in action:
        return action
    return {**action, "httpGet": _filled(action["httpGet"], _HTTP_GET)}


def _default_probe(probe: Obj) -> Obj:
    probe = _default_http(_filled(probe, _PROBE))
    if "grpc" in probe:
        probe["grpc"] = {"service": "", **probe["grpc"]}
    return probe


def _default_lifecycle(lifecycle: Obj) -> Obj:
    return {key: _default_http(value) if key in ("postStart", "preStop") else value for key, value in lifecycle.items()}


def _filled(value: Obj, defaults: Obj) -> Obj:
    return {**value, **{key: default for key, default in defaults.items() if not value.get(key)}}


_NESTED: dict[str, Callable[[Any], Any]] = {
    "ports": _default_ports,
    "env": _default_env,
    "livenessProbe": _default_probe,
    "readinessProbe": _default_probe,
    "startupProbe": _default_probe,
    "lifecycle": _default_lifecycle,
}


def _default_volume(volume: Obj) -> Obj:
    source = next((key for key in volume if key != "name"), None)
    if source is None:
        return {**volume, "emptyDir": {}}
    value = volume[source]
    value = {**_VOLUME_SOURCES.get(source, {}), **value}
    if source == "downwardAPI":
        value = _with_items(value)
    elif source == "projected":
        value["sources"] = [_default_projection(one) for one in value.get("sources") or ()]
    elif source == "ephemeral" and value.get("volumeClaimTemplate"):
        template = value["volumeClaimTemplate"]
        value["volumeClaimTemplate"] = {**template, "spec": {"volumeMode": "Filesystem", **template.get("spec", {})}}
    elif source == "image" and not value.get("pullPolicy"):
        value["pullPolicy"] = _pull_policy(value.get("reference") or "")
    return {**volume, source: value}


def _with_items(value: Obj) -> Obj:
    if not value.get("items"):
        return value
    return {**value, "items": [_default_field(one) for one in value["items"]]}


def _default_projection(source: Obj) -> Obj:
    if "downwardAPI" in source:
        return {**source, "downwardAPI": _with_items(source["downwardAPI"])}
    if "serviceAccountToken" in source:
        return {**source, "serviceAccountToken": {"expirationSeconds": 3600, **source["serviceAccountToken"]}}
    return source


def quality_of_service(spec: Obj) -> str:
    """BestEffort, Burstable or Guaranteed; only cpu and memory count."""
    if "resources" in spec:
        return _class_of([spec["resources"]])
    containers: Iterable[Obj] = spec.get("containers") or ()
    if spec.get("initContainers"):
        containers = [*containers, *spec["initContainers"]]
    return _class_of([one.get("resources") or {} for one in containers])


def _class_of(all_resources: list[Obj]) -> str:
    """Requests and limits are summed by resource over the containers."""
    requests: dict[str, Decimal] = {}
    limits: dict[str, Decimal] = {}
    guaranteed = True
    for resources in all_resources:
        limited = 0
        for name in _COMPUTE:
            requested = _amount(resources.get("requests"), name)
            if requested:
                requests[name] = requests.get(name, Decimal(0)) + requested
            limit = _amount(resources.get("limits"), name)
            if limit:
                limited += 1
                limits[name] = limits.get(name, Decimal(0)) + limit
        guaranteed = guaranteed and limited == len(_COMPUTE)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _amount(amounts: Obj | None, name: str) -> Decimal | None:
    value = amounts.get(name) if amounts else None
    return quantities.amount(value) if value is not None else None
