"""Annotations about evictions: what they come to, and what is remarked where they make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mirror.watch import Watch
from tests.support import builders as make
from tests.support.plans import manifests, mirror
from vsched.mirror.ingest.evictions import eviction_terms_of
from vsched.model.queues.evictions import EvictionTerms

PREEMPT, RECLAIM = "vsched.io/preempt-min-runtime", "vsched.io/reclaim-min-runtime"
EXPECTED = "a length of time, such as 0s, 30s or 1h30m"


@pytest.mark.parametrize(
    ("annotations", "terms", "remarks"),
    [
        pytest.param({}, EvictionTerms(), [], id="nothing said"),
        pytest.param({PREEMPT: "1h30m", RECLAIM: "10s"}, EvictionTerms(5400.0, 10.0), [], id="lengths of time"),
        pytest.param({PREEMPT: "0s"}, EvictionTerms(0.0), [], id="zero is said, too"),
        pytest.param(
            {PREEMPT: "soon", RECLAIM: "10s"},
            EvictionTerms(None, 10.0),
            [f"metadata.annotations[{PREEMPT}]: 'soon' (expected {EXPECTED}): passed over"],
            id="what cannot be read is passed over, and the rest counts",
        ),
        pytest.param(
            {RECLAIM: "-1s"},
            EvictionTerms(),
            [f"metadata.annotations[{RECLAIM}]: '-1s' (expected {EXPECTED}): passed over"],
            id="less than zero",
        ),
    ],
)
def test_terms(annotations: dict[str, str], terms: EvictionTerms, remarks: list[str]) -> None:
    told: list[str] = []

    assert eviction_terms_of(annotations, told) == terms
    assert told == remarks


def test_terms_are_completed_by_others() -> None:
    assert EvictionTerms(1.0).or_else(EvictionTerms(2.0, 0.0)) == EvictionTerms(1.0, 0.0)
    assert EvictionTerms(0.0).or_else(EvictionTerms(2.0)) == EvictionTerms(0.0)


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        pytest.param("PodGroup", make.pod_group("pg", metadata={"annotations": {PREEMPT: "soon"}}), id="a PodGroup"),
        pytest.param("Queue", make.queue("q", metadata={"annotations": {PREEMPT: "soon"}}), id="a queue"),
        pytest.param("Pod", make.pod("p", metadata={"annotations": {PREEMPT: "soon"}}), id="a pod that stands for one"),
    ],
)
def test_an_object_with_a_bad_annotation_stays_in_and_is_told(kind: str, made: dict[str, Any]) -> None:
    watch = Watch()
    watch.tell(made)

    (found,) = watch.cache.blemished.values()
    assert found.kind == kind
    assert f"metadata.annotations[{PREEMPT}]: 'soon' (expected {EXPECTED}): passed over" in found.message
    assert not found.left_out


def test_the_annotations_of_a_pod_without_a_podgroup_are_those_of_its_job() -> None:
    text = f"node n1\njob ns/a\npods ns/a 1 on=n1 {PREEMPT}=5m"
    pods = [one for one in manifests(text) if one["kind"] != "PodGroup"]
    for one in pods:
        one["metadata"].get("annotations", {}).pop("scheduling.k8s.io/group-name", None)
    (job,) = mirror(pods).snapshot(0.0).jobs.values()

    assert job.spec.terms == EvictionTerms(300.0)
