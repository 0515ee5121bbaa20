"""Validation of Workloads, PodGroups and CompositePodGroups (``scheduling.k8s.io``), new and changed."""

from __future__ import annotations

from vsched.apimachinery.meta.field_errors import Causes
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.name_formats import label_problems, qualified_name_problems, subdomain_problems
from vsched.apimachinery.validation.resource_claims import too_many

MOST_TEMPLATES = 8
MOST_CLAIMS = 4
MOST_LEVELS = 4
PRIORITY_MAX = 1_000_000_000
_OLDER = "/v1alpha2"
_IMMUTABLE = "field is immutable"


def check_group(obj: Obj, causes: Causes) -> None:
    """A PodGroup."""
    spec = obj.get("spec") or {}
    _check_group_spec(spec, "spec", causes, is_older=obj["apiVersion"].endswith(_OLDER))
    _check_reference(spec, causes)


def check_composite(obj: Obj, causes: Causes) -> None:
    """A CompositePodGroup."""
    spec = obj.get("spec") or {}
    _check_composite_spec(spec, "spec", causes)
    if spec.get("workloadRef") is None:
        causes.required("spec.workloadRef")
    _check_reference(spec, causes)


def check_group_update(new: Obj, old: Obj, causes: Causes) -> None:
    """Nothing of a PodGroup changes but the minimum of its gang, from v1beta1 on."""
    check_group(new, causes)
    minimum = "" if new["apiVersion"].endswith(_OLDER) else "minCount"
    _check_unchanged(new, old, minimum, causes)


def check_composite_update(new: Obj, old: Obj, causes: Causes) -> None:
    """The same for a CompositePodGroup."""
    check_composite(new, causes)
    _check_unchanged(new, old, "minGroupCount", causes)


def check_workload(obj: Obj, causes: Causes) -> None:
    """A Workload: templates of PodGroups, or of CompositePodGroups."""
    spec = obj.get("spec") or {}
    groups, composites = spec.get("podGroupTemplates") or (), spec.get("compositePodGroupTemplates") or ()
    is_older = obj["apiVersion"].endswith(_OLDER)
    if not groups and not composites:
        causes.required("spec.podGroupTemplates", "" if is_older else "must have at least one template")
    if groups and composites:
        causes.invalid("spec", "", "must specify exactly one of: `podGroupTemplates`, `compositePodGroupTemplates`")
    _check_templates(spec, "spec", causes, is_older=is_older, level=1)
    reference = spec.get("controllerRef")
    if reference is not None:
        for field in ("kind", "name"):
            if not reference.get(field):
                causes.required(f"spec.controllerRef.{field}")


def check_workload_update(new: Obj, old: Obj, causes: Causes) -> None:
    """Nothing of a Workload changes but the minima of its gangs, from v1beta1 on."""
    check_workload(new, causes)
    keeps_all = new["apiVersion"].endswith(_OLDER)
    now, was = ((each if keeps_all else _without_minima(each)) for each in (new.get("spec"), old.get("spec")))
    if now != was:
        causes.invalid("spec", new.get("spec"), _IMMUTABLE)


def _without_minima(value: object) -> object:
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if key not in ("minCount", "minGroupCount")}
        return {key: _without_minima(each) for key, each in kept.items()}
    return [_without_minima(each) for each in value] if isinstance(value, list) else value


def _check_templates(spec: Obj, path: str, causes: Causes, *, is_older: bool, level: int) -> None:
    names: set[str] = set()
    for field in ("podGroupTemplates", "compositePodGroupTemplates"):
        templates = spec.get(field) or ()
        too_many(causes, f"{path}.{field}", len(templates), MOST_TEMPLATES)
        for index, template in enumerate(templates):
            at = f"{path}.{field}[{index}]"
            causes.check_name(template.get("name"), label_problems, f"{at}.name")
            if template.get("name"):
                causes.check_unique(template["name"], names, f"{at}.name")
            if field == "podGroupTemplates":
                _check_group_spec(template, at, causes, is_older=is_older)
            elif level >= MOST_LEVELS:
                causes.invalid(at, template.get("name", ""), f"must have at most {MOST_LEVELS} levels")
            else:
                _check_composite_spec(template, at, causes)
                _check_templates(template, at, causes, is_older=is_older, level=level + 1)


def _check_group_spec(spec: Obj, path: str, causes: Causes, *, is_older: bool) -> None:
    _check_policy(spec, path, "minCount", causes)
    _check_common(spec, path, causes)
    mode, at = spec.get("disruptionMode"), f"{path}.disruptionMode"
    if is_older:
        causes.check_one_of(mode, ("Pod", "PodGroup"), at)
    else:
        _check_mode(mode, at, spec, causes)
    claims = spec.get("resourceClaims") or ()
    too_many(causes, f"{path}.resourceClaims", len(claims), MOST_CLAIMS)
    names: set[str] = set()
    for index, claim in enumerate(claims):
        where = f"{path}.resourceClaims[{index}]"
        causes.check_name(claim.get("name"), label_problems, f"{where}.name")
        causes.check_unique(claim.get("name", ""), names, f"{where}.name")
        if bool(claim.get("resourceClaimName")) == bool(claim.get("resourceClaimTemplateName")):
            why = "must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`"
            causes.invalid(where, claim.get("name", ""), why)


def _check_composite_spec(spec: Obj, path: str, causes: Causes) -> None:
    _check_policy(spec, path, "minGroupCount", causes)
    _check_common(spec, path, causes)
    _check_mode(spec.get("disruptionMode"), f"{path}.disruptionMode", spec, causes)


def _check_policy(spec: Obj, path: str, minimum: str, causes: Causes) -> None:
    at, policy = f"{path}.schedulingPolicy", spec.get("schedulingPolicy")
    if policy is None:
        causes.required(at)
        return
    given = [name for name in ("basic", "gang") if policy.get(name) is not None]
    if len(given) != 1:
        causes.invalid(at, policy, f"must specify {'exactly ' if given else ''}one of: `basic`, `gang`")
    elif given == ["gang"] and (policy["gang"].get(minimum) or 0) < 1:
        causes.invalid(f"{at}.gang.{minimum}", policy["gang"].get(minimum, 0), "must be greater than or equal to 1")


def _check_common(spec: Obj, path: str, causes: Causes) -> None:
    keys = (spec.get("schedulingConstraints") or {}).get("topology") or ()
    too_many(causes, f"{path}.schedulingConstraints.topology", len(keys), 1)
    for index, each in enumerate(keys):
        at = f"{path}.schedulingConstraints.topology[{index}].key"
        causes.check_name(each.get("key"), qualified_name_problems, at)
    priority = spec.get("priority")
    if priority is not None and priority > PRIORITY_MAX:
        causes.invalid(f"{path}.priority", priority, f"must be less than or equal to {PRIORITY_MAX}")
    policy = spec.get("preemptionPolicy")
    if policy is not None:
        causes.check_one_of(policy, ("PreemptLowerPriority", "Never"), f"{path}.preemptionPolicy")


def _check_mode(mode: Obj | None, path: str, spec: Obj, causes: Causes) -> None:
    given = [name for name in ("single", "all") if mode is not None and mode.get(name) is not None]
    if len(given) != 1:
        causes.invalid(path, mode, f"must specify {'exactly ' if given else ''}one of: `single`, `all`")
    elif given == ["all"] and (spec.get("schedulingPolicy") or {}).get("basic") is not None:
        causes.invalid(path, mode, "`all` is not allowed with the basic scheduling policy")


def _check_reference(spec: Obj, causes: Causes) -> None:
    reference = spec.get("workloadRef")
    if reference is not None:
        causes.check_name(reference.get("workloadName"), subdomain_problems, "spec.workloadRef.workloadName")
        causes.check_name(reference.get("templateName"), label_problems, "spec.workloadRef.templateName")
    parent = spec.get("parentCompositePodGroupName")
    if parent is not None:
        causes.check_name(parent, subdomain_problems, "spec.parentCompositePodGroupName")
        if reference is None:
            causes.required("spec.workloadRef", "required with parentCompositePodGroupName")


def _check_unchanged(new: Obj, old: Obj, minimum: str, causes: Causes) -> None:
    now, was = new.get("spec") or {}, old.get("spec") or {}
    for field in sorted({*now, *was} - {"schedulingPolicy"}):
        if now.get(field) != was.get(field):
            causes.invalid(f"spec.{field}", now.get(field), _IMMUTABLE)
    after, before = now.get("schedulingPolicy") or {}, was.get("schedulingPolicy") or {}
    if minimum and after.get("gang") is not None and before.get("gang") is not None:
        after, before = ({**each, "gang": {**each["gang"], minimum: 0}} for each in (after, before))
    if after != before:
        causes.invalid("spec.schedulingPolicy", now.get("schedulingPolicy"), _IMMUTABLE)
