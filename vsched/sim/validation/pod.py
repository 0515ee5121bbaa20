"""What a pod spec may say, in a pod and in a template, and what of a pod may change later."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from vsched.sim.store.field_checks import (
    check_labels,
    check_one_of,
    check_selector,
    duplicate,
    env_name_problems,
    forbidden,
    invalid_value,
    label_problems,
    not_found_value,
    qualified_name_problems,
    required,
    subdomain_problems,
)
from vsched.sim.store.kinds import Obj
from vsched.sim.store.status import Cause
from vsched.sim.validation.resources import check_resources

_INT32_MAX = (1 << 31) - 1
_RESTART = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PULL = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MESSAGE_POLICIES = ("FallbackToLogsOnError", "File")
_SPREADING = ("DoNotSchedule", "ScheduleAnyway")
_PREEMPTION = ("Never", "PreemptLowerPriority")
_PORT_RANGE = "must be between 1 and 65535, inclusive"
_NODE_OPERATORS = ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn")


def check_pod_spec(spec: Obj, path: str, causes: list[Cause], more_volumes: Iterable[str] = ()) -> None:
    """Everything in a defaulted spec; ``path`` is ``spec`` for a pod. ``more_volumes`` are added when a pod is made."""
    volumes = _check_volumes(spec.get("volumes") or (), f"{path}.volumes", causes) | {*more_volumes}
    containers = spec.get("containers") or ()
    if not containers:
        causes.append(required(f"{path}.containers"))
    names: set[str] = set()
    for key in ("containers", "initContainers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(key) or ()):
            where = f"{path}.{key}[{index}]"
            _check_name(container.get("name"), names, where, causes)
            check_container(container, volumes, where, causes)
    for field, supported in (("restartPolicy", _RESTART), ("dnsPolicy", _DNS), ("preemptionPolicy", _PREEMPTION)):
        value = spec.get(field)
        if value is not None and value not in supported:
            check_one_of(value, supported, f"{path}.{field}", causes)
    check_labels(spec.get("nodeSelector"), f"{path}.nodeSelector", causes)
    _check_names(spec, path, causes)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _INT32_MAX:
        why = f"must be between 1 and {_INT32_MAX}, inclusive"
        causes.append(invalid_value(f"{path}.activeDeadlineSeconds", deadline, why))
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        check_toleration(toleration, f"{path}.tolerations[{index}]", causes)
    for field, check in _RARE.items():
        if field in spec:
            check(spec[field], f"{path}.{field}", causes)
    if spec.get("schedulingGates") and spec.get("nodeName"):
        causes.append(forbidden(f"{path}.nodeName", "cannot be set until all schedulingGates have been cleared"))


def _check_names(spec: Obj, path: str, causes: list[Cause]) -> None:
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
            causes.extend(invalid_value(f"{path}.{field}", value, problem) for problem in problems_of(value))


def _check_name(name: str | None, names: set[str], where: str, causes: list[Cause]) -> None:
    if not name:
        causes.append(required(f"{where}.name"))
        return
    problems = label_problems(name)
    if problems:
        causes.extend(invalid_value(f"{where}.name", name, problem) for problem in problems)
    if name in names:
        causes.append(duplicate(f"{where}.name", name))
    names.add(name)


def check_container(container: Obj, volumes: set[str], path: str, causes: list[Cause]) -> None:
    image = container.get("image")
    if not image:
        causes.append(required(f"{path}.image"))
    elif image.strip() != image:
        causes.append(invalid_value(f"{path}.image", image, "must not have leading or trailing whitespace"))
    for field, supported in (("imagePullPolicy", _PULL), ("terminationMessagePolicy", _MESSAGE_POLICIES)):
        value = container.get(field)
        if value not in supported:
            check_one_of(value, supported, f"{path}.{field}", causes)
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


def _check_ports(ports: list[Obj], path: str, causes: list[Cause]) -> None:
    names: set[str] = set()
    for index, port in enumerate(ports):
        where = f"{path}[{index}]"
        number = port.get("containerPort")
        if not number:
            causes.append(required(f"{where}.containerPort"))
        elif not 1 <= number <= 65535:
            causes.append(invalid_value(f"{where}.containerPort", number, _PORT_RANGE))
        host = port.get("hostPort")
        if host and not 1 <= host <= 65535:
            causes.append(invalid_value(f"{where}.hostPort", host, _PORT_RANGE))
        check_one_of(port.get("protocol"), _PROTOCOLS, f"{where}.protocol", causes)
        name = port.get("name")
        if name and name in names:
            causes.append(duplicate(f"{where}.name", name))
        names.add(name or "")


def _check_env(env: list[Obj], path: str, causes: list[Cause]) -> None:
    for index, one in enumerate(env):
        name = one.get("name")
        if not name:
            causes.append(required(f"{path}[{index}].name"))
            continue
        problems = env_name_problems(name)
        if problems:
            causes.extend(invalid_value(f"{path}[{index}].name", name, problem) for problem in problems)
        if one.get("value") and one.get("valueFrom"):
            why = "may not be specified when `value` is not empty"
            causes.append(invalid_value(f"{path}[{index}].valueFrom", "", why))


def _check_mounts(mounts: list[Obj], volumes: set[str], path: str, causes: list[Cause]) -> None:
    places: set[str] = set()
    for index, mount in enumerate(mounts):
        where = f"{path}[{index}]"
        name = mount.get("name")
        if not name:
            causes.append(required(f"{where}.name"))
        if name not in volumes:
            causes.append(not_found_value(f"{where}.name", name or ""))
        place = mount.get("mountPath")
        if not place:
            causes.append(required(f"{where}.mountPath"))
        elif place in places:
            causes.append(invalid_value(f"{where}.mountPath", place, "must be unique"))
        places.add(place or "")


def _check_probe(probe: Obj, field: str, path: str, causes: list[Cause]) -> None:
    for key in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        value = probe.get(key)
        if value is not None and value < 0:
            causes.append(invalid_value(f"{path}.{key}", value, "must be greater than or equal to 0"))
    handlers = probe.keys() & {"exec", "httpGet", "tcpSocket", "grpc"}
    if not handlers:
        causes.append(required(path, "must specify a handler type"))
    if field != "readinessProbe" and probe.get("successThreshold", 1) != 1:
        causes.append(invalid_value(f"{path}.successThreshold", probe["successThreshold"], "must be 1"))


def _check_volumes(volumes: Iterable[Obj], path: str, causes: list[Cause]) -> set[str]:
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        where = f"{path}[{index}]"
        _check_name(volume.get("name"), names, where, causes)
        sources = [key for key in volume if key != "name"]
        causes.extend(forbidden(f"{where}.{one}", "may not specify more than 1 volume type") for one in sources[1:])
        claim = volume.get("persistentVolumeClaim")
        if claim is not None and not claim.get("claimName"):
            causes.append(required(f"{where}.persistentVolumeClaim.claimName"))
        secret = volume.get("secret")
        if secret is not None and not secret.get("secretName"):
            causes.append(required(f"{where}.secret.secretName"))
        config = volume.get("configMap")
        if config is not None and not config.get("name"):
            causes.append(required(f"{where}.configMap.name"))
        host = volume.get("hostPath")
        if host is not None and not host.get("path"):
            causes.append(required(f"{where}.hostPath.path"))
    return names


def check_toleration(toleration: Obj, path: str, causes: list[Cause]) -> None:
    key, operator, effect = toleration.get("key"), toleration.get("operator"), toleration.get("effect")
    if key:
        causes.extend(invalid_value(f"{path}.key", key, problem) for problem in qualified_name_problems(key))
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        causes.append(invalid_value(f"{path}.operator", operator or "", why))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        causes.append(invalid_value(f"{path}.effect", effect or "", why))
    value = toleration.get("value")
    if operator == "Exists" and value:
        why = "value must be empty when `operator` is 'Exists'"
        names = ("key", "operator", "value", "effect", "tolerationSeconds")
        # Shown as the server holds it, with all its fields in Go's spelling.
        held = {name[0].upper() + name[1:]: toleration.get(name, None if name[-1] == "s" else "") for name in names}
        causes.append(invalid_value(f"{path}.operator", held, why))
    elif operator not in (None, "", "Equal", "Exists", "Lt", "Gt"):
        check_one_of(operator, ("Equal", "Exists"), f"{path}.operator", causes)
    if effect and effect not in _EFFECTS:
        check_one_of(effect, _EFFECTS, f"{path}.effect", causes)


def _check_gates(gates: list[Obj], path: str, causes: list[Cause]) -> None:
    seen: set[str] = set()
    for index, gate in enumerate(gates or ()):
        name = gate.get("name", "")
        causes.extend(invalid_value(f"{path}[{index}]", name, problem) for problem in qualified_name_problems(name))
        if name in seen:
            causes.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)


def _check_spreading(constraints: list[Obj], path: str, causes: list[Cause]) -> None:
    for index, one in enumerate(constraints or ()):
        where = f"{path}[{index}]"
        if one.get("maxSkew", 0) <= 0:
            causes.append(invalid_value(f"{where}.maxSkew", one.get("maxSkew", 0), "must be greater than zero"))
        if not one.get("topologyKey"):
            causes.append(required(f"{where}.topologyKey", "can not be empty"))
        check_one_of(one.get("whenUnsatisfiable", ""), _SPREADING, f"{where}.whenUnsatisfiable", causes)
        minimum = one.get("minDomains")
        if minimum is not None and minimum <= 0:
            causes.append(invalid_value(f"{where}.minDomains", minimum, "must be greater than zero"))
        check_selector(one.get("labelSelector"), f"{where}.labelSelector", causes)


def _check_affinity(affinity: Obj, path: str, causes: list[Cause]) -> None:
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


def _check_weight(one: Obj, path: str, causes: list[Cause]) -> None:
    weight = one.get("weight", 0)
    if not 1 <= weight <= 100:
        causes.append(invalid_value(f"{path}.weight", weight, "must be in the range 1-100"))


def _check_pod_terms(affinity: Obj, path: str, causes: list[Cause]) -> None:
    terms = []
    for index, term in enumerate(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()):
        terms.append((f"{path}.requiredDuringSchedulingIgnoredDuringExecution[{index}]", term))
    for index, one in enumerate(affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
        at = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        _check_weight(one, at, causes)
        terms.append((f"{at}.podAffinityTerm", one.get("podAffinityTerm") or {}))
    for at, term in terms:
        if not term.get("topologyKey"):
            causes.append(required(f"{at}.topologyKey", "can not be empty"))
        check_selector(term.get("labelSelector"), f"{at}.labelSelector", causes)


def _check_node_terms(selector: Obj, path: str, causes: list[Cause]) -> None:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        causes.append(required(f"{path}.nodeSelectorTerms", "must have at least one node selector term"))
    for index, term in enumerate(terms):
        _check_node_term(term, f"{path}.nodeSelectorTerms[{index}]", causes)


def _check_node_term(term: Obj, path: str, causes: list[Cause]) -> None:
    for index, one in enumerate(term.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{index}]"
        operator, values = one.get("operator"), one.get("values") or ()
        if operator in ("In", "NotIn") and not values:
            causes.append(required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif operator in ("Exists", "DoesNotExist") and values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            causes.append(forbidden(f"{where}.values", why))
        elif operator in ("Gt", "Lt") and len(values) != 1:
            why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            causes.append(required(f"{where}.values", why))
        elif operator not in _NODE_OPERATORS:
            causes.append(invalid_value(f"{where}.operator", operator or "", "not a valid selector operator"))
        key = one.get("key", "")
        causes.extend(invalid_value(f"{where}.key", key, problem) for problem in qualified_name_problems(key))


_RARE: dict[str, Callable[[Any, str, list[Cause]], None]] = {
    "schedulingGates": _check_gates,
    "topologySpreadConstraints": _check_spreading,
    "affinity": _check_affinity,
}
