"""The defaults of Services, Endpoints and NetworkPolicies.

Cluster IPs and node ports are derived from the name, because nothing routes to them here.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from zlib import crc32

from vsched.apimachinery.meta.kinds import Obj

_SERVICE_NETWORK = int(IPv4Address("10.96.0.0"))
_SERVICE_HOSTS = 1 << 20
_NODE_PORTS = range(30000, 32768)


def default_service(obj: Obj) -> Obj:
    """Type, affinity, traffic policies, ports and a cluster IP."""
    spec = {"sessionAffinity": "None", "type": "ClusterIP", **obj.get("spec", {})}
    outside = spec["type"] in ("NodePort", "LoadBalancer")
    if spec.get("ports"):
        spec["ports"] = [_default_port(port, obj["metadata"], outside) for port in spec["ports"]]
    if spec["sessionAffinity"] == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {"clientIP": {"timeoutSeconds": 10800}})
    if outside:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
        _default_address(spec, obj["metadata"])
    return {**obj, "spec": spec}


def _default_address(spec: Obj, metadata: Obj) -> None:
    if not spec.get("clusterIP"):
        given = spec.get("clusterIPs") or ()
        spec["clusterIP"] = given[0] if given else _address(metadata)
    if not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")


def _key(metadata: Obj) -> str:
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"


def _address(metadata: Obj) -> str:
    host = 16 + crc32(_key(metadata).encode()) % (_SERVICE_HOSTS - 32)
    return str(IPv4Address(_SERVICE_NETWORK + host))


def _default_port(port: Obj, metadata: Obj, outside: bool) -> Obj:
    port = {**port}
    port.setdefault("protocol", "TCP")
    if not port.get("targetPort"):
        port["targetPort"] = port.get("port", 0)
    if outside and not port.get("nodePort"):
        seed = f"{_key(metadata)}:{port['protocol']}:{port.get('port')}"
        port["nodePort"] = _NODE_PORTS[crc32(seed.encode()) % len(_NODE_PORTS)]
    return port


def default_endpoints(obj: Obj) -> Obj:
    """Protocol TCP."""
    if not obj.get("subsets"):
        return obj
    subsets = [
        {**subset, "ports": [{"protocol": "TCP", **port} for port in subset["ports"]]}
        if subset.get("ports")
        else subset
        for subset in obj["subsets"]
    ]
    return {**obj, "subsets": subsets}


def default_ingress_policy(obj: Obj) -> Obj:
    """A NetworkPolicy restricts ingress, and egress if it has egress rules."""
    spec = obj.get("spec", {})
    types = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    spec = {"policyTypes": types, **spec}
    for direction in ("ingress", "egress"):
        if spec.get(direction):
            spec[direction] = [
                {**rule, "ports": [{"protocol": "TCP", **port} for port in rule["ports"]]}
                if rule.get("ports")
                else rule
                for rule in spec[direction]
            ]
    return {**obj, "spec": spec}
