"""What admission adds to new objects, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builtin_kinds import KINDS, NODE, POD, WIDGET, container, pod
from vsched.apimachinery.admission.objects import admit_create, charge_quotas
from vsched.apimachinery.admission.pod import topology_labels
from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import Kind
from vsched.apimachinery.objects.defaults import default_on_create
from vsched.apimachinery.objects.field_decoding import conform
from vsched.sim.store.store import Store

Obj = dict[str, Any]


def _store(*objects: tuple[str, Obj]) -> Store:
    store = Store()
    for name, obj in (("/Namespace", {"metadata": {"name": "d"}}), *objects):
        kind = KINDS[name]
        store.create(kind, {"kind": kind.kind, "apiVersion": kind.api_version, **obj})
    return store


def _made(kind: Kind, obj: Obj) -> Obj:
    return default_on_create(kind, conform(kind, obj)[0])


def _admitted(obj: Obj, *objects: tuple[str, Obj]) -> Obj:
    return admit_create(POD, _made(POD, obj), _store(*objects))


def _priority_class(name: str, value: int, **more: Any) -> tuple[str, Obj]:
    return "scheduling/PriorityClass", {"metadata": {"name": name}, "value": value, **more}


def test_a_plain_pod_gets_priority_and_tolerations() -> None:
    spec = _admitted(pod())["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert spec["tolerations"] == [
        {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for what in ("not-ready", "unreachable")
    ]


def test_a_toleration_of_everything_needs_no_others() -> None:
    everything = [{"operator": "Exists"}]
    assert _admitted(pod(tolerations=everything))["spec"]["tolerations"] == everything


def test_a_priority_class_decides_the_priority() -> None:
    high = _priority_class("high", 9, preemptionPolicy="Never")
    spec = _admitted(pod(priorityClassName="high"), high)["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (9, "Never")
    assert _admitted(pod(priorityClassName="system-node-critical"))["spec"]["priority"] == 2_000_001_000


def test_a_global_default_is_written_into_the_pod() -> None:
    spec = _admitted(pod(), _priority_class("usual", 5, globalDefault=True))["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (5, "usual")


_REFUSED: dict[str, tuple[Obj, str]] = {
    "an unknown priority class": (
        pod(priorityClassName="nope"), 'pods "p" is forbidden: no PriorityClass with name nope was found',
    ),
    "a priority of one's own": (
        pod(priority=5),
        'pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec;'
        " priority admission controller computed 0 from the given PriorityClass name",
    ),
    "an unknown runtime class": (
        pod(runtimeClassName="r"), 'pods "p" is forbidden: pod rejected: RuntimeClass "r" not found',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("obj", "message"), _REFUSED.values(), ids=_REFUSED)
def test_refused(obj: Obj, message: str) -> None:
    with pytest.raises(Failure) as failure:
        _admitted(obj)
    assert (failure.value.code, failure.value.message) == (403, message)


def test_a_missing_namespace_is_not_found() -> None:
    obj = pod()
    obj["metadata"]["namespace"] = "nons"
    with pytest.raises(Failure) as failure:
        _admitted(obj)
    assert (failure.value.code, failure.value.message) == (404, 'namespaces "nons" not found')
    assert failure.value.details == {"name": "nons", "kind": "namespaces"}


def test_nothing_new_in_a_namespace_that_goes() -> None:
    going = {"metadata": {"name": "g", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    store = _store(("/Namespace", going))
    with pytest.raises(Failure) as failure:
        admit_create(WIDGET, {"metadata": {"name": "w", "namespace": "g"}}, store)
    assert failure.value.code == 403
    assert failure.value.details is not None
    assert failure.value.details["causes"][0]["reason"] == "NamespaceTerminating"


def test_pods_take_over_where_their_node_is() -> None:
    zone = "topology.kubernetes.io/zone"
    node = {"metadata": {"name": "n", "labels": {zone: "z1", "other": "x"}}}
    obj = pod(nodeName="n")
    obj["metadata"]["labels"] = {zone: "mine", "a": "b"}
    assert _admitted(obj, ("/Node", node))["metadata"]["labels"] == {zone: "z1", "a": "b"}
    assert topology_labels(_store(("/Node", node)), "n") == {zone: "z1"}
    assert topology_labels(_store(), "n") == {}


def test_new_nodes_are_not_ready() -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    node = admit_create(NODE, _made(NODE, {"metadata": {"name": "n"}}), _store())
    assert node["spec"]["taints"] == [taint]
    assert admit_create(NODE, node, _store())["spec"]["taints"] == [taint]


def _limit_range(**limits: Any) -> tuple[str, Obj]:
    item = {"type": "Container", **limits}
    return "/LimitRange", {"metadata": {"name": "l", "namespace": "d"}, "spec": {"limits": [item]}}


def test_limit_ranges_fill_in_and_refuse() -> None:
    filled = _admitted(pod(), _limit_range(default={"cpu": "1"}, defaultRequest={"cpu": "500m"}))
    assert filled["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}}
    with pytest.raises(Failure, match="maximum cpu usage per Container is 1, but limit is 2"):
        _admitted(pod(containers=[container(resources={"limits": {"cpu": "2"}})]), _limit_range(max={"cpu": "1"}))


def _quota(hard: Obj, used: Obj | None = None, **spec: Any) -> tuple[str, Obj]:
    status = {"hard": hard, "used": used or dict.fromkeys(hard, "0")}
    return "/ResourceQuota", {
        "metadata": {"name": "q6", "namespace": "d"}, "spec": {"hard": hard, **spec}, "status": status,
    }  # fmt: skip


def _charged(obj: Obj, *quotas: tuple[str, Obj]) -> list[Obj]:
    return charge_quotas(POD, _made(POD, obj), _store(*quotas))


_ASKING = pod(containers=[container(resources={"requests": {"cpu": "2", "memory": "1Gi"}})])


def test_a_creation_is_charged() -> None:
    (charged,) = _charged(_ASKING, _quota({"requests.cpu": "4", "pods": "2"}, {"requests.cpu": "1", "pods": "1"}))
    assert charged["status"]["used"] == {"requests.cpu": "3", "pods": "2"}


def test_an_exceeded_quota_says_what_was_asked() -> None:
    with pytest.raises(Failure) as failure:
        _charged(_ASKING, _quota({"requests.cpu": "2"}, {"requests.cpu": "1"}))
    assert failure.value.code == 403
    assert failure.value.message == (
        'pods "p" is forbidden: exceeded quota: q6, requested: requests.cpu=2, used: requests.cpu=1,'
        " limited: requests.cpu=2"
    )


def test_a_pod_under_a_compute_quota_says_what_it_takes() -> None:
    with pytest.raises(Failure) as failure:
        _charged(pod(), _quota({"requests.cpu": "2", "limits.memory": "1Gi"}))
    assert failure.value.message.endswith("failed quota: q6: must specify limits.memory for: c; requests.cpu for: c")


def test_a_quota_nobody_filled_restricts_nothing() -> None:
    name, quota = _quota({"pods": "0"})
    assert _charged(pod(), (name, {**quota, "status": {}})) == []


def test_scopes_choose_the_pods() -> None:
    best_effort = _quota({"pods": "0"}, scopes=["BestEffort"])
    assert _charged(_ASKING, best_effort) == []
    with pytest.raises(Failure):
        _charged(pod(), best_effort)


def test_other_kinds_are_counted() -> None:
    config_map = KINDS["/ConfigMap"]
    obj = {"metadata": {"name": "c", "namespace": "d"}}
    quota = _quota({"count/configmaps": "3", "configmaps": "3"})
    (charged,) = charge_quotas(config_map, obj, _store(quota))
    assert charged["status"]["used"] == {"count/configmaps": "1", "configmaps": "1"}
