"""Pods that say the same are read once, and nobody can tell."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mirror.streams import pods
from tests.support import builders as make
from tests.support.examples import examples
from tests.support.spoiling import spoilt
from vsched import api
from vsched.errors import UNREADABLE, BadObject
from vsched.mirror.ingest.alike import NAMING, READ_LABELS, key_of
from vsched.mirror.ingest.implicit import GROUP_NAME, GROUP_NAME_ALIAS
from vsched.mirror.ingest.pods import PodReader
from vsched.model.amounts.resources import ResourceAxis

OURS = frozenset({"volcano", "vsched"})
GPU = "example.com/gpu"
TOKEN = {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}

Found = tuple[object, ...] | str | None


def reader() -> PodReader:
    return PodReader(ResourceAxis(), OURS, has_owners=lambda uid: uid.endswith("owned"))


def read(by: PodReader, pod: api.Pod) -> Found:
    """What is read of a pod, or what is wrong with it."""
    try:
        found = by.read(pod)
    except (BadObject, *UNREADABLE, ArithmeticError) as error:
        return str(error)
    if found is None:
        return None
    return found.task, found.needs_class, found.implicit, tuple(found.remarks)


def alike(remembered: Found, alone: Found) -> bool:
    """Whether two readings say the same. Shapes are compared by value, because a sweep has them made anew."""
    if isinstance(remembered, tuple) and isinstance(alone, tuple):
        return (*plain(remembered[0]), *remembered[1:]) == (*plain(alone[0]), *alone[1:])
    return remembered == alone


def plain(task: Any) -> tuple[object, ...]:
    without_shape = msgspec.structs.astuple(msgspec.structs.replace(task, shape=None))
    return msgspec.structs.astuple(task.shape)[1:], without_shape


def noted(name: str, text: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {name: text}}}


def labelled(name: str, text: str) -> dict[str, Any]:
    return {"metadata": {"labels": {name: text}}}


def condition(type_: str, status: str, **fields: Any) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": type_, "status": status, **fields}]}}


def owned(kind: str = "Job", uid: str = "o", controller: bool | None = True) -> dict[str, Any]:
    return {"metadata": {"ownerReferences": [{"kind": kind, "uid": uid, "controller": controller, "name": "o"}]}}


def volumes(*found: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"volumes": list(found)}}


RUNNING = {"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}
ENDED = {"name": "main", "state": {"terminated": {"finishedAt": "2026-08-01T10:00:00Z"}}}
ZONE = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}

DIFFERENT: dict[str, dict[str, Any]] = {
    "it says nothing": {},
    "another name": {"metadata": {"name": "q", "uid": "u"}},
    "no uid": {"metadata": {"uid": ""}},
    "another namespace": {"metadata": {"namespace": "other"}},
    "a time": {"metadata": {"creationTimestamp": "2026-08-01T10:00:00Z"}},
    "it leaves": {"metadata": {"deletionTimestamp": "2026-08-01T10:00:00Z"}},
    "a node": {"spec": {"nodeName": "n1"}},
    "another node": {"spec": {"nodeName": "n2"}},
    "it runs": RUNNING,
    "it has started": RUNNING | {"status": {"phase": "Running", "startTime": "2026-08-01T10:00:00Z"}},
    "it is not ready": make.merged(RUNNING, condition("Ready", "False")),
    "it cannot be placed": condition("PodScheduled", "False", reason="Unschedulable", message="full"),
    "it cannot be placed for another reason": condition("PodScheduled", "False", reason="Unschedulable", message="odd"),
    "it has ended": {"spec": {"nodeName": "n1"}, "status": {"phase": "Succeeded", "containerStatuses": [ENDED]}},
    "nobody knows when it ended": {"spec": {"nodeName": "n1"}, "status": {"phase": "Succeeded"}},
    "how it ended cannot be read": {
        "spec": {"nodeName": "n1"},
        "status": {"phase": "Succeeded", "containerStatuses": [{"name": "main", "state": {"terminated": 7}}]},
    },
    "it has failed": {"spec": {"nodeName": "n1"}, "status": {"phase": "Failed"}},
    "an unknown phase": {"status": {"phase": "Sleeping"}},
    "it is nominated": {"status": {"nominatedNodeName": "n3"}},
    "it is being resized": {
        "spec": {"nodeName": "n1"},
        "status": {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "3"}}]},
    },
    "its resize was refused": make.merged(
        {
            "spec": {"nodeName": "n1"},
            "status": {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "3"}}]},
        },
        condition("PodResizePending", "True", reason="Infeasible"),
    ),
    "a group": noted(GROUP_NAME, "pg"),
    "another group": noted(GROUP_NAME, "pg2"),
    "a group by the other name": noted(GROUP_NAME_ALIAS, "pg"),
    "a group whose name is too long": noted(GROUP_NAME, "x" * 400),
    "a native group": {"spec": {"schedulingGroup": {"podGroupName": "native"}}},
    "an unreadable native group": {"spec": {"schedulingGroup": 7}},
    "a job": owned(),
    "another job": owned(uid="o2"),
    "an owner that is no controller": owned(controller=None),
    "an owner without a uid": owned(uid=""),
    "a DaemonSet": owned("DaemonSet"),
    "its node owns it": owned("Node"),
    "an implicit group by its owner": make.merged(owned(), noted(GROUP_NAME, "podgroup-o")),
    "an implicit group by itself": noted(GROUP_NAME, "podgroup-uid-p"),
    "an implicit group of others": noted(GROUP_NAME, "podgroup-uid-else"),
    "its owners say more": {"metadata": {"uid": "owned"}},
    "a mirror pod": noted("kubernetes.io/config.mirror", "x"),
    "an index": noted("batch.kubernetes.io/job-completion-index", "3"),
    "Volcano's index": noted("volcano.sh/task-index", "3"),
    "Volcano's index within a group": noted("volcano.sh/task-index", "3") | noted(GROUP_NAME, "pg"),
    "a role": noted("volcano.sh/task-spec", "master"),
    "another role": noted("volcano.sh/task-spec", "worker"),
    "a role by label": labelled("volcano.sh/task-spec", "worker"),
    "a priority of its task": noted("volcano.sh/task-priority", "7"),
    "a priority of its task that is none": noted("volcano.sh/task-priority", "x"),
    "no victim": noted("volcano.sh/preemptable", "false"),
    "no victim by label": labelled("volcano.sh/preemptable", "false"),
    "an odd word by label": labelled("volcano.sh/preemptable", "odd"),
    "a revocable zone": noted("volcano.sh/revocable-zone", "*"),
    "a preferred victim": noted("vsched.io/preferred-victim", "true"),
    "a queue": noted("scheduling.volcano.sh/queue-name", "q"),
    "a minimum": noted("scheduling.volcano.sh/group-min-member", "2"),
    "a cool-down": noted("volcano.sh/cooldown-time", "10m"),
    "a cool-down by label": labelled("volcano.sh/cooldown-time", "10m"),
    "a cool-down that lasts": make.merged(
        noted("volcano.sh/cooldown-time", "10m"),
        {"spec": {"nodeName": "n"}}
        | condition("PodScheduled", "True", lastTransitionTime="2026-08-01T10:00:00Z"),
    ),
    "an expected duration": noted("vsched.io/expected-duration", "10m"),
    "an expected duration that is none": noted("vsched.io/expected-duration", "soon"),
    "a deletion cost": noted("controller.kubernetes.io/pod-deletion-cost", "7"),
    "how it wants to be scored": {
        "metadata": {
            "annotations": {
                "volcano.sh/resource-strategy-scoring-type": "MostAllocated",
                "volcano.sh/resource-strategy-weight": '{"cpu": 2}',
            }
        }
    },
    "a NUMA policy": noted("volcano.sh/numa-topology-policy", "restricted"),
    "an unknown NUMA policy": noted("volcano.sh/numa-topology-policy", "odd"),
    "a queue's gate is gone": noted("scheduling.volcano.sh/queue-allocation-gate", "true"),
    "a queue's gate": make.merged(
        noted("scheduling.volcano.sh/queue-allocation-gate", "true"),
        {"spec": {"schedulingGates": [{"name": "scheduling.volcano.sh/queue-allocation-gate"}]}},
    ),
    "a gate": {"spec": {"schedulingGates": [{"name": "g"}]}},
    "labels": labelled("app", "a"),
    "other labels": labelled("app", "b"),
    "too many labels": {"metadata": {"labels": {f"l{number}": "x" for number in range(700)}}},
    "another scheduler's": {"spec": {"schedulerName": "other"}},
    "another scheduler's, with a node": {"spec": {"schedulerName": "other", "nodeName": "n1"}},
    "a priority": {"spec": {"priority": 5}},
    "a class": {"spec": {"priorityClassName": "high"}},
    "a class and its priority": {"spec": {"priorityClassName": "high", "priority": 5}},
    "it never preempts": {"spec": {"preemptionPolicy": "Never"}},
    "an unknown preemption policy": {"spec": {"preemptionPolicy": "Odd"}},
    "it ends": {"spec": {"restartPolicy": "Never"}},
    "it ends in time": {"spec": {"activeDeadlineSeconds": 60}},
    "responders": {"spec": {"evictionResponders": [{"name": "r"}]}},
    "two cores": {"spec": {"containers": [make.container("2")]}},
    "an amount that is none": {"spec": {"containers": [make.container("many")]}},
    "another resource": {"spec": {"containers": [{"name": "main", "resources": {"limits": {GPU: "1"}}}]}},
    "two containers": {"spec": {"containers": [make.container("1"), make.container("1", name="b")]}},
    "an init container": {"spec": {"initContainers": [make.container("4")]}},
    "a port": {"spec": {"containers": [make.container("1", ports=[{"containerPort": 80}])]}},
    "a port on the node's network": {
        "spec": {"hostNetwork": True, "containers": [make.container("1", ports=[{"containerPort": 80}])]}
    },
    "resources of the pod": {"spec": {"resources": {"requests": {"cpu": "6"}}}},
    "overhead": {"spec": {"overhead": {"cpu": "1"}}},
    "a selector": {"spec": {"nodeSelector": {"zone": "a"}}},
    "a toleration": {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}},
    "a toleration by number": {"spec": {"tolerations": [{"key": "k", "operator": "Gt", "value": "1"}]}},
    "anti-affinity": {
        "spec": {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [ZONE]}}}
    },
    "spread": {"spec": {"topologySpreadConstraints": [SPREAD]}},
    "spread by its own label a": make.merged(
        labelled("app", "a"), {"spec": {"topologySpreadConstraints": [{**SPREAD, "matchLabelKeys": ["app"]}]}}
    ),
    "spread by its own label b": make.merged(
        labelled("app", "b"), {"spec": {"topologySpreadConstraints": [{**SPREAD, "matchLabelKeys": ["app"]}]}}
    ),
    "a token": volumes({"name": "kube-api-access-abcde", **TOKEN}),
    "another token": volumes({"name": "kube-api-access-fghij", **TOKEN}),
    "a claim by the token's name": volumes(
        {"name": "kube-api-access-fghij", "persistentVolumeClaim": {"claimName": "kube-api-access-abcde"}}
    ),
    "another claim": volumes(
        {"name": "kube-api-access-fghij", "persistentVolumeClaim": {"claimName": "kube-api-access-fghij"}}
    ),
    "a volume of its own": volumes({"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}),
    "a disk": volumes({"name": "d", "iscsi": {"lun": 1}}),
    "volumes that are none": {"spec": {"volumes": "x"}},
    "a device": {"spec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}},
    "an old group": {"spec": {"workloadRef": {"name": "w"}}},
}  # fmt: skip


def as_pod(fields: dict[str, Any]) -> api.Pod:
    found = make.decode(make.pod(**fields))
    assert isinstance(found, api.Pod)
    return found


@pytest.mark.parametrize("order", [1, -1])
def test_a_pod_is_read_as_alone_whatever_was_read_before_it(order: int) -> None:
    by = reader()
    for told in list(DIFFERENT)[::order]:
        pod = as_pod(DIFFERENT[told])
        read(by, pod)
        assert alike(read(by, pod), read(reader(), pod)), told


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(pods(), min_size=2, max_size=8))
def test_pods_of_a_stream_are_read_as_alone(found: list[dict[str, Any]]) -> None:
    by = reader()
    for fields in found:
        read(by, make.decode(fields))
    for fields in found:
        pod = make.decode(fields)
        remembered = read(by, pod)
        by.sweep(set(), set())
        assert alike(remembered, read(by, pod))


def test_hostile_pods_are_read_as_alone() -> None:
    by, problems = reader(), 0
    for told, data in spoilt("Pod", each=197):
        pod = api.read("Pod", data)
        if isinstance(pod, api.Pod):
            remembered = read(by, pod)
            problems += isinstance(remembered, str)
            by.sweep(set(), set())
            assert alike(remembered, read(by, pod)), told
    assert problems > 10


def test_the_pods_of_a_template_are_alike() -> None:
    """Otherwise nothing would be gained: what differs within a template must not be in the key."""
    template = make.merged(owned(), noted(GROUP_NAME, "pg"))
    keys = set()
    for number in range(3):
        own = {
            "metadata": {
                "name": f"p{number}",
                "uid": f"uid-{number}",
                "resourceVersion": str(number),
                "creationTimestamp": f"2026-08-01T10:00:0{number}Z",
                "annotations": {"batch.kubernetes.io/job-completion-index": str(number)},
                "labels": {"batch.kubernetes.io/job-completion-index": str(number)},
                "managedFields": [{"manager": f"m{number}"}],
            },
            **volumes({"name": "data", "emptyDir": {}}, {"name": f"kube-api-access-abcd{number}", **TOKEN}),
            **condition("PodScheduled", "False", message=str(number)),
        }
        keys.add(key_of(as_pod(make.merged(template, own)), grouped=True, implied=False))
    assert len(keys) == 1


def test_what_is_remembered_is_bounded() -> None:
    by = reader()
    by.KNOWN_MAX = 3
    for number in range(10):
        read(by, as_pod({"spec": {"priority": number}}))
        assert len(by.known) <= 3


class Looked(dict[str, str]):
    """Notes which names somebody looks up."""

    def __init__(self, found: dict[str, str], names: set[str]) -> None:
        super().__init__(found)
        self.names = names

    def get(self, key: str, default: Any = None) -> Any:
        self.names.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.names.add(str(key))
        return super().__contains__(key)

    def __getitem__(self, key: str) -> str:
        self.names.add(key)
        return super().__getitem__(key)


def test_what_is_looked_up_is_in_the_key() -> None:
    """The key leaves out labels except for a few, and a few annotations: nobody may begin to read one of those."""
    labels, annotations = set[str](), set[str]()
    for fields in DIFFERENT.values():
        pod = as_pod(fields)
        pod.metadata.labels = Looked(pod.metadata.labels or {}, labels)
        pod.metadata.annotations = Looked(pod.metadata.annotations or {}, annotations)
        read(reader(), pod)
    assert labels <= {*READ_LABELS, "app"}  # "app" where matchLabelKeys name it: such pods are never alike
    assert not annotations & (NAMING - {GROUP_NAME, GROUP_NAME_ALIAS})


def test_neighbours_in_the_table_differ() -> None:
    for (one, first), (other, second) in pairwise(DIFFERENT.items()):
        assert first != second, (one, other)
