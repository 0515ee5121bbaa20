"""Validation of kinds without pods, new and changed; one function a kind."""

from __future__ import annotations

from vsched.apimachinery.meta.field_errors import Causes, forbidden
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.name_formats import config_key_problems, qualified_name_problems
from vsched.apimachinery.validation.resources import COUNTED, check_amount, quota_resource_problems

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_COUNT = "count/"
_SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


def check_node(obj: Obj, causes: Causes) -> None:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate((obj.get("spec") or {}).get("taints") or ()):
        where = f"spec.taints[{index}]"
        key, effect = taint.get("key") or "", taint.get("effect") or ""
        causes.check_format(key, qualified_name_problems, f"{where}.key")
        causes.check_required_one_of(effect, EFFECTS, f"{where}.effect")
        if (key, effect) in seen:
            causes.duplicate(where, taint)
        seen.add((key, effect))
    check_node_status(obj, causes)


def check_node_status(obj: Obj, causes: Causes) -> None:
    status = obj.get("status") or {}
    for field in ("capacity", "allocatable"):
        for name, value in (status.get(field) or {}).items():
            check_amount(name, value, f"status.{field}[{name}]", causes)


def check_node_update(new: Obj, old: Obj, causes: Causes) -> None:
    check_node(new, causes)
    now, was = (new.get("spec") or {}), (old.get("spec") or {})
    if was.get("providerID") and now.get("providerID") != was["providerID"]:
        why = 'node updates may not change providerID except from "" to valid'
        causes.forbidden("spec.providerID", why)
    if was.get("podCIDRs") and now.get("podCIDRs") != was["podCIDRs"]:
        causes.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')


def check_priority_class(obj: Obj, causes: Causes) -> None:
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
            causes.forbidden("metadata.name", why)
    elif value > HIGHEST_USER_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        causes.forbidden("value", why)
    causes.check_one_of(obj.get("preemptionPolicy"), ("Never", "PreemptLowerPriority"), "preemptionPolicy")


def check_priority_class_update(new: Obj, old: Obj, causes: Causes) -> None:
    if new.get("value", 0) != old.get("value", 0):
        causes.forbidden("value", "may not be changed in an update.")
    causes.check_immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy")


def check_lease(obj: Obj, causes: Causes) -> None:
    spec = obj.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        causes.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    causes.check_not_negative(spec.get("leaseTransitions"), "spec.leaseTransitions")


def check_quota(obj: Obj, causes: Causes) -> None:
    for part, amounts in (("spec.hard", (obj.get("spec") or {}).get("hard")), *_quota_status(obj)):
        for name, value in (amounts or {}).items():
            where = f"{part}[{name}]"
            causes.check_format(name, quota_resource_problems, where)
            bare = name.removeprefix("requests.")
            whole = name in COUNTED or name.startswith(_COUNT) or ("/" in bare and "kubernetes.io/" not in bare)
            check_amount(name, value, where, causes, whole=whole)


def _quota_status(obj: Obj) -> tuple[tuple[str, Obj | None], ...]:
    status = obj.get("status") or {}
    return ("status.hard", status.get("hard")), ("status.used", status.get("used"))


def check_budget(obj: Obj, causes: Causes) -> None:
    spec = obj.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        causes.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for field in ("minAvailable", "maxUnavailable"):
        value = spec.get(field)
        if isinstance(value, int):
            causes.check_not_negative(value, f"spec.{field}")
        elif isinstance(value, str) and not (value.endswith("%") and value[:-1].isdecimal()):
            why = (
                "a valid percent string must be a numeric string followed by an ending '%' "
                "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
            )
            causes.invalid(f"spec.{field}", value, why)
    causes.check_selector(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        causes.check_one_of(policy, ("AlwaysAllow", "IfHealthyBudget"), "spec.unhealthyPodEvictionPolicy")


def check_service(obj: Obj, causes: Causes) -> None:
    spec = obj.get("spec") or {}
    causes.check_one_of(spec.get("type"), _SERVICE_TYPES, "spec.type")
    headless = spec.get("clusterIP") == "None"
    if not spec.get("ports") and not headless and spec.get("type") != "ExternalName":
        causes.required("spec.ports")
    ports = spec.get("ports") or ()
    for index, port in enumerate(ports):
        where = f"spec.ports[{index}]"
        if len(ports) > 1 and not port.get("name"):
            causes.required(f"{where}.name")
        number = port.get("port", 0)
        causes.check_range(number, 1, 65535, f"{where}.port")
        causes.check_one_of(port.get("protocol"), ("SCTP", "TCP", "UDP"), f"{where}.protocol")
    causes.check_labels(spec.get("selector"), "spec.selector")


def check_service_update(new: Obj, old: Obj, causes: Causes) -> None:
    check_service(new, causes)
    now, was = new["spec"].get("clusterIPs"), old["spec"].get("clusterIPs")
    if was and now != was and new["spec"].get("type") == old["spec"].get("type") != "ExternalName":
        causes.invalid("spec.clusterIPs[0]", now, "may not change once set")


def check_keys(obj: Obj, causes: Causes) -> None:
    """The keys of a ConfigMap or a Secret."""
    for part in ("data", "binaryData"):
        for key in obj.get(part) or ():
            causes.check_format(key, config_key_problems, f"{part}[{key}]")


def check_keys_update(new: Obj, old: Obj, causes: Causes) -> None:
    check_keys(new, causes)
    if "type" in old:
        causes.check_immutable(new.get("type"), old.get("type"), "type")
    if old.get("immutable"):
        if not new.get("immutable"):
            causes.forbidden("immutable", "field is immutable when `immutable` is set")
        changed = [part for part in ("data", "binaryData") if new.get(part) != old.get(part)]
        causes.extend(forbidden(part, "field is immutable when `immutable` is set") for part in changed)


def check_role_binding(obj: Obj, causes: Causes) -> None:
    role = obj.get("roleRef") or {}
    causes.check_one_of(role.get("kind", ""), _role_kinds(obj), "roleRef.kind")
    if not role.get("name"):
        causes.required("roleRef.name")
    for index, subject in enumerate(obj.get("subjects") or ()):
        if not subject.get("name"):
            causes.required(f"subjects[{index}].name")
        causes.check_one_of(subject.get("kind", ""), ("ServiceAccount", "User", "Group"), f"subjects[{index}].kind")


def _role_kinds(obj: Obj) -> tuple[str, ...]:
    return ("ClusterRole",) if obj.get("kind") == "ClusterRoleBinding" else ("Role", "ClusterRole")


def check_role_binding_update(new: Obj, old: Obj, causes: Causes) -> None:
    check_role_binding(new, causes)
    if new.get("roleRef") != old.get("roleRef"):
        causes.invalid("roleRef", new.get("roleRef"), "cannot change roleRef")


def check_namespace(obj: Obj, causes: Causes) -> None:
    for index, name in enumerate((obj.get("spec") or {}).get("finalizers") or ()):
        where = f"spec.finalizers[{index}]"
        causes.check_format(name, qualified_name_problems, where)
