"""The reason of a waiting pod: ``Unschedulable`` where a node autoscaler is to add nodes, another one elsewhere."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_from, policy_of
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.plan import CycleReport
from vsched.settings.built_in import REGISTRY

PROPORTION = policy_of("priority gang", "predicates proportion")
CAPACITY = policy_of("priority gang", "predicates capacity")
WITHOUT_ENQUEUE = policy_of("priority gang", "predicates capacity", actions="allocate")
TREE = policy_from(
    '{"actions": "allocate", "tiers": [{"plugins": [{"name": "priority"}, {"name": "gang"},'
    ' {"name": "predicates"}, {"name": "capacity", "enableHierarchy": true}]}]}'
)
QUOTAS = policy_of("priority gang", "predicates resourcequota capacity")


def report_on(text: str, policy: Policy = CAPACITY) -> CycleReport:
    return run_cycle(mirror(manifests(text)).snapshot(NOW), policy, REGISTRY)


def reasons_on(text: str, policy: Policy = CAPACITY) -> dict[str, dict[str, int]]:
    """How many waiting pods of each job have each reason, jobs by name."""
    found: dict[str, Counter[str]] = {}
    for verdict in report_on(text, policy).unschedulable.values():
        found.setdefault(verdict.job.partition("/")[2], Counter())[verdict.reason] += 1
    return {job: dict(counts) for job, counts in found.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("job x/a min=16 pods=16 gpu=1", {"Unschedulable": 16}, id="no node has the resource yet"),
        pytest.param(
            "node g1 cpu=64 gpu=8\njob x/a min=16 pods=16 gpu=1",
            {"Unschedulable": 16},
            id="some would fit: still all of the gang, or an autoscaler gives their room to the others",
        ),
        pytest.param(
            "node g1 cpu=64 gpu=8\njob x/a min=2 pods=12 gpu=1",
            {"Unschedulable": 4},
            id="pods beyond the minimum, one by one",
        ),
        pytest.param("job x/a min=4 pods=3 gpu=1", {"GangIncomplete": 3}, id="not before all pods of the gang exist"),
        pytest.param(
            "job x/a min=4\npods x/a 3 gpu=1\npods x/a 1 gpu=1 gated", {"Gated": 3}, id="nor while some are gated"
        ),
        pytest.param("job x/a min=2 pods=2 gpu=1 queue=no", {"QueueNotFound": 2}, id="no queue"),
        pytest.param("queue q state=Closed\njob x/a min=2 pods=2 gpu=1 queue=q", {"QueueClosed": 2}, id="a closed one"),
        pytest.param("job x/a min=2 pods=2 gpu=1 claim=no", {"Claim": 2}, id="a claim that does not exist"),
        pytest.param("job x/a min=1 pods=1 gpu=1 ebs=vol", {"Unsupported": 1}, id="what is not supported"),
        pytest.param(
            "job x/a min=2 pods=2 cpu=1 selector=pool:h100", {"Unschedulable": 2}, id="a node selector that none has"
        ),
        pytest.param("node g1 cpu=4 cordoned\njob x/a min=1 pods=1 cpu=2", {"Unschedulable": 1}, id="a cordon"),
        pytest.param("node g1 cpu=4 taint=a:b\njob x/a min=1 pods=1 cpu=2", {"Unschedulable": 1}, id="a taint"),
        pytest.param("job x/a min=16 minResources=gpu:16 pods=16 gpu=1", {"Unschedulable": 16}, id="not admitted yet"),
        pytest.param(
            "node g1 cpu=4\npods x/old 1 cpu=3 on=g1 leaving\njob x/a min=2 pods=2 cpu=2",
            {"Leaving": 2},
            id="not where nodes are chosen and others leave them",
        ),
    ],
)
def test_the_reason_of_pods_that_lack_nodes_and_of_others(text: str, expected: dict[str, int]) -> None:
    found = reasons_on(f"node n1 cpu=1\n{text}", DEFAULT_POLICY)

    assert found["a"] == expected


@pytest.mark.parametrize(
    "policy", [PROPORTION, CAPACITY, WITHOUT_ENQUEUE], ids=["proportion", "capacity", "no enqueue"]
)
@pytest.mark.parametrize("minimum", ["", " minResources=gpu:16"], ids=["no minResources", "minResources"])
@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        pytest.param("capability=gpu:16", "Unschedulable", id="within the capability"),
        pytest.param("capability=gpu:15", "QueueCapability", id="above it"),
        pytest.param("capability=gpu:0", "QueueCapability", id="none of it"),
        pytest.param("capability=cpu:1000", "Unschedulable", id="a capability of something else"),
        pytest.param("guarantee=gpu:4", "Unschedulable", id="a guarantee is no limit"),
    ],
)
@pytest.mark.parametrize("nodes", ["node n1 cpu=9", "node n1 cpu=9\nnode g1 cpu=64 gpu=8"], ids=["none", "a few"])
def test_a_gang_that_its_queue_would_not_let_run_gets_no_nodes(
    nodes: str, queue: str, expected: str, minimum: str, policy: Policy
) -> None:
    found = reasons_on(f"{nodes}\nqueue q {queue}\njob x/a min=16{minimum} pods=16 gpu=1 queue=q", policy)

    assert found["a"] == {expected: 16}


def test_what_a_queue_holds_already_counts() -> None:
    held = "node g1 cpu=64 gpu=8\nqueue q capability=gpu:20\njob x/old min=1 queue=q\npods x/old 8 gpu=1 on=g1\n"

    assert reasons_on(f"{held}job x/a min=12 pods=12 gpu=1 queue=q")["a"] == {"Unschedulable": 12}
    assert reasons_on(f"{held}job x/a min=13 pods=13 gpu=1 queue=q")["a"] == {"QueueCapability": 13}


def test_the_pod_says_what_keeps_nodes_from_helping() -> None:
    text = "node n1 cpu=9\nqueue q capability=gpu:8\njob x/a min=4 pods=4 gpu=4 queue=q"
    found = report_on(text, WITHOUT_ENQUEUE).unschedulable["x/a.0"]

    assert found.reason == "QueueCapability"
    assert "queue q may hold 8 example.com/gpu at most: 16 asked" in found.message


def test_gangs_count_against_their_queue_together_and_in_their_order() -> None:
    found = reasons_on("""
        node n1 cpu=9
        class high 9
        queue q capability=gpu:24
        job x/first min=16 pods=16 gpu=1 queue=q age=60
        job x/next min=16 pods=16 gpu=1 queue=q age=30
        job x/small min=8 pods=8 gpu=1 queue=q age=10
    """)

    assert found["first"] == {"Unschedulable": 16}
    assert found["next"] == {"QueueCapability": 16}
    assert found["small"] == {"Unschedulable": 8}


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        pytest.param("gpu:8", {"Unschedulable": 8}, id="all that waits"),
        pytest.param("gpu:7", {"Unschedulable": 6, "QueueCapability": 2}, id="less"),
        pytest.param("gpu:8,cpu:0", {"Unschedulable": 8}, id="nothing of what nobody asks for"),
    ],
)
def test_a_queue_that_may_hold_all_that_waits_limits_none_of_it(capability: str, expected: dict[str, int]) -> None:
    jobs = "\n".join(f"job x/j{number} min=2 pods=2 gpu=1 queue=q" for number in range(4))
    found = reasons_on(f"node n1 cpu=0\nqueue q capability={capability}\n{jobs}")
    assert Counter(reason for of_job in found.values() for reason in Counter(of_job).elements()) == expected


def test_queues_above_count_in_a_tree() -> None:
    text = """
        node n1 cpu=9
        queue dept capability=gpu:20
        queue a parent=dept capability=gpu:20
        queue b parent=dept
        job x/one min=16 pods=16 gpu=1 queue=a age=60
        job x/two min=16 pods=16 gpu=1 queue=b age=30
    """
    found = reasons_on(text, TREE)

    assert (found["one"], found["two"]) == ({"Unschedulable": 16}, {"QueueCapability": 16})


def test_a_quota_of_the_namespace_counts() -> None:
    text = "node n1 cpu=9\nquota x/small requests.cpu=8\njob x/a min=2 minResources=cpu:10 pods=2 cpu=5"

    assert reasons_on(text, QUOTAS)["a"] == {"Quota": 2}


def test_shares_that_follow_from_the_size_of_the_cluster_are_no_limit() -> None:
    """Each queue deserves half of the node; with more nodes, it deserves more."""
    found = reasons_on(
        """
        node n1 cpu=8
        queue p
        queue q
        job x/old min=1 queue=p
        pods x/old 4 cpu=1 on=n1
        job x/more min=1 queue=p
        pods x/more 4 cpu=1
        job x/a min=8 pods=8 cpu=1 queue=q
        """,
        PROPORTION,
    )

    assert found["a"] == {"Unschedulable": 8}


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=6),
    st.integers(0, 14),
    st.integers(0, 2),
    st.sampled_from([PROPORTION, CAPACITY, WITHOUT_ENQUEUE]),
)
def test_nodes_are_never_asked_for_beyond_a_capability_nor_for_a_part_of_a_gang(
    jobs: list[tuple[int, int, int]], capability: int, nodes: int, policy: Policy
) -> None:
    """Whatever is placed by the time the nodes come: what runs and what nodes are asked for stay within it."""
    lines = [f"queue q capability=gpu:{capability}", "node n1 cpu=99"]
    lines += [f"node g{one} cpu=99 gpu=4" for one in range(nodes)]
    lines += [
        f"job x/j{at} min={least} pods={least + more} gpu={gpu} queue=q age={at}"
        for at, (least, more, gpu) in enumerate(jobs)
    ]
    report = report_on("\n".join(lines), policy)
    bound = Counter(bind.job for bind in report.binds)
    wanted = Counter(one.job for one in report.unschedulable.values() if one.reason == "Unschedulable")

    assert sum((bound[f"x/j{at}"] + wanted[f"x/j{at}"]) * gpu for at, (_, _, gpu) in enumerate(jobs)) <= capability
    for at, (least, _, _) in enumerate(jobs):
        together = bound[f"x/j{at}"] + wanted[f"x/j{at}"]
        assert together == 0 or together >= least
