"""Validation of changed pods: the few fields of the spec that may change, the status, and subresources."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

from vsched.apimachinery.meta.field_errors import Causes, shown
from vsched.apimachinery.meta.kinds import Obj, without
from vsched.apimachinery.meta.name_formats import label_problems, subdomain_problems
from vsched.apimachinery.objects.defaults_pod import quality_of_service
from vsched.apimachinery.validation.pod import INT32_MAX, check_toleration
from vsched.apimachinery.validation.resources import check_resources

_MAY_NOT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)
_CONTAINER_LISTS = ("containers", "initContainers")


def check_pod_update(new: Obj, old: Obj, causes: Causes) -> None:
    """Checks a changed spec."""
    now, was = new["spec"], old["spec"]
    if now is was or now == was:
        return
    for field in _CONTAINER_LISTS:
        if len(now.get(field) or ()) != len(was.get(field) or ()):
            causes.forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
        _check_images(now.get(field) or (), field, causes)
    if not _check_deadline(now.get("activeDeadlineSeconds"), was.get("activeDeadlineSeconds"), causes):
        return
    _check_tolerations(now, was, causes)
    _check_gates(now, was, causes)
    before = _class_of(old)
    if quality_of_service(now) != before:
        causes.invalid("metadata", before, "Pod QoS is immutable")
    allowed = _with_allowed_changes(now, was)
    if was.get("schedulingGates"):
        allowed = _narrowed(allowed, was, causes)
    if allowed != was:
        causes.forbidden("spec", _MAY_NOT + difference(was, allowed))


def _class_of(pod: Obj) -> str:
    return (pod.get("status") or {}).get("qosClass") or quality_of_service(pod["spec"])


def _check_tolerations(now: Obj, was: Obj, causes: Causes) -> None:
    for toleration in was.get("tolerations") or ():
        if not _kept(toleration, now.get("tolerations") or ()):
            causes.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
            break
    for index, toleration in enumerate(now.get("tolerations") or ()):
        check_toleration(toleration, f"spec.tolerations[{index}]", causes)


def _check_images(now: Any, field: str, causes: Causes) -> None:
    for index, container in enumerate(now):
        image = container.get("image") or ""
        if not image:
            causes.required(f"spec.{field}[{index}].image")
        elif image.strip() != image:
            why = "must not have leading or trailing whitespace"
            causes.invalid(f"spec.{field}[{index}].image", image, why)


def _check_deadline(now: int | None, was: int | None, causes: Causes) -> bool:
    """The deadline may be set once, and then only lowered; False if no further checks are done."""
    where = "spec.activeDeadlineSeconds"
    if now is None:
        if was is not None:
            causes.invalid(where, None, "must not update from a positive integer to nil value")
        return True
    causes.check_range(now, 1, INT32_MAX, where)
    if not 0 <= now <= INT32_MAX:
        causes.check_range(now, 0, INT32_MAX, where)
        return False
    if was is not None and now > was:
        causes.invalid(where, now, "must be less than or equal to previous value")
        return False
    return True


def _check_gates(now: Obj, was: Obj, causes: Causes) -> None:
    before = {gate["name"] for gate in was.get("schedulingGates") or ()}
    for gate in now.get("schedulingGates") or ():
        name = gate.get("name", "")
        if name not in before:
            why = f"only deletion is allowed, but found new scheduling gate '{name}'"
            causes.forbidden("spec.schedulingGates", why)


def _kept(toleration: Obj, candidates: Any) -> bool:
    wanted = without(toleration, ("tolerationSeconds",))
    return any(without(candidate, ("tolerationSeconds",)) == wanted for candidate in candidates)


def _with_allowed_changes(now: Obj, was: Obj) -> Obj:
    """The new spec with the old values of all fields that may change."""
    spec = dict(now)
    for field in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        _put_back(spec, was, field)
    for field in _CONTAINER_LISTS:
        if now.get(field):
            spec[field] = [
                {**container, "image": before.get("image")}
                for container, before in zip(now[field], was[field], strict=True)
            ]
    grace = was.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and now.get("terminationGracePeriodSeconds") == 1:
        spec["terminationGracePeriodSeconds"] = grace
    return spec


def _put_back(spec: Obj, was: Obj, field: str) -> None:
    if field in was:
        spec[field] = was[field]
    else:
        spec.pop(field, None)


def _narrowed(spec: Obj, was: Obj, causes: Causes) -> Obj:
    """As _with_allowed_changes, for a gated pod, which may be restricted to fewer nodes."""
    spec = dict(spec)
    selector, before = spec.get("nodeSelector") or {}, was.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in before.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        causes.invalid("spec.nodeSelector", selector, why)
    _put_back(spec, was, "nodeSelector")
    affinity, old_affinity = spec.get("affinity") or {}, was.get("affinity") or {}
    if affinity.get("nodeAffinity") != old_affinity.get("nodeAffinity"):
        _check_node_terms(affinity.get("nodeAffinity") or {}, old_affinity.get("nodeAffinity") or {}, causes)
        if without(affinity, ("nodeAffinity",)) == without(old_affinity, ("nodeAffinity",)):
            _put_back(spec, was, "affinity")
    return spec


def _check_node_terms(now: Obj, was: Obj, causes: Causes) -> None:
    """Each term may only become stricter; if there were none, all are allowed."""
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    before = (was.get(field) or {}).get("nodeSelectorTerms") or []
    terms = (now.get(field) or {}).get("nodeSelectorTerms") or []
    where = f"spec.affinity.nodeAffinity.{field}.nodeSelectorTerms"
    if not before:
        return
    if len(terms) != len(before):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        causes.invalid(where, terms, why)
        return
    for index, (term, old_term) in enumerate(zip(terms, before, strict=True)):
        if not all(_begins_with(term.get(part), old_term.get(part)) for part in ("matchExpressions", "matchFields")):
            why = "only additions are allowed (no mutations or deletions)"
            causes.invalid(f"{where}[{index}]", term, why)


def _begins_with(now: list[Obj] | None, was: list[Obj] | None) -> bool:
    return (now or [])[: len(was or ())] == (was or [])


def difference(old: Obj, new: Obj) -> str:
    """The changed fields of a spec, in the form of Go's diffs."""
    lines = ["  core.PodSpec{\n"]
    unchanged = 0
    for key in dict.fromkeys((*old, *new)):
        if old.get(key) == new.get(key):
            unchanged += 1
            continue
        if unchanged:
            lines.append(f"  \t... // {unchanged} identical fields\n")
            unchanged = 0
        name = key[:1].upper() + key[1:]
        lines.append(f"- \t{name}: {_as_go(old.get(key))},\n+ \t{name}: {_as_go(new.get(key))},\n")
    if unchanged:
        lines.append(f"  \t... // {unchanged} identical fields\n")
    return "".join((*lines, "  }\n"))


def _as_go(value: Any) -> str:
    return "nil" if value is None else shown(value)


def check_pod_status(new: Obj, old: Obj, causes: Causes) -> None:
    """Checks a written status. Any phase is allowed."""
    now, was = new.get("status") or {}, old.get("status") or {}
    # A status without a QoS class does not change it.
    if now.get("qosClass"):
        causes.check_immutable(now["qosClass"], was.get("qosClass"), "status.qosClass")
    if old["spec"].get("restartPolicy") != "Always":
        _check_ends(now, was, old["spec"], causes)
    for index, one in enumerate(now.get("podIPs") or ()):
        if not _is_address(one.get("ip", "")):
            why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            causes.invalid(f"status.podIPs[{index}]", one.get("ip", ""), why)
    name = now.get("nominatedNodeName")
    if name and name != was.get("nominatedNodeName"):
        causes.check_format(name, subdomain_problems, "status.nominatedNodeName")


def _check_ends(now: Obj, was: Obj, spec: Obj, causes: Causes) -> None:
    """A container that ended and is not restarted must stay terminated."""
    field = "containerStatuses"
    after = {one.get("name"): one for one in now.get(field) or ()}
    for index, one in enumerate(was.get(field) or ()):
        ended = (one.get("state") or {}).get("terminated")
        if ended is None or (spec.get("restartPolicy") == "OnFailure" and ended.get("exitCode")):
            continue
        later = after.get(one.get("name"))
        if later is not None and (later.get("state") or {}).get("terminated") is None:
            why = "may not be transitioned to non-terminated state"
            causes.forbidden(f"status.{field}[{index}].state", why)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def check_resize(new: Obj, old: Obj, causes: Causes) -> None:
    """Checks new resources of containers; the QoS class must not change."""
    for field in _CONTAINER_LISTS:
        for index, container in enumerate(new["spec"].get(field) or ()):
            check_resources(container.get("resources") or {}, f"spec.{field}[{index}].resources", causes)
    before = _class_of(old)
    if quality_of_service(new["spec"]) != before:
        causes.invalid("spec", before, "Pod QOS Class may not change as a result of resizing")


def check_ephemeral(new: Obj, old: Obj, causes: Causes) -> None:
    """Ephemeral containers may only be added."""
    now = {one.get("name"): one for one in new["spec"].get("ephemeralContainers") or ()}
    where = "spec.ephemeralContainers"
    for name in now:
        causes.check_format(name, label_problems, where)
    for one in old["spec"].get("ephemeralContainers") or ():
        after = now.get(one["name"])
        if after is None:
            causes.forbidden(where, f'existing ephemeral containers "{one["name"]}" may not be removed\n')
        elif after != one:
            causes.forbidden(where, f'existing ephemeral containers "{one["name"]}" may not be changed\n')
