"""Validation of the kinds that make pods from a template, new and changed."""

from __future__ import annotations

from collections.abc import Iterable
from zoneinfo import available_timezones

from vsched.apimachinery.meta.field_errors import Causes
from vsched.apimachinery.meta.kinds import Obj, without
from vsched.apimachinery.meta.label_selectors import matches_label_selector
from vsched.apimachinery.validation.pod import check_pod_spec
from vsched.model.amounts.schedules import problem_of

_STATEFUL_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def check_template(template: Obj | None, path: str, causes: Causes, more_volumes: Iterable[str] = ()) -> None:
    metadata = (template or {}).get("metadata") or {}
    causes.check_labels(metadata.get("labels"), f"{path}.metadata.labels")
    causes.check_annotations(metadata.get("annotations"), f"{path}.metadata.annotations")
    check_pod_spec((template or {}).get("spec") or {}, f"{path}.spec", causes, more_volumes)


def check_controller(obj: Obj, causes: Causes) -> None:
    """Deployment, ReplicaSet, StatefulSet, DaemonSet: numbers, the selector and the template it must select."""
    spec = obj.get("spec") or {}
    for field in ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
        causes.check_not_negative(spec.get(field), f"spec.{field}")
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is None:
        causes.required("spec.selector")
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        why = f"empty selector is invalid for {obj.get('kind', '').lower()}"
        causes.invalid("spec.selector", selector, why)
    causes.check_selector(selector, "spec.selector")
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector and not matches_label_selector(selector, labels):
        why = "`selector` does not match template `labels`"
        causes.invalid("spec.template.metadata.labels", labels, why)
    claims = [str((one.get("metadata") or {}).get("name", "")) for one in spec.get("volumeClaimTemplates") or ()]
    check_template(template, "spec.template", causes, claims)
    policy = (template.get("spec") or {}).get("restartPolicy", "Always")
    causes.check_one_of(policy, ("Always",), "spec.template.spec.restartPolicy")


def check_controller_update(new: Obj, old: Obj, causes: Causes) -> None:
    check_controller(new, causes)
    now, was = new["spec"].get("selector"), old["spec"].get("selector")
    causes.check_immutable(now, was, "spec.selector")


def check_stateful_set_update(new: Obj, old: Obj, causes: Causes) -> None:
    check_controller(new, causes)
    if without(new["spec"], _STATEFUL_MUTABLE) != without(old["spec"], _STATEFUL_MUTABLE):
        listed = ", ".join(f"'{field}'" for field in _STATEFUL_MUTABLE[:-1])
        why = f"updates to statefulset spec for fields other than {listed} and 'minReadySeconds' are forbidden"
        causes.forbidden("spec", why)


def check_job(obj: Obj, causes: Causes) -> None:
    check_job_spec(obj.get("spec") or {}, "spec", causes)


def check_job_spec(spec: Obj, path: str, causes: Causes) -> None:
    for field in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"):
        causes.check_not_negative(spec.get(field), f"{path}.{field}")
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        causes.required(f"{path}.completions", "when completion mode is Indexed")
    causes.check_selector(spec.get("selector"), f"{path}.selector")
    template = spec.get("template") or {}
    check_template(template, f"{path}.template", causes)
    policy = (template.get("spec") or {}).get("restartPolicy")
    where = f"{path}.template.spec.restartPolicy"
    if policy in (None, "", "Always"):
        causes.required(where, 'valid values: "OnFailure", "Never"')
    else:
        causes.check_one_of(policy, ("OnFailure", "Never"), where)


def check_job_update(new: Obj, old: Obj, causes: Causes) -> None:
    check_job(new, causes)
    now, was = new["spec"], old["spec"]
    if now.get("completions") != was.get("completions") and now.get("completionMode") != "Indexed":
        causes.check_immutable(now.get("completions"), was.get("completions"), "spec.completions")
    causes.check_immutable(now.get("selector"), was.get("selector"), "spec.selector")
    if was.get("suspend") and not (old.get("status") or {}).get("startTime"):
        _check_suspended_template(now["template"], was["template"], causes)
    else:
        causes.check_immutable(now.get("template"), was.get("template"), "spec.template")
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy"):
        causes.check_immutable(now.get(field), was.get(field), f"spec.{field}")


def _check_suspended_template(now: Obj, was: Obj, causes: Causes) -> None:
    """While a suspended Job has not started, the scheduling fields of its template may change."""
    movable = ("nodeSelector", "tolerations", "affinity", "schedulingGates", "containers")
    pinned_now, pinned_was = (without(each.get("spec") or {}, movable) for each in (now, was))
    causes.check_immutable(pinned_now, pinned_was, "spec.template")


def check_cron_job(obj: Obj, causes: Causes) -> None:
    spec = obj.get("spec") or {}
    name = obj["metadata"].get("name") or ""
    if len(name) > 52:
        causes.invalid("metadata.name", name, "must be no more than 52 bytes")
    schedule = spec.get("schedule")
    if not schedule:
        causes.required("spec.schedule")
    elif why := problem_of(schedule):
        causes.invalid("spec.schedule", schedule, why)
    zone = spec.get("timeZone")
    if zone is not None and zone not in available_timezones():
        causes.invalid("spec.timeZone", zone, f"unknown time zone {zone}")
    causes.check_one_of(spec.get("concurrencyPolicy"), ("Allow", "Forbid", "Replace"), "spec.concurrencyPolicy")
    template = spec.get("jobTemplate") or {}
    check_job_spec(template.get("spec") or {}, "spec.jobTemplate.spec", causes)
