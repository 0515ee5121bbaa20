"""Room for jobs whose sub-groups ask for closeness: each sub-group's victims are in one domain of its own tiers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.taking import taking
from tests.support.topologies import (
    BLOCK,
    EIGHT,
    RACK,
    RACKS,
    nodes_of,
    occupied,
    snapshot_of,
    vacated,
    with_sub_groups,
)
from vsched.framework.cycle import run_actions
from vsched.framework.policy import Policy
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy
from vsched.settings.built_in import REGISTRY

PREEMPT = taking("allocate, preempt", "priority gang", "predicates")
GANG_PREEMPT = taking("allocate, gangpreempt", "priority gang", "predicates")
TWO_OF_TWO = "job ns/a class=high phase=Inqueue min=4\npods ns/a 2 cpu=4 labels=w:a\npods ns/a 2 cpu=4 labels=w:b"
RACK_OF = {f"n{number}": (number + 1) // 2 for number in range(1, 9)}


def full(*strong: int) -> str:
    """Every node is full; on these, with pods that may not leave."""
    return occupied(strong=strong)


def decided(text: str, size: int, minimum: int, wish: NetworkTopology | None, policy: Policy) -> Session:
    snapshot = snapshot_of(text, RACKS, {} if wish is None else {"ns/a": wish})
    group = SubGroupPolicy("w", size, minimum, match_keys=("w",), topology=RACK)
    return run_actions(with_sub_groups(snapshot, group), policy, REGISTRY, Trace())


@pytest.mark.parametrize(
    ("text", "wish", "victims"),
    [
        pytest.param(full() + TWO_OF_TWO, None, ["n1", "n2", "n3", "n4"], id="a rack for each sub-group"),
        pytest.param(full(2, 4) + TWO_OF_TWO, None, ["n5", "n6", "n7", "n8"], id="racks that can be freed"),
        pytest.param(full(2, 3, 5) + TWO_OF_TWO, None, [], id="nobody where only one rack can be freed"),
        pytest.param(full(2, 5) + TWO_OF_TWO, BLOCK, [], id="nobody where no block has two such racks"),
        pytest.param(full(2) + TWO_OF_TWO, BLOCK, ["n5", "n6", "n7", "n8"], id="both racks in the block of the job"),
    ],
)
@pytest.mark.parametrize("policy", [PREEMPT, GANG_PREEMPT], ids=["preempt", "gangpreempt"])
def test_where_room_is_made(policy: Policy, text: str, wish: NetworkTopology | None, victims: list[str]) -> None:
    assert vacated(decided(EIGHT + text, 2, 2, wish, policy)) == victims


@settings(max_examples=examples(40), deadline=None)
@given(
    held=st.lists(st.sampled_from([0, 0, 2, 4]), min_size=8, max_size=8),
    strong=st.lists(st.booleans(), min_size=8, max_size=8),
    groups=st.integers(1, 3),
    size=st.integers(1, 3),
    cpu=st.sampled_from([2, 4]),
    wish=st.sampled_from([None, BLOCK, NetworkTopology()]),
)
def test_each_sub_group_gets_its_room_in_one_rack_or_nobody_leaves(
    held: list[int], strong: list[bool], groups: int, size: int, cpu: int, wish: NetworkTopology | None
) -> None:
    text = EIGHT + "class high 9\n"
    for n, (amount, stays) in enumerate(zip(held, strong, strict=True), start=1):
        if amount:
            text += f"job x/f{n} min=0 {'class=high ' * stays}phase=Running\npods x/f{n} 1 cpu={amount} on=n{n}\n"
    text += f"job ns/a class=high phase=Inqueue min={groups * size}"
    text += "".join(f"\npods ns/a {size} cpu={cpu} labels=w:{group}" for group in range(groups))
    session = decided(text, size, groups, wish, PREEMPT)

    view, nodes = session.jobs["ns/a"], nodes_of(session, "ns/a")
    assert view.sub_groups is not None
    if not view.is_pipelined:
        assert not vacated(session)
        return
    racks: dict[str, set[int]] = {}
    for task in view.job.tasks.values():
        racks.setdefault(view.sub_groups.of(task).name, set()).add(RACK_OF[nodes[task.name].strip("*")])
    assert all(len(found) == 1 for found in racks.values())
    if wish is BLOCK:
        assert len({(rack + 1) // 2 for found in racks.values() for rack in found}) == 1
    assert set(vacated(session)) <= {node.strip("*") for node in nodes.values()}
