"""The headline of a waiting job that asks for closeness: its domain, or the whole cluster where that lacks room."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, policy_of
from tests.support.topologies import RACKS, snapshot_of
from vsched.actions.words import of_sub_group
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.places.words import must_be_in, no_room, no_such_name
from vsched.framework.policy import Policy
from vsched.framework.words import jobs as words
from vsched.framework.words.nodes import NO_NODE, has_no, on_nodes
from vsched.model.snapshot import Snapshot
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy
from vsched.settings.built_in import REGISTRY

RACK, BLOCK, NOWHERE = (
    NetworkTopology(highest_tier=1),
    NetworkTopology(highest_tier=2),
    NetworkTopology(tier_name="row"),
)
SOFT, FREE = NetworkTopology(hard=False), NetworkTopology()
NODES = "".join(f"node n{number} cpu=4\n" for number in range(1, 9))
PAIRS = (SubGroupPolicy("w", 2, 2, match_keys=("w",), topology=RACK),)
LOOSE_PAIRS = (SubGroupPolicy("w", 2, 2, match_keys=("w",)),)
POLICIES = {
    "the built-in policy": DEFAULT_POLICY,
    "allocate alone": policy_of("priority gang", "predicates", actions="allocate"),
    "preempt": policy_of("priority gang conformance", "predicates", actions="allocate, preempt"),
    "gangpreempt": policy_of("priority gang", "predicates", actions="allocate, gangpreempt"),
    "reclaim": policy_of("gang proportion", "predicates", actions="allocate, reclaim, backfill"),
}
ONE_RACK, FOUR_RACKS = [(1, "tier 1 (rack)")], [(4, "tier 1 (rack)")]
ALL_DOMAINS = [*FOUR_RACKS, (2, "tier 2 (block)")]
ALL_FULL = on_nodes([("Insufficient cpu", 8)])
BOTH = words.lack_together(
    words.sub_groups_of(["w/a", "w/b"]), "16", "cpu", words.USABLE_NODES, words.free("8", leaving=False)
)
EACH_POLICY = [pytest.param(policy, id=name) for name, policy in POLICIES.items()]


def full(*nodes: int, cpu: int = 4) -> str:
    """Jobs that hold so much of these nodes and cannot be preempted."""
    return "".join(
        f"job x/f{n} min=1 phase=Running\npods x/f{n} 1 cpu={cpu} on=n{n} volcano.sh/preemptable=false\n" for n in nodes
    )


def gang(pods: int, cpu: int = 4) -> str:
    return f"job ns/a phase=Inqueue min={pods} pods={pods} cpu={cpu}\n"


IN_PAIRS = "job ns/a min=4 phase=Inqueue\npods ns/a 2 cpu=4 labels=w:a\npods ns/a 2 cpu=4 labels=w:b named=more\n"


def world(text: str, wish: NetworkTopology | None, policies: Sequence[SubGroupPolicy] = ()) -> Snapshot:
    snapshot = snapshot_of(NODES + text, RACKS, {} if wish is None else {"ns/a": wish})
    job = snapshot.jobs["ns/a"]
    job.spec = msgspec.structs.replace(job.spec, sub_groups=tuple(policies))
    return snapshot


def headline(snapshot: Snapshot, policy: Policy) -> tuple[str, str]:
    told = run_cycle(snapshot, policy, REGISTRY).jobs["ns/a"]
    return told.code, told.message


@pytest.mark.parametrize("policy", EACH_POLICY)
@pytest.mark.parametrize(
    ("text", "wish", "policies", "code", "message"),
    [
        pytest.param(
            full(1, 3, 5, 7) + gang(2),
            RACK,
            (),
            Code.TOPOLOGY,
            no_room("r1 of tier 1 (rack)", 1, 2, FOUR_RACKS),
            id="the cluster has room for all, each rack for one",
        ),
        pytest.param(
            gang(3),
            RACK,
            (),
            Code.TOPOLOGY,
            no_room("r1 of tier 1 (rack)", 2, 3, FOUR_RACKS),
            id="no rack is large enough, even if empty",
        ),
        pytest.param(
            full(1, 2, 5) + gang(4),
            BLOCK,
            (),
            Code.TOPOLOGY,
            no_room("b2 of tier 2 (block)", 3, 4, ALL_DOMAINS),
            id="of all tiers the domain with most room",
        ),
        pytest.param(
            full(1, 2, 3, 4, 5, 6, 7) + gang(2),
            RACK,
            (),
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 2, 2, 1)}: {ALL_FULL}",
            id="the cluster has room for one",
        ),
        pytest.param(
            full(1, 2, 3, 4, 5, 6, 7, 8) + gang(2),
            RACK,
            (),
            Code.RESOURCES,
            f"{words.needs(words.THE_GANG, 2, 2, 0)}: {ALL_FULL}",
            id="the cluster is full",
        ),
        pytest.param(
            gang(9),
            RACK,
            (),
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 9, 9, 8, 8)}: {ALL_FULL}",
            id="the cluster is too small",
        ),
        pytest.param(
            gang(2, cpu=9),
            RACK,
            (),
            Code.RESOURCES,
            f"{words.needs(words.THE_GANG, 2, 2, 0)}: {has_no(NO_NODE, 'cpu', '9', '4')}",
            id="no node is large enough for one pod",
        ),
        pytest.param(
            full(1, 2, 3, 4, 5, 6, 7) + gang(2),
            SOFT,
            (),
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 2, 2, 1)}: {ALL_FULL}",
            id="soft: only the cluster can lack room",
        ),
        pytest.param(
            full(1, 2, 3, 4, 5, 6, 7) + gang(2),
            FREE,
            (),
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 2, 2, 1)}: {ALL_FULL}",
            id="hard without a limit: only the cluster can lack room",
        ),
        pytest.param(
            full(1, 3, 5, 7) + "job ns/a min=3 phase=Inqueue\npods ns/a 1 cpu=4 on=n2\npods ns/a 2 cpu=4 named=more\n",
            RACK,
            (),
            Code.TOPOLOGY,
            no_room("r1 of tier 1 (rack)", 0, 2, ONE_RACK),
            id="pods with a node say which rack",
        ),
        pytest.param(
            full(1, 3, 4, 5, 6, 7)
            + "job ns/a min=3 phase=Inqueue\npods ns/a 1 cpu=4 on=n2\npods ns/a 2 cpu=4 named=more\n",
            RACK,
            (),
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 3, 2, 1)}: {ALL_FULL}",
            id="pods with a node, and the cluster lacks room",
        ),
        pytest.param(
            full(1, 3, 5, 7) + "job ns/a min=1 phase=Running\npods ns/a 1 cpu=4 on=n2\npods ns/a 1 cpu=4 named=more\n",
            RACK,
            (),
            Code.TOPOLOGY,
            no_room("r1 of tier 1 (rack)", 0, 1, ONE_RACK),
            id="one pod more than the minimum",
        ),
        pytest.param(
            full(1, 3, 4, 5, 6, 7, 8)
            + "job ns/a min=1 phase=Running\npods ns/a 1 cpu=4 on=n2\npods ns/a 1 cpu=4 named=more\n",
            RACK,
            (),
            Code.RESOURCES,
            f"{words.more_wait(1)}: {ALL_FULL}",
            id="one pod more than the minimum, and the cluster is full",
        ),
        pytest.param(
            full(1, 2, 3, 4, 5, 6, 7, 8) + gang(2),
            NOWHERE,
            (),
            Code.TOPOLOGY,
            must_be_in("tier row", no_such_name(["block", "rack"])),
            id="a tier that nobody knows is told even if the cluster is full",
        ),
        pytest.param(
            full(1, 3, 5, 7) + IN_PAIRS,
            None,
            PAIRS,
            Code.TOPOLOGY,
            of_sub_group("w/a", no_room("r1 of tier 1 (rack)", 1, 2, FOUR_RACKS)),
            id="a sub-group finds no rack",
        ),
        pytest.param(
            full(1, 3, 5, 6, 7, 8) + IN_PAIRS,
            None,
            PAIRS,
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 4, 4, 2)}: {BOTH}",
            id="the cluster lacks room for all sub-groups",
        ),
        pytest.param(
            full(1, 2, 5) + IN_PAIRS,
            BLOCK,
            LOOSE_PAIRS,
            Code.TOPOLOGY,
            no_room("b2 of tier 2 (block)", 3, 4, ALL_DOMAINS),
            id="the job of sub-groups finds no block",
        ),
    ],
)
def test_what_binds_is_told(
    text: str,
    wish: NetworkTopology | None,
    policies: Sequence[SubGroupPolicy],
    code: Code,
    message: str,
    policy: Policy,
) -> None:
    assert headline(world(text, wish, policies), policy) == (code, message)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=8, max_size=8),
    st.integers(2, 9),
    st.integers(1, 4),
    st.sampled_from((1, 2)),
    st.sampled_from(sorted(POLICIES)),
)
def test_the_domain_is_told_only_while_the_cluster_has_room(
    held: list[int], pods: int, cpu: int, tier: int, policy: str
) -> None:
    text = "".join(full(n, cpu=taken) for n, taken in enumerate(held, 1) if taken) + gang(pods, cpu)
    code, message = headline(world(text, NetworkTopology(highest_tier=tier)), POLICIES[policy])
    room = [(4 - taken) // cpu for taken in held]
    nodes = 2**tier
    best = max(sum(room[at : at + nodes]) for at in range(0, 8, nodes))
    if best >= pods:
        assert code == ""
    elif sum(room) >= pods:
        assert code == Code.TOPOLOGY
        assert re.findall(r"\d+", message.partition(";")[0])[-2:] == [str(best), str(pods)]
    else:
        assert code == Code.GANG_SIZE or (code == Code.RESOURCES and not sum(room))
        assert message.startswith(words.needs(words.THE_GANG, pods, pods, sum(room)))
