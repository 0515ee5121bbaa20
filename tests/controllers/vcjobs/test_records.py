"""What the controller of vcjobs knows, from watches and from the answers to its own writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.controllers.vcjobs.manifests import OWNER
from tests.support.builders import merged
from tests.support.running import pod, podgroup
from tests.support.vcjob_cluster import task, vcjob
from vsched import api
from vsched.api.resources import VCJOB
from vsched.clock import FakeClock
from vsched.controllers.vcjobs.records import UNSEEN_SECONDS, JobRecords
from vsched.controllers.vcjobs.spec import VcJob
from vsched.kube.watch.deltas import Delta

Obj = dict[str, Any]


class Bench:
    """Records whose watches a test plays."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.touched: list[str] = []
        self.records = JobRecords(
            ("vsched",), self.touched.append, lambda about, message: None, self.clock, "volcano-system"
        )
        self.records.act(True)
        for feed in self.records.feeds.values():
            feed.restart()
            list(feed.finish("1"))
        self.tell(VCJOB, job())
        self.touched.clear()

    def tell(self, kind: str, obj: Obj, delta: Delta = Delta.MODIFIED) -> None:
        """The watch delivers this."""
        self.records.feeds[kind].apply(delta, api.decode(kind, json.dumps(obj).encode()))

    @property
    def job(self) -> VcJob:
        found = self.records.job("default/train")
        assert isinstance(found, VcJob)
        return found

    def pods(self) -> dict[str, bool]:
        """The pods of the job, and whether they are being deleted."""
        return {name: state.deleting for name, state in self.records.view(self.job).pods.items()}

    def evicted(self) -> list[str]:
        return [state.name for state in self.records.view(self.job).evicted]


def job(version: str = "1", **spec: Any) -> Obj:
    return merged(vcjob("train", task("worker", 1), **spec), {"metadata": {"uid": "j1", "resourceVersion": version}})


def member(name: str = "train-worker-0", uid: str = "p1") -> Obj:
    about = {"uid": uid, "ownerReferences": [OWNER], "labels": {"volcano.sh/job-name": "train"}}
    return merged(pod(name), {"metadata": about})


def test_a_pod_that_was_made_is_known_before_the_watch_shows_it() -> None:
    bench = Bench()
    bench.records.wrote_pod(json.dumps(member()).encode())
    assert (bench.pods(), bench.records.unseen(bench.job)) == ({"train-worker-0": False}, True)
    bench.tell("Pod", member())
    assert (bench.pods(), bench.records.unseen(bench.job)) == ({"train-worker-0": False}, False)
    bench.tell("Pod", member(), Delta.DELETED)
    assert (bench.pods(), bench.evicted()) == ({}, ["train-worker-0"])


def test_a_pod_that_the_watch_never_shows_is_forgotten() -> None:
    bench = Bench()
    bench.records.wrote_pod(json.dumps(member()).encode())
    bench.clock.advance(UNSEEN_SECONDS)
    assert (bench.pods(), bench.records.unseen(bench.job)) == ({}, False)


def test_what_was_deleted_here_is_believed_to_be_leaving_for_a_while_and_is_not_evicted() -> None:
    bench = Bench()
    bench.tell("Pod", member())
    bench.records.deleted("p1")
    assert (bench.pods(), bench.records.unseen(bench.job)) == ({"train-worker-0": True}, True)
    bench.clock.advance(UNSEEN_SECONDS)
    assert bench.pods() == {"train-worker-0": False}, "the deletion may have been lost: it is asked for again"
    bench.tell("Pod", member(), Delta.DELETED)
    assert (bench.pods(), bench.evicted()) == ({}, [])


LEAVING = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
DISRUPTED = {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}


@pytest.mark.parametrize(
    ("seen", "ended"),
    [
        pytest.param([{"phase": "Succeeded"}], True, id="it had succeeded"),
        pytest.param([{"phase": "Failed"}], True, id="it had failed"),
        pytest.param([{"phase": "Running"}], False, id="it ran"),
        pytest.param([{"phase": "Failed", **DISRUPTED}], False, id="its node is gone"),
        pytest.param([{"phase": "Running"}, {"phase": "Succeeded", **LEAVING}], False, id="its deletion ends it"),
        pytest.param([{"phase": "Succeeded"}, {"phase": "Succeeded", **LEAVING}], True, id="it is deleted later"),
    ],
)
def test_a_pod_that_had_ended_when_it_was_deleted_stays_as_it_ended(seen: list[Obj], ended: bool) -> None:
    bench = Bench()
    for each in seen:
        bench.tell("Pod", merged(member(), {"metadata": each.get("metadata", {}), "status": each}))
    bench.tell("Pod", member(), Delta.DELETED)
    assert (bench.pods(), bench.evicted()) == (({"train-worker-0": False}, []) if ended else ({}, ["train-worker-0"]))
    bench.records.gone.forget_ended("j1", "train-worker-0")
    assert bench.pods() == {}


def test_a_pod_that_takes_the_place_of_another_one_ends_it() -> None:
    bench = Bench()
    bench.tell("Pod", member())
    bench.tell("Pod", member(uid="p2"))
    assert (bench.pods(), bench.evicted()) == ({"train-worker-0": False}, ["train-worker-0"])
    bench.records.gone.forget(bench.job.uid, ("p1",))
    assert bench.evicted() == []


def test_while_nobody_decides_it_does_not_matter_which_pods_go() -> None:
    bench = Bench()
    bench.records.act(False)
    bench.tell("Pod", member())
    bench.tell("Pod", member(), Delta.DELETED)
    assert bench.evicted() == []


def test_the_answer_to_a_write_counts_until_the_watch_shows_anything_else() -> None:
    bench = Bench()
    bench.records.wrote_job(json.dumps(job("2")).encode(), "1")
    assert bench.job.resource_version == "2"
    bench.tell(VCJOB, job("3"))
    assert bench.job.resource_version == "3"
    bench.records.wrote_job(json.dumps(job("2")).encode(), "1")
    assert bench.job.resource_version == "3", "the watch has shown more than this answer knows"


def test_a_podgroup_that_was_deleted_here_is_gone_and_the_next_one_is_there() -> None:
    bench = Bench()
    group = merged(podgroup("train-j1", 1), {"metadata": {"uid": "g1", "ownerReferences": [OWNER]}})
    bench.tell("PodGroup", group)
    bench.records.deleted("g1")
    assert bench.records.view(bench.job).group is None
    bench.tell("PodGroup", group, Delta.DELETED)
    second = merged(group, {"metadata": {"uid": "g2"}})
    bench.records.wrote_group(json.dumps(second).encode())
    found = bench.records.view(bench.job).group
    assert found is not None
    assert found.uid == "g2"


def test_a_job_is_looked_at_when_the_claim_that_it_names_comes_or_goes() -> None:
    bench = Bench()
    bench.tell(VCJOB, job("2", volumes=[{"mountPath": "/data", "volumeClaimName": "data"}]))
    assert bench.records.view(bench.job).missing_claims == ("data",)
    bench.touched.clear()
    claim = {"metadata": {"name": "data", "namespace": "default"}, "spec": {}}
    bench.tell("PersistentVolumeClaim", claim)
    assert (bench.touched, bench.records.view(bench.job).missing_claims) == (["default/train"], ())
    bench.tell("PersistentVolumeClaim", {**claim, "metadata": {"name": "other", "namespace": "default"}})
    assert bench.touched == ["default/train"]


def test_pods_of_nobody_touch_no_job() -> None:
    bench = Bench()
    bench.tell("Pod", pod("p"))
    bench.tell("Pod", pod("p"), Delta.DELETED)
    assert bench.touched == []


def test_a_job_that_is_gone_leaves_nothing_behind() -> None:
    bench = Bench()
    bench.tell("Pod", member())
    bench.tell("Pod", member(), Delta.DELETED)
    bench.records.wrote_pod(json.dumps(member(uid="p2")).encode())
    bench.tell(VCJOB, job(), Delta.DELETED)
    assert not bench.records.is_known("default/train")
    bench.tell(VCJOB, job("9"))
    assert (bench.pods(), bench.evicted()) == ({}, [])
