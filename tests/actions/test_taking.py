"""Room for jobs that ask for closeness: it is made in the one domain where it costs least, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.taking import taking
from tests.support.topologies import BLOCK, EIGHT, RACK, RACKS, SOFT, decided, nodes_of, occupied, vacated
from vsched.framework.policy import Policy
from vsched.model.topology.constraints import NetworkTopology

PREEMPT = taking("allocate, preempt", "priority gang", "predicates")
FIRST = taking("preempt, allocate", "priority gang", "predicates")
CHEAPEST = taking("allocate, preempt", "priority gang", "predicates", args={"enableTopologyAwarePreemption": True})
RECLAIM = taking("allocate, reclaim", "gang proportion", "predicates")
GANG_PREEMPT = taking("allocate, gangpreempt", "priority gang", "predicates")
WANT = "job ns/a class=high phase=Inqueue min=2 pods=2 cpu=4"


def full(*small: int) -> str:
    """Every node is full; on these, half of it is free."""
    return EIGHT + occupied(small=small)


def held(*amounts: int) -> str:
    """On each node a job may be evicted that holds so much of it."""
    return "".join(
        f"job x/f{n} min=0 phase=Running\npods x/f{n} 1 cpu={amount} on=n{n}\n" for n, amount in enumerate(amounts, 1)
    )


@pytest.mark.parametrize(
    ("policy", "text", "wish", "victims"),
    [
        pytest.param(PREEMPT, full() + WANT, RACK, ["n1", "n2"], id="one rack is freed, the first of equals"),
        pytest.param(PREEMPT, full() + WANT, BLOCK, ["n1", "n2"], id="one rack where a block would do as well"),
        pytest.param(
            PREEMPT,
            full(3, 5, 6) + "job ns/a class=high phase=Inqueue min=2 pods=2 cpu=2",
            RACK,
            [],
            id="nobody leaves where a rack has room",
        ),
        pytest.param(
            PREEMPT,
            full(2, 5) + "job ns/a class=high phase=Inqueue min=3 pods=3 cpu=2",
            RACK,
            ["n1"],
            id="the rack where fewest have to leave",
        ),
        pytest.param(
            PREEMPT,
            EIGHT
            + "class high 9\n"
            + held(1, 1, 3, 3, 1, 1, 3, 3)
            + "job ns/a class=high phase=Inqueue min=4 pods=4 cpu=2",
            BLOCK,
            ["n3"],
            id="one that makes room for two, and not the first two that make room for one each",
        ),
        pytest.param(
            PREEMPT,
            full().replace("job x/f1 ", "job x/f1 class=high ") + WANT,
            RACK,
            ["n3", "n4"],
            id="not a rack with a pod that may not leave",
        ),
        pytest.param(
            PREEMPT,
            (full() + WANT).replace("min=2 pods=2", "min=3 pods=3"),
            RACK,
            [],
            id="nobody leaves where no rack is large enough",
        ),
        pytest.param(
            PREEMPT,
            (full() + WANT).replace("min=2 pods=2", "min=3 pods=3"),
            BLOCK,
            ["n1", "n2", "n3"],
            id="a block where no rack is large enough",
        ),
        pytest.param(
            PREEMPT,
            full() + "job ns/a class=high phase=Running min=2\npods ns/a 1 cpu=0 on=n7\npods ns/a 1 cpu=4",
            RACK,
            ["n7"],
            id="the rack where its other pods run",
        ),
        pytest.param(
            PREEMPT,
            full(7, 8) + "job ns/a class=high phase=Inqueue min=2 pods=2 cpu=4",
            SOFT,
            ["n1", "n2"],
            id="for a wish too, as close as possible at that cost",
        ),
        pytest.param(FIRST, full() + WANT, RACK, ["n1", "n2"], id="with allocate after it"),
        pytest.param(CHEAPEST, full() + WANT, RACK, ["n1", "n2"], id="where nodes are compared, too"),
        pytest.param(
            GANG_PREEMPT,
            EIGHT
            + "class high 9\njob x/g min=4 phase=Running\n"
            + "".join(f"pods x/g 1 cpu=4 on=n{n}\n" for n in (1, 3, 5, 7))
            + "".join(f"job x/h{n} min=1 class=high phase=Running\npods x/h{n} 1 cpu=4 on=n{n}\n" for n in (2, 4, 6))
            + "job x/l min=1 phase=Running\npods x/l 1 cpu=4 on=n8\n"
            + WANT,
            RACK,
            ["n1", "n3", "n5", "n7", "n8"],
            id="a gang that is broken up leaves other racks too",
        ),
        pytest.param(
            RECLAIM,
            EIGHT
            + "queue q\nqueue r\n"
            + "".join(f"job x/f{n} queue=q min=0 phase=Running\npods x/f{n} 1 cpu=4 on=n{n}\n" for n in range(1, 9))
            + "job ns/a queue=r phase=Inqueue min=2 pods=2 cpu=4",
            RACK,
            ["n1", "n2"],
            id="reclaim keeps to one rack",
        ),
    ],
)
def test_where_room_is_made(policy: Policy, text: str, wish: NetworkTopology, victims: list[str]) -> None:
    session = decided(text, RACKS, {"ns/a": wish}, policy)

    assert vacated(session) == victims


@settings(max_examples=examples(60), deadline=None)
@given(
    held=st.lists(st.sampled_from([0, 0, 1, 2, 3, 4]), min_size=8, max_size=8),
    high=st.lists(st.booleans(), min_size=8, max_size=8),
    gang=st.integers(1, 5),
    cpu=st.sampled_from([1, 2, 4]),
    wish=st.sampled_from([RACK, BLOCK, NetworkTopology(), SOFT]),
    policy=st.sampled_from([PREEMPT, FIRST, CHEAPEST, GANG_PREEMPT]),
)
def test_room_is_made_in_one_domain_and_every_victim_is_needed(
    held: list[int], high: list[bool], gang: int, cpu: int, wish: NetworkTopology, policy: Policy
) -> None:
    text = EIGHT + "class high 9\n"
    for n, (amount, strong) in enumerate(zip(held, high, strict=True), start=1):
        if amount:
            text += (
                f"job x/f{n} min=0 {'class=high ' if strong else ''}phase=Running\npods x/f{n} 1 cpu={amount} on=n{n}\n"
            )
    text += f"job ns/a class=high phase=Inqueue min={gang} pods={gang} cpu={cpu}"
    session = decided(text, RACKS, {"ns/a": wish}, policy)

    starts = session.jobs["ns/a"].is_pipelined
    got = {node.strip("*") for node in nodes_of(session, "ns/a").values()} if starts else set()
    victims = vacated(session)
    domain = smallest(got, wish)
    if wish.hard and got:
        assert domain is not None
    assert set(victims) <= got, "who leaves, leaves a node that is used"
    assert not any(high[int(node[1:]) - 1] for node in victims)
    per_node = {node: list(nodes_of(session, "ns/a").values()).count(node + "*") for node in got}
    for node in victims:
        free = 4 - held[int(node[1:]) - 1]
        assert per_node[node] * cpu > free, "every victim is needed"
    feasible = [
        rows for rows in domains(wish) if sum((4 - (held[n - 1] if high[n - 1] else 0)) // cpu for n in rows) >= gang
    ]
    assert bool(got) is bool(feasible)
    if got:
        least = min(fewest(rows, held, high, gang, cpu) for rows in feasible)
        assert len(victims) <= least or not wish.hard


def domains(wish: NetworkTopology) -> list[list[int]]:
    tiers: dict[int, list[list[int]]] = {
        1: [[1, 2], [3, 4], [5, 6], [7, 8]],
        2: [[1, 2, 3, 4], [5, 6, 7, 8]],
        3: [list(range(1, 9))],
    }
    highest = wish.highest_tier if wish.hard and wish.highest_tier is not None else 3
    return [rows for tier in range(1, highest + 1) for rows in tiers[tier]]


def smallest(nodes: set[str], wish: NetworkTopology) -> list[int] | None:
    wanted = {int(node[1:]) for node in nodes}
    return next((rows for rows in domains(wish) if wanted <= set(rows)), None)


def fewest(rows: list[int], held: list[int], high: list[bool], gang: int, cpu: int) -> int:
    """The smallest number of victims that make room for the gang in these nodes."""
    gains = sorted((4 // cpu - (4 - held[n - 1]) // cpu for n in rows if held[n - 1] and not high[n - 1]), reverse=True)
    room = sum((4 - held[n - 1]) // cpu for n in rows)
    for count in range(len(gains) + 1):
        if room + sum(gains[:count]) >= gang:
            return count
    return len(gains) + 1


def test_a_pod_that_was_lost_with_its_node_comes_back_into_the_rack_of_its_gang() -> None:
    text = (
        full(5, 6).replace("node n2 cpu=4\n", "").replace("job x/f2 min=0 phase=Running\npods x/f2 1 cpu=4 on=n2\n", "")
        + "job ns/a class=high phase=Running min=3\npods ns/a 2 cpu=2 on=n5\npods ns/a 1 cpu=4"
    ).replace("pods x/f5 1 cpu=2 on=n5", "pods x/f5 1 cpu=0 on=n5")
    session = decided(text, RACKS, {"ns/a": RACK}, PREEMPT)

    assert vacated(session) == ["n6"]
    assert sorted(nodes_of(session, "ns/a").values()) == ["n5", "n5", "n6*"]
