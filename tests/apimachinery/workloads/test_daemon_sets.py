"""DaemonSets: a pod a node, on the nodes that fit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.workload_objects import NOW, controlled_by, deleting, pod, workload
from vsched.apimachinery.meta.objects import template_hash
from vsched.apimachinery.workloads.actions import Create, Delete, SetStatus
from vsched.apimachinery.workloads.daemon_sets import REVISION_LABEL, fits, node_of, reconcile

TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


def daemon_set(**template: Any) -> dict[str, Any]:
    made = workload("DaemonSet", "d")
    made["spec"]["template"]["spec"] |= template
    return made


def node(name: str, *taints: dict[str, Any], **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "spec": {"taints": list(taints)}}


def daemon(owner: dict[str, Any], on: str, *, ready: bool = True, revision: str = "", **more: Any) -> dict[str, Any]:
    labels = {"app": "web", REVISION_LABEL: revision or template_hash(owner["spec"]["template"])}
    return pod(
        f"d-{on}", ready=ready, node=on, labels=labels, ownerReferences=[controlled_by(owner, "DaemonSet")], **more
    )


def moves(owner: dict[str, Any], pods: list[dict[str, Any]], *nodes: str) -> list[str]:
    """What happens, as +node and -pod."""
    found = []
    for action in reconcile(owner, pods, [node(name) for name in nodes], NOW):
        if isinstance(action, Create):
            found.append("+" + node_of(action.obj))
        elif isinstance(action, Delete):
            found.append("-" + action.name)
    return found


@pytest.mark.parametrize(
    ("template", "obj", "expected"),
    [
        pytest.param({}, node("n"), True, id="any node"),
        pytest.param({}, node("n", TAINT), False, id="not one with a taint"),
        pytest.param({"tolerations": [{"operator": "Exists"}]}, node("n", TAINT), True, id="unless tolerated"),
        pytest.param({}, node("n", {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}), True,
                     id="a cordoned node is a node"),
        pytest.param({"nodeSelector": {"a": "b"}}, node("n", a="b"), True, id="a label that is asked for"),
        pytest.param({"nodeSelector": {"a": "b"}}, node("n", a="c"), False, id="another label"),
        pytest.param({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}}}, node("n"), False,
            id="an affinity that does not hold"),
    ],
)  # fmt: skip
def test_which_nodes_fit(template: dict[str, Any], obj: dict[str, Any], expected: bool) -> None:
    assert fits(daemon_set(**template), obj) is expected


def test_each_node_gets_its_pod_and_lost_ones_go() -> None:
    owner = daemon_set()
    assert moves(owner, [daemon(owner, "a"), daemon(owner, "gone")], "a", "b") == ["+b", "-d-gone"]


def test_an_unbound_pod_counts_for_the_node_it_is_meant_for() -> None:
    owner = daemon_set()
    [made] = [each.obj for each in reconcile(owner, [], [node("a")], NOW) if isinstance(each, Create)]
    waiting = {**made, "metadata": {**made["metadata"], "name": "d-x", "uid": "u"}, "status": {"phase": "Pending"}}
    assert moves(owner, [waiting], "a") == []


def test_a_finished_pod_goes_and_a_terminating_one_is_waited_for() -> None:
    owner = daemon_set()
    failed = daemon(owner, "a", ready=False)
    failed["status"]["phase"] = "Failed"
    assert moves(owner, [failed], "a") == ["-d-a"]
    assert moves(owner, [deleting(daemon(owner, "a"))], "a") == []


def test_a_new_template_is_rolled_out_one_by_one() -> None:
    owner = daemon_set()
    old = [daemon(owner, "a", revision="old"), daemon(owner, "b", revision="old")]
    assert moves(owner, old, "a", "b") == ["-d-a"]
    assert moves(owner, [daemon(owner, "a", ready=False), old[1]], "a", "b") == []


def test_status() -> None:
    owner = daemon_set()
    pods = [daemon(owner, "a"), daemon(owner, "b", ready=False)]
    [action] = [
        each for each in reconcile(owner, pods, [node("a"), node("b"), node("c")], NOW) if isinstance(each, SetStatus)
    ]
    assert action.status == {
        "currentNumberScheduled": 2, "desiredNumberScheduled": 3, "numberMisscheduled": 0, "numberReady": 1,
        "numberAvailable": 1, "numberUnavailable": 2, "updatedNumberScheduled": 2, "observedGeneration": 1,
    }  # fmt: skip
