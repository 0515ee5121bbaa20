"""Pods that name a node themselves: what no node gives, nobody holds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import builders as make
from tests.support.builders import Fields
from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, plan, policy_of
from vsched.framework.policy import Policy
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings

CLUSTER = """
    node n1 cpu=24
    node n2 cpu=24
    job team/gang min=3 pods=3 cpu=16 minResources=cpu:48
"""
GHOSTS = {
    "no such node": "job evil/ghost pods=1 cpu=900 on=nowhere untaken",
    "many of them": "job evil/ghost pods=40 cpu=20 on=nowhere untaken",
    "a gang of them": "job evil/ghost min=4 pods=4 cpu=200 on=nowhere untaken minResources=cpu:800",
    "more than the node has": "job evil/ghost pods=1 cpu=900 on=n1 untaken",
    "a resource that the node has not": "job evil/ghost pods=1 cpu=1 gpu=1 on=n1 untaken",
}


@pytest.mark.parametrize("ghosts", GHOSTS.values(), ids=GHOSTS)
@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(DEFAULT_POLICY, id="default"),
        pytest.param(policy_of("priority gang overcommit", "drf predicates capacity"), id="capacity"),
        pytest.param(policy_of("gang", "predicates proportion"), id="proportion"),
    ],
)
def test_pods_that_no_node_takes_are_in_nobodys_way(ghosts: str, policy: Policy) -> None:
    cluster = CLUSTER.replace("16", "12").replace("48", "36")
    assert plan(cluster + ghosts, policy).bound == {"gang": 3}


def test_pods_of_one_node_that_is_dead_fill_no_cluster() -> None:
    """Each fits its node, so that others are kept off it; together they do not fill the other nodes."""
    text = CLUSTER.replace("16", "8").replace("48", "24") + "job evil/ghost pods=60 cpu=20 on=n1 untaken"
    assert plan(text).bound == {"gang": 3}


def books(cache: Mirror) -> tuple[object, ...]:
    snapshot = cache.snapshot(0.0)
    usage = snapshot.books.get("q")
    return (
        usage and usage.allocated,
        snapshot.shares,
        snapshot.held,
        [*snapshot.used][:2],
        snapshot.nodes.requested[:2].tolist(),
    )


def world(*objects: Fields) -> Mirror:
    cache = Mirror(MirrorSettings(frozenset({"volcano"}), arbitrating=True))
    for fields in objects:
        cache.intake.apply(fields["kind"], "ADDED", make.read(fields))
    return cache


def test_one_holds_once_its_node_has_taken_it() -> None:
    group, pending = make.pod_group("pg"), {"phase": "Pending"}
    cache = world(group, make.node("n1"), make.pod("p", node="n1", group="pg", status=pending))
    assert books(cache)[:3] == ({}, {("q", "ns"): {}}, {})
    for status in (make.BOUND, {"phase": "Pending", "startTime": "2027-01-15T08:00:00Z"}, {"phase": "Running"}):
        cache.intake.apply("Pod", "MODIFIED", make.read(make.pod("p", node="n1", group="pg", status=status)))
        assert cache.held("ns") == {"cpu": 1000, "pods": 1}
        assert books(cache)[0]


def test_one_that_a_node_took_is_somebodys_while_the_node_is_not_there() -> None:
    """Nodes come and go from the list while their pods run: nobody is let in who would be evicted a moment later."""
    running = make.pod("p", node="n1", group="pg")
    cache = world(make.pod_group("pg"), make.node("n1"), running)
    before = books(cache)[:3]
    cache.intake.apply("Node", "DELETED", make.read(make.node("n1")))
    assert books(cache)[:3] == before
    cache.intake.apply("Node", "ADDED", make.read(make.node("n1")))
    assert books(cache)[:3] == before


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_whatever_comes_in_whatever_order_the_sums_are_those_of_what_is_there(data: st.DataObject) -> None:
    """Nodes grow, shrink, leave and return; pods are taken or not."""
    cache, there = world(make.pod_group("pg")), dict[str, Fields]()
    statuses = [{"phase": "Pending"}, make.BOUND, {"phase": "Running"}]
    for _ in range(data.draw(st.integers(1, 12))):
        name = data.draw(st.sampled_from(["n1", "n2"]))
        if data.draw(st.booleans()):
            found = make.node(name, status={"allocatable": {"cpu": data.draw(st.sampled_from(["1", "4", "8"]))}})
        else:
            asked = [make.container(data.draw(st.sampled_from(["1", "6"])))]
            uid, status = data.draw(st.sampled_from("abc")), data.draw(st.sampled_from(statuses))
            found = make.pod(uid, node=name, group="pg", status=status, spec={"containers": asked})
        key = found["metadata"]["name"]
        if key in there and data.draw(st.booleans()):
            cache.intake.apply(found["kind"], "DELETED", make.read(there.pop(key)))
        elif there.get(key, found)["spec" if found["kind"] == "Pod" else "kind"] == found.get("spec", found["kind"]):
            there[key] = found
            cache.intake.apply(found["kind"], "MODIFIED", make.read(found))
        if data.draw(st.booleans()):
            cache.snapshot(0.0)
    fresh = world(make.pod_group("pg"), *there.values())
    assert books(cache) == books(fresh)
