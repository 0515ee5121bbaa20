"""The Workload and the native PodGroup of a Job, as Kubernetes' Job controller makes them. Pure.

Kubernetes 1.36 (v1alpha2) makes them for every Indexed Job whose pods all run at once; from 1.37 on (v1beta1), the Job
has to ask for them (``spec.scheduling``).
"""

from __future__ import annotations

from collections.abc import Sequence

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import reference_to, template_hash
from vsched.apimachinery.objects.native_groups import GROUP
from vsched.apimachinery.workloads.actions import Action, After, Create, Update

WORKLOADS, GROUPS = f"{GROUP}/workloads", f"{GROUP}/podgroups"
OLDER = f"{GROUP}/v1alpha2"


def wants_group(job: Obj, api_version: str) -> bool:
    """Whether the pods of a Job form a PodGroup."""
    spec = job["spec"]
    if ((spec.get("template") or {}).get("spec") or {}).get("schedulingGroup"):
        return False  # somebody else makes the group
    if api_version != OLDER:
        return bool((spec.get("scheduling") or {}).get("schedulingPolicy"))
    parallelism = spec.get("parallelism", 1)
    return bool(parallelism > 1 and spec.get("completionMode") == "Indexed" and spec.get("completions") == parallelism)


def workload_name(job: Obj) -> str:
    meta = job["metadata"]
    return f"{meta['name'][:200]}-{template_hash({'uid': meta['uid']})[:5]}"


def group_name(job: Obj) -> str:
    name = workload_name(job)
    return f"{name}-{_template_name(job)[:20]}-{template_hash({'uid': job['metadata']['uid'], 'of': name})[:5]}"


def prepare(job: Obj, workload: Obj | None, group: Obj | None, api_version: str) -> tuple[list[Action], bool]:
    """What is to be done before pods of the group are made, and whether they may be made after it."""
    namespace, owner = job["metadata"]["namespace"], reference_to(job, "batch/v1", "Job")
    template = _template(job, api_version)
    if workload is None:
        meta = {"name": workload_name(job), "namespace": namespace, "ownerReferences": [owner]}
        reference = {"apiGroup": "batch", "kind": "Job", "name": job["metadata"]["name"]}
        spec = {"controllerRef": reference, "podGroupTemplates": [{"name": _template_name(job), **template}]}
        made = {"apiVersion": api_version, "kind": "Workload", "metadata": meta, "spec": spec}
        return [Create(WORKLOADS, made), After(0.0)], False
    if group is None:
        of_workload = {**reference_to(workload, api_version, "Workload"), "controller": False}
        meta = {"name": group_name(job), "namespace": namespace, "ownerReferences": [owner, of_workload]}
        spec = {**_reference(job, workload, api_version), **template}
        made = {"apiVersion": api_version, "kind": "PodGroup", "metadata": meta, "spec": spec}
        return [Create(GROUPS, made)], True
    return _resized(job, workload, group, api_version), True


def _resized(job: Obj, workload: Obj, group: Obj, api_version: str) -> list[Action]:
    """The new minimum of a gang whose Job changed it."""
    policy = _template(job, api_version)["schedulingPolicy"]
    asked = ((job["spec"].get("scheduling") or {}).get("schedulingPolicy") or {}).get("gang") or {}
    if "minCount" not in asked or group["spec"]["schedulingPolicy"] == policy:
        return []
    templates = [{**each, "schedulingPolicy": policy} for each in workload["spec"]["podGroupTemplates"]]
    return [
        Update(WORKLOADS, {**workload, "spec": {**workload["spec"], "podGroupTemplates": templates}}),
        Update(GROUPS, {**group, "spec": {**group["spec"], "schedulingPolicy": policy}}),
    ]


def _template_name(job: Obj) -> str:
    return f"{job['metadata']['name'][:50]}-pgt-0"


def _template(job: Obj, api_version: str) -> Obj:
    """What the group asks for."""
    spec = job["spec"]
    pod = (spec.get("template") or {}).get("spec") or {}
    parallelism = spec.get("parallelism", 1)
    priority = {"priorityClassName": pod["priorityClassName"]} if pod.get("priorityClassName") else {}
    if api_version == OLDER:
        return {"schedulingPolicy": {"gang": {"minCount": parallelism}}, **priority}
    asked = spec["scheduling"]
    policy = asked["schedulingPolicy"]
    if policy.get("gang") is not None:
        policy = {"gang": {"minCount": policy["gang"].get("minCount") or parallelism}}
    others = {
        field: asked[field]
        for field in ("schedulingConstraints", "disruptionMode", "resourceClaims")
        if asked.get(field)
    }
    return {"schedulingPolicy": policy, **others, **priority}


def _reference(job: Obj, workload: Obj, api_version: str) -> Obj:
    name, template = workload["metadata"]["name"], _template_name(job)
    if api_version == OLDER:
        return {"podGroupTemplateRef": {"workload": {"workloadName": name, "podGroupTemplateName": template}}}
    return {"workloadRef": {"workloadName": name, "templateName": template}}


def joined(actions: Sequence[Action], group: str) -> list[Action]:
    """The actions, with the new pods among them in a group."""
    return [
        Create("pods", {**each.obj, "spec": {**each.obj["spec"], "schedulingGroup": {"podGroupName": group}}})
        if isinstance(each, Create) and each.resource == "pods"
        else each
        for each in actions
    ]
