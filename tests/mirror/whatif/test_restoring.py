"""A mirror restored from a snapshot decides as the one that the snapshot was taken of, and goes on from there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import clusters
from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, NOW, OUR_NAMES, Manifest, manifests, mirror, reading
from tests.support.seen import placed
from tests.support.views import view
from vsched.api.manifests import Origin, decode_manifests
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.mirror.state import words
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.mirror.whatif.paper import PaperMirror
from vsched.model.amounts.resources import CPU
from vsched.model.arbitration.records import Ceiling, PoolLimits
from vsched.model.frozen import freeze
from vsched.model.plan import CycleReport, Evict
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.snapshot import Snapshot
from vsched.plugins.allocation import ALLOCATION
from vsched.settings import load_file
from vsched.settings.built_in import REGISTRY

FILES = sorted((Path(__file__).parents[3] / "config" / "policies").glob("*.yaml"))
POLICIES = [DEFAULT_POLICY, *(load_file(str(path), REGISTRY).policy for path in FILES if path.stem != "extender")]
USAGE = """
usage n1 cpu=70 memory=20
usage n2 cpu=10 memory=20 age=100
"""


def lent(objects: list[Manifest], seed: int) -> list[Manifest]:
    """Some of the pods on nodes are another scheduler's, and so of no job."""
    random = Random(seed)
    for found in objects:
        if found["kind"] == "Pod" and found["spec"].get("nodeName") and random.random() < 0.4:
            found["spec"]["schedulerName"] = "other"
            found["metadata"]["annotations"] = {}
    return objects


def cache_of(text: str, seed: int = 0, *, arbitrating: bool = False) -> PaperMirror:
    cache = mirror(lent(manifests(text), seed) if seed else manifests(text), arbitrating=arbitrating)
    cache.inputs.use(reading(text))
    return cache


def decided(snapshot: Snapshot, policy: Policy = DEFAULT_POLICY) -> CycleReport:
    return run_cycle(snapshot, policy, REGISTRY)


def restored_view(snapshot: Snapshot) -> Snapshot:
    """What a mirror restored from a snapshot shows, but for what has changed since: it tells of everything."""
    return freeze(replace(ClusterEditor(snapshot, OUR_NAMES).snapshot(snapshot.now), changed=snapshot.changed))


@settings(max_examples=examples(25))
@given(st.one_of(clusters.clusters(), clusters.contended()), st.sampled_from(POLICIES), st.integers(0, 3))
def test_it_decides_the_same(text: str, policy: Policy, seed: int) -> None:
    snapshot = freeze(cache_of(text, seed).snapshot(NOW))
    assert decided(restored_view(snapshot), policy) == decided(snapshot, policy)


def test_it_tells_of_pods_of_other_schedulers_that_wait() -> None:
    objects = manifests("node n1 cpu=4\njob ns/b min=2 pods=2 cpu=1")
    for found in objects:
        if found["kind"] == "Pod":
            found["spec"]["schedulerName"] = "other"
    snapshot = freeze(mirror(objects).snapshot(NOW))
    told = decided(restored_view(snapshot)).jobs["ns/b"].message
    assert words.pods_for_others(2, words.one_scheduler("other"), "") in told
    assert told == decided(snapshot).jobs["ns/b"].message


@settings(max_examples=examples(12))
@given(clusters.contended(), st.integers(1, 3), st.sampled_from(["usage", "rescheduling"]))
def test_it_decides_the_same_by_what_nodes_really_use(text: str, seed: int, name: str) -> None:
    cache = cache_of(f"{text}\npods x/young 2 cpu=1 on=n0 started=20\npods x/fresh 1 cpu=1 on=n1 bound\n{USAGE}", seed)
    snapshot = freeze(cache.snapshot(NOW))
    policy = POLICIES[1 + [path.stem for path in FILES if path.stem != "extender"].index(name)]
    assert decided(restored_view(snapshot), policy) == decided(snapshot, policy)


@settings(max_examples=examples(12))
@given(clusters.contended(), st.integers(0, 3), st.integers(0, 6), st.integers(0, 6))
def test_it_keeps_to_the_ceilings_of_namespaces(text: str, seed: int, most: int, together: int) -> None:
    cache = cache_of(text, seed, arbitrating=True)
    ceilings = {"x": Ceiling({CPU: most * 1000}, pools=("area",)), "y": Ceiling({}, pools=("area",))}
    cache.inputs.set_ceilings(ceilings, {"area": PoolLimits({CPU: together * 1000})})
    snapshot, policy = freeze(cache.snapshot(NOW)), DEFAULT_POLICY.with_plugin(ALLOCATION)
    again = restored_view(snapshot)
    assert {name: dict(held) for name, held in again.held.items()} == snapshot.held
    assert decided(again, policy) == decided(snapshot, policy)


@settings(max_examples=examples(12))
@given(clusters.contended(), st.integers(0, 3))
def test_what_namespaces_hold_follows_what_comes_true(text: str, seed: int) -> None:
    cache = cache_of(text, seed, arbitrating=True)
    cache.inputs.set_ceilings({"x": Ceiling({})}, {})
    snapshot, policy = freeze(cache.snapshot(NOW)), DEFAULT_POLICY.with_plugin(ALLOCATION)
    again, report = ClusterEditor(snapshot, OUR_NAMES), decided(snapshot, policy)
    for each in (cache, again):
        each.settle(report)
    there, after = cache.snapshot(NOW + 1), again.snapshot(NOW + 1)
    assert after.held == there.held
    assert after.held_limits == there.held_limits


@settings(max_examples=examples(20))
@given(st.one_of(clusters.clusters(), clusters.contended()), st.integers(0, 3))
def test_every_sum_is_the_same(text: str, seed: int) -> None:
    snapshot = freeze(cache_of(text, seed).snapshot(NOW))
    again = restored_view(snapshot)
    for name in ("allocatable", "idle", "releasing", "pipelined", "requested", "scoring", "terminating"):
        assert np.array_equal(getattr(again.nodes, name), getattr(snapshot.nodes, name)), name
    assert again.nodes.statics.attributes == snapshot.nodes.statics.attributes
    for name in ("counts", "terms", "ports"):
        assert getattr(again.placed, name) == getattr(snapshot.placed, name), name
    plain = ("now", "active", "changed", "nominated", "queues", "books", "shares", "namespaces", "total", "used")
    others = ("previous", "budgets", "quotas", "priority_range", "priority_classes", "admitted", "reserving", "held")
    for name in (*plain, *others):
        left, right = getattr(again, name), getattr(snapshot, name)
        assert (list(left) if isinstance(left, tuple | list) else left) == (
            list(right) if isinstance(right, tuple | list) else right
        ), name
    assert {key: job.spec for key, job in again.jobs.items()} == {key: job.spec for key, job in snapshot.jobs.items()}
    assert again.strays.keys() == snapshot.strays.keys()
    assert {queue: list(jobs) for queue, jobs in again.holders.items()} == {
        queue: list(jobs) for queue, jobs in snapshot.holders.items()
    }


@settings(max_examples=examples(15))
@given(clusters.contended(), st.sampled_from(POLICIES))
def test_it_goes_on_as_the_first_one_does(text: str, policy: Policy) -> None:
    cache = cache_of(text)
    snapshot = freeze(cache.snapshot(NOW))
    again, report = ClusterEditor(snapshot, OUR_NAMES), decided(snapshot, policy)
    for each in (cache, again):
        each.settle(report)
    assert decided(replace(again.snapshot(NOW + 1), changed=()), policy) == decided(
        replace(cache.snapshot(NOW + 1), changed=()), policy
    )


def test_quotas_count_evicted_pods_no_longer_but_those_that_come_again() -> None:
    quota = "quota x/q requests.cpu=4 used=requests.cpu:4"
    again = restored(f"node n1 cpu=4\n{quota}", pod("a", "web", nodeName="n1"), pod("b", nodeName="n1"))
    tasks = [task for job in again.snapshot(NOW).jobs.values() for task in job.tasks.values()]
    again.settle(CycleReport(evictions=tuple(_evicted(task.uid, task.name) for task in tasks)))
    assert [line.used for line in again.snapshot(NOW + 1).quotas["x"][0].lines] == [3000]


def test_pods_run_from_the_cycle_that_bound_them_on() -> None:
    cache = cache_of("node n0 cpu=2\njob x/j0 min=1 phase=Inqueue\npods x/j0 1 cpu=1")
    cache.snapshot(NOW - 9.0)
    snapshot = freeze(cache.snapshot(NOW))
    again, report = ClusterEditor(snapshot, OUR_NAMES), decided(snapshot, DEFAULT_POLICY)
    again.settle(report)
    assert [task.started for task in again.snapshot(NOW + 1).jobs["x/j0"].tasks.values()] == [NOW]


# -- pods that name no PodGroup, and classes that nobody but a queue or the cluster names ---------------------------


def pod(name: str, owner: str = "", **fields: Any) -> Manifest:
    owners = [{"uid": owner, "kind": "ReplicaSet", "name": owner, "controller": True}] if owner else []
    metadata = {"name": name, "namespace": "x", "uid": f"x/{name}", "ownerReferences": owners, "labels": {"app": name}}
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"schedulerName": "vsched", "containers": [container], **fields},
        "status": {"phase": "Running"} if "nodeName" in fields else {},
    }


def restored(text: str, *more: Manifest, seed: int = 0) -> ClusterEditor:
    cache = mirror([*(lent(manifests(text), seed) if seed else manifests(text)), *more])
    return ClusterEditor(freeze(cache.snapshot(NOW)), OUR_NAMES)


def test_a_made_podgroup_whose_pods_are_gone_may_be_changed() -> None:
    labels = {"app.kubernetes.io/managed-by": "vsched"}
    made = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "podgroup-web", "namespace": "ns", "uid": "u", "labels": labels},
        "spec": {"minMember": 1, "queue": "default"},
    }
    again = restored("node n1 cpu=4", made)
    again.tell({**made, "spec": {"minMember": 2, "queue": "default"}})
    assert again.snapshot(NOW).jobs["ns/podgroup-web"].spec.min_member == 2


UNSUPPORTED = """
node n1 cpu=9
class ten 10
queue lost class=gone
queue ten class=ten
job x/claim pods=2 claim=c
job x/large roles=beyond pods=1
job x/gone class=gone pods=1
job x/given class=gone queue=ten pods=1
job x/inherits queue=lost pods=1
job x/own queue=lost class=ten pods=1
"""


@pytest.mark.parametrize("ignored", [(), ("priority-classes",), ("volumes", "numa")])
def test_what_is_not_supported_waits_as_before(ignored: tuple[str, ...]) -> None:
    cache = mirror(manifests(UNSUPPORTED), ignored=ignored)
    snapshot = cache.snapshot(NOW)
    again = ClusterEditor(snapshot, OUR_NAMES).snapshot(NOW)

    assert [key for key, job in snapshot.jobs.items() if job.unsupported] == {
        (): ["x/gone", "x/inherits", "x/large"],
        ("priority-classes",): ["x/large"],
        ("volumes", "numa"): ["x/gone", "x/inherits", "x/large"],
    }[ignored]
    assert {key: job.judgement for key, job in again.jobs.items()} == {
        key: job.judgement for key, job in snapshot.jobs.items()
    }
    assert decided(again).binds == decided(snapshot).binds


def test_a_group_that_is_changed_still_asks_for_what_it_asked() -> None:
    restored = ClusterEditor(mirror(manifests(UNSUPPORTED)).snapshot(NOW), OUR_NAMES)
    group = restored.group("x/large")
    assert group is not None
    group["spec"]["minMember"] = 2
    restored.tell(group)
    job = restored.snapshot(NOW).jobs["x/large"]

    assert (job.spec.min_member, job.unsupported[:18]) == (2, "spec.minTaskMember")


def test_pods_that_name_no_podgroup_stand_for_the_same_job() -> None:
    again = restored("node n1 cpu=4", pod("a", "web"), pod("b", "web"), pod("c"))
    jobs = again.snapshot(NOW).jobs
    assert {key: len(job.tasks) for key, job in jobs.items()} == {"x/podgroup-web": 2, "x/podgroup-x/c": 1}
    assert all(job.spec.implicit for job in jobs.values())


def test_an_evicted_pod_comes_back_where_a_controller_owns_it_and_only_there() -> None:
    again = restored("node n1 cpu=4", pod("a", "web", nodeName="n1"), pod("b", nodeName="n1"))
    view = again.snapshot(NOW)
    tasks = [task for job in view.jobs.values() for task in job.tasks.values()]
    evictions = tuple(_evicted(task.uid, task.name) for task in tasks)
    again.settle(CycleReport(evictions=evictions))
    after = again.snapshot(NOW + 1)
    left = [task for job in after.jobs.values() for task in job.tasks.values()]
    assert [(task.name, task.status, task.node) for task in left] == [("a", Status.PENDING, "")]
    assert left[0].uid != "x/a"
    assert left[0].created == again.moment
    assert after.used[CPU] == 0


def _evicted(uid: str, name: str) -> Evict:
    return Evict(uid, "x", name, "n1", "", "reclaim", "x/other")


@pytest.mark.parametrize(("priority", "expected"), [(0, 0), (None, 50), (7, 7)])
def test_a_queue_that_says_priority_0_keeps_the_default_class_from_its_jobs(
    priority: int | None, expected: int
) -> None:
    spec = {} if priority is None else {"priority": priority}
    queue = {"kind": "Queue", "apiVersion": "scheduling.volcano.sh/v1beta1", "metadata": {"name": "q"}, "spec": spec}
    usual = {"kind": "PriorityClass", "metadata": {"name": "usual"}, "value": 50, "globalDefault": True}
    again = restored("job x/a min=1 pods=1 queue=q", queue, usual)
    assert again.snapshot(NOW).jobs["x/a"].priority == expected


def test_the_default_queue_is_made_up_only_where_there_is_no_object_that_cannot_be_used() -> None:
    objects = manifests("node n1 cpu=4\njob x/a min=1 pods=1 queue=default")
    good = ClusterEditor(freeze(mirror(objects).snapshot(NOW)), OUR_NAMES)
    assert "default" in good.snapshot(NOW).queues

    broken = mirror(objects)
    wire_queue = manifests("queue default weight=0")
    decoded = decode_manifests((Origin("text", "1"), found) for found in wire_queue)
    broken.intake.replace("Queue", decoded.objects["Queue"])
    assert "default" not in broken.snapshot(NOW).queues
    again = ClusterEditor(freeze(broken.snapshot(NOW)), OUR_NAMES)
    assert "default" not in again.snapshot(NOW).queues


# -- what it can be told --------------------------------------------------------------------------------------------

HOUSE = """
node n1 cpu=4 zone=a
queue q weight=2 capability=cpu:8
job x/a min=2 pods=2 cpu=1 queue=q phase=Running on=n1
pods x/gone 1 cpu=1 on=n1
"""


def test_the_pods_of_a_node_are_told_apart() -> None:
    again = restored(HOUSE, seed=1)
    ours, others = again.on("n1")
    assert (len(ours), others) == (2, 1)
    again.clear_of_others("n1")
    assert again.snapshot(NOW).used[CPU] == 1000 * len(ours)


@settings(max_examples=examples(20))
@given(clusters.contended(), st.integers(1, 3))
def test_a_node_that_others_have_left_is_as_if_they_had_not_been_there(text: str, seed: int) -> None:
    objects = lent(manifests(text), seed)
    ours = [found for found in objects if found["kind"] != "Pod" or found["spec"]["schedulerName"] in OUR_NAMES]
    again = ClusterEditor(freeze(mirror(objects).snapshot(NOW)), OUR_NAMES)
    everywhere = again.names("Node")
    assert sum(again.on(node)[1] for node in everywhere) == len(objects) - len(ours)
    for node in everywhere:
        again.clear_of_others(node)
        assert again.on(node)[1] == 0
    without, after = mirror(ours).snapshot(NOW), again.snapshot(NOW)
    assert view(after) == view(without)
    assert placed(after) == placed(without)


def test_pods_that_name_a_podgroup_which_is_not_there_join_it_once_it_is() -> None:
    again = restored(HOUSE)
    assert list(again.snapshot(NOW).strays) == ["x/gone"]
    group = manifests("job x/gone min=1 queue=q")[0]
    again.tell({**group, "metadata": {**group["metadata"], "uid": "u"}})
    after = again.snapshot(NOW)
    assert not after.strays
    assert len(after.jobs["x/gone"].tasks) == 1


@settings(max_examples=examples(20))
@given(st.one_of(clusters.clusters(), clusters.contended()))
def test_new_pods_that_ask_for_the_same_have_the_same_shape(text: str) -> None:
    again = restored(text)
    there = _shapes(again)
    for found in manifests(text):
        if found["kind"] == "Pod":
            name = f"{found['metadata']['name']}-new"
            again.tell({**found, "metadata": {**found["metadata"], "name": name, "uid": name}})
    assert _shapes(again) == there


def _shapes(cluster: ClusterEditor) -> set[Shape]:
    found = cluster.snapshot(NOW)
    return {task.shape for job in (*found.jobs.values(), *found.strays.values()) for task in job.tasks.values()}


def test_a_node_that_is_lost_takes_its_amounts_along() -> None:
    again = restored(HOUSE)
    again.lose_node("n1")
    assert again.snapshot(NOW).total[CPU] == 0
    assert again.names("Node") == []


@pytest.mark.parametrize(
    ("kind", "expected"), [("Node", ["n1"]), ("Queue", ["q"]), ("PodGroup", ["x/a"]), ("PriorityClass", [])]
)
def test_it_knows_the_names_of_what_there_is(kind: str, expected: list[str]) -> None:
    assert restored(HOUSE).names(kind) == expected


def test_changes_are_made_when_everything_else_is_older() -> None:
    again = restored("job x/a min=1 pods=1 age=0")
    newest = max(task.created for job in again.snapshot(NOW).jobs.values() for task in job.tasks.values())
    assert newest < again.moment <= NOW + 1
