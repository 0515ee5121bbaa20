"""The cells of services, volumes, bindings of roles and the like, and what all cells are made of."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from vsched.sim.store.kinds import Obj
from vsched.sim.tables.ages import age_of
from vsched.sim.tables.pods import NONE, UNKNOWN

_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


_UNSET = "<unset>"


def name_of(obj: Obj) -> str:
    return str(obj["metadata"].get("name", ""))


def creation_age(obj: Obj, now: datetime) -> str:
    return age_of(obj["metadata"].get("creationTimestamp"), now)


def labels_text(labels: Obj | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def service_cells(obj: Obj, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    ports = [
        f"{port.get('port')}:{port['nodePort']}/{port.get('protocol')}"
        if port.get("nodePort")
        else f"{port.get('port')}/{port.get('protocol')}"
        for port in spec.get("ports") or ()
    ]
    return [
        name_of(obj),
        spec.get("type", ""),
        spec.get("clusterIP") or NONE,
        _external_address(obj),
        ",".join(ports) or NONE,
        creation_age(obj, now),
        labels_text(spec.get("selector")),
    ]


def _external_address(obj: Obj) -> str:
    spec = obj.get("spec", {})
    given = ",".join(spec.get("externalIPs") or ())
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if spec.get("type") != "LoadBalancer":
        return given or NONE
    ingress = obj.get("status", {}).get("loadBalancer", {}).get("ingress") or ()
    found = ",".join(one.get("ip") or one.get("hostname") or "" for one in ingress)
    return ",".join(part for part in (found, given) if part) or "<pending>"


def volume_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    claim = spec.get("claimRef") or {}
    phase = "Terminating" if "deletionTimestamp" in obj["metadata"] else status.get("phase", "")
    return [
        name_of(obj),
        spec.get("capacity", {}).get("storage", ""),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or _UNSET,
        status.get("reason", ""),
        creation_age(obj, now),
        spec.get("volumeMode") or _UNSET,
    ]


def claim_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    bound = bool(spec.get("volumeName"))
    phase = "Terminating" if "deletionTimestamp" in obj["metadata"] else status.get("phase", "")
    return [
        name_of(obj),
        phase,
        spec.get("volumeName", ""),
        status.get("capacity", {}).get("storage", "") if bound else "",
        _modes(status.get("accessModes")) if bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or _UNSET,
        creation_age(obj, now),
        spec.get("volumeMode") or _UNSET,
    ]


def _modes(modes: list[str] | None) -> str:
    return ",".join(_ACCESS_MODES.get(mode, mode) for mode in dict.fromkeys(modes or ()))


def storage_class_cells(obj: Obj, now: datetime) -> list[Any]:
    annotations = obj["metadata"].get("annotations") or {}
    default = annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
    return [
        f"{name_of(obj)} (default)" if default else name_of(obj),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        bool(obj.get("allowVolumeExpansion")),
        creation_age(obj, now),
    ]


def role_binding_cells(obj: Obj, now: datetime) -> list[Any]:
    role = obj.get("roleRef") or {}
    by_kind: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in obj.get("subjects") or ():
        name = subject.get("name", "")
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        by_kind.setdefault(subject.get("kind", ""), []).append(name)
    subjects = [", ".join(by_kind[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return [name_of(obj), f"{role.get('kind', '')}/{role.get('name', '')}", creation_age(obj, now), *subjects]


def scaler_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, target = obj.get("spec", {}), obj.get("spec", {}).get("scaleTargetRef", {})
    return [
        name_of(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        UNKNOWN,
        str(spec.get("minReplicas", UNKNOWN)),
        spec.get("maxReplicas", 0),
        obj.get("status", {}).get("currentReplicas", 0),
        creation_age(obj, now),
    ]


def ingress_cells(obj: Obj, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    hosts = ",".join(rule["host"] for rule in spec.get("rules") or () if rule.get("host")) or "*"
    ingress = obj.get("status", {}).get("loadBalancer", {}).get("ingress") or ()
    address = ",".join(one.get("ip") or one.get("hostname") or "" for one in ingress)
    ports = "80, 443" if spec.get("tls") else "80"
    return [name_of(obj), spec.get("ingressClassName") or NONE, hosts, address, ports, creation_age(obj, now)]
