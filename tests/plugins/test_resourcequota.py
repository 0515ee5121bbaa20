"""resourcequota: which jobs fit the quotas of their namespace."""

from __future__ import annotations

import pytest

from tests.support.plans import plan, policy_of
from tests.support.small import GIB
from tests.support.worlds import World
from vsched.framework.codes import Code
from vsched.framework.points.extension import NoArgs, Vote
from vsched.framework.refusal import Refusal, Shortage
from vsched.framework.words.limits import over_quota
from vsched.plugins.resourcequota import ResourceQuota


def asks(quota: str, wanted: str) -> Vote | Refusal:
    minimum = f"minResources={wanted}" if wanted else ""
    world = World(f"node n1 cpu=1\n{quota}\njob ns/a {minimum}")
    return world.opened(ResourceQuota(NoArgs())).job_enqueueable(world.jobs["ns/a"])


@pytest.mark.parametrize(
    ("quota", "wanted", "fits"),
    [
        pytest.param("", "cpu:99", True, id="a namespace without quotas"),
        pytest.param("quota other/q cpu=1", "cpu:99", True, id="the quota of another namespace"),
        pytest.param("quota ns/q cpu=0", "", True, id="a job that states no minimum"),
        pytest.param("quota ns/q cpu=4", "cpu:4", True, id="up to the quota"),
        pytest.param("quota ns/q cpu=4", "cpu:4001m", False, id="not beyond it"),
        pytest.param("quota ns/q cpu=4 used=cpu:3", "cpu:2", False, id="what is used counts"),
        pytest.param("quota ns/q requests.cpu=4", "cpu:5", False, id="requests are the plain resource"),
        pytest.param("quota ns/q cpu=4", "requests.cpu:5", False, id="so they are in the job's minimum"),
        pytest.param("quota ns/q requests.cpu=4", "cpu:1,requests.cpu:5", False, id="of two words the larger counts"),
        pytest.param("quota ns/q limits.memory=1Gi", "memory:2Gi", True, id="limits are not requests"),
        pytest.param("quota ns/q limits.memory=1Gi", "limits.memory:2Gi", False, id="limits where the job names them"),
        pytest.param("quota ns/q requests.example.com/gpu=1", "gpu:2", False, id="requests of an extended resource"),
        pytest.param("quota ns/q requests.example.com/gpu=0", "gpu:1", False, id="a quota of zero forbids"),
        pytest.param("quota ns/q pods=2 used=pods:1", "pods:2", False, id="pods where the job names them"),
        pytest.param("quota ns/q cpu=4 used=cpu:9", "memory:1Gi", True, id="only what is asked for is compared"),
        pytest.param("quota ns/q count/pods=0 services=0", "cpu:1", True, id="counts of objects are not compared"),
        pytest.param("quota ns/q cpu=9\nquota ns/r cpu=1", "cpu:2", False, id="every quota has to agree"),
    ],
)
def test_a_minimum_against_the_quotas(quota: str, wanted: str, fits: bool) -> None:
    assert (asks(quota, wanted) is Vote.PERMIT) is fits


def test_a_refusal_names_the_quota_and_the_amounts() -> None:
    answer = asks("quota ns/small requests.cpu=4 memory=1Gi used=requests.cpu:2500m", "cpu:2,memory:2Gi")

    assert answer == Refusal(
        "NamespaceQuotaInsufficient",
        over_quota("small", [("1Gi", "memory", "0", "2Gi"), ("4", "requests.cpu", "2500m", "2")]),
        code=Code.QUOTA,
        subject="small",
        shortages=(
            Shortage("memory", held=0, asked=2 * GIB, limit=GIB),
            Shortage("requests.cpu", held=2500, asked=2000, limit=4000),
        ),
    )


@pytest.mark.parametrize(
    ("quota", "wanted", "pods", "fits"),
    [
        pytest.param("cpu=4 used=cpu:4", "cpu:4", "2 cpu=2", True, id="all of the gang's pods exist"),
        pytest.param("cpu=3 used=cpu:4", "cpu:4", "2 cpu=2", True, id="also where the quota was lowered since"),
        pytest.param("cpu=4 used=cpu:4", "cpu:4", "1 cpu=2", False, id="of two pods that exist, one is another job's"),
        pytest.param("cpu=6 used=cpu:4", "cpu:4", "1 cpu=2", True, id="only the rest is asked"),
        pytest.param("cpu=4 used=cpu:4", "cpu:4", "4 cpu=1 gated", True, id="pods with gates exist as well"),
        pytest.param("cpu=4 used=cpu:4", "cpu:4", "4 cpu=1 on=n1 succeeded", False, id="pods that ended use nothing"),
        pytest.param("cpu=3 used=cpu:0", "cpu:4", "2 cpu=2", False, id="what is not counted yet is asked"),
        pytest.param("pods=2 used=pods:2", "pods:2", "2 cpu=1", True, id="pods themselves"),
        pytest.param(
            "limits.cpu=6 used=limits.cpu:6", "limits.cpu:6", "2 cpu=2 limits=cpu:3", True, id="limits beyond requests"
        ),
        pytest.param(
            "cpu=4 limits.cpu=5 used=cpu:4,limits.cpu:5",
            "cpu:4,limits.cpu:6",
            "2 cpu=2 limits=cpu:2",
            False,
            id="each line by itself",
        ),
    ],
)
def test_pods_of_the_job_that_exist_count_once(quota: str, wanted: str, pods: str, fits: bool) -> None:
    world = World(f"node n1 cpu=1\nquota ns/q {quota}\njob ns/a min=2 minResources={wanted}\npods ns/a {pods}")
    assert (world.opened(ResourceQuota(NoArgs())).job_enqueueable(world.jobs["ns/a"]) is Vote.PERMIT) is fits


def test_a_refusal_names_what_is_asked_beyond_the_pods_that_exist() -> None:
    text = "quota ns/q cpu=4 used=cpu:3\njob ns/a min=3 minResources=cpu:3\npods ns/a 1 cpu=1"
    decided = plan(f"node n1 cpu=9\n{text}", policy_of("resourcequota predicates"))
    assert decided.message("ns/a") == over_quota("q", [("4", "cpu", "3", "2")])


def test_of_jobs_that_state_the_same_those_are_admitted_whose_pods_exist() -> None:
    text = """
quota ns/q cpu=4 used=cpu:4
job ns/a age=3 min=2 minResources=cpu:2
pods ns/a 1 cpu=1
job ns/b age=2 min=2 minResources=cpu:2
pods ns/b 2 cpu=1
job ns/c age=1 min=2 minResources=cpu:2
pods ns/c 1 cpu=1
"""
    decided = plan(f"node n1 cpu=9\n{text}", policy_of("resourcequota predicates"))
    assert decided.phases() == {"a": "Pending", "b": "Inqueue", "c": "Pending"}


def test_what_the_cycle_admits_counts_within_the_namespace() -> None:
    text = """
quota ns/q cpu=4
quota other/q cpu=4
job ns/a age=3 minResources=cpu:3
job ns/b age=2 minResources=cpu:2
job ns/c age=1 minResources=cpu:1
job other/d minResources=cpu:4
"""
    decided = plan(f"node n1 cpu=1\n{text}", policy_of("resourcequota predicates"))

    assert decided.phases() == {"a": "Inqueue", "b": "Pending", "c": "Inqueue", "d": "Inqueue"}
    assert decided.message("ns/b") == over_quota("q", [("4", "cpu", "3", "2")])
