"""The mirror and what bounds pods: budgets, quotas and annotations that come, change, break and go, in any order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mirror.watch import Fields, Watch
from tests.support import builders as make
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.jobs.budget import JobBudget
from vsched.model.queues.queue import NodeGroups

SLA, JDB = "volcano.sh/sla-waiting-time", "volcano.sh/jdb-max-unavailable"
COOLDOWN, LIMITS = "volcano.sh/cooldown-time", "volcano.sh/nodegroup-resource-limits"
EVERY_POD: Fields = {}


def test_a_budget_comes_changes_and_goes() -> None:
    watch = Watch()
    one = make.budget("one", EVERY_POD, disruptionsAllowed=1)

    assert watch.tell(one)
    assert watch.tell(make.budget("another", EVERY_POD))
    assert watch.tell(make.budget("one", EVERY_POD, namespace="other", disruptionsAllowed=5))
    assert watch.budgets() == {"ns": {"another": 0, "one": 1}, "other": {"one": 5}}
    assert not watch.tell(one), "nothing new is no reason to decide"
    assert watch.tell(make.budget("one", EVERY_POD, disruptionsAllowed=2))
    assert watch.tell(make.budget("another"))
    assert watch.budgets() == {"ns": {"one": 2}, "other": {"one": 5}}, "without a selector it is about no pod"
    assert watch.tell(one, "DELETED")
    assert watch.budgets() == {"other": {"one": 5}}


def test_a_quota_gives_a_weight_and_sets_limits() -> None:
    watch = Watch()
    both = make.limits("q", spec={"hard": {"cpu": 2, "volcano.sh/namespace.weight": 3}})

    assert watch.tell(both)
    assert watch.tell(make.limits("a", spec={"hard": {"cpu": 1}}))
    assert watch.quotas() == {"ns": {"a": 1000, "q": 2000}}
    assert watch.cache.snapshot(0.0).namespaces["ns"].weight == 3
    assert not watch.tell(both)
    assert watch.tell(make.limits("q", spec={"hard": {"cpu": 2}, "scopes": ["Terminating"]}))
    assert watch.quotas() == {"ns": {"a": 1000}}
    assert watch.tell(both)
    assert watch.tell(both, "DELETED")
    assert watch.quotas() == {"ns": {"a": 1000}}
    assert "ns" not in watch.cache.snapshot(0.0).namespaces


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        pytest.param(
            make.budget("x", EVERY_POD),
            make.budget("x", {"matchLabels": {"app": 1}}),
            id="a budget",
        ),
        pytest.param(
            make.limits("x", spec={"hard": {"cpu": 1}}),
            make.limits("x", spec={"hard": {"cpu": "much", "volcano.sh/namespace.weight": 3}}),
            id="a quota",
        ),
        pytest.param(make.budget("x", EVERY_POD), make.budget("x", EVERY_POD, disruptionsAllowed="no"), id="undecoded"),
    ],
)
def test_what_cannot_be_used_is_left_out_with_a_reason(good: Fields, bad: Fields) -> None:
    watch, key = Watch(), (good["kind"], "ns/x")
    watch.tell(good)
    watch.tell(bad)

    snapshot = watch.cache.snapshot(0.0)
    assert not snapshot.budgets
    assert not snapshot.quotas
    assert not snapshot.namespaces
    assert watch.cache.broken[key].message.startswith(f"{good['kind']} ns/x: ")
    assert watch.cache.broken[key].left_out
    watch.tell(good)
    assert not watch.cache.broken
    snapshot = watch.cache.snapshot(0.0)
    assert snapshot.budgets or snapshot.quotas


def test_books_are_the_same_object_while_nothing_changes() -> None:
    watch = Watch()
    watch.tell(make.budget("one", EVERY_POD))
    watch.tell(make.limits("q", spec={"hard": {"cpu": 2}}))
    first = watch.cache.snapshot(0.0)
    watch.tell(make.node("n1"))
    second = watch.cache.snapshot(0.0)

    assert second.budgets is first.budgets
    assert second.quotas is first.quotas


def test_an_annotation_that_makes_no_sense_leaves_the_object_in() -> None:
    watch = Watch()
    watch.tell(make.pod_group("pg", metadata={"annotations": {SLA: "soon", JDB: "2"}}))

    assert watch.complaint("PodGroup", "ns/pg").startswith(f"PodGroup ns/pg: metadata.annotations[{SLA}]: 'soon'")
    assert not watch.cache.blemished["PodGroup", "ns/pg"].left_out
    assert not watch.cache.broken
    spec = watch.cache.snapshot(0.0).jobs["ns/pg"].spec
    assert (spec.waiting_seconds, spec.budget) == (None, JobBudget(2, unavailable=True))
    watch.tell(make.pod_group("pg", metadata={"annotations": {SLA: "1m"}}))
    assert not watch.cache.blemished
    assert watch.cache.snapshot(0.0).jobs["ns/pg"].spec.waiting_seconds == 60.0


def test_an_object_that_breaks_or_goes_takes_the_remark_with_it() -> None:
    watch, remarked = Watch(), {"metadata": {"annotations": {SLA: "soon"}}}
    watch.tell(make.pod_group("pg", **remarked))
    watch.tell(make.pod_group("pg", spec={"minMember": -1}, **remarked))
    assert not watch.cache.blemished
    assert list(watch.cache.broken) == [("PodGroup", "ns/pg")]
    watch.tell(make.pod_group("pg", **remarked))
    assert list(watch.cache.blemished) == [("PodGroup", "ns/pg")]
    watch.tell(make.pod_group("pg"), "DELETED")
    assert not watch.cache.blemished
    assert not watch.cache.broken


def scheduled(since: str, **fields: Any) -> Fields:
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": since}
    return make.pod("p", node="n1", status={"conditions": [condition]}, **fields)


@pytest.mark.parametrize(
    ("fields", "until"),
    [
        pytest.param(scheduled("2027-01-15T08:00:00Z"), 0.0, id="without a cool-down"),
        pytest.param(
            scheduled("2027-01-15T08:00:00Z", metadata={"annotations": {COOLDOWN: "1m"}}),
            1_800_000_060.0,
            id="with one",
        ),
        pytest.param(make.pod("p", node="n1", metadata={"labels": {COOLDOWN: "1m"}}), 0.0, id="never scheduled"),
        pytest.param(make.pod("p", metadata={"labels": {COOLDOWN: "1m"}}), 0.0, id="still waiting"),
    ],
)
def test_until_when_a_pod_is_protected(fields: Fields, until: float) -> None:
    watch = Watch()
    watch.tell(fields)
    task = watch.cache.task("uid-p")

    assert task is not None
    assert task.protected_until == until
    assert task.moved(task.status, task.node).protected_until == until


def test_a_bad_time_of_a_condition_matters_only_where_it_is_looked_at() -> None:
    watch = Watch()
    watch.tell(scheduled("yesterday"))
    assert not watch.cache.broken
    watch.tell(scheduled("yesterday", metadata={"annotations": {COOLDOWN: "1m"}}))
    assert "status.conditions[PodScheduled].lastTransitionTime" in watch.cache.broken["Pod", "uid-p"].message


def test_a_bad_cool_down_is_remarked_on_pods_of_ours_only() -> None:
    bad = {"annotations": {COOLDOWN: "long"}}
    watch = Watch()
    watch.tell(make.pod("ours", metadata=bad))
    watch.tell(make.pod("theirs", node="n1", metadata=bad, spec={"schedulerName": "other"}))

    assert list(watch.cache.blemished) == [("Pod", "uid-ours")]


def test_when_a_node_took_a_pod_up() -> None:
    watch = Watch()
    watch.tell(make.pod("p", node="n1", status={"startTime": "2027-01-15T08:00:01Z"}))
    task = watch.cache.task("uid-p")

    assert task is not None
    assert task.started == 1_800_000_001.0
    assert task.moved(task.status, task.node).started == task.started


def test_what_opens_no_way_is_no_reason_to_decide() -> None:
    watch, since = Watch(), "2027-01-15T08:00:00Z"
    bound = make.BOUND
    watch.tell(make.pod("p", node="n1", status=bound))
    assert not watch.tell(make.pod("p", node="n1", status={**bound, "startTime": since})), "its node took it up"

    watch.tell(scheduled(since, metadata={"annotations": {COOLDOWN: "1m"}}))
    assert not watch.tell(scheduled(since, metadata={"annotations": {COOLDOWN: "2m"}})), "it is left alone for longer"
    assert watch.tell(scheduled(since, metadata={"annotations": {COOLDOWN: "1m"}})), "it may be a victim sooner"
    assert watch.tell(scheduled(since)), "or at once"


@pytest.mark.parametrize(
    ("annotations", "revocable"),
    [
        pytest.param({}, False, id="a pod that says nothing"),
        pytest.param({"volcano.sh/revocable-zone": "*"}, True, id="any zone"),
        pytest.param({"volcano.sh/preemptable": "true"}, True, id="preemptable"),
        pytest.param({"volcano.sh/preemptable": "true", "volcano.sh/revocable-zone": ""}, False, id="no zone"),
    ],
)
def test_pods_that_differ_in_this_alone_have_shapes_of_their_own(annotations: Fields, revocable: bool) -> None:
    watch = Watch()
    watch.tell(make.pod("p", metadata={"annotations": annotations}))
    watch.tell(make.pod("plain"))
    task, plain = watch.cache.task("uid-p"), watch.cache.task("uid-plain")

    assert task is not None
    assert plain is not None
    assert task.shape.rules.revocable is revocable
    assert (task.shape is plain.shape) is not revocable


def test_the_node_groups_of_a_queue() -> None:
    watch, required = Watch(), "requiredDuringSchedulingIgnoredDuringExecution"
    near = {required: ["b", "a", "b"], "preferredDuringSchedulingIgnoredDuringExecution": ["c"]}
    affinity = {"nodeGroupAffinity": near, "nodeGroupAntiAffinity": {required: ["d"]}}
    watch.tell(make.queue("q", spec={"affinity": affinity}, metadata={"annotations": {LIMITS: '{"a":{"cpu":1}}'}}))
    watch.tell(make.queue("r", metadata={"annotations": {LIMITS: "much"}}))

    queues = watch.cache.snapshot(0.0).queues
    assert queues["q"].affinity == NodeGroups(("b", "a"), ("c",), ("d",), ())
    assert queues["q"].group_limits == (("a", ((0, 1000),)),)
    assert queues["r"].affinity is None
    assert queues["r"].group_limits is None
    assert watch.complaint("Queue", "r").startswith(f"Queue r: metadata.annotations[{LIMITS}]: ")


def test_a_snapshot_knows_when_the_one_before_was() -> None:
    cache = Mirror(MirrorSettings(frozenset()))

    assert [cache.snapshot(now).previous for now in (5.0, 7.0, 7.0)] == [0.0, 5.0, 7.0]
