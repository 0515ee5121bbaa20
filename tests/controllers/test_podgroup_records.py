"""What the feeds know of pods without a PodGroup and of their workloads, in whatever order it comes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support.feeding import tell_list
from tests.support.operators import Seen, made_of, sample
from vsched.controllers.podgroup_records import PodGroupRecords
from vsched.controllers.podgroups import PodGroupContent, PodGroupOwner, creation
from vsched.kube.watch.deltas import Delta

Fields = dict[str, Any]
KEY = "ns/podgroup-owner"


class Feeds:
    """The records, fed by hand, and the keys they touched."""

    def __init__(self) -> None:
        self.touched: list[str] = []
        self.records = PodGroupRecords(frozenset({"volcano"}), self.touched.append)

    def add(self, *objects: Fields, delta: Delta = Delta.MODIFIED) -> list[str]:
        self.touched.clear()
        for fields in objects:
            self.records.feeds[fields["kind"]].apply(delta, make.read(fields))
        return self.touched

    def drop(self, *objects: Fields) -> list[str]:
        return self.add(*objects, delta=Delta.DELETED)


def owned(name: str = "p", **fields: Any) -> Fields:
    controller = {"uid": "owner", "controller": True, "kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "web"}
    return make.merged(make.pod(name, metadata={"ownerReferences": [controller]}), fields)


def replica_set(replicas: int | None = None) -> Fields:
    spec = {} if replicas is None else {"replicas": replicas}
    return {"kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "ns", "uid": "owner"}, "spec": spec}


def test_nothing_is_known_before_pods_and_podgroups_are_listed() -> None:
    feeds = Feeds()
    tell_list(feeds.records.feeds["Pod"], [make.read(owned())], "1")
    assert not feeds.records.complete.is_set()
    tell_list(feeds.records.feeds["PodGroup"], [], "1")
    assert feeds.records.complete.is_set()
    assert feeds.touched == [KEY]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"metadata": {"annotations": {"scheduling.k8s.io/group-name": "mine"}}}, id="names another"),
        pytest.param({"metadata": {"annotations": {"scheduling.volcano.sh/group-name": "x"}}}, id="by the newer name"),
        pytest.param({"spec": {"schedulerName": "default-scheduler"}}, id="is another scheduler's"),
    ],
)
def test_a_pod_that_stands_for_nothing_is_not_kept(fields: Fields) -> None:
    feeds = Feeds()
    feeds.add(owned())
    assert feeds.add(make.merged(owned(), fields)) == [KEY]
    assert not feeds.records.is_known(KEY)


def test_a_pod_has_yet_to_be_named_until_it_is_or_has_come_to_its_end() -> None:
    feeds = Feeds()
    feeds.add(owned("a"), owned("b"), owned("c", status={"phase": "Succeeded"}))
    assert feeds.records.nameless[KEY].keys() == {"ns/a", "ns/b"}
    feeds.add(owned("a", metadata={"annotations": {"scheduling.k8s.io/group-name": "podgroup-owner"}}))
    feeds.add(owned("b", metadata={"deletionTimestamp": "2026-08-01T10:00:00Z"}))
    assert feeds.records.nameless == {}
    assert feeds.records.members(KEY).keys() == {"ns/a", "ns/b", "ns/c"}


def test_a_bare_pod_owns_its_podgroup_itself() -> None:
    feeds = Feeds()
    feeds.add(make.pod("p"))
    member = feeds.records.members("ns/podgroup-uid-p")["ns/p"]
    assert member.owner == ("v1", "Pod", "p", "uid-p")


def test_a_podgroup_is_stale_when_its_workload_is_to_have_no_pods_and_has_none() -> None:
    feeds = Feeds()
    feeds.add(make.pod_group("podgroup-owner"), replica_set(0), owned())
    assert not feeds.records.is_stale(KEY)
    assert feeds.drop(owned()) == [KEY]
    assert feeds.records.is_stale(KEY)
    assert KEY in feeds.add(replica_set(2))
    assert not feeds.records.is_stale(KEY)
    feeds.add(replica_set(0))
    feeds.drop(replica_set(0))
    assert not feeds.records.is_stale(KEY)


def test_what_a_namespace_says_of_queues_touches_its_podgroups_only() -> None:
    feeds = Feeds()
    feeds.add(owned(), make.pod("other", namespace="elsewhere"))
    queue = {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "q"}}}
    assert feeds.add(make.namespace("ns")) == []
    assert feeds.add(make.namespace("ns", **queue)) == [KEY]
    assert feeds.drop(make.namespace("ns", **queue)) == [KEY]


class Gangs:
    """Records that ask a mirror for the gangs of pods, as the daemon's do."""

    def __init__(self) -> None:
        self.touched: list[str] = []
        self.seen = Seen()
        cache = self.seen.cache
        self.records = PodGroupRecords(
            frozenset({"vsched"}), self.touched.append, lambda: cache.intake.workloads, cache.gang_pod
        )
        cache.events.on_regathered.add(self.records.regather)

    def tell(self, *objects: Fields, delta: Delta = Delta.MODIFIED) -> None:
        for fields in objects:
            self.seen.tell(fields, type=delta.value)
            if fields["kind"] == "Pod":
                self.records.feeds["Pod"].apply(delta, self.seen.read(fields)[1])


def test_pods_without_their_owner_have_no_podgroup_until_it_is_seen() -> None:
    gangs, obj = Gangs(), sample("pytorchjob")
    key = "default/podgroup-pytorchjob-bert"
    gangs.tell(*made_of(obj))
    assert not gangs.touched
    assert not gangs.records.is_known(key)
    gangs.tell(obj)
    members = gangs.records.members(key)
    assert {name: member.role for name, member in members.items()} == {
        "default/bert-master-0": "master",
        **{f"default/bert-worker-{number}": "worker" for number in range(3)},
    }
    assert {member.owner for member in members.values()} == {
        PodGroupOwner("kubeflow.org/v1", "PyTorchJob", "bert", "pytorchjob-bert")
    }
    assert len(gangs.records.nameless[key]) == 4
    gangs.tell(*made_of(obj), delta=Delta.DELETED)
    assert not gangs.records.is_known(key)


def test_the_podgroup_of_a_gang_without_pods_is_not_needed_any_more() -> None:
    gangs, obj = Gangs(), sample("leaderworkerset")
    gangs.tell(obj, *made_of(obj))
    key = "default/podgroup-leaderworkerset-llm-1"
    owner = PodGroupOwner("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "llm", "leaderworkerset-llm")
    body = creation("default", "podgroup-leaderworkerset-llm-1", PodGroupContent("default", 3), owner)
    gangs.records.feeds["PodGroup"].apply(Delta.ADDED, make.read(body))
    assert not gangs.records.is_stale(key)
    gone = [each for each in made_of(obj) if each["metadata"]["name"].startswith("llm-1") and each["kind"] == "Pod"]
    gangs.tell(*gone, delta=Delta.DELETED)
    assert gangs.records.is_stale(key)


def test_a_step_by_itself_owns_its_podgroup() -> None:
    gangs, obj = Gangs(), sample("workflow")
    gangs.tell(obj, *made_of(obj))
    (member,) = gangs.records.members("default/podgroup-pod-nightly-prepare").values()
    assert member.owner == PodGroupOwner("v1", "Pod", "nightly-prepare", "pod-nightly-prepare")
    fan = gangs.records.members("default/podgroup-workflow-nightly-fan")
    assert {each.owner.kind for each in fan.values()} == {"Workflow"}
