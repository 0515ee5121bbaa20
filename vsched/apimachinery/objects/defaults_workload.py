"""The defaults of the kinds that make pods from a template."""

from __future__ import annotations

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.objects.defaults_pod import default_pod_spec

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
JOB_NAME = "batch.kubernetes.io/job-name"

_INT32_MAX = (1 << 31) - 1


def default_deployment(obj: Obj) -> Obj:
    spec = _with_template({"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, **obj["spec"]})
    spec["strategy"] = _strategy(spec.get("strategy", {}), {"maxUnavailable": "25%", "maxSurge": "25%"})
    return {**obj, "spec": spec}


def default_replica_set(obj: Obj) -> Obj:
    return {**obj, "spec": _with_template({"replicas": 1, **obj["spec"]})}


def default_replication_controller(obj: Obj) -> Obj:
    """Missing selectors and labels come from the template."""
    spec = _with_template({"replicas": 1, **obj["spec"]})
    labels = (spec.get("template") or {}).get("metadata", {}).get("labels")
    if labels:
        spec.setdefault("selector", labels)
        obj = _labelled(obj, labels)
    return {**obj, "spec": spec}


def default_stateful_set(obj: Obj) -> Obj:
    spec = _with_template(
        {"podManagementPolicy": "OrderedReady", "replicas": 1, "revisionHistoryLimit": 10, **obj["spec"]}
    )
    spec["updateStrategy"] = _strategy(spec.get("updateStrategy", {}), {"partition": 0})
    retention = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    spec["persistentVolumeClaimRetentionPolicy"] = {
        **retention,
        **spec.get("persistentVolumeClaimRetentionPolicy", {}),
    }
    if spec.get("volumeClaimTemplates"):
        spec["volumeClaimTemplates"] = [_claim_template(claim) for claim in spec["volumeClaimTemplates"]]
    return {**obj, "spec": spec}


def _claim_template(claim: Obj) -> Obj:
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        **claim,
        "spec": {"volumeMode": "Filesystem", **claim.get("spec", {})},
        "status": {"phase": "Pending", **claim.get("status", {})},
    }


def default_daemon_set(obj: Obj) -> Obj:
    spec = _with_template({"revisionHistoryLimit": 10, **obj["spec"]})
    spec["updateStrategy"] = _strategy(spec.get("updateStrategy", {}), {"maxUnavailable": 1, "maxSurge": 0})
    metadata = obj["metadata"]
    annotations = {"deprecated.daemonset.template.generation": "1", **metadata.get("annotations", {})}
    return {**obj, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


def default_job(obj: Obj) -> Obj:
    """One pod by default; a Job with parallelism alone is a work queue and has no completions."""
    spec = _with_template(_job_spec(obj["spec"]))
    labels = (spec.get("template") or {}).get("metadata", {}).get("labels")
    return {**(_labelled(obj, labels) if labels else obj), "spec": spec}


def _job_spec(spec: Obj) -> Obj:
    spec = {**spec}
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _INT32_MAX if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    policy = spec.get("podFailurePolicy")
    spec.setdefault("podReplacementPolicy", "Failed" if policy else "TerminatingOrFailed")
    if policy and policy.get("rules"):
        spec["podFailurePolicy"] = {**policy, "rules": [_failure_rule(rule) for rule in policy["rules"]]}
    return spec


def _failure_rule(rule: Obj) -> Obj:
    if not rule.get("onPodConditions"):
        return rule
    return {**rule, "onPodConditions": [{"status": "True", **pattern} for pattern in rule["onPodConditions"]]}


def generate_job_selector(obj: Obj) -> Obj:
    """A Job selects its pods by its uid, unless it has manualSelector."""
    spec, metadata = obj["spec"], obj["metadata"]
    if spec.get("manualSelector") or "uid" not in metadata:
        return obj
    template = spec.get("template") or {}
    uid, name = metadata["uid"], metadata["name"]
    labels = {
        **template.get("metadata", {}).get("labels", {}),
        CONTROLLER_UID: uid,
        JOB_NAME: name,
        "controller-uid": uid,
        "job-name": name,
    }
    template = {**template, "metadata": {**template.get("metadata", {}), "labels": labels}}
    selector = spec.get("selector") or {}
    selector = {**selector, "matchLabels": {**selector.get("matchLabels", {}), CONTROLLER_UID: uid}}
    return {**obj, "spec": {**spec, "selector": selector, "template": template}}


def default_cron_job(obj: Obj) -> Obj:
    spec = {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        **obj["spec"],
    }
    job = spec.get("jobTemplate")
    if job and "spec" in job:
        spec["jobTemplate"] = {**job, "spec": _with_template({**job["spec"]})}
    return {**obj, "spec": spec}


def _with_template(spec: Obj) -> Obj:
    template = spec.get("template")
    if template and "spec" in template:
        spec["template"] = {**template, "spec": default_pod_spec(template["spec"], pod=False)}
    return spec


def _strategy(strategy: Obj, rolling: Obj) -> Obj:
    """RollingUpdate with its limits by default."""
    strategy = {**strategy}
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = {**rolling, **strategy.get("rollingUpdate", {})}
    return strategy


def _labelled(obj: Obj, labels: Obj) -> Obj:
    metadata = obj["metadata"]
    return obj if metadata.get("labels") else {**obj, "metadata": {**metadata, "labels": labels}}
