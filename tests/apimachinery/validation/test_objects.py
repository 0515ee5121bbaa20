"""What the server refuses, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builtin_kinds import KINDS, POD, WIDGET, container, pod
from vsched.apimachinery.objects.defaults import default_on_create
from vsched.apimachinery.objects.field_decoding import conform
from vsched.apimachinery.validation.objects import validate_create, validate_metadata, validate_update

Obj = dict[str, Any]


def _texts(name: str, obj: Obj) -> list[str]:
    kind = KINDS[name]
    named = {**obj, "metadata": {"name": "x", "namespace": "d", **obj.get("metadata", {})}}
    made = default_on_create(kind, conform(kind, named)[0])
    return [cause.text for cause in validate_create(kind, made)]


def _resources(**resources: Any) -> Obj:
    return pod(containers=[container(resources=resources)])


_LIMITS = "spec.containers[0].resources.limits"
_REQUESTS = "spec.containers[0].resources.requests"
_PODS: dict[str, tuple[Obj, list[str]]] = {
    "a plain pod is taken": (pod(), []),
    "more requested than the limit": (
        _resources(requests={"cpu": "2"}, limits={"cpu": "1"}),
        [f'{_REQUESTS}: Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ),
    "less than nothing": (
        _resources(requests={"cpu": "-1"}),
        [f'{_REQUESTS}[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    "half a GPU, in limits and in the copied requests": (
        _resources(limits={"nvidia.com/gpu": "0.5"}),
        [
            f'{_LIMITS}[nvidia.com/gpu]: Invalid value: "500m": must be an integer',
            f'{_REQUESTS}[nvidia.com/gpu]: Invalid value: "500m": must be an integer',
        ],
    ),
    "a GPU requested without a limit": (
        _resources(requests={"nvidia.com/gpu": "1"}),
        [f"{_LIMITS}: Required value: Limit must be set for non overcommitable resources"],
    ),
    "a GPU request below its limit": (
        _resources(requests={"nvidia.com/gpu": "1"}, limits={"nvidia.com/gpu": "2"}),
        [f'{_REQUESTS}: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2'],
    ),
    "a bare unknown resource": (
        _resources(requests={"gpu": "1"}),
        [
            f'{_REQUESTS}[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
            f'{_REQUESTS}[gpu]: Invalid value: "gpu": must be a standard resource for containers',
        ],
    ),
    "no containers": (pod(containers=[]), ["spec.containers: Required value"]),
    "no image": (pod(containers=[{"name": "c"}]), ["spec.containers[0].image: Required value"]),
    "two containers of one name": (
        pod(containers=[container(), container()]),
        ['spec.containers[1].name: Duplicate value: "c"'],
    ),
    "an unknown restart policy": (
        pod(restartPolicy="Sometimes"),
        ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
    ),
    "a mount without a volume": (
        pod(containers=[container(volumeMounts=[{"name": "v", "mountPath": "/v"}])]),
        ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
    ),
    "a volume of two sources": (
        pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]),
        ["spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"],
    ),
    "a gated pod with a node": (
        pod(schedulingGates=[{"name": "a/b"}], nodeName="n"),
        ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
    ),
    "a toleration of everything has to say Exists": (
        pod(tolerations=[{"operator": "Equal"}]),
        [
            'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty,'
            ' which means "match all values and all keys"'
        ],
    ),
    "a toleration that ends": (
        pod(tolerations=[{"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 1}]),
        [
            "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when"
            " `tolerationSeconds` is set"
        ],
    ),
    "spreading needs a key": (
        pod(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "DoNotSchedule"}]),
        [
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
            "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
        ],
    ),
    "a deadline of nothing": (
        pod(activeDeadlineSeconds=0),
        ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
    ),
}


@pytest.mark.parametrize(("obj", "expected"), _PODS.values(), ids=_PODS)
def test_pods(obj: Obj, expected: list[str]) -> None:
    assert _texts("/Pod", obj) == expected


_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    " an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_METADATA: dict[str, tuple[str, Obj, str]] = {
    "a pod's name is a subdomain": (
        "/Pod", {"name": "A_b"},
        'metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of',
    ),
    "a name is not too long": (
        "/Pod", {"name": "a" * 254}, f'metadata.name: Invalid value: "{"a" * 254}": must be no more than 253 bytes',
    ),
    "a namespace's name is a label": (
        "/Namespace", {"name": "a.b"}, f'metadata.name: Invalid value: "a.b": {_LABEL}',
    ),
    "a label's value has a form": (
        "/Pod", {"labels": {"a": "b c"}},
        'metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of',
    ),
    "a label's key has a form": (
        "/Pod", {"labels": {"a b": "c"}}, 'metadata.labels: Invalid value: "a b": name part must consist of',
    ),
    "a finalizer is qualified": (
        "/Pod", {"finalizers": ["mine"]},
        'metadata.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully'
        " qualified",
    ),
    "an owner has a uid": (
        "/Pod", {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": ""}]},
        'metadata.ownerReferences.uid: Invalid value: "": uid must not be empty',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "metadata", "expected"), _METADATA.values(), ids=_METADATA)
def test_metadata(name: str, metadata: Obj, expected: str) -> None:
    texts = _texts(name, {**(pod() if name == "/Pod" else {}), "metadata": metadata})
    assert len(texts) == 1
    assert texts[0].startswith(expected)


def test_roles_may_be_called_almost_anything() -> None:
    assert _texts("rbac/Role", {"metadata": {"name": "system:Leader"}}) == []
    assert _texts("rbac/Role", {"metadata": {"name": "a/b"}}) == [
        "metadata.name: Invalid value: \"a/b\": may not contain '/'"
    ]


_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "app"}]}}
_SELECTOR = {"matchLabels": {"a": "b"}}
_EVENT = {"involvedObject": {"kind": "Pod", "namespace": "d", "name": "p"}}
_STRICT_EVENT = {
    **_EVENT,
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingComponent": "vsched",
    "reportingInstance": "i",
    "action": "Binding",
    "reason": "Scheduled",
    "type": "Normal",
}
_KINDS: dict[str, tuple[str, Obj, list[str]]] = {
    "a deployment that selects its template": (
        "apps/Deployment", {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}}, [],
    ),
    "a deployment that selects something else": (
        "apps/Deployment", {"spec": {"selector": {"matchLabels": {"a": "c"}}, "template": _TEMPLATE}},
        [
            'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`'
        ],
    ),
    "a replica set without a selector": (
        "apps/ReplicaSet", {"spec": {"template": _TEMPLATE}}, ["spec.selector: Required value"],
    ),
    "a job that restarts for ever": (
        "batch/Job", {"spec": {"template": _TEMPLATE}},
        ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ),
    "a lease of no duration": (
        "coordination/Lease", {"spec": {"leaseDurationSeconds": 0, "holderIdentity": ""}},
        ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
    ),
    "a priority above what users may have": (
        "scheduling/PriorityClass", {"value": 1_000_000_001},
        ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
    ),
    "a quota of a namespace's weight": (
        "/ResourceQuota", {"spec": {"hard": {"volcano.sh/namespace.weight": 3}}}, [],
    ),
    "a quota of a weight and a half": (
        "/ResourceQuota", {"spec": {"hard": {"volcano.sh/namespace.weight": "1.5"}}},
        ['spec.hard[volcano.sh/namespace.weight]: Invalid value: "1500m": must be an integer'],
    ),
    "a quota of a bare unknown name": (
        "/ResourceQuota", {"spec": {"hard": {"weight": "1"}}},
        [
            'spec.hard[weight]: Invalid value: "weight": must be a standard resource type or fully qualified',
            'spec.hard[weight]: Invalid value: "weight": must be a standard resource for quota',
        ],
    ),
    "a budget with both limits": (
        "policy/PodDisruptionBudget", {"spec": {"minAvailable": 1, "maxUnavailable": "10%"}},
        [
            'spec: Invalid value: {"minAvailable":1,"maxUnavailable":"10%"}: minAvailable and maxUnavailable cannot be'
            " both set"
        ],
    ),
    "an event about an object of its namespace": ("/Event", _EVENT, []),
    "an event about another namespace": (
        "/Event", {"involvedObject": {"namespace": "other"}},
        ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
    ),
    "a strict event that says all": ("/Event", {"apiVersion": "v1", **_STRICT_EVENT}, []),
    "a strict event without an action": (
        "/Event", {"apiVersion": "v1", **_STRICT_EVENT, "action": ""}, ["action: Required value"],
    ),
    "a service without ports": ("/Service", {"spec": {}}, ["spec.ports: Required value"]),
    "a service's port is a port": (
        "/Service", {"spec": {"ports": [{"port": 70000}]}},
        ["spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive"],
    ),
    "a claim of nothing": (
        "/PersistentVolumeClaim", {"spec": {}},
        [
            "spec.accessModes: Required value: at least 1 access mode is required",
            "spec.resources[storage]: Required value",
        ],
    ),
    "a taint without an effect": (
        "/Node", {"spec": {"taints": [{"key": "a"}]}}, ["spec.taints[0].effect: Required value"],
    ),
    "a secret's key is a file name": (
        "/Secret", {"data": {"a/b": ""}},
        [
            'data[a/b]: Invalid value: "a/b": a valid config key must consist of alphanumeric characters, \'-\', \'_\''
            " or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is"
            " '[-._a-zA-Z0-9]+')"
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "obj", "expected"), _KINDS.values(), ids=_KINDS)
def test_kinds(name: str, obj: Obj, expected: list[str]) -> None:
    assert _texts(name, obj) == expected


def _stored(**spec: Any) -> Obj:
    made = default_on_create(POD, conform(POD, pod(**spec))[0])
    return {**made, "metadata": {**made["metadata"], "uid": "u", "resourceVersion": "1"}}


def _changed(old: Obj, **spec: Any) -> list[str]:
    return [cause.text for cause in validate_update(POD, {**old, "spec": {**old["spec"], **spec}}, old)]


def test_the_image_of_a_pod_may_change() -> None:
    old = _stored()
    assert _changed(old, containers=[{**old["spec"]["containers"][0], "image": "other"}]) == []


def test_tolerations_may_be_added_but_not_changed() -> None:
    old = _stored(tolerations=[{"key": "a", "operator": "Exists"}])
    more = [*old["spec"]["tolerations"], {"key": "b", "operator": "Exists"}]
    assert _changed(old, tolerations=more) == []
    assert _changed(old, tolerations=more[1:])[0].startswith("spec.tolerations: Forbidden: existing toleration")


def test_a_deadline_may_be_set_or_lowered() -> None:
    assert _changed(_stored(), activeDeadlineSeconds=9) == []
    assert _changed(_stored(activeDeadlineSeconds=9), activeDeadlineSeconds=8) == []
    assert _changed(_stored(activeDeadlineSeconds=9), activeDeadlineSeconds=10) == [
        "spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous value"
    ]


@pytest.mark.parametrize("change", [{"nodeName": "n"}, {"nodeSelector": {"a": "b"}}, {"schedulerName": "other"}])
def test_everything_else_of_a_pod_stays(change: Obj) -> None:
    (text,) = _changed(_stored(), **change)
    assert text.startswith("spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`")


def test_gates_may_be_removed_but_not_added() -> None:
    gate = {"name": "a/b"}
    assert _changed(_stored(schedulingGates=[gate]), schedulingGates=[]) == []
    assert _changed(_stored(), schedulingGates=[gate]) == [
        "spec.schedulingGates: Forbidden: only deletion is allowed, but found new scheduling gate 'a/b'"
    ]


def test_a_gated_pod_may_be_confined_further() -> None:
    old = _stored(schedulingGates=[{"name": "a/b"}], nodeSelector={"a": "1"})
    assert _changed(old, nodeSelector={"a": "1", "b": "2"}) == []
    assert _changed(old, nodeSelector={"b": "2"}) != []


def test_a_status_may_say_any_phase_but_not_another_class() -> None:
    old = _stored()
    dancing = {**old, "status": {**old["status"], "phase": "Dancing", "nominatedNodeName": "n1"}}
    assert validate_update(POD, dancing, old, "status") == []
    other = {**old, "status": {"qosClass": "Burstable", "nominatedNodeName": "N!"}}
    fields = [cause.field for cause in validate_update(POD, other, old, "status")]
    assert fields == ["status.qosClass", "status.nominatedNodeName"]


def test_no_finalizer_joins_while_an_object_goes() -> None:
    old = {"metadata": {"name": "w", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}}
    new = {"metadata": {**old["metadata"], "finalizers": ["a/b", "c/d"]}}
    assert [cause.text for cause in validate_update(WIDGET, new, old)] == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted,"
        ' found new finalizers []string{"c/d"}'
    ]


_UPDATES: dict[str, tuple[str, Obj, Obj, str]] = {
    "a priority stays": ("scheduling/PriorityClass", {"value": 2}, {"value": 1}, "value"),
    "a provider id stays": (
        "/Node", {"spec": {"providerID": "b"}}, {"spec": {"providerID": "a"}}, "spec.providerID",
    ),
    "the type of a secret stays": ("/Secret", {"type": "b"}, {"type": "a"}, "type"),
    "immutable data stays": (
        "/ConfigMap", {"immutable": True, "data": {"a": "2"}}, {"immutable": True, "data": {"a": "1"}}, "data",
    ),
    "the role of a binding stays": (
        "rbac/RoleBinding",
        {"roleRef": {"kind": "Role", "name": "b"}}, {"roleRef": {"kind": "Role", "name": "a"}}, "roleRef",
    ),
    "a strict event's message stays": (
        "/Event", {"apiVersion": "v1", **_STRICT_EVENT, "message": "b"},
        {"apiVersion": "v1", **_STRICT_EVENT, "message": "a"}, "message",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "new", "old", "field"), _UPDATES.values(), ids=_UPDATES)
def test_updates(name: str, new: Obj, old: Obj, field: str) -> None:
    kind = KINDS[name]

    def stored(obj: Obj) -> Obj:
        return conform(kind, {"preemptionPolicy": "Never", **obj, "metadata": {"name": "x", "namespace": "d"}})[0]

    assert [cause.field for cause in validate_update(kind, stored(new), stored(old))] == [field]


def test_the_metadata_of_custom_kinds_is_checked() -> None:
    assert validate_metadata(WIDGET, {"metadata": {"name": "fine"}}) == []
    assert [cause.reason for cause in validate_metadata(WIDGET, {"metadata": {}})] == ["FieldValueRequired"]
