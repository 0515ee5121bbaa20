"""What a what-if does to nodes: who leaves, who comes back, and what new nodes are like."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.hypernodes import hypernode_object
from tests.support.plans import NOW, Manifest
from tests.support.questions import trial_of
from vsched.cli.plan.nodes import Add, Drain, Remove
from vsched.cli.plan.words import objects as objects_words
from vsched.errors import BadInput
from vsched.model.amounts.resources import CPU
from vsched.model.pods.status import Status

NODES = "node n1 cpu=8 zone=a taint=dedicated:yes\nnode n2 cpu=4"


def pod(name: str, *, owner: str = "", scheduler: str = "vsched", **metadata: Any) -> Manifest:
    owners = [{"uid": "u", "kind": owner, "name": "w", "controller": True}] if owner else []
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "x", "uid": name, "ownerReferences": owners, **metadata},
        "spec": {
            "schedulerName": scheduler,
            "nodeName": "n1",
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}],
        },
        "status": {"phase": "Running"},
    }


EVERYBODY = (
    pod("owned", owner="ReplicaSet"),
    pod("bare"),
    pod("daemon", owner="DaemonSet"),
    pod("other", owner="ReplicaSet", scheduler="other"),
    pod("leaving", owner="Job", deletionTimestamp="2026-01-31T12:00:00Z"),
)


def left(trial: Any) -> dict[str, tuple[Status, str]]:
    seen = trial.mirror.snapshot(NOW)
    return {task.name: (task.status, task.node) for job in seen.jobs.values() for task in job.tasks.values()}


def test_a_drained_node_is_cleared_as_kubectl_clears_it() -> None:
    trial = trial_of(NODES, *EVERYBODY)
    Drain("n1").apply(trial)
    assert left(trial) == {"owned": (Status.PENDING, ""), "daemon": (Status.RUNNING, "n1")}
    seen = trial.mirror.snapshot(NOW)
    assert seen.used[CPU] == 1000
    node = seen.nodes.statics.attributes[0]
    assert node.unschedulable
    assert [taint.key for taint in node.taints] == ["dedicated", "node.kubernetes.io/unschedulable"]
    assert trial.notes == [
        objects_words.cordoned(
            "n1",
            f"1 pod {objects_words.CREATED_AGAIN}, 2 pods {objects_words.GONE_FOR_GOOD}, "
            f"1 pod {objects_words.LEFT_THERE}, 1 pod {objects_words.MOVED_ELSEWHERE}",
        )
    ]


def test_a_node_that_is_removed_takes_everything_along() -> None:
    trial = trial_of(NODES, *EVERYBODY)
    Remove("n1").apply(trial)
    assert left(trial) == {"owned": (Status.PENDING, "")}
    seen = trial.mirror.snapshot(NOW)
    assert (list(seen.nodes.statics.names), seen.total[CPU], seen.used[CPU]) == (["n2"], 4000, 0)


def test_an_empty_node_has_nobody_to_tell_of() -> None:
    trial = trial_of(NODES)
    Drain("n2").apply(trial)
    assert trial.notes == [objects_words.cordoned("n2", objects_words.NO_PODS)]


def test_new_nodes_are_like_the_one_named_but_for_their_names_and_empty() -> None:
    trial = trial_of(NODES, *EVERYBODY)
    Drain("n1").apply(trial)
    Add(2, "n1").apply(trial)
    nodes = trial.mirror.snapshot(NOW).nodes
    model, *made = (node for node in nodes.statics.attributes if node.name.startswith("n1"))
    assert [node.name for node in made] == ["n1-new-1", "n1-new-2"]
    for node in made:
        row = nodes.statics.row[node.name]
        assert node.labels == {**model.labels, "kubernetes.io/hostname": node.name}
        assert ([taint.key for taint in node.taints], node.unschedulable) == (["dedicated"], False)
        assert nodes.allocatable[:, row].tolist() == nodes.allocatable[:, nodes.statics.row["n1"]].tolist()
        assert nodes.idle[:, row].tolist() == nodes.allocatable[:, row].tolist()


def test_names_of_new_nodes_are_free() -> None:
    trial = trial_of("node n1\nnode n1-new-2")
    for _ in range(2):
        Add(1, "n1").apply(trial)
    assert trial.mirror.names("Node") == ["n1", "n1-new-1", "n1-new-2", "n1-new-3"]


@pytest.mark.parametrize("edit", [Drain("n9"), Remove("n9"), Add(1, "n9")], ids=lambda edit: edit.text)
def test_there_has_to_be_such_a_node(edit: Any) -> None:
    with pytest.raises(BadInput, match="there is no Node 'n9'"):
        edit.apply(trial_of(NODES))


def test_pods_that_daemonsets_made_for_a_node_go_with_it_and_would_come_to_one_like_it() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    waiting = pod("waiting", owner="DaemonSet")
    waiting |= {"spec": {**waiting["spec"], "nodeName": "", "affinity": affinity}, "status": {}}
    trial = trial_of(NODES, waiting, pod("daemon", owner="DaemonSet"))
    Add(1, "n1").apply(trial)
    assert trial.notes[0].endswith(objects_words.without_daemons("1 pod"))
    Drain("n1").apply(trial)
    assert set(left(trial)) == {"waiting", "daemon"}
    Remove("n1").apply(trial)
    assert left(trial) == {}


def test_a_drain_says_which_disruption_budgets_kubectl_would_wait_for() -> None:
    guarded = pod("guarded", owner="ReplicaSet", labels={"app": "web"})
    budget = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guard", "namespace": "x"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
    }
    for allowed, notes in ((0, 2), (1, 1)):
        trial = trial_of(NODES, guarded, {**budget, "status": {"disruptionsAllowed": allowed}})
        Drain("n1").apply(trial)
        assert len(trial.notes) == notes
    trial = trial_of(NODES, guarded, budget)
    Drain("n1").apply(trial)
    assert trial.notes[1] == objects_words.drain_would_wait("PodDisruptionBudget x/guard", "n1")


def test_hypernodes_that_list_a_node_and_would_not_find_a_new_one_are_named() -> None:
    by_name, by_pattern = hypernode_object("r1", 1, "n1"), hypernode_object("p1", 1, "~^n1")
    trial = trial_of(NODES, by_name, by_pattern, hypernode_object("z1", 1, "zone=a"), hypernode_object("r2", 1, "n2"))
    Add(2, "n1").apply(trial)
    assert trial.notes[1:] == [objects_words.lists_others("n1", "n1-new-1", "r1")]
