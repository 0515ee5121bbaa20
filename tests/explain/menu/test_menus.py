"""Menus: what would start a waiting gang, of each kind; one node, or one step of quota, less is not enough."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_of
from vsched.explain.edits.nodes import PoolNode
from vsched.explain.menu import words as menu_words
from vsched.explain.menu.gang import Limit
from vsched.explain.menu.menus import Menus, menus
from vsched.explain.menu.records import Menu, MenuAnswer, OfferedPool, VictimJob
from vsched.explain.simulation import never
from vsched.explain.situation import Situation, apply_all
from vsched.explain.words import edits as edits_words
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.frozen import freeze
from vsched.model.nodes.table import Taint
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

GPU = "example.com/gpu"
PREEMPTING = policy_of(
    "priority gang conformance", "predicates proportion nodeorder", actions="enqueue, allocate, preempt, backfill"
)
QUOTAS = policy_of("priority gang", "predicates resourcequota nodeorder")
MINUTE = 60.0


def pool(name: str = "h100", gpus: int = 8, **more: Any) -> OfferedPool:
    """A pool whose nodes have so many devices."""
    amounts = {"cpu": 64_000, "memory": 1 << 40, "pods": 110, GPU: 1000 * gpus}
    return OfferedPool(name, "file", (PoolNode({"pool": name}, (), amounts),), **more)


H100 = pool(price=2.5, delay_seconds=30.0)
L4 = pool("l4", 4, price=0.5)


def snapshot_of(text: str) -> Snapshot:
    return freeze(mirror(manifests(text)).snapshot(NOW))


def found(
    text: str, *pools: OfferedPool, policy: Policy = DEFAULT_POLICY, limit: Limit = lambda: never, most: int = 10
) -> Menus:
    snapshot = snapshot_of(text)
    return menus(snapshot, policy, REGISTRY, run_cycle(snapshot, policy, REGISTRY), pools, limit, most)


def menu(text: str, *pools: OfferedPool, policy: Policy = DEFAULT_POLICY) -> Menu:
    """The menu of the only gang that waits."""
    (one,) = found(text, *pools, policy=policy).menus
    return one


def starts(text: str, *edits: Any, key: str = "x/b") -> bool:
    """Whether a whole cycle binds the gang once the edits are made."""
    edited = apply_all(Situation(snapshot_of(text), DEFAULT_POLICY), edits)
    report = run_cycle(edited.snapshot, edited.policy, REGISTRY)
    return sum(bind.job == key for bind in report.binds) >= edited.snapshot.jobs[key].spec.min_member


EMPTY = "node n1 cpu=8 gpu=0\n"
LACKING = "job x/b min=8 pods=8 gpu=8 cpu=1"
CAPPED = "node n1 cpu=64 gpu=32\nqueue q capability=gpu:8\njob x/b min=16 pods=16 gpu=1 cpu=1 queue=q"
CAPPED_AND_LACKING = "node n1 cpu=64 gpu=8\nqueue q capability=gpu:8\njob x/b min=16 pods=16 gpu=1 cpu=1 queue=q"

NODES: list[Any] = [
    pytest.param(
        EMPTY + LACKING,
        [H100],
        [menu_words.more_would_start(8, menu_words.of_pool("h100"), "", 8)],
        {},
        id="a gang that lacks 8 nodes",
    ),
    pytest.param(
        "node n1 cpu=8 gpu=8\n" + LACKING,
        [H100],
        [menu_words.more_would_start(7, menu_words.of_pool("h100"), "", 7)],
        {},
        id="what is idle is used first",
    ),
    pytest.param(
        EMPTY + "job x/b min=9 pods=9 gpu=1 cpu=1",
        [H100, L4],
        [
            menu_words.more_would_start(3, menu_words.of_pool("l4"), "", 3),
            menu_words.more_would_start(2, menu_words.of_pool("h100"), "", 2),
        ],
        {},
        id="the cheapest offer goes first, not the fewest nodes",
    ),
    pytest.param(
        EMPTY + "job x/b min=9 pods=9 gpu=1 cpu=1",
        [H100._replace(price=None), L4],
        [
            menu_words.more_would_start(3, menu_words.of_pool("l4"), "", 3),
            menu_words.more_would_start(2, menu_words.of_pool("h100"), "", 2),
        ],
        {},
        id="offers without a price go last",
    ),
    pytest.param(
        EMPTY + LACKING,
        [L4],
        [],
        {"l4": f"pool l4: {menu_words.node_too_small('4', GPU, '8')}"},
        id="nodes that are too small for a pod are no offer",
    ),
    pytest.param(
        EMPTY + LACKING,
        [H100._replace(room=3), pool("more", room=8)],
        [menu_words.more_would_start(8, menu_words.of_pool("more"), "", 8)],
        {"h100": menu_words.would_not_start(menu_words.all_more_of_pool(3, "h100"), "")},
        id="a pool that may have too few more is no offer",
    ),
    pytest.param(
        EMPTY + LACKING,
        [H100._replace(room=0), pool("gone", problem="none in stock")],
        [],
        {"h100": "pool h100: cannot grow", "gone": "pool gone: none in stock"},
        id="a pool that has none left is no offer",
    ),
    pytest.param(
        EMPTY + LACKING + " selector=pool:b",
        [pool("a"), pool("b")],
        [menu_words.more_would_start(8, menu_words.of_pool("b"), "", 8)],
        {"a": menu_words.would_not_start(menu_words.up_to_more(8, menu_words.of_pool("a")), "")},
        id="pods that select labels need a pool that has them",
    ),
    pytest.param(
        EMPTY + LACKING,
        [OfferedPool("t", "file", (PoolNode({}, (Taint("gpu", "yes"),), H100.nodes[0].allocatable),))],
        [],
        {"t": menu_words.would_not_start(menu_words.up_to_more(8, menu_words.of_pool("t")), "")},
        id="taints of a pool count",
    ),
    pytest.param(
        EMPTY + "job x/a min=4 pods=4 gpu=8 cpu=1 age=60\n" + "job x/b min=8 pods=8 gpu=8 cpu=1",
        [H100],
        [menu_words.more_would_start(12, menu_words.of_pool("h100"), "", 8)],
        {},
        id="those who go first take new nodes first",
    ),
    pytest.param(
        "node n1 cpu=4\njob x/b min=3 pods=3 cpu=4",
        [],
        ["2 more like node n1 would start it"],
        {},
        id="without pools, nodes like those there are",
    ),
    pytest.param(
        CAPPED,
        [H100],
        [],
        {"h100": menu_words.would_not_start(menu_words.up_to_more(16, menu_words.of_pool("h100")), "")},
        id="no node helps it",
    ),
    pytest.param(
        CAPPED_AND_LACKING,
        [H100],
        [menu_words.more_would_start(1, menu_words.of_pool("h100"), f"8 more {GPU} in queue q (capability 16)", 1)],
        {},
        id="both nodes and quota are lacking",
    ),
]


@pytest.mark.parametrize(("text", "pools", "offers", "refused"), NODES)
def test_nodes(text: str, pools: list[OfferedPool], offers: list[str], refused: dict[str, str]) -> None:
    one = next(each for each in found(text, *pools).menus if each.job == "x/b")
    assert [offer.message for offer in one.nodes.offers] == offers
    assert one.nodes.answer is (MenuAnswer.ENOUGH if offers else MenuAnswer.NO)
    assert one.nodes.refused.keys() == refused.keys()
    for name, why in refused.items():
        assert one.nodes.refused[name].startswith(why)


@pytest.mark.parametrize("text", [EMPTY + LACKING, EMPTY + "job x/b min=9 pods=9 gpu=1 cpu=1"])
def test_what_is_offered_starts_it_and_one_node_less_does_not(text: str) -> None:
    for offer in menu(text, H100, pool("l8", 8)).nodes.offers:
        of_pool = H100 if offer.pool == H100.name else pool("l8", 8)
        assert starts(text, of_pool.edit(offer.count))
        assert not starts(text, of_pool.edit(offer.count - 1))


@settings(max_examples=examples(15), deadline=None)
@given(
    st.lists(st.sampled_from([2, 4, 8]), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 8), st.integers(1, 4)), min_size=1, max_size=4),
    st.integers(1, 8),
)
def test_what_is_offered_is_enough_and_the_least_in_any_cluster(
    nodes: list[int], gangs: list[tuple[int, int, int]], size: int
) -> None:
    """Gangs wait for each other; each offer lets its gang start in a whole cycle, and one node less does not."""
    lines = [f"node n{number} cpu=64 gpu={gpus}" for number, gpus in enumerate(nodes)]
    lines += [
        f"job x/g{number} min={count} pods={count} gpu={gpus} cpu=1 age={age}"
        for number, (count, gpus, age) in enumerate(gangs)
    ]
    text, of_pool = "\n".join(lines), pool(gpus=size)
    for one in found(text, of_pool).menus:
        for offer in one.nodes.offers:
            if offer.quota is None:
                assert starts(text, of_pool.edit(offer.count), key=one.job)
                assert offer.count == 1 or not starts(text, of_pool.edit(offer.count - 1), key=one.job)


def test_an_offer_has_its_price_and_how_long_it_takes() -> None:
    (offer,) = menu(EMPTY + LACKING, H100).nodes.offers
    assert (offer.count, offer.price, offer.price_of_one, offer.delay_seconds) == (8, 20.0, 2.5, 30.0)


@pytest.mark.parametrize(
    ("text", "policy", "message", "enough"),
    [
        pytest.param(
            CAPPED, DEFAULT_POLICY, f"8 more {GPU} in queue q (capability 16)", True, id="the capability of its queue"
        ),
        pytest.param(
            "node n1 cpu=8\nquota x/small requests.cpu=2\njob x/b min=4 pods=4 cpu=1 minResources=cpu:4",
            QUOTAS,
            edits_words.more_in_quota("2 more requests.cpu", "x/small", "4"),
            True,
            id="the quota of its namespace",
        ),
        pytest.param(
            CAPPED_AND_LACKING,
            DEFAULT_POLICY,
            menu_words.then_lacks_nodes(f"8 more {GPU} in queue q (capability 16)"),
            False,
            id="quota is not enough without nodes",
        ),
        pytest.param(
            EMPTY + LACKING,
            DEFAULT_POLICY,
            menu_words.NO_LIMIT_WOULD_START,
            False,
            id="no limit is in the way",
        ),
    ],
)
def test_quota(text: str, policy: Policy, message: str, enough: bool) -> None:
    one = menu(text, H100, policy=policy)
    assert one.quota.message == message
    assert one.quota.answer is (MenuAnswer.ENOUGH if enough else MenuAnswer.NO)
    assert bool(one.quota.changes) is enough


def test_quota_comes_with_its_command() -> None:
    assert "kubectl patch queues.scheduling.volcano.sh q" in menu(CAPPED, H100).quota.changes[0].command


ENDING = (
    "node n1 cpu=8\njob x/a min=8 pods=8 cpu=1 phase=Running on=n1 "
    f"vsched.io/expected-duration=10m started={NOW:.0f}\njob x/b min=4 pods=4 cpu=1"
)


def test_waiting_has_the_time_at_which_it_may_start() -> None:
    one = menu(ENDING)
    assert one.waiting.answer is MenuAnswer.ENOUGH
    assert one.waiting.message.startswith("between 08:10 and 08:20 UTC (in 10m to 20m), if x/a ends after")
    assert one.waiting.start.latest == pytest.approx(NOW + 20 * MINUTE, abs=MINUTE)


def test_waiting_is_not_known_where_nothing_is_known_to_end() -> None:
    one = menu(EMPTY + LACKING, H100)
    assert one.waiting.answer is MenuAnswer.UNKNOWN
    assert one.waiting.message.startswith("unknown")


LOW = "class high 100\nclass low 10\nnode n1 cpu=8\njob x/a min=1 pods=8 cpu=1 phase=Running on=n1 class=low\n"

WORK: list[Any] = [
    pytest.param(
        LOW + "job x/b min=4 pods=4 cpu=1",
        PREEMPTING,
        "4 pods of x/a (priority 10) would go, with priority class high",
        [VictimJob("x/a", "default", 10, 4, True)],
        id="a lower priority would have to go, if the gang had a higher one",
    ),
    pytest.param(
        LOW + "job x/b min=4 pods=4 cpu=1 class=high",
        DEFAULT_POLICY,
        "4 pods of x/a (priority 10) would go, with action preempt in the policy",
        [VictimJob("x/a", "default", 10, 4, True)],
        id="the policy would have to preempt",
    ),
    pytest.param(
        LOW + "job x/b min=4 pods=4 cpu=1",
        DEFAULT_POLICY,
        "4 pods of x/a (priority 10) would go, with action preempt in the policy and priority class high",
        [VictimJob("x/a", "default", 10, 4, True)],
        id="both a higher priority and a policy that preempts",
    ),
    pytest.param(
        "node n1 cpu=4\nnode n2 cpu=4\njob x/a min=4 pods=4 cpu=1 phase=Running on=n1\n"
        "job x/c min=4 pods=4 cpu=1 phase=Running on=n2\njob x/b min=4 pods=4 cpu=1",
        policy_of("priority gang", "predicates nodeorder"),
        menu_words.would_have_to_end("1 job", "x/a"),
        [VictimJob("x/a", "default", 0, 4, True)],
        id="one of two jobs of the same priority would have to end",
    ),
    pytest.param(
        LOW.replace("min=1", "min=8") + "job x/b min=4 pods=4 cpu=1",
        PREEMPTING,
        menu_words.would_have_to_end("1 job", "x/a"),
        [VictimJob("x/a", "default", 10, 8, True)],
        id="a gang at its minimum is not evicted, and would have to end",
    ),
    pytest.param(
        EMPTY + LACKING,
        PREEMPTING,
        menu_words.NOBODY_HOLDS,
        [],
        id="nobody holds what it needs",
    ),
    pytest.param(
        "node n1 cpu=4\njob x/a min=1 pods=1 cpu=1 phase=Running on=n1\njob x/b min=8 pods=8 cpu=1",
        PREEMPTING,
        menu_words.NO_END_WOULD_START,
        [],
        id="the cluster would be too small without anybody",
    ),
]


def test_of_many_jobs_some_are_named_and_all_are_data() -> None:
    running = [f"job x/a{number} min=1 pods=2 cpu=1 phase=Running on=n1 class=low" for number in range(8)]
    text = "\n".join(["class high 100", "class low 10", "node n1 cpu=16", *running, "job x/b min=7 pods=7 cpu=1"])
    one = menu(text, policy=PREEMPTING).work
    assert len(one.jobs) == 7
    assert one.message.count("would go") == 4
    assert "; and 3 pods of 3 more, with priority class high" in one.message


@pytest.mark.parametrize(("text", "policy", "message", "jobs"), WORK)
def test_whose_work(text: str, policy: Policy, message: str, jobs: list[VictimJob]) -> None:
    one = menu(text, policy=policy)
    assert one.work.message == message
    assert list(one.work.jobs) == jobs
    assert one.work.answer is (MenuAnswer.ENOUGH if jobs else MenuAnswer.NO)


def test_gangs_that_start_or_run_get_no_menu() -> None:
    text = "node n1 cpu=8\njob x/a min=2 pods=4 cpu=1 phase=Running on=n1\njob x/b min=2 pods=2 cpu=1"
    assert found(text) == Menus((), 0)


def test_menus_are_in_the_order_in_which_gangs_are_tried_and_at_most_so_many() -> None:
    lines = [f"job x/j{number} min=2 pods=2 cpu=8 age={60 - number}" for number in range(5)]
    answer = found("\n".join(["node n1 cpu=4", *lines]), most=3)
    assert [one.job for one in answer.menus] == ["x/j0", "x/j1", "x/j2"]
    assert answer.waiting == 5


def test_a_job_without_pods_is_said_to_be_admitted_only() -> None:
    text = "node n1 cpu=4\nqueue q capability=cpu:2\njob x/b min=4 minResources=cpu:4 queue=q phase=Pending"
    one = menu(text)
    assert one.note == menu_words.WITHOUT_PODS
    assert one.quota.message == "2 more cpu in queue q (capability 4)"


@pytest.mark.parametrize(
    ("pools", "message"),
    [
        pytest.param([], "3 more like node n1 would start it", id="like a node there is"),
        pytest.param([H100], menu_words.more_would_start(1, menu_words.of_pool("h100"), "", 1), id="of a pool"),
    ],
)
def test_a_job_without_pods_may_lack_nodes_to_be_admitted(pools: list[OfferedPool], message: str) -> None:
    text = "node n1 cpu=4\njob x/b min=4 minResources=cpu:16 phase=Pending"
    assert menu(text, *pools, policy=policy_of("priority gang", "overcommit predicates")).nodes.message == message


@pytest.mark.parametrize(
    ("text", "other"),
    [
        pytest.param(
            "node n1 cpu=8\nqueue q state=Closed\njob x/b min=2 pods=2 cpu=1 queue=q",
            ["queue q opened"],
            id="a queue that is closed",
        ),
        pytest.param("node n1 cpu=8\njob x/b min=4 pods=2 cpu=1", ["2 more pods"], id="pods that are missing"),
        pytest.param(EMPTY + LACKING, [], id="nothing, where nodes are enough"),
    ],
)
def test_otherwise_the_smallest_other_changes(text: str, other: list[str]) -> None:
    assert [one.message for one in menu(text, H100).other][:1] == other


def test_what_is_not_found_in_time_is_not_known() -> None:
    (one,) = found(EMPTY + LACKING, H100, limit=lambda: lambda: True).menus
    answers = (one.nodes.answer, one.quota.answer, one.waiting.answer, one.work.answer)
    assert answers == (MenuAnswer.UNKNOWN,) * 4
    assert one.nodes.message == menu_words.OUT_OF_TIME


def test_each_part_has_its_own_time() -> None:
    """A part that uses up its time leaves the others theirs."""
    begun: list[int] = []

    def limit() -> Any:
        number = len(begun)
        begun.append(0)

        def over() -> bool:
            begun[number] += 1
            return number == 1  # the second part

        return over

    (one,) = found(CAPPED, H100, limit=limit).menus
    assert one.quota.answer is MenuAnswer.ENOUGH
    assert one.nodes.answer is MenuAnswer.UNKNOWN
    assert one.work.answer is MenuAnswer.NO


def test_limits_of_several_kinds_that_are_in_the_way_at_once_are_told_together() -> None:
    policy = policy_of("priority gang", "predicates capacity resourcequota nodeorder")
    one = menu(
        "node n1 cpu=8\nqueue q capability=cpu:3\nquota ns/rq requests.cpu=3 used=requests.cpu:0\n"
        "job ns/b min=4 queue=q minResources=cpu:4 phase=Pending",
        policy=policy,
    )
    assert (one.nodes.answer, one.quota.answer) == (MenuAnswer.NO, MenuAnswer.ENOUGH)
    in_quota = edits_words.more_in_quota("1 more requests.cpu", "ns/rq", "4")
    assert one.quota.message == f"{edits_words.more_in_queue('1 more cpu', 'q', 'capability', '4')} and {in_quota}"
