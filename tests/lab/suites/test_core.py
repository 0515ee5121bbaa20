"""What each operation does on a mirror in memory, and what is counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.suites import CLAIM, CLAIM_TEMPLATE, CLAIMING, CLASS, DEVICES, NODE, POD, performed, workload_of
from vsched.errors import BadInput
from vsched.lab.suites import words
from vsched.lab.suites.core import CoreCluster
from vsched.lab.suites.place import LeftOut, NotPlaced
from vsched.lab.suites.templates import Obj

NODES = "- {opcode: createNodes, count: 2, nodeTemplatePath: node.yaml}\n"
VOLUME = """
apiVersion: v1
kind: PersistentVolume
spec: {accessModes: [ReadOnlyMany], capacity: {storage: 1Gi}, csi: {driver: d.io}}
"""
VOLUME_CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {annotations: {pv.kubernetes.io/bind-completed: "true"}}
spec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 1Gi}}}
"""


def objects(place: CoreCluster, kind: str) -> dict[str, Obj]:
    return place.objects[kind]


def on_nodes(place: CoreCluster) -> Counter[str]:
    return Counter(pod["spec"].get("nodeName", "") for pod in objects(place, "Pod").values())


def test_nodes_have_names_labels_and_amounts(tmp_path: Path) -> None:
    place, _ = performed(
        workload_of(
            tmp_path,
            """
            - opcode: createNodes
              count: 3
              nodeTemplatePath: node.yaml
              labelNodePrepareStrategy: {labelKey: zone, labelValues: [a, b]}
              nodeAllocatableStrategy: {nodeAllocatable: {x.io/y: "5"}, csiNodeAllocatable: {d.io: {count: 7}}}
            - {opcode: createNodes, count: 2, uniqueNodeLabelStrategy: {labelKey: rack}}
            """,
        )
    )
    nodes = list(objects(place, "Node").values())
    labels = [node["metadata"]["labels"] for node in nodes]
    assert [each.get("zone") for each in labels] == ["a", "b", "a", None, None]
    assert len({each["rack"] for each in labels[3:]}) == 2
    assert [each["kubernetes.io/hostname"] for each in labels] == list(objects(place, "Node"))
    assert nodes[0]["status"]["allocatable"] == {"cpu": "2", "memory": "8Gi", "pods": "10", "x.io/y": "5"}
    assert nodes[3]["status"]["allocatable"] == {"cpu": "4", "memory": "32Gi", "pods": "110"}
    drivers = [each["spec"]["drivers"][0] for each in objects(place, "CSINode").values()]
    assert [(each["name"], each["allocatable"]["count"]) for each in drivers] == [("d.io", 7)] * 3


def test_pods_are_placed_and_those_that_are_measured_are_counted(tmp_path: Path) -> None:
    operations = NODES + "- {opcode: createPods, count: 1}\n- {opcode: createPods, count: 3, collectMetrics: true}"
    place, [meter] = performed(workload_of(tmp_path, operations))
    assert sum(on_nodes(place).values()) == 4
    assert on_nodes(place)[""] == 0
    assert (meter.name, meter.bound) == ("namespace-2", 3)
    assert 0 < meter.seconds <= sum(place.cycles)


def test_pods_without_room_are_said(tmp_path: Path) -> None:
    with pytest.raises(NotPlaced, match=words.not_placed(1, 5)):
        performed(workload_of(tmp_path, NODES + "- {opcode: createPods, count: 5}"))


def test_pods_that_nobody_waits_for_may_stay(tmp_path: Path) -> None:
    operations = NODES + "- {opcode: createPods, count: 5, skipWaitToCompletion: true}\n"
    place, _ = performed(workload_of(tmp_path, operations + "- {opcode: barrier, stageRequirement: Attempted}"))
    assert on_nodes(place)[""] == 1
    with pytest.raises(NotPlaced):
        performed(workload_of(tmp_path, operations + "- {opcode: barrier}"))


def test_a_barrier_is_about_the_pods_it_selects(tmp_path: Path) -> None:
    operations = (
        NODES
        + "- {opcode: createPods, count: 4, namespace: a}\n"
        + "- {opcode: createPods, count: 1, namespace: b, skipWaitToCompletion: true}\n"
    )
    performed(workload_of(tmp_path, operations + "- {opcode: barrier, namespaces: [a]}"))
    performed(workload_of(tmp_path, operations + "- {opcode: barrier, labelSelector: {app: other}}"))
    with pytest.raises(NotPlaced):
        performed(
            workload_of(tmp_path, operations + "- {opcode: barrier, namespaces: [b], labelSelector: {app: work}}")
        )


def test_sets_of_pods_and_namespaces_with_labels(tmp_path: Path) -> None:
    labelled = "apiVersion: v1\nkind: Namespace\nmetadata: {labels: {team: ops}}\n"
    place, _ = performed(
        workload_of(
            tmp_path,
            NODES
            + """
- {opcode: createNamespaces, prefix: init, count: 2, namespaceTemplatePath: labelled.yaml}
- {opcode: createPodSets, count: 2, namespacePrefix: init, createPodsOp: {opcode: createPods, count: 2}}
""",
            labelled=labelled,
        )
    )
    assert [each["metadata"]["labels"] for each in objects(place, "Namespace").values()] == [{"team": "ops"}] * 2
    assert Counter(key.split("/")[0] for key in objects(place, "Pod")) == {"init-0": 2, "init-1": 2}


def test_pods_of_higher_priority_preempt(tmp_path: Path) -> None:
    urgent = POD.replace("spec:", "spec:\n  priority: 10").replace("pod-", "urgent-")
    operations = (
        NODES + "- {opcode: createPods, count: 4}\n- {opcode: createPods, count: 2, podTemplatePath: urgent.yaml}"
    )
    place, _ = performed(workload_of(tmp_path, operations, urgent=urgent))
    assert Counter(key.split("/")[1].split("-")[0] for key in objects(place, "Pod")) == {"pod": 2, "urgent": 2}
    assert on_nodes(place)[""] == 0
    assert objects(place, "PriorityClass")["priority-10"]["value"] == 10


def test_volumes_are_bound_to_the_claims_of_their_pods(tmp_path: Path) -> None:
    operations = """
- {opcode: createNodes, count: 2, nodeAllocatableStrategy: {csiNodeAllocatable: {d.io: {count: 2}}}}
- opcode: createPods
  count: %d
  persistentVolumeTemplatePath: volume.yaml
  persistentVolumeClaimTemplatePath: claim.yaml
"""
    place, _ = performed(workload_of(tmp_path, operations % 4, volume=VOLUME, claim=VOLUME_CLAIM))
    assert sorted(on_nodes(place).values()) == [2, 2]
    assert len(objects(place, "PersistentVolume")) == 4
    with pytest.raises(NotPlaced, match="1 of 5"):
        performed(workload_of(tmp_path, operations % 5, volume=VOLUME, claim=VOLUME_CLAIM))


def test_churn_goes_on_until_the_workload_ends(tmp_path: Path) -> None:
    operations = """
- {opcode: churn, mode: %s, number: 2, templatePaths: [node.yaml], intervalMilliseconds: 1000}
- {opcode: sleep, duration: 5500ms}
"""
    made, _ = performed(workload_of(tmp_path, operations % "create"))
    assert len(objects(made, "Node")) == 2
    replaced, _ = performed(workload_of(tmp_path, operations % "recreate"))
    assert list(objects(replaced, "Node")) == ["node-00003", "node-00004"]


def test_pods_of_churn_are_scheduled_beside_others(tmp_path: Path) -> None:
    large = POD.replace('"1"', '"2"').replace("pod-", "large-")
    operations = """
- {opcode: createNodes, count: 1, nodeTemplatePath: node.yaml}
- {opcode: churn, mode: recreate, number: 1, templatePaths: [large.yaml], intervalMilliseconds: 1000}
- {opcode: sleep, duration: 1500ms}
- {opcode: barrier}
"""
    place, _ = performed(workload_of(tmp_path, operations, large=large))
    assert on_nodes(place) == {"node-00000": 1}


def test_pods_are_deleted_at_a_rate_while_others_wait_for_their_room(tmp_path: Path) -> None:
    operations = (
        NODES
        + "- {opcode: createPods, count: 4, namespace: old}\n"
        + "- {opcode: deletePods, namespace: old, deletePodsPerSecond: 2, skipWaitToCompletion: true}\n"
        + "- {opcode: createPods, count: 4, collectMetrics: true}\n"
    )
    place, [meter] = performed(workload_of(tmp_path, operations))
    assert {key.split("/")[0] for key in objects(place, "Pod")} == {"namespace-3"}
    assert meter.bound == 4
    assert meter.seconds > 1.0, "the last one waits for the last deletion, after two seconds"


def test_all_pods_are_deleted_at_once_without_a_rate(tmp_path: Path) -> None:
    operations = NODES + "- {opcode: createPods, count: 3, namespace: old}\n- {opcode: deletePods, namespace: old}\n"
    place, _ = performed(workload_of(tmp_path, operations + "- {opcode: createPods, count: 4}"))
    assert len(objects(place, "Pod")) == 4


def test_a_pod_with_a_finalizer_is_not_placed_once_it_is_deleted(tmp_path: Path) -> None:
    held = POD.replace("labels:", "finalizers: [example.com/held], labels:")
    operations = """
- {opcode: createPods, count: 2, namespace: old, podTemplatePath: held.yaml, skipWaitToCompletion: true}
- {opcode: deletePods, namespace: old}
- {opcode: createNodes, count: 1, nodeTemplatePath: node.yaml}
- {opcode: createPods, count: 2, collectMetrics: true}
"""
    _, [meter] = performed(workload_of(tmp_path, operations, held=held))
    assert meter.bound == 2


def test_updates_change_pods_and_nodes(tmp_path: Path) -> None:
    named = NODE.replace("generateName: node-", "name: 'n-{{.Index}}'")
    gated = POD.replace("generateName: pod-", "name: 'p-{{.Index}}'")
    operations = """
- {opcode: createNodes, count: 1, nodeTemplatePath: closed.yaml}
- {opcode: createPods, count: 1, namespace: a, podTemplatePath: gated.yaml, skipWaitToCompletion: true}
- {opcode: barrier, stageRequirement: Attempted}
- {opcode: updateAny, templatePath: opened.yaml}
- {opcode: barrier, stageRequirement: Attempted}
- {opcode: updateAny, templatePath: ungated.yaml, namespace: a, updatePerSecond: 10}
- {opcode: barrier}
"""
    place, _ = performed(
        workload_of(
            tmp_path,
            operations,
            closed=named + "spec: {unschedulable: true}\n",
            opened=named,
            gated=gated + "  schedulingGates: [{name: example.com/wait}]\n",
            ungated=gated,
        )
    )
    assert on_nodes(place) == {"n-0": 1}


def test_an_update_of_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotPlaced, match="cannot be updated"):
        performed(
            workload_of(
                tmp_path,
                "- {opcode: updateAny, templatePath: other.yaml}",
                other=NODE.replace("generateName: node-", "name: other"),
            )
        )


def test_devices_of_a_driver_are_claimed(tmp_path: Path) -> None:
    pods = "- {opcode: createPods, count: %d, namespace: work, podTemplatePath: claiming.yaml}"
    templates = {"gpus": CLASS, "one": CLAIM_TEMPLATE, "claiming": CLAIMING}
    place, _ = performed(workload_of(tmp_path, NODES + DEVICES + pods % 4, **templates))
    assert sorted(on_nodes(place).values()) == [2, 2]
    with pytest.raises(NotPlaced, match="1 of 5"):
        performed(workload_of(tmp_path, NODES + DEVICES + pods % 5, **templates))


def test_a_steady_state_replaces_pods_and_their_claims(tmp_path: Path) -> None:
    pods = (
        "- {opcode: createPods, count: 3, namespace: work, podTemplatePath: claiming.yaml, collectMetrics: true,"
        " steadyState: true, duration: 200ms}"
    )
    place, [meter] = performed(
        workload_of(tmp_path, NODES + DEVICES + pods, gpus=CLASS, one=CLAIM_TEMPLATE, claiming=CLAIMING)
    )
    assert meter.bound > 4, "more than there are devices"
    assert not objects(place, "Pod")
    assert not objects(place, "ResourceClaim")


def test_claims_are_allocated_without_pods(tmp_path: Path) -> None:
    operations = (
        NODES
        + DEVICES
        + "- {opcode: createAny, templatePath: claim.yaml, namespace: init, count: %d}\n"
        + "- {opcode: allocResourceClaims, namespace: init}\n"
        + "- {opcode: createPods, count: %d, namespace: work, podTemplatePath: claiming.yaml}\n"
    )
    templates = {"gpus": CLASS, "one": CLAIM_TEMPLATE, "claiming": CLAIMING, "claim": CLAIM}
    place, _ = performed(workload_of(tmp_path, operations % (3, 1), **templates))
    assert len(objects(place, "Pod")) == 1
    with pytest.raises(NotPlaced, match="1 of 2"):
        performed(workload_of(tmp_path, operations % (3, 2), **templates))
    with pytest.raises(LeftOut, match="no device of a node is left"):
        performed(workload_of(tmp_path, operations % (5, 0), **templates))
    several = CLAIM.replace("deviceClassName: gpu", "deviceClassName: gpu, count: 2")
    of_several = operations.replace("claim.yaml", "several.yaml") % (1, 0)
    with pytest.raises(LeftOut, match="claims of one device"):
        performed(workload_of(tmp_path, of_several, **templates, several=several))


def test_what_is_measured_is_selected(tmp_path: Path) -> None:
    other = POD.replace("app: work", "app: other")
    operations = """
- {opcode: createNodes, count: 5, nodeTemplatePath: node.yaml}
- {opcode: createPods, count: 1, namespace: a}
- {opcode: startCollectingMetrics, name: some, namespaces: [a, b], labelSelector: {app: work}}
- {opcode: createPods, count: 2, namespace: a}
- {opcode: createPods, count: 2, namespace: a, podTemplatePath: other.yaml}
- {opcode: createPods, count: 1, namespace: b}
- {opcode: createPods, count: 1, namespace: c}
- {opcode: stopCollectingMetrics}
- {opcode: createPods, count: 1, namespace: a}
"""
    _, [meter] = performed(workload_of(tmp_path, operations, other=other))
    assert (meter.name, meter.bound) == ("some", 3)


def test_field_names_of_spread_constraints_may_have_any_case(tmp_path: Path) -> None:
    spread = (
        POD + "  topologySpreadConstraints:\n  - {maxSkew: 1, topologyKey: kubernetes.io/hostname,"
        " whenUnsatisfiable: DoNotSchedule, NodeTaintsPolicy: Honor, labelSelector: {matchLabels: {app: work}}}\n"
    )
    tainted = NODE + "spec: {taints: [{key: a, effect: NoSchedule}]}\n"
    operations = (
        NODES
        + """
- {opcode: createNodes, count: 1, nodeTemplatePath: tainted.yaml}
- {opcode: createPods, count: 4, podTemplatePath: spread.yaml}
"""
    )
    place, _ = performed(workload_of(tmp_path, operations, spread=spread, tainted=tainted))
    assert sorted(on_nodes(place).values()) == [2, 2]


def test_a_missing_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"other\.yaml: cannot be read"):
        performed(workload_of(tmp_path, "- {opcode: createNodes, count: 1, nodeTemplatePath: other.yaml}"))
