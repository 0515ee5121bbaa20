"""Deployments: a set a template, rolled over within the bounds, and the conditions kubectl waits for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.workload_objects import NOW, ago, controlled_by, workload
from vsched.apimachinery.meta.objects import template_hash
from vsched.apimachinery.workloads.actions import Create, Delete, SetStatus, Update
from vsched.apimachinery.workloads.deployments import HASH_LABEL, REVISION, RolloutBounds, reconcile


def deployment(replicas: int, *, image: str = "i:1", revision: int = 1, **spec: Any) -> dict[str, Any]:
    made = workload("Deployment", "d", spec={"replicas": replicas, **spec})
    made["spec"]["template"] = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }
    made["metadata"]["annotations"] = {REVISION: str(revision)}
    return made


def replica_set(
    owner: dict[str, Any], replicas: int, available: int, *, image: str = "", revision: int = 1
) -> dict[str, Any]:
    template = owner["spec"]["template"]
    if image:
        template = deployment(1, image=image)["spec"]["template"]
    label = template_hash(template)
    made = workload("ReplicaSet", f"d-{label}", spec={"replicas": replicas, "template": template})
    made["metadata"] |= {
        "labels": {"app": "web", HASH_LABEL: label},
        "annotations": {REVISION: str(revision)},
        "ownerReferences": [controlled_by(owner, "Deployment")],
    }
    made["status"] = {"replicas": replicas, "readyReplicas": available, "availableReplicas": available}
    return made


def sizes(actions: list[Any]) -> dict[str, int]:
    return {each.obj["metadata"]["name"]: each.obj["spec"]["replicas"] for each in actions if isinstance(each, Update)}


def status_of(actions: list[Any]) -> dict[str, Any]:
    [status] = [each.status for each in actions if isinstance(each, SetStatus)]
    return status


def test_the_first_set_carries_all_replicas() -> None:
    owner = deployment(3)
    [made] = [each for each in reconcile(owner, [], 0, NOW) if isinstance(each, Create)]
    label = template_hash(owner["spec"]["template"])
    assert made.obj["metadata"]["name"] == f"d-{label}"
    assert made.obj["spec"]["replicas"] == 3
    assert made.obj["spec"]["selector"]["matchLabels"] == {"app": "web", HASH_LABEL: label}
    assert made.obj["spec"]["template"]["metadata"]["labels"][HASH_LABEL] == label


def test_the_hash_does_not_depend_on_the_order_of_keys() -> None:
    assert template_hash({"a": 1, "b": {"c": 2, "d": 3}}) == template_hash({"b": {"d": 3, "c": 2}, "a": 1})


def test_a_new_template_starts_with_what_the_surge_allows() -> None:
    owner = deployment(4, image="i:2")
    old = replica_set(owner, 4, 4, image="i:1")
    [made] = [each for each in reconcile(owner, [old], 0, NOW) if isinstance(each, Create)]
    assert made.obj["spec"]["replicas"] == 1
    assert made.obj["metadata"]["annotations"][REVISION] == "2"


def test_old_replicas_go_as_new_ones_become_available() -> None:
    owner = deployment(4, image="i:2", revision=2)
    old, new = replica_set(owner, 4, 4, image="i:1"), replica_set(owner, 1, 1, revision=2)
    assert sizes(reconcile(owner, [old, new], 0, NOW))[old["metadata"]["name"]] == 2


def test_old_replicas_that_are_not_available_go_first() -> None:
    owner = deployment(4, image="i:3", revision=3, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}})
    sick, well = replica_set(owner, 1, 0, image="i:1"), replica_set(owner, 3, 3, image="i:2", revision=2)
    new = replica_set(owner, 1, 0, revision=3)
    changed = sizes(reconcile(owner, [well, sick, new], 0, NOW))
    assert changed == {sick["metadata"]["name"]: 0}


def test_recreate_waits_until_the_last_old_pod_is_gone() -> None:
    owner = deployment(2, image="i:2", strategy={"type": "Recreate"})
    old = replica_set(owner, 2, 2, image="i:1")
    assert sizes(reconcile(owner, [old], 2, NOW)) == {old["metadata"]["name"]: 0}
    emptied = replica_set(owner, 0, 0, image="i:1")
    assert not [each for each in reconcile(owner, [emptied], 1, NOW) if isinstance(each, Create)]
    [made] = [each for each in reconcile(owner, [emptied], 0, NOW) if isinstance(each, Create)]
    assert made.obj["spec"]["replicas"] == 2


def test_a_paused_deployment_follows_its_size_but_not_its_template() -> None:
    owner = deployment(5, image="i:2", paused=True)
    old = replica_set(owner, 3, 3, image="i:1")
    actions = reconcile(owner, [old], 0, NOW)
    assert sizes(actions) == {old["metadata"]["name"]: 5}
    assert not [each for each in actions if isinstance(each, Create)]


def test_only_so_many_old_sets_are_kept() -> None:
    owner = deployment(1, image="i:9", revision=9, revisionHistoryLimit=1)
    idle = [replica_set(owner, 0, 0, image=f"i:{number}", revision=number) for number in (1, 2, 3)]
    actions = reconcile(owner, [*idle, replica_set(owner, 1, 1, revision=9)], 0, NOW)
    doomed = [each.name for each in actions if isinstance(each, Delete)]
    assert doomed == [idle[0]["metadata"]["name"], idle[1]["metadata"]["name"]]


def test_going_back_to_an_old_template_makes_its_set_the_newest() -> None:
    owner = deployment(2, image="i:1", revision=2)
    back, other = replica_set(owner, 0, 0, revision=1), replica_set(owner, 2, 2, image="i:2", revision=2)
    changed = [each.obj for each in reconcile(owner, [back, other], 0, NOW) if isinstance(each, Update)]
    assert [each["metadata"]["annotations"][REVISION] for each in changed] == ["3", "3"]


def test_status_tells_kubectl_that_the_roll_out_is_done() -> None:
    owner = deployment(2)
    status = status_of(reconcile(owner, [replica_set(owner, 2, 2)], 0, NOW))
    assert {key: status[key] for key in ("replicas", "updatedReplicas", "availableReplicas", "observedGeneration")} == {
        "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2, "observedGeneration": 1
    }  # fmt: skip
    assert {each["type"]: each["reason"] for each in status["conditions"]} == {
        "Available": "MinimumReplicasAvailable",
        "Progressing": "NewReplicaSetAvailable",
    }


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [
        pytest.param(599, "ReplicaSetUpdated", id="before the deadline it is progressing"),
        pytest.param(600, "ProgressDeadlineExceeded", id="after it has failed"),
    ],
)
def test_progress_deadline(seconds: int, reason: str) -> None:
    owner = deployment(1)
    owner["status"] = {
        "replicas": 1,
        "updatedReplicas": 1,
        "conditions": [
            {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated", "lastUpdateTime": ago(seconds)}
        ],
    }
    conditions = {
        each["type"]: each for each in status_of(reconcile(owner, [replica_set(owner, 1, 0)], 0, NOW))["conditions"]
    }
    assert conditions["Progressing"]["reason"] == reason


@settings(max_examples=examples(35), deadline=None)
@given(
    replicas=st.integers(1, 12),
    surge=st.integers(0, 4),
    unavailable=st.integers(0, 4),
    coming=st.lists(st.integers(0, 3), min_size=80, max_size=80),
)
def test_a_roll_out_stays_within_its_bounds_and_ends(
    replicas: int, surge: int, unavailable: int, coming: list[int]
) -> None:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    owner = deployment(replicas, image="i:2", revision=2, strategy={"rollingUpdate": rolling})
    bounds = RolloutBounds.of(owner)
    old, new = replica_set(owner, replicas, replicas, image="i:1"), replica_set(owner, 0, 0, revision=2)
    for step in coming:
        changed = sizes(reconcile(owner, [old, new], 0, NOW))
        wanted_old = changed.get(old["metadata"]["name"], old["spec"]["replicas"])
        wanted_new = changed.get(new["metadata"]["name"], new["spec"]["replicas"])
        available = min(wanted_new, new["status"]["availableReplicas"] + step)
        old, new = (
            replica_set(owner, wanted_old, wanted_old, image="i:1"),
            replica_set(owner, wanted_new, available, revision=2),
        )
        assert wanted_old + wanted_new <= replicas + bounds.surge
        assert wanted_old + available >= replicas - bounds.unavailable
    for _ in range(60):
        changed = sizes(reconcile(owner, [old, new], 0, NOW))
        wanted_old = changed.get(old["metadata"]["name"], old["spec"]["replicas"])
        wanted_new = changed.get(new["metadata"]["name"], new["spec"]["replicas"])
        old, new = (
            replica_set(owner, wanted_old, wanted_old, image="i:1"),
            replica_set(owner, wanted_new, wanted_new, revision=2),
        )
    assert (wanted_old, wanted_new) == (0, replicas)
