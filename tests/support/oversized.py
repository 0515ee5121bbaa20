"""Objects that an API server takes, and that say far more than any real one: as large as a request may be."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
HOST = "kubernetes.io/hostname"
INT32_MAX = 2**31 - 1


def pod(name: str = "big", *, labels: dict[str, str] | None = None, **spec: Any) -> Manifest:
    """A pod of a tenant; what is said of its spec replaces what it says by itself."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "tenant", "uid": f"uid-{name}", "labels": labels or {"app": "big"}},
        "spec": {"schedulerName": "vsched", "containers": [container()], **spec},
        "status": {"phase": "Pending"},
    }


def container(name: str = "main", **resources: Any) -> Manifest:
    """A container; ``resources`` in place of a request for one hundredth of a core."""
    return {"name": name, "image": "busybox", "resources": resources or {"requests": {"cpu": "10m"}}}


def group(name: str = "big", **spec: Any) -> Manifest:
    """A PodGroup of the tenant."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "tenant", "uid": f"uid-pg-{name}"},
        "spec": {"minMember": 1, "queue": "default", **spec},
    }


def labelled(count: int) -> Manifest:
    return pod(labels={f"label-{number}": f"value-{number}" for number in range(count)})


def spread(count: int, how: str = "DoNotSchedule") -> Manifest:
    """Constraints that no index helps with: each means all pods with the label that every pod has."""
    keys = ("zone", HOST)
    return pod(
        topologySpreadConstraints=[
            {
                "maxSkew": 1 + number,
                "topologyKey": keys[number % 2],
                "whenUnsatisfiable": how,
                "labelSelector": _selector(number),
            }
            for number in range(count)
        ]
    )


def apart(count: int, kind: str = "podAntiAffinity", strength: str = REQUIRED) -> Manifest:
    """Terms about all pods of all namespaces."""
    terms: list[Manifest] = [
        {"topologyKey": HOST, "namespaceSelector": {}, "labelSelector": _selector(number)} for number in range(count)
    ]
    if strength == PREFERRED:
        terms = [{"weight": 1 + number % 100, "podAffinityTerm": term} for number, term in enumerate(terms)]
    return pod(affinity={kind: {strength: terms}})


def _selector(number: int) -> Manifest:
    return {
        "matchExpressions": [
            {"key": "app", "operator": "Exists"},
            {"key": f"other-{number}", "operator": "DoesNotExist"},
        ]
    }


def asking(count: int, prefix: str = "r") -> Manifest:
    return pod(containers=[container(requests={f"example.com/{prefix}{number}": "1" for number in range(count)})])


def choosing(terms: int, values: int = 1) -> Manifest:
    """Terms of node affinity, each with so many values."""
    return pod(
        affinity={
            "nodeAffinity": {
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {
                                    "key": HOST,
                                    "operator": "NotIn",
                                    "values": [f"n-{one}-{two}" for two in range(values)],
                                }
                            ]
                        }
                        for one in range(terms)
                    ]
                }
            }
        }
    )


def selecting(count: int) -> Manifest:
    return pod(nodeSelector={f"key-{number}": "yes" for number in range(count)})


def tolerating(count: int) -> Manifest:
    return pod(tolerations=[{"key": f"key-{number}", "operator": "Exists"} for number in range(count)])


def containing(count: int) -> Manifest:
    return pod(containers=[container(f"c{number}") for number in range(count)])


def listening(count: int) -> Manifest:
    ports = [{"containerPort": number, "hostPort": number} for number in range(1, count + 1)]
    return pod(containers=[{**container(), "ports": ports}])


def gated(count: int) -> Manifest:
    return pod(schedulingGates=[{"name": f"example.com/gate-{number}"} for number in range(count)])


def roles(count: int, minimum: int = INT32_MAX) -> Manifest:
    return group(minTaskMember={f"role-{number}": minimum for number in range(count)})


def minimum(count: int) -> Manifest:
    return group(minResources={f"example.com/r{number}": "1" for number in range(count)})
