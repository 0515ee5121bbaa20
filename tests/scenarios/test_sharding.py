"""Node masks in whole cycles: what Volcano decides with a NodeShard, and what follows of it elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_of
from vsched.actions.shuffle import movable
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.nodes.masks import NodeMask
from vsched.model.plan import CycleReport
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

FILES = sorted((Path(__file__).parent.parent / "data" / "sharding").glob("*.yaml"))


def decided(
    objects: list[dict[str, Any]], *masks: NodeMask, policy: Policy = DEFAULT_POLICY, now: float = NOW
) -> CycleReport:
    found = mirror(objects)
    found.inputs.mask(masks)
    return run_cycle(found.snapshot(now), policy, REGISTRY)


def nodes_in(report: CycleReport) -> list[str]:
    return [bind.node for bind in report.binds]


def hard(*nodes: str) -> NodeMask:
    return NodeMask(nodes, True, "ours")


def soft(*nodes: str) -> NodeMask:
    return NodeMask(nodes, False, "ours")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_decides_as_volcano_does_with_a_node_shard(path: Path) -> None:
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    policy = load_text(yaml.safe_dump(case["policy"]), case["name"], REGISTRY).policy
    shard = NodeMask(tuple(case["sharding"]["nodes"]), case["sharding"]["mode"] == "hard", case["sharding"]["name"])

    report = decided(case["objects"], shard, policy=policy, now=0.0)

    assert {f"{one.namespace}/{one.name}": one.node for one in report.binds} == case["expect"]["binds"]
    assert sorted(f"{one.namespace}/{one.name}" for one in report.evictions) == case["expect"]["evictions"]
    expected = {pod: node for pods in case["observed"]["pipelined"].values() for pod, node in pods.items()}
    assert {f"{one.namespace}/{one.name}": one.node for one in report.nominations} == expected


THREE = "node n1 cpu=4\nnode n2 cpu=4\nnode n3 cpu=4"


@pytest.mark.parametrize(
    ("job", "masks", "nodes"),
    [
        pytest.param("min=4 pods=4 cpu=1", [hard("n2")], ["n2"] * 4, id="hard: on our nodes alone"),
        pytest.param("min=5 pods=5 cpu=1", [hard("n2")], [], id="hard: not at all where ours are too small"),
        pytest.param("min=1 pods=1 cpu=1", [hard()], [], id="hard: without nodes there is nothing"),
        pytest.param("min=2 pods=2 cpu=1", [hard("n4", "n3")], ["n3"] * 2, id="hard: nodes that are not there"),
        pytest.param("min=4 pods=4 cpu=1", [soft("n3")], ["n3"] * 4, id="soft: ours first"),
        pytest.param("min=6 pods=6 cpu=1", [soft("n3")], ["n1"] * 2 + ["n3"] * 4, id="soft: then others"),
        pytest.param("min=2 pods=2 cpu=1", [soft()], ["n1"] * 2, id="soft: without nodes all are equal"),
        pytest.param("min=4 pods=4 cpu=2", [hard("n2", "n3"), soft("n3")], ["n2"] * 2 + ["n3"] * 2, id="both"),
        pytest.param("min=2 pods=2 cpu=2", [hard("n1", "n2"), hard("n2", "n3")], ["n2"] * 2, id="every mask counts"),
    ],
)  # fmt: skip
def test_pods_go_where_masks_let_them(job: str, masks: list[NodeMask], nodes: list[str]) -> None:
    packing = policy_of("gang", "predicates binpack")
    assert sorted(nodes_in(decided(manifests(f"{THREE}\njob ns/a {job}"), *masks, policy=packing))) == nodes


def test_a_waiting_job_says_that_nodes_belong_to_others() -> None:
    outcome = decided(manifests(f"{THREE}\njob ns/a min=1 pods=1 cpu=3 selector=zone:a"), hard("n1")).jobs["ns/a"]
    assert "2 nodes belong to another shard" in outcome.message
    outcome = decided(manifests(f"{THREE}\njob ns/a min=1 pods=1 cpu=3"), hard()).jobs["ns/a"]
    assert outcome.code == Code.SHARD


PREEMPTING = "enqueue, allocate, preempt, reclaim, backfill"


@pytest.mark.parametrize(
    ("mask", "victims"),
    [
        pytest.param(hard("n2"), ["low.1"], id="hard: none on nodes of others"),
        pytest.param(soft("n2"), ["low.1"], id="soft: on our nodes first"),
        pytest.param(hard("n3"), [], id="hard: nobody where our nodes have none"),
        pytest.param(soft("n3"), ["low.0"], id="soft: then on others"),
    ],
)
def test_victims_are_on_our_nodes(mask: NodeMask, victims: list[str]) -> None:
    text = """
        class high 1000
        class low 1
        node n1 cpu=4
        node n2 cpu=4
        node n3 cpu=1
        job ns/low min=1 class=low volcano.sh/preemptable=true
        pods ns/low 1 cpu=4 on=n1 volcano.sh/preemptable=true
        pods ns/low 1 cpu=4 on=n2 volcano.sh/preemptable=true
        job ns/high min=1 pods=1 cpu=3 class=high
    """
    policy = policy_of("priority gang conformance", "predicates nodeorder", actions=PREEMPTING)
    assert [one.name for one in decided(manifests(text), mask, policy=policy).evictions] == victims


def test_pods_on_nodes_of_others_are_not_shuffled() -> None:
    text = f"{THREE}\njob ns/a min=1\npods ns/a 1 cpu=1 on=n1\npods ns/a 1 cpu=1 on=n2\npods ns/a 1 cpu=1 on=n3"
    moved = {}
    for masks in ([], [hard("n1", "n3")]):
        found = mirror(manifests(text))
        found.inputs.mask(masks)
        session = Session(found.snapshot(NOW), DEFAULT_POLICY, REGISTRY, Trace())
        tasks = sorted(session.snapshot.jobs["ns/a"].tasks.values(), key=lambda task: task.node)
        moved[len(masks)] = [task.node for _, task, _ in movable(session, tasks)]
    assert moved == {0: ["n1", "n2", "n3"], 1: ["n1", "n3"]}


JOB = st.tuples(st.integers(1, 4), st.integers(1, 3))


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=6),
    st.lists(JOB, min_size=1, max_size=6),
    st.sets(st.integers(0, 5)),
)
def test_a_hard_mask_is_a_cluster_of_our_nodes_and_a_soft_one_loses_no_pod(
    nodes: list[int], jobs: list[tuple[int, int]], ours: set[int]
) -> None:
    work = "\n".join(f"job ns/j{at} min=1 pods={pods} cpu={cpu}" for at, (pods, cpu) in enumerate(jobs))
    lines = [f"node n{at} cpu={cpu}" for at, cpu in enumerate(nodes)]
    mask = tuple(f"n{at}" for at in sorted(ours))
    within = decided(manifests("\n".join([*lines, work])), hard(*mask), policy=PLAIN)
    assert set(nodes_in(within)) <= set(mask)
    alone = [line for line in lines if line.split()[1] in mask]
    expected = decided(manifests("\n".join([*alone, work])), policy=PLAIN) if alone else CycleReport()
    assert [(one.name, one.node) for one in within.binds] == [(one.name, one.node) for one in expected.binds]

    first = decided(manifests("\n".join([*lines, work])), soft(*mask), policy=PLAIN)
    left = {f"n{at}": cpu for at, cpu in enumerate(nodes)}
    for one in first.binds:
        asked = jobs[int(one.job.partition("/j")[2])][1]
        if one.node not in mask:
            assert all(left[name] < asked for name in mask if name in left), "ours had room"
        left[one.node] -= asked
    assert min(left.values()) >= 0


PLAIN = policy_of("gang", "predicates nodeorder")
