"""What the kinds that make pods from a template may say, and what of them may change later."""

from __future__ import annotations

from collections.abc import Iterable
from zoneinfo import available_timezones

from vsched.sim.schedules import problem_of
from vsched.sim.store.field_checks import (
    check_annotations,
    check_immutable,
    check_labels,
    check_not_negative,
    check_one_of,
    check_selector,
    forbidden,
    invalid_value,
    required,
)
from vsched.sim.store.kinds import Obj
from vsched.sim.store.status import Cause
from vsched.sim.validation.pod import check_pod_spec

_STATEFUL_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def check_template(template: Obj | None, path: str, causes: list[Cause], more_volumes: Iterable[str] = ()) -> None:
    metadata = (template or {}).get("metadata") or {}
    check_labels(metadata.get("labels"), f"{path}.metadata.labels", causes)
    check_annotations(metadata.get("annotations"), f"{path}.metadata.annotations", causes)
    check_pod_spec((template or {}).get("spec") or {}, f"{path}.spec", causes, more_volumes)


def _selects(selector: Obj, labels: Obj) -> bool:
    return all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items()) and all(
        _expression_holds(one, labels) for one in selector.get("matchExpressions") or ()
    )


def _expression_holds(one: Obj, labels: Obj) -> bool:
    value, values = labels.get(one.get("key", "")), one.get("values") or ()
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(one.get("operator", ""), False)


def check_controller(obj: Obj, causes: list[Cause]) -> None:
    """Deployment, ReplicaSet, StatefulSet, DaemonSet: numbers, the selector and the template it must select."""
    spec = obj.get("spec") or {}
    for field in ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
        check_not_negative(spec.get(field), f"spec.{field}", causes)
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is None:
        causes.append(required("spec.selector"))
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        why = f"empty selector is invalid for {obj.get('kind', '').lower()}"
        causes.append(invalid_value("spec.selector", selector, why))
    check_selector(selector, "spec.selector", causes)
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector and not _selects(selector, labels):
        why = "`selector` does not match template `labels`"
        causes.append(invalid_value("spec.template.metadata.labels", labels, why))
    claims = [str((one.get("metadata") or {}).get("name", "")) for one in spec.get("volumeClaimTemplates") or ()]
    check_template(template, "spec.template", causes, claims)
    policy = (template.get("spec") or {}).get("restartPolicy", "Always")
    check_one_of(policy, ("Always",), "spec.template.spec.restartPolicy", causes)


def check_controller_update(new: Obj, old: Obj, causes: list[Cause]) -> None:
    check_controller(new, causes)
    now, was = new["spec"].get("selector"), old["spec"].get("selector")
    check_immutable(now, was, "spec.selector", causes)


def check_stateful_set_update(new: Obj, old: Obj, causes: list[Cause]) -> None:
    check_controller(new, causes)
    now = {key: value for key, value in new["spec"].items() if key not in _STATEFUL_MUTABLE}
    was = {key: value for key, value in old["spec"].items() if key not in _STATEFUL_MUTABLE}
    if now != was:
        listed = ", ".join(f"'{field}'" for field in _STATEFUL_MUTABLE[:-1])
        why = f"updates to statefulset spec for fields other than {listed} and 'minReadySeconds' are forbidden"
        causes.append(forbidden("spec", why))


def check_job(obj: Obj, causes: list[Cause]) -> None:
    check_job_spec(obj.get("spec") or {}, "spec", causes)


def check_job_spec(spec: Obj, path: str, causes: list[Cause]) -> None:
    for field in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"):
        check_not_negative(spec.get(field), f"{path}.{field}", causes)
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        causes.append(required(f"{path}.completions", "when completion mode is Indexed"))
    check_selector(spec.get("selector"), f"{path}.selector", causes)
    template = spec.get("template") or {}
    check_template(template, f"{path}.template", causes)
    policy = (template.get("spec") or {}).get("restartPolicy")
    where = f"{path}.template.spec.restartPolicy"
    if policy in (None, "", "Always"):
        causes.append(required(where, 'valid values: "OnFailure", "Never"'))
    else:
        check_one_of(policy, ("OnFailure", "Never"), where, causes)


def check_job_update(new: Obj, old: Obj, causes: list[Cause]) -> None:
    check_job(new, causes)
    now, was = new["spec"], old["spec"]
    if now.get("completions") != was.get("completions") and now.get("completionMode") != "Indexed":
        check_immutable(now.get("completions"), was.get("completions"), "spec.completions", causes)
    check_immutable(now.get("selector"), was.get("selector"), "spec.selector", causes)
    if was.get("suspend") and not (old.get("status") or {}).get("startTime"):
        _check_suspended_template(now["template"], was["template"], causes)
    else:
        check_immutable(now.get("template"), was.get("template"), "spec.template", causes)
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy"):
        check_immutable(now.get(field), was.get(field), f"spec.{field}", causes)


def _check_suspended_template(now: Obj, was: Obj, causes: list[Cause]) -> None:
    """Before a suspended Job ran, where its pods may go may still change."""
    movable = ("nodeSelector", "tolerations", "affinity", "schedulingGates", "containers")
    pinned_now = {key: value for key, value in (now.get("spec") or {}).items() if key not in movable}
    pinned_was = {key: value for key, value in (was.get("spec") or {}).items() if key not in movable}
    check_immutable(pinned_now, pinned_was, "spec.template", causes)


def check_cron_job(obj: Obj, causes: list[Cause]) -> None:
    spec = obj.get("spec") or {}
    name = obj["metadata"].get("name") or ""
    if len(name) > 52:
        causes.append(invalid_value("metadata.name", name, "must be no more than 52 bytes"))
    schedule = spec.get("schedule")
    if not schedule:
        causes.append(required("spec.schedule"))
    elif why := problem_of(schedule):
        causes.append(invalid_value("spec.schedule", schedule, why))
    zone = spec.get("timeZone")
    if zone is not None and zone not in available_timezones():
        causes.append(invalid_value("spec.timeZone", zone, f"unknown time zone {zone}"))
    check_one_of(spec.get("concurrencyPolicy"), ("Allow", "Forbid", "Replace"), "spec.concurrencyPolicy", causes)
    template = spec.get("jobTemplate") or {}
    check_job_spec(template.get("spec") or {}, "spec.jobTemplate.spec", causes)
