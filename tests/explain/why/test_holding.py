"""Who holds what a job lacks is told to whoever asks, and nothing is told twice."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from tests.support.clusters import contended
from tests.support.examples import examples
from tests.support.explained import TAKING, explained
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_from, policy_of
from vsched.explain.explaining import explain
from vsched.explain.why import words
from vsched.explain.why.holding import held_by
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.settings.built_in import REGISTRY

CAPACITY = policy_of("priority gang", "predicates capacity")
QUOTAS = policy_of("gang", "overcommit resourcequota predicates proportion")
OTHERS = "job ns/o min=1 phase=Running\npods ns/o 3 cpu=1 on=n1\njob x/p min=1 phase=Running\npods x/p 2 cpu=1 on=n2"
NODES = "node n1 cpu=4\nnode n2 cpu=4"


@pytest.mark.parametrize(
    ("text", "policy", "message"),
    [
        pytest.param(
            f"{NODES}\n{OTHERS}\njob ns/a min=1 pods=1 cpu=3",
            DEFAULT_POLICY,
            f"a pod asks for 3 cpu, 3 free on 2 nodes{words.at_most_on_one('2', 'n2')}: ns/o holds 3 cpu, x/p 2",
            id="of nodes, how much is asked, how much is free, and who holds the rest",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/o min=1 phase=Running\npods ns/o 3 cpu=1 on=n1\njob ns/a min=2 pods=2 cpu=2",
            DEFAULT_POLICY,
            "2 pods ask for 2 cpu each, 1 free on node n1: ns/o holds 3 cpu",
            id="of one node, for a gang",
        ),
        pytest.param(
            "node n1 cpu=4 gpu=4\nnode n2 cpu=4\nclass high 9\njob ns/o min=1 phase=Running\n"
            "pods ns/o 1 cpu=1 gpu=2 on=n1\npods ns/o 1 cpu=3 on=n2\n"
            "job ns/n min=1 pods=1 cpu=4 gpu=4 class=high age=9\njob ns/a min=1 pods=1 cpu=2 gpu=8 class=high",
            TAKING,
            "a pod asks for 2 cpu, 1 free on node n2: ns/o holds 3 cpu",
            id="only of nodes that lack it, not of one whose room is kept for another job",
        ),
        pytest.param(
            "node n1 cpu=9 pods=2\njob ns/o min=1 phase=Running\npods ns/o 2 cpu=1 on=n1\njob ns/a min=1 pods=1 cpu=1",
            DEFAULT_POLICY,
            words.pod_slots_taken("node n1", "ns/o holds 2 pods"),
            id="of slots for pods",
        ),
        pytest.param(
            "node n1 cpu=9\nqueue q capability=cpu:4\njob ns/o queue=q min=1 phase=Running\npods ns/o 3 cpu=1 on=n1\n"
            "job x/p queue=q min=1 phase=Running\npods x/p 1 cpu=1 on=n1\n"
            "job ns/a queue=q min=1 phase=Inqueue pods=1 cpu=1",
            CAPACITY,
            "queue q: ns/o holds 3 cpu, x/p 1",
            id="of a queue",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/o min=1 phase=Running\npods ns/o 4 cpu=1 on=n1\n"
            "job ns/a min=2 pods=2 cpu=1 minResources=cpu:2",
            DEFAULT_POLICY,
            f"ns/o {words.HOLDS_OR_RESERVES} 4 cpu",
            id="of what may be promised",
        ),
        pytest.param(
            "node n1 cpu=9\nquota ns/small requests.cpu=2 used=requests.cpu:2\njob ns/o min=1 phase=Running\n"
            "pods ns/o 1 cpu=1 on=n1\njob ns/a min=2 pods=1 cpu=1 minResources=cpu:2",
            QUOTAS,
            "namespace ns: ns/o holds 1 cpu",
            id="of a quota",
        ),
        pytest.param(
            "node n1 cpu=9\njob ns/o min=1 phase=Running\npods ns/o 1 cpu=1 on=n1 port=80\njob ns/a min=1\n"
            "pods ns/a 1 cpu=1 port=80",
            DEFAULT_POLICY,
            "host port 80 is used by ns/o (1 pod)",
            id="whose pods use a port",
        ),
        pytest.param(
            "node n1 cpu=9\njob ns/o min=1 phase=Running\npods ns/o 1 cpu=1 on=n1\njob ns/a min=1\n"
            "pods ns/a 1 cpu=1 apart=o",
            DEFAULT_POLICY,
            f"{words.ANTI_AFFINITY} ns/o (1 pod)",
            id="from whose pods it keeps away",
        ),
        pytest.param(
            "node n1 cpu=9\njob ns/o min=1 phase=Running\npods ns/o 1 cpu=1 on=n1 apart=a\njob ns/a min=1\n"
            "pods ns/a 1 cpu=1",
            DEFAULT_POLICY,
            f"{words.ANTI_AFFINITY_OF} ns/o (1 pod)",
            id="whose pods keep it away",
        ),
    ],
)
def test_who_holds_it_is_told(text: str, policy: Policy, message: str) -> None:
    assert message in [one.message for one in explained(text, policy=policy).constraints]


def test_nobody_else_is_told_of_where_the_job_holds_it_all_itself() -> None:
    found = explained("node n1 cpu=4\njob ns/a min=1 phase=Running\npods ns/a 3 cpu=1 on=n1\npods ns/a 1 cpu=2")
    assert not any("holds" in one.message for one in found.constraints)


@pytest.mark.parametrize(
    ("amounts", "told"),
    [
        pytest.param({}, "", id="nobody"),
        pytest.param({"ns/a": 0}, "", id="nobody holds any"),
        pytest.param({"": 1000}, f"{words.NO_JOB} holds 1 cpu", id="pods of no job"),
        pytest.param(
            {"ns/a": 1000, "ns/b": 500, "ns/c": 3000, "ns/d": 250, "ns/e": 250},
            "ns/c holds 3 cpu, ns/a 1, ns/b 500m and 2 others 500m",
            id="a few, and the sum of the others",
        ),
    ],
)
def test_holders_are_few_and_sorted(amounts: dict[str, int], told: str) -> None:
    assert held_by(mirror(manifests("node n1")).snapshot(NOW), amounts, "cpu") == told


def test_who_holds_the_same_is_sorted_by_the_name_that_is_told() -> None:
    pods = manifests("pods ns/a 1 cpu=1 on=n1\npods ns/b 1 cpu=1 on=n1")
    for found, owner in zip(pods, ("web", "api"), strict=True):
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "controller": True}
        found["metadata"] |= {
            "annotations": {},
            "ownerReferences": [{**reference, "uid": found["metadata"]["name"]}],
        }
    snapshot = mirror([*manifests("node n1 cpu=4"), *pods]).snapshot(NOW)
    told = held_by(snapshot, dict.fromkeys(sorted(snapshot.jobs), 1000), "cpu")
    assert told == "ReplicaSet ns/api holds 1 cpu, ReplicaSet ns/web 1"


@settings(max_examples=examples(35), deadline=None)
@given(text=contended(ruled=True))
def test_no_sentence_is_said_twice_in_one_answer(text: str) -> None:
    snapshot = mirror(manifests(text)).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    for key in snapshot.jobs:
        namespace, _, name = key.partition("/")
        found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, namespace, name, simulations=0)
        assert found is not None
        told = [found.message, *(one.message for one in found.constraints if not one.repeats), *found.notes]
        again = [one for at, one in enumerate(told) if any(one in other for other in (*told[:at], *told[at + 1 :]))]
        assert not again, told


def test_where_no_node_is_in_a_domain_nobody_holds_it() -> None:
    """The tiers are those of the policy, by labels that no node has."""
    tiers = {"hypernode.labels": [{"key": "example.com/rack", "tierName": "rack"}]}
    plugins = [{"name": "gang"}, {"name": "predicates"}, {"name": "network-topology-aware", "arguments": tiers}]
    policy = policy_from(json.dumps({"actions": "enqueue, allocate, backfill", "tiers": [{"plugins": plugins}]}))
    found = explained(f"{NODES}\njob ns/a min=2 pods=2 cpu=3 topology=hard tier=1", policy=policy)
    assert [one.code for one in found.constraints if one.code is Code.RESOURCES] == []
