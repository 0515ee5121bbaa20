"""What of a pod may change after it was made: a few fields of the spec, and what its status may say."""

from __future__ import annotations

from typing import Any

from vsched.sim.defaults_pod import quality_of_service
from vsched.sim.field_checks import (
    check_immutable,
    forbidden,
    invalid_value,
    label_problems,
    required,
    subdomain_problems,
)
from vsched.sim.status import Cause
from vsched.sim.validation_pod import check_toleration
from vsched.sim.validation_resources import check_resources

Obj = dict[str, Any]

_MAY_NOT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)
_CONTAINER_LISTS = ("containers", "initContainers")


def check_pod_update(new: Obj, old: Obj, causes: list[Cause]) -> None:
    """The spec of a stored pod against the one that shall replace it."""
    now, was = new["spec"], old["spec"]
    if now is was or now == was:
        return
    gated = bool(was.get("schedulingGates"))
    for field in _CONTAINER_LISTS:
        _check_images(now.get(field) or (), was.get(field) or (), field, causes)
    _check_deadline(now.get("activeDeadlineSeconds"), was.get("activeDeadlineSeconds"), causes)
    _check_gates(now, was, causes)
    for toleration in was.get("tolerations") or ():
        if not _kept(toleration, now.get("tolerations") or ()):
            causes.append(
                forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
            )
            break
    for index, toleration in enumerate(now.get("tolerations") or ()):
        check_toleration(toleration, f"spec.tolerations[{index}]", causes)
    allowed = _with_allowed_changes(now, was, gated)
    if allowed != was:
        causes.append(forbidden("spec", _MAY_NOT + difference(allowed, was)))


def _check_images(now: Any, was: Any, field: str, causes: list[Cause]) -> None:
    if len(now) != len(was):
        causes.append(forbidden(f"spec.{field}", "pod updates may not add or remove containers"))
    for index, container in enumerate(now):
        if not container.get("image"):
            causes.append(required(f"spec.{field}[{index}].image"))


def _check_deadline(now: int | None, was: int | None, causes: list[Cause]) -> None:
    where = "spec.activeDeadlineSeconds"
    if now is None:
        if was is not None:
            causes.append(invalid_value(where, None, "must not update from a positive integer to nil value"))
    elif not 0 < now < 1 << 31:
        causes.append(invalid_value(where, now, f"must be between 1 and {(1 << 31) - 1}, inclusive"))
    elif was is not None and now > was:
        causes.append(invalid_value(where, now, "must be less than or equal to previous value"))


def _check_gates(now: Obj, was: Obj, causes: list[Cause]) -> None:
    before = {gate["name"] for gate in was.get("schedulingGates") or ()}
    for gate in now.get("schedulingGates") or ():
        name = gate.get("name", "")
        if name not in before:
            why = f"only deletion is allowed, but found new scheduling gate '{name}'"
            causes.append(forbidden("spec.schedulingGates", why))


def _kept(toleration: Obj, candidates: Any) -> bool:
    def identity(one: Obj) -> Obj:
        return {key: value for key, value in one.items() if key != "tolerationSeconds"}

    wanted = identity(toleration)
    return any(identity(candidate) == wanted for candidate in candidates)


def _with_allowed_changes(now: Obj, was: Obj, gated: bool) -> Obj:
    """The new spec with what may change put back, so that whatever still differs may not."""
    spec = dict(now)
    for field in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        _put_back(spec, was, field)
    for field in _CONTAINER_LISTS:
        if len(now.get(field) or ()) == len(was.get(field) or ()) and now.get(field):
            spec[field] = [
                {**container, "image": before.get("image")}
                for container, before in zip(now[field], was[field], strict=True)
            ]
    grace = was.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and now.get("terminationGracePeriodSeconds") == 1:
        spec["terminationGracePeriodSeconds"] = grace
    if gated:
        _put_back_narrowed(spec, was)
    return spec


def _put_back(spec: Obj, was: Obj, field: str) -> None:
    if field in was:
        spec[field] = was[field]
    else:
        spec.pop(field, None)


def _put_back_narrowed(spec: Obj, was: Obj) -> None:
    """A gated pod may be confined to fewer nodes than before, never to more."""
    selector, before = spec.get("nodeSelector") or {}, was.get("nodeSelector") or {}
    if all(selector.get(key) == value for key, value in before.items()):
        _put_back(spec, was, "nodeSelector")
    affinity = spec.get("affinity") or {}
    node = (was.get("affinity") or {}).get("nodeAffinity") or {}
    if not node.get("requiredDuringSchedulingIgnoredDuringExecution") and affinity.get("nodeAffinity"):
        rest = {key: value for key, value in affinity.items() if key != "nodeAffinity"}
        old_rest = {key: value for key, value in (was.get("affinity") or {}).items() if key != "nodeAffinity"}
        if rest == old_rest:
            _put_back(spec, was, "affinity")


def difference(new: Any, old: Any, path: str = "spec") -> str:
    """The changed leaves, one a line, in the manner of a diff."""
    if isinstance(new, dict) and isinstance(old, dict):
        lines = [
            difference(new.get(key), old.get(key), f"{path}.{key}")
            for key in sorted(new.keys() | old.keys())
            if new.get(key) != old.get(key)
        ]
        return "".join(lines)
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        pairs = enumerate(zip(new, old, strict=True))
        return "".join(difference(one, two, f"{path}[{index}]") for index, (one, two) in pairs if one != two)
    return f"- \t{path}: {new!r},\n+ \t{path}: {old!r},\n"


def check_pod_status(new: Obj, old: Obj, causes: list[Cause]) -> None:
    """A written status: any phase will do, but the class of service stays and names are names."""
    now, was = new.get("status") or {}, old.get("status") or {}
    # A status without the class is taken as no change.
    if now.get("qosClass"):
        check_immutable(now["qosClass"], was.get("qosClass"), "status.qosClass", causes)
    name = now.get("nominatedNodeName")
    if name:
        causes.extend(invalid_value("status.nominatedNodeName", name, problem) for problem in subdomain_problems(name))


def check_resize(new: Obj, old: Obj, causes: list[Cause]) -> None:
    """New resources of the containers; the class of service may not change by them."""
    for field in _CONTAINER_LISTS:
        for index, container in enumerate(new["spec"].get(field) or ()):
            check_resources(container.get("resources") or {}, f"spec.{field}[{index}].resources", causes)
    before = (old.get("status") or {}).get("qosClass") or quality_of_service(old["spec"])
    if quality_of_service(new["spec"]) != before:
        causes.append(
            invalid_value(
                "spec", quality_of_service(new["spec"]), "Pod QOS Class may not change as a result of resizing"
            )
        )


def check_ephemeral(new: Obj, old: Obj, causes: list[Cause]) -> None:
    """Ephemeral containers may be added, not changed or removed."""
    now = {one.get("name"): one for one in new["spec"].get("ephemeralContainers") or ()}
    where = "spec.ephemeralContainers"
    for name in now:
        causes.extend(invalid_value(where, name, problem) for problem in label_problems(name or ""))
    for one in old["spec"].get("ephemeralContainers") or ():
        after = now.get(one["name"])
        if after is None:
            causes.append(forbidden(where, f'existing ephemeral containers "{one["name"]}" may not be removed\n'))
        elif after != one:
            causes.append(forbidden(where, f'existing ephemeral containers "{one["name"]}" may not be changed\n'))
