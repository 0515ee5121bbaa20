"""StatefulSets: by ordinal, in order or at once, renewed from the highest down."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.workload_objects import NOW, controlled_by, deleting, pod, workload
from vsched.apimachinery.workloads.actions import Create, Delete, SetStatus
from vsched.apimachinery.workloads.stateful_sets import REVISION_LABEL, reconcile, revision_of


def stateful_set(replicas: int, **spec: Any) -> dict[str, Any]:
    return workload("StatefulSet", "s", spec={"replicas": replicas, "serviceName": "svc", **spec})


def member(owner: dict[str, Any], ordinal: int, *, ready: bool = True, revision: str = "") -> dict[str, Any]:
    labels = {"app": "web", REVISION_LABEL: revision or revision_of(owner)}
    references = [controlled_by(owner, "StatefulSet")]
    return pod(f"s-{ordinal}", ready=ready, labels=labels, ownerReferences=references)


def moves(owner: dict[str, Any], *pods: dict[str, Any]) -> list[str]:
    """What happens, as +name and -name."""
    found = []
    for action in reconcile(owner, pods, {}, NOW):
        if isinstance(action, Create):
            found.append("+" + action.obj["metadata"]["name"])
        elif isinstance(action, Delete):
            found.append("-" + action.name)
    return found


OLD = "s-old"


@pytest.mark.parametrize(
    ("policy", "replicas", "members", "expected"),
    [
        pytest.param("OrderedReady", 3, [], ["+s-0"], id="in order the first comes alone"),
        pytest.param("OrderedReady", 3, [(0, False, "")], [], id="the next waits until it is ready"),
        pytest.param("OrderedReady", 3, [(0, True, "")], ["+s-1"], id="and then comes"),
        pytest.param(
            "OrderedReady", 1, [(0, True, ""), (1, True, ""), (2, True, "")], ["-s-2"], id="the highest goes first"
        ),
        pytest.param("OrderedReady", 2, [(0, True, OLD), (1, True, OLD)], ["-s-1"], id="the highest is renewed first"),
        pytest.param("OrderedReady", 2, [(0, True, OLD), (1, False, "")], [], id="the one below waits for it"),
        pytest.param("OrderedReady", 2, [(0, True, OLD), (1, True, "")], ["-s-0"], id="and is renewed then"),
        pytest.param("Parallel", 3, [(1, False, "")], ["+s-0", "+s-2"], id="in parallel all come at once"),
        pytest.param(
            "Parallel", 1, [(0, True, ""), (1, True, ""), (2, True, "")], ["-s-2", "-s-1"], id="and go at once"
        ),
    ],
)
def test_moves(policy: str, replicas: int, members: list[tuple[int, bool, str]], expected: list[str]) -> None:
    owner = stateful_set(replicas, podManagementPolicy=policy)
    assert moves(owner, *(member(owner, at, ready=ready, revision=rev) for at, ready, rev in members)) == expected


def test_the_partition_keeps_lower_ordinals_as_they_are() -> None:
    owner = stateful_set(2, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})
    assert moves(owner, member(owner, 0, revision=OLD), member(owner, 1)) == []


def test_on_delete_renews_nothing() -> None:
    owner = stateful_set(1, updateStrategy={"type": "OnDelete"})
    assert moves(owner, member(owner, 0, revision=OLD)) == []


def test_a_finished_pod_is_taken_away_to_be_made_again() -> None:
    owner = stateful_set(1)
    lost = member(owner, 0, ready=False)
    lost["status"]["phase"] = "Failed"
    assert moves(owner, lost) == ["-s-0"]


def test_a_terminating_pod_is_waited_for() -> None:
    owner = stateful_set(2)
    assert moves(owner, deleting(member(owner, 0))) == []


def test_a_pod_has_its_name_labels_and_claims() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    owner = stateful_set(1, volumeClaimTemplates=[claim])
    created = [each.obj for each in reconcile(owner, [], {}, NOW) if isinstance(each, Create)]
    assert [each["metadata"]["name"] for each in created] == ["data-s-0", "s-0"]
    made = created[1]
    assert made["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "s-0"
    assert (made["spec"]["hostname"], made["spec"]["subdomain"]) == ("s-0", "svc")
    assert made["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-s-0"}}]
    again = reconcile(owner, [], {"data-s-0": {}}, NOW)
    assert [each.resource for each in again if isinstance(each, Create)] == ["pods"]


def test_status_follows_the_revision() -> None:
    owner = stateful_set(2)
    owner["status"] = {"currentRevision": OLD}
    [status] = [each.status for each in reconcile(owner, [member(owner, 0, revision=OLD), member(owner, 1)], {}, NOW)
                if isinstance(each, SetStatus)]  # fmt: skip
    assert (status["replicas"], status["readyReplicas"], status["updatedReplicas"]) == (2, 2, 1)
    assert (status["currentRevision"], status["updateRevision"]) == (OLD, revision_of(owner))
    [done] = [each.status for each in reconcile(owner, [member(owner, 0), member(owner, 1)], {}, NOW)
              if isinstance(each, SetStatus)]  # fmt: skip
    assert done["currentRevision"] == revision_of(owner)
