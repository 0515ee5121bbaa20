"""What the kinds that are not made of pods may say, and what of them may change later. One function a kind."""

from __future__ import annotations

from vsched.sim.store.field_checks import (
    check_immutable,
    check_labels,
    check_not_negative,
    check_one_of,
    check_selector,
    config_key_problems,
    duplicate,
    forbidden,
    invalid_value,
    qualified_name_problems,
    required,
    subdomain_problems,
)
from vsched.sim.store.kinds import Obj
from vsched.sim.store.status import Cause
from vsched.sim.validation.resources import COUNTED, NOT_NEGATIVE, check_amount, quota_resource_problems

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_COUNT = "count/"
_SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


def check_node(obj: Obj, causes: list[Cause]) -> None:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate((obj.get("spec") or {}).get("taints") or ()):
        where = f"spec.taints[{index}]"
        key, effect = taint.get("key") or "", taint.get("effect") or ""
        causes.extend(invalid_value(f"{where}.key", key, problem) for problem in qualified_name_problems(key))
        if not effect:
            causes.append(required(f"{where}.effect"))
        else:
            check_one_of(effect, ("NoSchedule", "PreferNoSchedule", "NoExecute"), f"{where}.effect", causes)
        if (key, effect) in seen:
            causes.append(duplicate(where, taint))
        seen.add((key, effect))
    check_node_status(obj, causes)


def check_node_status(obj: Obj, causes: list[Cause]) -> None:
    status = obj.get("status") or {}
    for field in ("capacity", "allocatable"):
        for name, value in (status.get(field) or {}).items():
            check_amount(name, value, f"status.{field}[{name}]", causes)


def check_node_update(new: Obj, old: Obj, causes: list[Cause]) -> None:
    check_node(new, causes)
    now, was = (new.get("spec") or {}), (old.get("spec") or {})
    if was.get("providerID") and now.get("providerID") != was["providerID"]:
        why = 'node updates may not change providerID except from "" to valid'
        causes.append(forbidden("spec.providerID", why))
    if was.get("podCIDRs") and now.get("podCIDRs") != was["podCIDRs"]:
        causes.append(forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'))


def check_priority_class(obj: Obj, causes: list[Cause]) -> None:
    name, value = obj["metadata"].get("name") or "", obj.get("value", 0)
    if name.startswith("system-"):
        if SYSTEM_PRIORITIES.get(name) != value:
            known = SYSTEM_PRIORITIES.get(name)
            error = (
                f"{name} is not a known system priority class"
                if known is None
                else f"value of {name} PriorityClass must be {known}"
            )
            why = f"priority class names with 'system-' prefix are reserved for system use only. error: {error}"
            causes.append(forbidden("metadata.name", why))
    elif value > HIGHEST_USER_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        causes.append(forbidden("value", why))
    check_one_of(obj.get("preemptionPolicy"), ("Never", "PreemptLowerPriority"), "preemptionPolicy", causes)


def check_priority_class_update(new: Obj, old: Obj, causes: list[Cause]) -> None:
    if new.get("value", 0) != old.get("value", 0):
        causes.append(forbidden("value", "may not be changed in an update."))
    check_immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy", causes)


def check_lease(obj: Obj, causes: list[Cause]) -> None:
    spec = obj.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        causes.append(invalid_value("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        causes.append(invalid_value("spec.leaseTransitions", transitions, NOT_NEGATIVE))


def check_quota(obj: Obj, causes: list[Cause]) -> None:
    for part, amounts in (("spec.hard", (obj.get("spec") or {}).get("hard")), *_quota_status(obj)):
        for name, value in (amounts or {}).items():
            where = f"{part}[{name}]"
            causes.extend(invalid_value(where, name, problem) for problem in quota_resource_problems(name))
            bare = name.removeprefix("requests.")
            whole = name in COUNTED or name.startswith(_COUNT) or ("/" in bare and "kubernetes.io/" not in bare)
            check_amount(name, value, where, causes, whole=whole)


def _quota_status(obj: Obj) -> tuple[tuple[str, Obj | None], ...]:
    status = obj.get("status") or {}
    return ("status.hard", status.get("hard")), ("status.used", status.get("used"))


def check_budget(obj: Obj, causes: list[Cause]) -> None:
    spec = obj.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        causes.append(invalid_value("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for field in ("minAvailable", "maxUnavailable"):
        value = spec.get(field)
        if isinstance(value, int):
            check_not_negative(value, f"spec.{field}", causes)
        elif isinstance(value, str) and not (value.endswith("%") and value[:-1].isdecimal()):
            why = (
                "a valid percent string must be a numeric string followed by an ending '%' "
                "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
            )
            causes.append(invalid_value(f"spec.{field}", value, why))
    check_selector(spec.get("selector"), "spec.selector", causes)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        check_one_of(policy, ("AlwaysAllow", "IfHealthyBudget"), "spec.unhealthyPodEvictionPolicy", causes)


def check_service(obj: Obj, causes: list[Cause]) -> None:
    spec = obj.get("spec") or {}
    check_one_of(spec.get("type"), _SERVICE_TYPES, "spec.type", causes)
    headless = spec.get("clusterIP") == "None"
    if not spec.get("ports") and not headless and spec.get("type") != "ExternalName":
        causes.append(required("spec.ports"))
    ports = spec.get("ports") or ()
    for index, port in enumerate(ports):
        where = f"spec.ports[{index}]"
        if len(ports) > 1 and not port.get("name"):
            causes.append(required(f"{where}.name"))
        number = port.get("port", 0)
        if not 1 <= number <= 65535:
            causes.append(invalid_value(f"{where}.port", number, "must be between 1 and 65535, inclusive"))
        check_one_of(port.get("protocol"), ("SCTP", "TCP", "UDP"), f"{where}.protocol", causes)
    check_labels(spec.get("selector"), "spec.selector", causes)


def check_service_update(new: Obj, old: Obj, causes: list[Cause]) -> None:
    check_service(new, causes)
    now, was = new["spec"].get("clusterIPs"), old["spec"].get("clusterIPs")
    if was and now != was and new["spec"].get("type") == old["spec"].get("type") != "ExternalName":
        causes.append(invalid_value("spec.clusterIPs[0]", now, "may not change once set"))


def check_keys(obj: Obj, causes: list[Cause]) -> None:
    """The keys of a ConfigMap or a Secret."""
    for part in ("data", "binaryData"):
        for key in obj.get(part) or ():
            causes.extend(invalid_value(f"{part}[{key}]", key, problem) for problem in config_key_problems(key))


def check_keys_update(new: Obj, old: Obj, causes: list[Cause]) -> None:
    check_keys(new, causes)
    if "type" in old:
        check_immutable(new.get("type"), old.get("type"), "type", causes)
    if old.get("immutable"):
        if not new.get("immutable"):
            causes.append(forbidden("immutable", "field is immutable when `immutable` is set"))
        changed = [part for part in ("data", "binaryData") if new.get(part) != old.get(part)]
        causes.extend(forbidden(part, "field is immutable when `immutable` is set") for part in changed)


def check_claim(obj: Obj, causes: list[Cause]) -> None:
    spec = obj.get("spec") or {}
    if not spec.get("accessModes"):
        causes.append(required("spec.accessModes", "at least 1 access mode is required"))
    requests = (spec.get("resources") or {}).get("requests") or {}
    if "storage" not in requests:
        causes.append(required("spec.resources[storage]"))
    else:
        check_amount("storage", requests["storage"], "spec.resources[storage]", causes)


def check_claim_update(new: Obj, old: Obj, causes: list[Cause]) -> None:
    check_claim(new, causes)
    mutable = ("resources", "volumeAttributesClassName")
    now = {key: value for key, value in new["spec"].items() if key not in mutable}
    was = {key: value for key, value in old["spec"].items() if key not in mutable}
    if not was.get("volumeName"):
        now.pop("volumeName", None)
    if now != was:
        but = "resources.requests and volumeAttributesClassName for bound claims"
        why = f"spec is immutable after creation except {but}\n"
        causes.append(forbidden("spec", why))


def check_role_binding(obj: Obj, causes: list[Cause]) -> None:
    role = obj.get("roleRef") or {}
    check_one_of(role.get("kind", ""), _role_kinds(obj), "roleRef.kind", causes)
    if not role.get("name"):
        causes.append(required("roleRef.name"))
    for index, subject in enumerate(obj.get("subjects") or ()):
        if not subject.get("name"):
            causes.append(required(f"subjects[{index}].name"))
        check_one_of(subject.get("kind", ""), ("ServiceAccount", "User", "Group"), f"subjects[{index}].kind", causes)


def _role_kinds(obj: Obj) -> tuple[str, ...]:
    return ("ClusterRole",) if obj.get("kind") == "ClusterRoleBinding" else ("Role", "ClusterRole")


def check_role_binding_update(new: Obj, old: Obj, causes: list[Cause]) -> None:
    check_role_binding(new, causes)
    if new.get("roleRef") != old.get("roleRef"):
        causes.append(invalid_value("roleRef", new.get("roleRef"), "cannot change roleRef"))


def check_storage_class(obj: Obj, causes: list[Cause]) -> None:
    if not obj.get("provisioner"):
        causes.append(required("provisioner"))
    check_one_of(obj.get("reclaimPolicy"), ("Delete", "Retain"), "reclaimPolicy", causes)
    modes = ("Immediate", "WaitForFirstConsumer")
    check_one_of(obj.get("volumeBindingMode"), modes, "volumeBindingMode", causes)


def check_storage_class_update(new: Obj, old: Obj, causes: list[Cause]) -> None:
    changed = [field for field in ("parameters", "provisioner", "reclaimPolicy") if new.get(field) != old.get(field)]
    causes.extend(forbidden(field, f"updates to {field} are forbidden.") for field in changed)
    check_immutable(new.get("volumeBindingMode"), old.get("volumeBindingMode"), "volumeBindingMode", causes)


def check_namespace(obj: Obj, causes: list[Cause]) -> None:
    for index, name in enumerate((obj.get("spec") or {}).get("finalizers") or ()):
        where = f"spec.finalizers[{index}]"
        causes.extend(invalid_value(where, name, problem) for problem in qualified_name_problems(name))


def check_csi_node(obj: Obj, causes: list[Cause]) -> None:
    for index, driver in enumerate((obj.get("spec") or {}).get("drivers") or ()):
        name = driver.get("name") or ""
        where = f"spec.drivers[{index}]"
        causes.extend(invalid_value(f"{where}.name", name, problem) for problem in subdomain_problems(name))
        if not driver.get("nodeID"):
            causes.append(required(f"{where}.nodeID"))
