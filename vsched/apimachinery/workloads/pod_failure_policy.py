"""What a failed pod means for its Job, by the podFailurePolicy. Pure."""

from __future__ import annotations

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import condition

COUNT, IGNORE, FAIL_JOB = "Count", "Ignore", "FailJob"


def verdict_on(pod: Obj, spec: Obj) -> str:
    """The action of the first rule that matches the failed pod; without one, the failure counts."""
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        if (codes and _exited_so(pod, codes)) or (conditions and any(_is_in(pod, each) for each in conditions)):
            return str(rule.get("action", COUNT))
    return COUNT


def _exited_so(pod: Obj, requirement: Obj) -> bool:
    """Whether a container failed with one of the exit codes, or for NotIn with another one."""
    values, inverted = requirement.get("values") or (), requirement.get("operator") == "NotIn"
    name = requirement.get("containerName")
    for each in pod.get("status", {}).get("containerStatuses") or ():
        code = each.get("state", {}).get("terminated", {}).get("exitCode", 0)
        if code and name in (None, each["name"]) and (code in values) != inverted:
            return True
    return False


def _is_in(pod: Obj, pattern: Obj) -> bool:
    found = condition(pod, pattern["type"])
    return found is not None and found.get("status") == pattern.get("status", "True")
