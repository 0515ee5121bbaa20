"""Validation of pod specs, in pods and in templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from vsched.apimachinery.meta.field_errors import Causes, forbidden
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.name_formats import (
    env_name_problems,
    label_problems,
    qualified_name_problems,
    subdomain_problems,
)
from vsched.apimachinery.validation.resources import check_resources

INT32_MAX = (1 << 31) - 1
_RESTART = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PULL = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MESSAGE_POLICIES = ("FallbackToLogsOnError", "File")
_SPREADING = ("DoNotSchedule", "ScheduleAnyway")
_PREEMPTION = ("Never", "PreemptLowerPriority")
_NAMED_SOURCES = (
    ("persistentVolumeClaim", "claimName"), ("secret", "secretName"), ("configMap", "name"), ("hostPath", "path"),
    ("ephemeral", "volumeClaimTemplate"),
)  # fmt: skip
"""Sources of volumes, and the field that each must have."""
_CLAIM_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")


def check_pod_spec(spec: Obj, path: str, causes: Causes, more_volumes: Iterable[str] = ()) -> None:
    """Checks a spec with defaults. ``more_volumes`` are names of volumes that pods of the template get later."""
    volumes = _check_volumes(spec.get("volumes") or (), f"{path}.volumes", causes) | {*more_volumes}
    containers = spec.get("containers") or ()
    if not containers:
        causes.required(f"{path}.containers")
    names: set[str] = set()
    claims = _check_resource_claims(spec.get("resourceClaims") or (), f"{path}.resourceClaims", causes)
    for key in ("containers", "initContainers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(key) or ()):
            where = f"{path}.{key}[{index}]"
            _check_used_claims(container, claims, f"{where}.resources.claims", causes)
            _check_name(container.get("name"), names, where, causes)
            check_container(container, volumes, where, causes)
    for field, supported in (("restartPolicy", _RESTART), ("dnsPolicy", _DNS), ("preemptionPolicy", _PREEMPTION)):
        value = spec.get(field)
        if value is not None:
            causes.check_one_of(value, supported, f"{path}.{field}")
    causes.check_labels(spec.get("nodeSelector"), f"{path}.nodeSelector")
    _check_names(spec, path, causes)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        causes.check_range(deadline, 1, INT32_MAX, f"{path}.activeDeadlineSeconds")
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        check_toleration(toleration, f"{path}.tolerations[{index}]", causes)
    for field, check in _RARE.items():
        if field in spec:
            check(spec[field], f"{path}.{field}", causes)
    if spec.get("schedulingGates") and spec.get("nodeName"):
        causes.forbidden(f"{path}.nodeName", "cannot be set until all schedulingGates have been cleared")


def _check_names(spec: Obj, path: str, causes: Causes) -> None:
    for field, problems_of in (
        ("serviceAccountName", subdomain_problems),
        ("nodeName", subdomain_problems),
        ("priorityClassName", subdomain_problems),
        ("runtimeClassName", subdomain_problems),
        ("hostname", label_problems),
        ("subdomain", label_problems),
    ):
        value = spec.get(field)
        if value:
            causes.check_format(value, problems_of, f"{path}.{field}")


def _check_name(name: str | None, names: set[str], where: str, causes: Causes) -> None:
    causes.check_name(name, label_problems, f"{where}.name")
    if name:
        causes.check_unique(name, names, f"{where}.name")


def check_container(container: Obj, volumes: set[str], path: str, causes: Causes) -> None:
    image = container.get("image")
    if not image:
        causes.required(f"{path}.image")
    elif image.strip() != image:
        causes.invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
    for field, supported in (("imagePullPolicy", _PULL), ("terminationMessagePolicy", _MESSAGE_POLICIES)):
        causes.check_one_of(container.get(field), supported, f"{path}.{field}")
    resources = container.get("resources")
    if resources:
        check_resources(resources, f"{path}.resources", causes)
    if container.get("ports"):
        _check_ports(container["ports"], f"{path}.ports", causes)
    if container.get("env"):
        _check_env(container["env"], f"{path}.env", causes)
    if container.get("volumeMounts"):
        _check_mounts(container["volumeMounts"], volumes, f"{path}.volumeMounts", causes)
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        if field in container:
            _check_probe(container[field], field, f"{path}.{field}", causes)


def _check_ports(ports: list[Obj], path: str, causes: Causes) -> None:
    names: set[str] = set()
    for index, port in enumerate(ports):
        where = f"{path}[{index}]"
        number = port.get("containerPort")
        if not number:
            causes.required(f"{where}.containerPort")
        else:
            causes.check_range(number, 1, 65535, f"{where}.containerPort")
        if port.get("hostPort"):
            causes.check_range(port["hostPort"], 1, 65535, f"{where}.hostPort")
        causes.check_one_of(port.get("protocol"), _PROTOCOLS, f"{where}.protocol")
        if port.get("name"):
            causes.check_unique(port["name"], names, f"{where}.name")


def _check_env(env: list[Obj], path: str, causes: Causes) -> None:
    for index, one in enumerate(env):
        if not causes.check_name(one.get("name"), env_name_problems, f"{path}[{index}].name") and not one.get("name"):
            continue
        if one.get("value") and one.get("valueFrom"):
            why = "may not be specified when `value` is not empty"
            causes.invalid(f"{path}[{index}].valueFrom", "", why)


def _check_mounts(mounts: list[Obj], volumes: set[str], path: str, causes: Causes) -> None:
    places: set[str] = set()
    for index, mount in enumerate(mounts):
        where = f"{path}[{index}]"
        name = mount.get("name")
        if not name:
            causes.required(f"{where}.name")
        if name not in volumes:
            causes.not_found(f"{where}.name", name or "")
        place = mount.get("mountPath")
        if not place:
            causes.required(f"{where}.mountPath")
        elif place in places:
            causes.invalid(f"{where}.mountPath", place, "must be unique")
        places.add(place or "")


def _check_probe(probe: Obj, field: str, path: str, causes: Causes) -> None:
    for key in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        causes.check_not_negative(probe.get(key), f"{path}.{key}")
    handlers = probe.keys() & {"exec", "httpGet", "tcpSocket", "grpc"}
    if not handlers:
        causes.required(path, "must specify a handler type")
    if field != "readinessProbe" and probe.get("successThreshold", 1) != 1:
        causes.invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


def _check_volumes(volumes: Iterable[Obj], path: str, causes: Causes) -> set[str]:
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        where = f"{path}[{index}]"
        _check_name(volume.get("name"), names, where, causes)
        sources = [key for key in volume if key != "name"]
        causes.extend(forbidden(f"{where}.{one}", "may not specify more than 1 volume type") for one in sources[1:])
        for source, field in _NAMED_SOURCES:
            if source in volume and not volume[source].get(field):
                causes.required(f"{where}.{source}.{field}")
    return names


def _check_resource_claims(entries: Iterable[Obj], path: str, causes: Causes) -> set[str]:
    names: set[str] = set()
    for index, entry in enumerate(entries):
        where = f"{path}[{index}]"
        _check_name(entry.get("name"), names, where, causes)
        sources = [field for field in _CLAIM_SOURCES if entry.get(field)]
        if not sources:
            listed = "`, `".join(_CLAIM_SOURCES)
            causes.invalid(where, entry, f"must specify one of: `{listed}`")
        elif len(sources) > 1:
            causes.invalid(where, entry, f"at most one of `{'` or `'.join(_CLAIM_SOURCES)}` may be specified")
        for field in sources:
            causes.check_format(entry[field], subdomain_problems, f"{where}.{field}")
    return names


def _check_used_claims(container: Obj, claims: set[str], path: str, causes: Causes) -> None:
    """A container uses claims of its pod only."""
    for index, used in enumerate((container.get("resources") or {}).get("claims") or ()):
        if used.get("name") not in claims:
            causes.not_found(f"{path}[{index}]", used.get("name") or "")


def check_toleration(toleration: Obj, path: str, causes: Causes) -> None:
    key, operator, effect = toleration.get("key"), toleration.get("operator"), toleration.get("effect")
    if key:
        causes.check_format(key, qualified_name_problems, f"{path}.key")
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        causes.invalid(f"{path}.operator", operator or "", why)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        causes.invalid(f"{path}.effect", effect or "", why)
    value = toleration.get("value")
    if operator == "Exists" and value:
        why = "value must be empty when `operator` is 'Exists'"
        names = ("key", "operator", "value", "effect", "tolerationSeconds")
        # Shown with all fields, in Go's spelling.
        held = {name[0].upper() + name[1:]: toleration.get(name, None if name[-1] == "s" else "") for name in names}
        causes.invalid(f"{path}.operator", held, why)
    elif operator not in (None, "", "Equal", "Exists", "Lt", "Gt"):
        causes.check_one_of(operator, ("Equal", "Exists"), f"{path}.operator")
    if effect and effect not in _EFFECTS:
        causes.check_one_of(effect, _EFFECTS, f"{path}.effect")


def _check_gates(gates: list[Obj], path: str, causes: Causes) -> None:
    seen: set[str] = set()
    for index, gate in enumerate(gates or ()):
        name = gate.get("name", "")
        causes.check_format(name, qualified_name_problems, f"{path}[{index}]")
        causes.check_unique(name, seen, f"{path}[{index}]")


def _check_spreading(constraints: list[Obj], path: str, causes: Causes) -> None:
    for index, one in enumerate(constraints or ()):
        where = f"{path}[{index}]"
        if one.get("maxSkew", 0) <= 0:
            causes.invalid(f"{where}.maxSkew", one.get("maxSkew", 0), "must be greater than zero")
        if not one.get("topologyKey"):
            causes.required(f"{where}.topologyKey", "can not be empty")
        causes.check_one_of(one.get("whenUnsatisfiable", ""), _SPREADING, f"{where}.whenUnsatisfiable")
        minimum = one.get("minDomains")
        if minimum is not None and minimum <= 0:
            causes.invalid(f"{where}.minDomains", minimum, "must be greater than zero")
        causes.check_selector(one.get("labelSelector"), f"{where}.labelSelector")


def _check_affinity(affinity: Obj, path: str, causes: Causes) -> None:
    node = (affinity or {}).get("nodeAffinity") or {}
    wanted = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    where = f"{path}.nodeAffinity"
    if wanted is not None:
        _check_node_terms(wanted, f"{where}.requiredDuringSchedulingIgnoredDuringExecution", causes)
    for index, one in enumerate(node.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
        at = f"{where}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        _check_weight(one, at, causes)
        _check_node_term(one.get("preference") or {}, f"{at}.preference", causes)
    for kind in ("podAffinity", "podAntiAffinity"):
        _check_pod_terms((affinity or {}).get(kind) or {}, f"{path}.{kind}", causes)


def _check_weight(one: Obj, path: str, causes: Causes) -> None:
    weight = one.get("weight", 0)
    if not 1 <= weight <= 100:
        causes.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _check_pod_terms(affinity: Obj, path: str, causes: Causes) -> None:
    terms = []
    for index, term in enumerate(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()):
        terms.append((f"{path}.requiredDuringSchedulingIgnoredDuringExecution[{index}]", term))
    for index, one in enumerate(affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
        at = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        _check_weight(one, at, causes)
        terms.append((f"{at}.podAffinityTerm", one.get("podAffinityTerm") or {}))
    for at, term in terms:
        if not term.get("topologyKey"):
            causes.required(f"{at}.topologyKey", "can not be empty")
        causes.check_selector(term.get("labelSelector"), f"{at}.labelSelector")


def _check_node_terms(selector: Obj, path: str, causes: Causes) -> None:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        causes.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        _check_node_term(term, f"{path}.nodeSelectorTerms[{index}]", causes)


def _check_node_term(term: Obj, path: str, causes: Causes) -> None:
    for index, one in enumerate(term.get("matchExpressions") or ()):
        causes.check_requirement(one, f"{path}.matchExpressions[{index}]", more_operators=("Gt", "Lt"))


_RARE: dict[str, Callable[[Any, str, Causes], None]] = {
    "schedulingGates": _check_gates,
    "topologySpreadConstraints": _check_spreading,
    "affinity": _check_affinity,
}
