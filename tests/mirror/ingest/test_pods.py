"""Pods and the other kinds as the model sees them, and what is said of those that cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from vsched.errors import BadObject
from vsched.mirror.ingest.nodes import node_of
from vsched.mirror.ingest.objects import class_of, namespace_of, selected_by
from vsched.mirror.ingest.podgroups import job_spec_of
from vsched.mirror.ingest.pods import PodFacts, PodReader
from vsched.mirror.ingest.queues import queue_of
from vsched.mirror.ingest.weights import weight_of
from vsched.mirror.ingest.words import fields as fields_words
from vsched.mirror.ingest.words import groups as groups_words
from vsched.mirror.ingest.words import nodes as nodes_words
from vsched.model import words as model_words
from vsched.model.amounts.resources import Amounts, ResourceAxis
from vsched.model.jobs.spec import Condition
from vsched.model.nodes.table import Taint
from vsched.model.pods.shape import HostPort, NodeTerm, PodTerm, Requirement, Selector, Spread, Toleration
from vsched.model.pods.status import Status

MI = 1024 * 1024
OURS = frozenset({"volcano", "vsched"})


def facts_of(fields: dict[str, Any], axis: ResourceAxis | None = None) -> PodFacts:
    found = PodReader(axis or ResourceAxis(), OURS).read(make.decode(fields))
    assert found is not None
    return found


def by_name(axis: ResourceAxis, amounts: Amounts) -> dict[str, int]:
    return {axis.names[column]: value for column, value in amounts}


# Requests


def asks(*, limits: dict[str, Any] | None = None, name: str = "main", **requests: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests, "limits": limits or {}}}


SIDECAR = {"restartPolicy": "Always"}

REQUESTS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "containers add up": (
        {"containers": [asks(cpu="500m", memory="1Mi"), asks(cpu=1)]},
        {"cpu": 1500, "memory": MI},
    ),
    "the largest init container counts where it is larger than all containers together": (
        {"containers": [asks(cpu="1")], "initContainers": [asks(cpu="3"), asks(cpu="2", memory="1Mi")]},
        {"cpu": 3000, "memory": MI},
    ),
    "a sidecar runs beside the containers": (
        {"containers": [asks(cpu="1")], "initContainers": [asks(cpu="2") | SIDECAR]},
        {"cpu": 3000},
    ),
    "an init container after a sidecar runs beside it": (
        {"containers": [asks(cpu="1")], "initContainers": [asks(cpu="2") | SIDECAR, asks(cpu="5")]},
        {"cpu": 7000},
    ),
    "an init container before a sidecar runs alone": (
        {"containers": [asks(cpu="1")], "initContainers": [asks(cpu="5"), asks(cpu="2") | SIDECAR]},
        {"cpu": 5000},
    ),
    "overhead comes on top": (
        {"containers": [asks(cpu="1")], "overhead": {"cpu": "250m", "memory": "1Mi"}},
        {"cpu": 1250, "memory": MI},
    ),
    "a limit stands for a request that is absent": (
        {"containers": [asks(cpu="1", limits={"cpu": "4", "nvidia.com/gpu": 2})]},
        {"cpu": 1000, "nvidia.com/gpu": 2000},
    ),
    "an explicit zero is not replaced by the limit": (
        {"containers": [asks(cpu="0", limits={"cpu": "4"})]},
        {},
    ),
    "pod-level requests replace the sums they name": (
        {"containers": [asks(cpu="1", memory="1Mi")], "resources": {"requests": {"cpu": "4"}}},
        {"cpu": 4000, "memory": MI},
    ),
    "a pod-level limit counts where no container asks": (
        {"containers": [asks(cpu="1")], "resources": {"limits": {"cpu": "4", "memory": "2Mi"}}},
        {"cpu": 1000, "memory": 2 * MI},
    ),
    "names that only quotas know are left out": (
        {"containers": [{"name": "main", "resources": {"requests": {"count/pods": "1", "rdma": "1", "a.b/c": 1}}}]},
        {"a.b/c": 1000},
    ),
    "no containers ask for nothing": ({"containers": [asks()]}, {}),
}


@pytest.mark.parametrize(("spec", "expected"), REQUESTS.values(), ids=REQUESTS)
def test_request_of_a_pod(spec: dict[str, Any], expected: dict[str, int]) -> None:
    axis = ResourceAxis()
    shape = facts_of(make.pod(spec=spec), axis).task.shape
    assert by_name(axis, shape.request) == expected | {"pods": 1}
    assert shape.best_effort is not bool(expected)


def resized(allocated: str | None, actual: str | None, **status: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"name": "main"}
    if allocated:
        found["allocatedResources"] = {"cpu": allocated}
    if actual:
        found["resources"] = {"requests": {"cpu": actual}}
    return make.pod(node="n1", spec={"containers": [asks(cpu="2")]}, status={"containerStatuses": [found], **status})


INFEASIBLE = {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]}
RESIZES: dict[str, tuple[dict[str, Any], int]] = {
    "a pod that shrinks holds what it has": (resized("3", "4"), 4000),
    "a pod that grows holds what it wants": (resized("1", "1"), 2000),
    "a resize that was refused for good holds what was given": (resized("1", "1", **INFEASIBLE), 1000),
    "a container without a status holds what it wants": (resized(None, None), 2000),
}


@pytest.mark.parametrize(("fields", "expected"), RESIZES.values(), ids=RESIZES)
def test_request_during_an_in_place_resize(fields: dict[str, Any], expected: int) -> None:
    assert dict(facts_of(fields).task.shape.request)[0] == expected


SCORING: dict[str, tuple[dict[str, Any], tuple[int, int]]] = {
    "a container that asks for none counts with the defaults": (
        {"containers": [asks(), asks(cpu="1")]},
        (1100, 400 * MI),
    ),
    "an explicit zero stays zero": ({"containers": [asks(cpu="0", memory="0")]}, (0, 0)),
    "pod-level requests count as they are": (
        {"containers": [asks()], "resources": {"requests": {"cpu": "2"}}},
        (2000, 200 * MI),
    ),
}


@pytest.mark.parametrize(("spec", "expected"), SCORING.values(), ids=SCORING)
def test_what_scoring_counts(spec: dict[str, Any], expected: tuple[int, int]) -> None:
    shape = facts_of(make.pod(spec=spec)).task.shape
    assert (shape.scoring_cpu, shape.scoring_memory) == expected


# Status and identity

DELETING = {"metadata": {"deletionTimestamp": "2026-08-01T10:00:00Z"}}
STATUSES: dict[str, tuple[dict[str, Any], Status]] = {
    "pending without a node": (make.pod(), Status.PENDING),
    "a missing phase is pending": (make.pod(status={"phase": None}), Status.PENDING),
    "pending on a node is bound": (make.pod(node="n1", status=make.BOUND), Status.BOUND),
    "pending on a node that has seen it is bound": (
        make.pod(node="n1", status={"phase": "Pending", "startTime": "2027-01-15T08:00:00Z"}),
        Status.BOUND,
    ),
    "pending on a node that it names itself is not taken": (
        make.pod(node="n1", status={"phase": "Pending"}),
        Status.UNTAKEN,
    ),
    "running": (make.pod(node="n1"), Status.RUNNING),
    "running and deleting is releasing": (make.pod(node="n1", **DELETING), Status.RELEASING),
    "pending and deleting is releasing": (make.pod(**DELETING), Status.RELEASING),
    "succeeded and deleting is succeeded": (
        make.pod(node="n1", status={"phase": "Succeeded"}, **DELETING),
        Status.SUCCEEDED,
    ),
    "failed": (make.pod(node="n1", status={"phase": "Failed"}), Status.FAILED),
    "unknown": (make.pod(node="n1", status={"phase": "Unknown"}), Status.UNKNOWN),
}


@pytest.mark.parametrize(("fields", "expected"), STATUSES.values(), ids=STATUSES)
def test_status_of_a_pod(fields: dict[str, Any], expected: Status) -> None:
    assert facts_of(fields).task.status is expected


def annotated(**annotations: str) -> dict[str, Any]:
    return {"annotations": annotations}


FIELDS: dict[str, tuple[dict[str, Any], str, Any]] = {
    "priority is one where nothing is said": (make.pod(), "priority", 1),
    "priority of the spec": (make.pod(spec={"priority": -5}), "priority", -5),
    "the annotation beats the spec": (
        make.pod(spec={"priority": 5}, metadata={"annotations": {"volcano.sh/task-priority": "7"}}),
        "priority",
        7,
    ),
    "preemptable unless it says otherwise": (make.pod(), "preemptable", True),
    "not preemptable by label": (
        make.pod(metadata={"labels": {"volcano.sh/preemptable": "false"}}),
        "preemptable",
        False,
    ),
    "the preemptable annotation beats the label": (
        make.pod(
            metadata={
                "labels": {"volcano.sh/preemptable": "false"},
                "annotations": {"volcano.sh/preemptable": "true"},
            }
        ),
        "preemptable",
        True,
    ),
    "role by annotation": (
        make.pod(metadata={"annotations": {"volcano.sh/task-spec": "a"}, "labels": {"volcano.sh/task-spec": "b"}}),
        "role",
        "a",
    ),
    "role by label": (make.pod(metadata={"labels": {"volcano.sh/task-spec": "b"}}), "role", "b"),
    "job by annotation": (make.pod(group="pg"), "job", "ns/pg"),
    "job by the newer annotation": (
        make.pod(metadata={"annotations": {"scheduling.volcano.sh/group-name": "pg"}}),
        "job",
        "ns/pg",
    ),
    "a foreign pod on a node has no job": (make.pod(node="n1", spec={"schedulerName": "other"}), "job", ""),
    "a foreign pod on a node that names a group has it": (
        make.pod(node="n1", group="pg", spec={"schedulerName": "other"}),
        "job",
        "ns/pg",
    ),
    "a gate holds it back": (make.pod(spec={"schedulingGates": [{"name": "g"}]}), "gated", True),
    "an empty list of gates does not": (make.pod(spec={"schedulingGates": []}), "gated", False),
    "nominated node": (make.pod(status={"nominatedNodeName": "n2"}), "nominated", "n2"),
    "never preempts": (make.pod(spec={"preemptionPolicy": "Never"}), "preempts", False),
    "its condition in one line": (
        make.pod(
            status={
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
                ]
            }
        ),
        "condition",
        "Unschedulable: 0/1 nodes",
    ),
    "creation in seconds since the epoch": (
        make.pod(metadata={"creationTimestamp": "1970-01-01T01:00:00+00:30"}),
        "created",
        1800.0,
    ),
    "how long it says that it takes": (
        make.pod(metadata={"annotations": {"vsched.io/expected-duration": "1h30m"}}),
        "expected",
        5400.0,
    ),
    "the longest it may run": (make.pod(spec={"activeDeadlineSeconds": 90}), "limit", 90.0),
    "it is started again unless it says otherwise": (make.pod(), "endless", True),
    "once it fails only": (make.pod(spec={"restartPolicy": "OnFailure"}), "endless", False),
    "it has ended when its last container has": (
        make.pod(
            status={
                "phase": "Succeeded",
                "containerStatuses": [
                    {"name": "a", "state": {"terminated": {"finishedAt": "1970-01-01T00:00:10Z"}}},
                    {"name": "b", "state": {"terminated": {"finishedAt": "1970-01-01T00:00:20Z"}}},
                    {"name": "c", "state": {"waiting": {}}},
                    {"name": "d"},
                ],
            }
        ),
        "finished",
        20.0,
    ),
    "it has not ended as long as it runs": (
        make.pod(
            node="n1",
            status={
                "containerStatuses": [{"name": "a", "state": {"terminated": {"finishedAt": "1970-01-01T00:00:10Z"}}}]
            },
        ),
        "finished",
        0.0,
    ),
    "without a uid its name identifies it": (make.pod(metadata={"uid": ""}), "uid", "ns/p"),
    "without a namespace it is in default": (make.pod(namespace=""), "namespace", "default"),
}


@pytest.mark.parametrize(("fields", "name", "expected"), FIELDS.values(), ids=FIELDS)
def test_fields_of_a_task(fields: dict[str, Any], name: str, expected: Any) -> None:
    assert getattr(facts_of(fields).task, name) == expected


def test_pending_pods_of_other_schedulers_are_none_of_ours() -> None:
    reader = PodReader(ResourceAxis(), OURS)
    assert reader.read(make.decode(make.pod(spec={"schedulerName": "default-scheduler"}))) is None
    assert reader.read(make.decode(make.pod(spec={"schedulerName": None}))) is None


def test_pods_without_a_scheduler_are_ours_where_we_were_told_so() -> None:
    reader = PodReader(ResourceAxis(), OURS | {""})
    assert reader.read(make.decode(make.pod(spec={"schedulerName": None}))) is not None


def test_a_bare_pod_stands_for_a_job_of_its_own() -> None:
    facts = facts_of(make.pod("p", metadata={"annotations": {"scheduling.volcano.sh/group-min-member": "3"}}))
    assert facts.implicit is not None
    assert (facts.task.job, facts.implicit.min_member) == ("ns/podgroup-uid-p", 3)
    assert (facts.implicit.implicit, facts.implicit.phase, facts.implicit.queue) == (True, "Inqueue", "")


def test_bare_pods_of_one_controller_share_a_job() -> None:
    owned = {"ownerReferences": [{"uid": "x"}, {"uid": "rs", "controller": True}]}
    jobs = {facts_of(make.pod(name, metadata=owned)).task.job for name in ("a", "b")}
    assert jobs == {"ns/podgroup-rs"}


# Shapes


def affinity(**kinds: Any) -> dict[str, Any]:
    return {"affinity": kinds}


REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


def in_(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def test_rules_of_a_pod_in_one_order() -> None:
    terms = [
        {"matchExpressions": [in_("zone", "b", "a"), {"key": "gpu", "operator": "Exists"}]},
        {"matchFields": [in_("metadata.name", "n7")]},
        {},
    ]
    weighted = [
        {"weight": 5, "preference": {"matchExpressions": [{"key": "k", "operator": "Gt", "values": ["3"]}]}},
        {"weight": 3, "preference": {}},
    ]
    spec = {
        "nodeSelector": {"b": "2", "a": "1"},
        "tolerations": [{"key": "b", "value": "v", "effect": "NoSchedule"}, {"operator": "Exists"}],
        "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}, PREFERRED: weighted}},
    }
    rules = facts_of(make.pod(spec=spec)).task.shape.rules
    assert rules.node_selector == (("a", "1"), ("b", "2"))
    assert rules.required == (
        NodeTerm((Requirement("gpu", "Exists"), Requirement("zone", "In", ("a", "b")))),
        NodeTerm((), (Requirement("metadata.name", "In", ("n7",)),)),
    )
    assert rules.preferred == ((5, NodeTerm((Requirement("k", "Gt", ("3",)),))),)
    assert rules.tolerations == (Toleration("", "Exists"), Toleration("b", "Equal", "v", "NoSchedule"))
    assert rules.node_name == ""


def test_a_pod_pinned_by_a_name_field_names_its_node() -> None:
    terms = [{"matchFields": [in_("metadata.name", "n7")]}]
    spec = affinity(nodeAffinity={REQUIRED: {"nodeSelectorTerms": terms}})
    assert facts_of(make.pod(spec=spec)).task.shape.rules.node_name == "n7"


def test_required_affinity_without_terms_is_not_no_affinity() -> None:
    spec = affinity(nodeAffinity={REQUIRED: {"nodeSelectorTerms": [{}]}})
    assert facts_of(make.pod(spec=spec)).task.shape.rules.required == ()


def test_pod_terms_default_to_their_own_namespace_and_take_over_label_keys() -> None:
    own = Requirement("app", "In", ("web",))
    near = [
        {
            "topologyKey": "zone",
            "labelSelector": {"matchLabels": {"tier": "x"}},
            "matchLabelKeys": ["app", "absent"],
            "mismatchLabelKeys": ["tenant"],
        },
        {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {}},
        {"topologyKey": "zone", "namespaces": ["b", "a"]},
    ]
    far = [{"weight": 7, "podAffinityTerm": {"topologyKey": "host", "labelSelector": {"matchExpressions": []}}}]
    spec = affinity(podAffinity={REQUIRED: near}, podAntiAffinity={PREFERRED: far})
    found = facts_of(make.pod(spec=spec, metadata={"labels": {"app": "web", "tenant": "t"}})).task.shape.affinity
    assert found is not None
    assert found.required == (
        PodTerm(
            "zone",
            Selector((own, Requirement("tenant", "NotIn", ("t",)), Requirement("tier", "In", ("x",)))),
            ("ns",),
        ),
        PodTerm("zone", Selector(), (), Selector()),
        PodTerm("zone", None, ("a", "b")),
    )
    assert found.anti_preferred == ((7, PodTerm("host", Selector(), ("ns",))),)


def test_spread_constraints_with_their_defaults() -> None:
    constraint = {
        "maxSkew": 2,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"a": "b"}},
        "matchLabelKeys": ["rev"],
    }
    soft = {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 3}
    soft |= {"nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}
    spec = {"topologySpreadConstraints": [constraint, soft]}
    selector = Selector((Requirement("a", "In", ("b",)), Requirement("rev", "In", ("1",))))
    assert facts_of(make.pod(spec=spec, metadata={"labels": {"rev": "1"}})).task.shape.spread == (
        Spread("zone", 2, True, selector, 1, True, False),
        Spread("host", 1, False, None, 3, False, True),
    )


def test_host_ports_include_those_of_the_hosts_network_and_of_sidecars() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 8081, "protocol": "UDP", "hostIP": "10.0.0.1"}]
    spec = {
        "hostNetwork": True,
        "containers": [make.container("1", ports=ports)],
        "initContainers": [make.container(ports=[{"hostPort": 9}]), make.container(ports=[{"hostPort": 7}]) | SIDECAR],
    }
    assert facts_of(make.pod(spec=spec)).task.shape.ports == (
        HostPort(7),
        HostPort(80),
        HostPort(8081, "UDP", "10.0.0.1"),
    )


def test_images_carry_a_tag() -> None:
    images = ["b", "reg:5000/a", "c:1", "d@sha256:0"]
    spec = {"containers": [make.container(image=image) for image in images]}
    shape = facts_of(make.pod(spec=spec)).task.shape
    assert shape.images == ("b:latest", "c:1", "d@sha256:0", "reg:5000/a:latest")
    assert shape.containers == 4


def test_pods_that_mean_the_same_share_a_shape_however_it_is_written() -> None:
    reader = PodReader(ResourceAxis(), OURS)

    def shape(**fields: Any) -> object:
        facts = reader.read(make.decode(make.pod(**fields)))
        assert facts is not None
        return facts.task.shape

    one = shape(spec={"containers": [asks(cpu="1000m", memory="1Gi")], "tolerations": [{"operator": "Exists"}]})
    same = shape(
        name="other",
        metadata={"labels": {"index": "1"}},
        spec={
            "containers": [asks(memory="1024Mi", cpu=1) | {"volumeMounts": [{"name": "token-x", "mountPath": "/v"}]}],
            "tolerations": [{"operator": "Exists", "tolerationSeconds": 3}],
        },
    )
    different = shape(spec={"containers": [asks(cpu="1", memory="1Gi")]})
    assert one is same
    assert one is not different


def test_shapes_that_depend_on_the_pods_own_labels_are_kept_apart() -> None:
    reader = PodReader(ResourceAxis(), OURS)
    constraint = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    spec = {"topologySpreadConstraints": [constraint | {"matchLabelKeys": ["rev"]}]}
    shapes = set()
    for revision in ("1", "2", "1"):
        facts = reader.read(make.decode(make.pod(spec=spec, metadata={"labels": {"rev": revision}})))
        assert facts is not None
        shapes.add(facts.task.shape)
    assert len(shapes) == 2


def test_the_memo_of_shapes_is_bounded() -> None:
    reader = PodReader(ResourceAxis(), OURS)
    reader.shaper.MEMO_LIMIT = 8
    for number in range(50):
        reader.read(make.decode(make.pod(spec={"nodeSelector": {"n": str(number)}})))
    assert len(reader.shaper._memo) <= 8


# What is said of pods that cannot be used

BAD_PODS: dict[str, tuple[dict[str, Any], str]] = {
    "a quantity": (
        {"spec": {"containers": [asks(cpu="1 core")]}},
        "Pod ns/p: spec.containers[0].resources.requests.cpu: '1 core' is not a quantity",
    ),
    "a negative quantity": (
        {"spec": {"containers": [asks(cpu="-1")]}},
        model_words.negative("Pod ns/p: spec.containers[0].resources.requests.cpu", "-1"),
    ),
    "a type": ({"spec": {"priority": "high"}}, 'Pod ns/p: spec.priority: must be an integer, is "high"'),
    "a type, of a value that is long": (
        {"spec": {"priority": "high" * 20}},
        "Pod ns/p: spec.priority: must be an integer, is a string",
    ),
    "a type in a raw part": (
        {"spec": {"tolerations": [{"key": 3}]}},
        "Pod ns/p: spec.tolerations[0].key: must be a string, is 3",
    ),
    "an operator": (
        {"spec": affinity(nodeAffinity={REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [in_("a")]}]}})},
        nodes_words.no_values("nodeSelectorTerms[0].matchExpressions[0]", "In"),
    ),
    "an unknown operator": (
        {"spec": {"tolerations": [{"operator": "Like"}]}},
        nodes_words.unknown_toleration_operator("spec.tolerations[0]", "Like"),
    ),
    "a missing topology key": (
        {"spec": affinity(podAffinity={REQUIRED: [{"topologyKey": ""}]})},
        "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: empty",
    ),
    "a skew": (
        {"spec": {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "x"}]}},
        nodes_words.max_skew_below_one("spec.topologySpreadConstraints[0]", 0),
    ),
    "a host port": (
        {"spec": {"containers": [make.container(ports=[{"hostPort": 70000}])]}},
        "spec.containers[0].ports[0].hostPort: 70000 (expected 1 to 65535)",
    ),
    "an annotation that should be a number": (
        {"metadata": {"annotations": {"volcano.sh/task-priority": "high"}}},
        fields_words.annotation_not_int32("volcano.sh/task-priority", "high"),
    ),
    "an annotation that should be a boolean": (
        {"metadata": {"annotations": {"volcano.sh/preemptable": "maybe"}}},
        fields_words.unknown_word("metadata.annotations[volcano.sh/preemptable]", "maybe", "true or false"),
    ),
    "a phase": ({"status": {"phase": "Asleep"}}, "status.phase: 'Asleep' is unknown (expected Pending, Running"),
    "a time": ({"metadata": {"creationTimestamp": "yesterday"}}, "metadata.creationTimestamp: invalid RFC3339"),
}


@pytest.mark.parametrize(("fields", "message"), BAD_PODS.values(), ids=BAD_PODS)
def test_a_pod_that_cannot_be_used_says_which_field_and_why(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadObject) as caught:
        facts_of(make.pod(**fields))
    assert message in str(caught.value)
    assert str(caught.value).startswith("Pod ns/p: ")
    assert "\n" not in str(caught.value)


# Other kinds


def test_a_pod_group_as_a_job_spec() -> None:
    fields = make.pod_group(
        metadata={
            "creationTimestamp": "1970-01-01T00:00:10Z",
            "annotations": {"volcano.sh/preemptable": "true", "sla-waiting-time": "1h", "kubectl.kubernetes.io/x": "y"},
        },
        spec={"minMember": 3, "minTaskMember": {"worker": 2, "master": 1}, "minResources": {"cpu": 2, "pods": "3"}},
        status={
            "phase": "Running",
            "running": 2,
            "conditions": [
                {"type": "Scheduled", "status": "True", "lastTransitionTime": "x", "transitionID": "1"},
                {"type": "Unschedulable", "status": "False", "lastTransitionTime": "1970-01-01T00:01:00Z"},
            ],
        },
    )
    spec = job_spec_of(make.decode(fields), ResourceAxis(), "default", [])
    assert (spec.namespace, spec.name, spec.queue, spec.created) == ("ns", "pg", "q", 10.0)
    assert (spec.min_member, spec.min_task_member) == (3, (("master", 1), ("worker", 2)))
    assert (spec.min_resources, spec.preemptable) == (((0, 2000), (2, 3)), True)
    assert (spec.phase, spec.running) == ("Running", 2)
    assert spec.conditions == (Condition("Scheduled", "True"), Condition("Unschedulable", "False", since=60.0))
    assert spec.annotations == (("sla-waiting-time", "1h"), ("volcano.sh/preemptable", "true"))


def test_a_pod_group_that_says_nothing_waits_in_the_default_queue() -> None:
    fields = {"kind": "PodGroup", "metadata": {"name": "pg", "namespace": "ns"}}
    spec = job_spec_of(make.decode(fields), ResourceAxis(), "standard", [])
    assert (spec.queue, spec.phase, spec.min_resources, spec.preemptable) == ("standard", "Pending", None, None)


def test_a_queue_with_its_claims() -> None:
    fields = make.queue(
        spec={
            "weight": 3,
            "capability": {"cpu": "4"},
            "deserved": {"cpu": 2.5},
            "guarantee": {"resource": {"memory": "1Mi"}},
            "reclaimable": False,
            "parent": "root",
            "priorityClassName": "high",
        }
    )
    facts = queue_of(make.decode(fields), ResourceAxis(), False, [])
    queue = facts.queue
    assert (queue.weight, queue.capability, queue.deserved, queue.guarantee) == (
        3,
        ((0, 4000),),
        ((0, 2500),),
        ((1, MI),),
    )
    assert (queue.reclaimable, queue.parent, queue.state) == (False, "root", "Open")
    assert (facts.priority, facts.priority_class) == (None, "high")


@pytest.mark.parametrize(
    ("state", "expected"),
    [("Open", "Open"), ("Closing", "Closing"), ("Closed", "Closed"), ("Unknown", "Unknown"), ("Ajar", "Unknown")],
)
def test_a_queue_of_any_other_state_than_the_four_is_of_unknown_state(state: str, expected: str) -> None:
    facts = queue_of(make.decode(make.queue(status={"state": state})), ResourceAxis(), True, [])
    assert facts.queue.state == expected


@pytest.mark.parametrize(("open_without_state", "expected"), [(True, "Open"), (False, "Unknown")])
def test_a_queue_without_a_state(open_without_state: bool, expected: str) -> None:
    facts = queue_of(make.decode(make.queue(status={"state": ""})), ResourceAxis(), open_without_state, [])
    assert facts.queue.state == expected


def test_a_node_with_lent_resources() -> None:
    fields = make.node(
        metadata={
            "labels": {"zone": "a", "volcano.sh/oversubscription": "true"},
            "annotations": {
                "volcano.sh/oversubscription-cpu": "1500",
                "volcano.sh/oversubscription-memory": "1024",
                "volcano.sh/else": "x",
                "kubectl.kubernetes.io/x": "y",
            },
        },
        spec={"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]},
        status={
            "allocatable": {"cpu": "2", "memory": "1Ki", "pods": "5"},
            "images": [{"names": ["a:1", "a@sha256:0"], "sizeBytes": 7}, {"names": None}],
        },
    )
    attributes, allocatable, _ = node_of(make.decode(fields), ResourceAxis())
    assert allocatable == ((0, 3500), (1, 2048), (2, 5))
    assert (attributes.unschedulable, attributes.taints) == (True, (Taint("k", "", "NoSchedule"),))
    assert attributes.images == {"a:1": 7, "a@sha256:0": 7}
    assert attributes.annotations == {"volcano.sh/else": "x"}


def test_resources_are_lent_by_nodes_with_the_label_only() -> None:
    fields = make.node(metadata={"annotations": {"volcano.sh/oversubscription-cpu": "1500"}})
    assert dict(node_of(make.decode(fields), ResourceAxis()).allocatable)[0] == 8000


def test_a_namespace_knows_its_own_name_as_a_label() -> None:
    fields = make.namespace("n", metadata={"annotations": {"scheduling.volcano.sh/queue-name": "q"}})
    found = namespace_of(make.decode(fields))
    assert (found.queue, found.labels) == ("q", (("kubernetes.io/metadata.name", "n"),))


WEIGHTS = [
    *(("3", 3), (4, 4), ("2k", 2000), ("0", 0), ("-1", 0), ("1500m", 0), ("heavy", 0), (2.5, 0)),
    *((str(10**17), 10**17), (str(10**18), 10**18), (str(10**18 + 1), 10**18), ("9E", 10**18), ("1e30", 10**18)),
    *((str(10**19), 10**18), (str(10**40), 10**18), (str(-(10**40)), 0)),
]


@pytest.mark.parametrize(("text", "expected"), WEIGHTS)
def test_the_weight_a_quota_gives_is_a_positive_integer_or_none(text: Any, expected: int) -> None:
    remarks: list[str] = []
    assert weight_of(make.decode(make.quota("a", text)), remarks) == expected


@pytest.mark.parametrize("text", ["9E", "1e30", str(10**18 + 1), str(10**40)])
def test_a_weight_beyond_all_measure_counts_as_the_most_there_is_and_the_quota_is_told(text: str) -> None:
    remarks: list[str] = []
    weight_of(make.decode(make.quota("a", text)), remarks)
    told = "(expected 1000000000000000000 at most): counts as 1000000000000000000"
    assert remarks == [f"spec.hard[volcano.sh/namespace.weight]: {text[:40]!r} {told}"]


def test_weights_of_queues_beyond_all_measure_are_told() -> None:
    spec = {"weight": 10**19}
    annotations = {"volcano.sh/hierarchy": "root/a/b", "volcano.sh/hierarchy-weights": "1/1e400/3"}
    remarks: list[str] = []
    found = queue_of(
        make.decode(make.queue(spec=spec, metadata={"annotations": annotations})), ResourceAxis(), True, remarks
    )
    assert found.queue.weight == 65535
    assert remarks == [
        fields_words.too_heavy("spec.weight", str(10**19), 65535),
        fields_words.too_heavy("metadata.annotations[volcano.sh/hierarchy-weights]", "1e400", 1000000000000000000),
    ]


@pytest.mark.parametrize(
    ("guarantee", "told"),
    [
        pytest.param({"cpu": "4"}, ["cpu"], id="more than the queue may use"),
        pytest.param({"cpu": "2000m", "memory": "1Gi"}, [], id="as much, and what has no limit"),
        pytest.param({"cpu": "2001m", "nvidia.com/gpu": 1}, ["cpu", "nvidia.com/gpu"], id="of each resource"),
    ],
)
def test_a_guarantee_that_a_queue_may_not_use_up_is_told(guarantee: dict[str, Any], told: list[str]) -> None:
    spec = {"capability": {"cpu": 2, "nvidia.com/gpu": "0"}, "guarantee": {"resource": guarantee}}
    remarks: list[str] = []
    queue_of(make.decode(make.queue(spec=spec)), ResourceAxis(), True, remarks)
    most = {"cpu": "2", "nvidia.com/gpu": "0"}
    assert remarks == [groups_words.guarantee_above_capability(name, guarantee[name], most[name]) for name in told]


BAD_OBJECTS: dict[str, tuple[dict[str, Any], str]] = {
    "a weight out of range": (make.queue(spec={"weight": 0}), "Queue q: spec.weight: 0 (expected 1 to 65535)"),
    "a negative queue priority": (
        make.queue(spec={"priority": -1}),
        fields_words.negative_number("Queue q: spec.priority", -1),
    ),
    "a queue's quantity": (
        make.queue(spec={"guarantee": {"resource": {"cpu": "x"}}}),
        "Queue q: spec.guarantee.resource.cpu: 'x' is not a quantity",
    ),
    "a quantity of the wrong type": (
        make.queue(spec={"deserved": {"cpu": []}}),
        "Queue q: spec.deserved[...]: must be an integer, a number or a string, is a list",
    ),
    "a negative minimum": (
        make.pod_group(spec={"minMember": -1}),
        fields_words.negative_number("PodGroup ns/pg: spec.minMember", -1),
    ),
    "a role's minimum": (
        make.pod_group(spec={"minTaskMember": {"w": -1}}),
        fields_words.negative_number("PodGroup ns/pg: spec.minTaskMember.w", -1),
    ),
    "a phase of a PodGroup": (make.pod_group(status={"phase": "Late"}), "PodGroup ns/pg: status.phase: 'Late'"),
    "a node's quantity": (
        make.node(status={"allocatable": {"cpu": "many"}}),
        "Node n1: status.allocatable.cpu: 'many' is not a quantity",
    ),
    "a lent amount": (
        make.node(
            metadata={
                "labels": {"volcano.sh/oversubscription": "true"},
                "annotations": {"volcano.sh/oversubscription-cpu": "x"},
            }
        ),
        f"Node n1: {nodes_words.annotation_not_whole('volcano.sh/oversubscription-cpu', 'x')}",
    ),
    "a class's value": (
        make.priority_class("c", 1 << 40),
        fields_words.bad_value("PriorityClass c", 1099511627776),
    ),
}

READERS = {
    "Queue": lambda found: queue_of(found, ResourceAxis(), False, []),
    "PodGroup": lambda found: job_spec_of(found, ResourceAxis(), "default", []),
    "Node": lambda found: node_of(found, ResourceAxis()),
    "PriorityClass": class_of,
}


@pytest.mark.parametrize(("fields", "message"), BAD_OBJECTS.values(), ids=BAD_OBJECTS)
def test_an_object_that_cannot_be_used_says_which_field_and_why(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadObject) as caught:
        READERS[fields["kind"]](make.decode(fields))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


# What selects pods

WEB = Requirement("app", "In", ("web",))
SELECTORS: dict[str, tuple[str, Any, tuple[Requirement, ...]]] = {
    "a Service's map": ("Service", {"app": "web"}, (WEB,)),
    "a ReplicationController's map": (
        "ReplicationController",
        {"tier": "a", "app": "web"},
        (WEB, Requirement("tier", "In", ("a",))),
    ),
    "a ReplicaSet's selector": ("ReplicaSet", {"matchLabels": {"app": "web"}}, (WEB,)),
    "expressions": (
        "StatefulSet",
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]},
        (Requirement("app", "NotIn", ("db",)),),
    ),
    "a Service without a selector": ("Service", None, ()),
    "a Service whose map is empty": ("Service", {}, ()),
    "a selector that says nothing": ("ReplicaSet", {}, ()),
}


@pytest.mark.parametrize(("kind", "selector", "expected"), SELECTORS.values(), ids=SELECTORS)
def test_what_an_object_selects(kind: str, selector: Any, expected: tuple[Requirement, ...]) -> None:
    found = selected_by(make.decode(make.merged(make.selecting(kind), {"spec": {"selector": selector}})))
    assert found == (Selector(expected) if expected else None)


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        ("Service", {"selector": ["app"]}, "Service ns/s: spec.selector: must be an object, is a list"),
        (
            "ReplicaSet",
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}},
            "ReplicaSet ns/s: spec.selector.matchExpressions[0]",
        ),
    ],
)
def test_selectors_that_cannot_be_used(kind: str, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(BadObject) as caught:
        selected_by(make.decode(make.selecting(kind) | {"spec": spec}))
    assert str(caught.value).startswith(message)
