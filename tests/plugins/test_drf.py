"""drf: the smaller dominant share goes first, among jobs and, by weight, among namespaces of a queue."""

from __future__ import annotations

import pytest

from tests.support.small import GIB, SmallCluster
from vsched.framework.extension import NoArgs
from vsched.framework.jobs import JobView
from vsched.model.queue import Namespace
from vsched.plugins.drf import Drf


def cluster() -> SmallCluster:
    made = SmallCluster().node("n1", cpu=10_000, memory=100 * GIB)
    made.running("a", 2, shape=made.shape(cpu=1000, memory=GIB), namespace="x")
    made.running("b", 1, shape=made.shape(cpu=1000, memory=50 * GIB), namespace="y")
    made.running("c", 1, shape=made.shape(cpu=3000, memory=0), namespace="x", queue="other")
    return made.queue("other")


@pytest.mark.parametrize(
    ("job", "share"),
    [
        pytest.param("x/a", 0.2, id="most of the processors"),
        pytest.param("y/b", 0.5, id="most of the memory"),
    ],
)
def test_the_share_of_a_job_is_its_largest_part_of_anything(job: str, share: float) -> None:
    made = cluster()

    assert made.opened(Drf(NoArgs())).job_key(JobView(made.jobs[job])) == pytest.approx(share)


@pytest.mark.parametrize(
    ("queue", "namespace", "weight", "key"),
    [
        pytest.param("default", "x", 1, 0.2, id="what it holds in the queue"),
        pytest.param("other", "x", 1, 0.3, id="each queue by itself"),
        pytest.param("default", "y", 5, 0.1, id="over its weight"),
        pytest.param("default", "z", 1, 0.0, id="nothing where it holds nothing"),
    ],
)
def test_the_share_of_a_namespace(queue: str, namespace: str, weight: int, key: float) -> None:
    made = cluster()
    made.namespaces[namespace] = Namespace(namespace, weight=weight)

    assert made.opened(Drf(NoArgs())).namespace_key(queue, namespace) == pytest.approx(key)
